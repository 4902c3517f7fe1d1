//! A server in a process of its own.

use super::client::{Place, Protocol, Sender};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// `stowplan up`, answering. Killed when dropped.
pub(super) struct Server {
    child: Child,
    pub(super) place: Place,
    /// From the start of the process to its first answer.
    pub(super) started_in: Duration,
}

impl Server {
    /// Starts one on a folder and waits until it is ready.
    pub(super) async fn start(folder: &Path) -> Result<Self> {
        let binary = std::env::current_exe().context("this binary cannot be found")?;
        let begin = Instant::now();
        let mut child = Command::new(binary)
            .args([
                "up",
                "--no-scheduler",
                "--no-controllers",
                "--no-nodes",
                "--listen",
                "127.0.0.1:0",
                "--data-dir",
            ])
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("the server cannot be started")?;
        let stdout = child.stdout.take().context("its output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let Some(path) = line.trim_end().strip_prefix("kubeconfig: ") else {
            let status = child.wait()?;
            bail!("the server did not start: {status}");
        };
        let place = Place::from_kubeconfig(Path::new(path))?;
        let mut server = Self {
            child,
            place,
            started_in: Duration::ZERO,
        };
        let mut sender = Sender::connect(&server.place, Protocol::Http2).await?;
        sender.get("/readyz", "*/*").await?;
        server.started_in = begin.elapsed();
        Ok(server)
    }

    /// Memory that it holds now, in MiB.
    pub(super) fn rss_mib(&self) -> Result<f64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(&path).with_context(|| path)?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
        let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok());
        Ok(kib.context("the system does not tell how much memory it holds")? / 1024.0)
    }

    /// Time that it has spent on a core.
    pub(super) fn cpu(&self) -> Duration {
        cpu(&self.child.id().to_string())
    }

    /// Tells it to stop, and how long that took.
    pub(super) fn stop(mut self) -> Result<Duration> {
        let begin = Instant::now();
        let id = self.child.id().to_string();
        Command::new("kill").arg(&id).status().context("kill")?;
        let status = self.child.wait()?;
        match status.success() {
            true => Ok(begin.elapsed()),
            false => bail!("the server ended with {status}"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Of one that has stopped there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Time that a process (or `self`) has spent on a core, as far as the system tells.
pub(super) fn cpu(process: &str) -> Duration {
    /// Of `/proc`, on every Linux.
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the process, in brackets, may hold anything; utime and stime are the 12th and
    // 13th field after it.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = fields.split_whitespace().skip(11).take(2);
    TICK * ticks.filter_map(|t| t.parse::<u32>().ok()).sum()
}

/// A folder that is gone when it is no longer needed.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// A new one below another.
    pub(super) fn new(root: &Path, name: &str) -> Result<Self> {
        let folder = root.join(format!("stowplan-bench-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self(folder))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left in a folder for temporary files harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
