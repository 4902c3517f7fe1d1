//! Processes that end with their owner.

use anyhow::{Context, Result};
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Runs the program and waits for the end of standard input, which comes when the owner closes the
/// pipe or is gone, in whatever way; a signal to all of the group ends only the wait. `$1` is the log.
const KEEPER: &str = r#"
trap : HUP INT TERM
log=$1; shift
"$@" >"$log" 2>&1 </dev/null &
echo $! >"$log.pid"
cat >/dev/null
kill -9 $! 2>/dev/null
wait $! 2>/dev/null
"#;

/// A running program. It is killed when this is dropped, and when its owner is killed.
pub struct Process {
    keeper: Child,
    log: PathBuf,
}

impl Process {
    /// Starts the command; what it says goes into the log.
    pub fn start(command: &Command, log: &Path) -> Result<Self> {
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "sh"]).arg(log);
        keeper.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => keeper.env(name, value),
                None => keeper.env_remove(name),
            };
        }
        // Its streams are not the owner's: whoever waits for those to close must not wait for it.
        let keeper = keeper
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        Ok(Self {
            keeper,
            log: log.to_owned(),
        })
    }

    /// What it has said so far.
    pub fn said(&self) -> String {
        let mut text = Vec::new();
        if let Ok(mut file) = std::fs::File::open(&self.log) {
            drop(file.read_to_end(&mut text));
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The number of the process, to send signals to.
    pub fn pid(&self) -> Result<u32> {
        let mut file = self.log.clone().into_os_string();
        file.push(".pid");
        let pid = || std::fs::read_to_string(&file).ok()?.trim().parse().ok();
        super::wait_for("the process", || pid().is_some())?;
        pid().context("no process")
    }

    /// The end of what it has said so far, for error messages.
    pub fn last_words(&self) -> String {
        let said = self.said();
        let lines: Vec<_> = said.lines().collect();
        let from = lines.len().saturating_sub(15);
        format!("{}:\n{}", self.log.display(), lines[from..].join("\n"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        drop(self.keeper.wait());
    }
}

/// Ports on loopback that nobody listens on.
pub fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let mut ports = [0; N];
    // All are held until all are known, so that they differ.
    let mut held = Vec::with_capacity(N);
    for port in &mut ports {
        let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::wait_for;

    #[test]
    fn a_process_ends_with_its_owner() {
        let log = std::env::temp_dir().join(format!("stowplan-process-{}", std::process::id()));
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ $WORD; exec sleep 600"]);
        command.env("WORD", "hello");
        let process = Process::start(&command, &log).unwrap();
        wait_for("the shell", || process.said().ends_with('\n')).unwrap();
        let said = process.said();
        let (pid, word) = said.trim().split_once(' ').unwrap();
        assert_eq!(word, "hello");
        let runs = || {
            let mut signal = Command::new("kill");
            signal.args(["-0", pid]).stderr(Stdio::null());
            signal.status().unwrap().success()
        };
        assert!(runs());
        drop(process);
        assert!(!runs());
        std::fs::remove_file(&log).unwrap();
    }
}
