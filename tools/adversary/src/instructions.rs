//! Instructions, counted by callgrind: the same for the same requests, whatever else runs.

use crate::attack::{Attack, Request};
use crate::server::Server;
use anyhow::{Context, Result, bail};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// How many times the instructions a request takes if it is of the larger size.
pub(crate) fn growth(attack: &Attack, small: usize, large: usize) -> Result<f64> {
    let count = |n: usize| -> Result<f64> {
        let requests = (attack.make)(n);
        let scene = requests.get(..requests.len() - 1).unwrap_or_default();
        let all = counted(&requests)?;
        Ok(all.saturating_sub(counted(scene)?) as f64)
    };
    Ok(count(large)? / count(small)?.max(1.0))
}

/// What a process takes that starts a server and sends these requests.
fn counted(requests: &[Request]) -> Result<u64> {
    let file = std::env::temp_dir().join(format!("stowplan-adversary-{}", std::process::id()));
    let mut out = std::io::BufWriter::new(std::fs::File::create(&file)?);
    for request in requests {
        serde_json::to_writer(&mut out, request)?;
        writeln!(out)?;
    }
    out.into_inner()?.sync_data()?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .arg("replay")
        .arg(&file)
        .output()
        .context("cannot run valgrind: install it, for example with apt-get install valgrind")?;
    std::fs::remove_file(&file)?;
    let text = String::from_utf8_lossy(&run.stderr);
    let line = text
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    match line.and_then(|(_, count)| count.trim().parse().ok()) {
        Some(count) if run.status.success() => Ok(count),
        _ => bail!("valgrind failed: {text}"),
    }
}

/// Sends the requests of a file.
pub(crate) fn replay(file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file)?;
    let server = Server::new();
    for line in text.lines() {
        server.send(&serde_json::from_str(line)?);
    }
    Ok(())
}

/// A check that cannot fail is none: as many requests as the square of the size must be found too many.
pub(crate) fn check_the_check() -> Result<()> {
    let square = Attack::new("a square of requests", |n| {
        vec![Request::new("GET", "/version"); n * n + 1]
    });
    let requests = |n: usize| (square.make)(n).len();
    let (small, large) = (counted(&(square.make)(4))?, counted(&(square.make)(16))?);
    let nothing = counted(&[])?;
    let growth = large.saturating_sub(nothing) as f64 / small.saturating_sub(nothing).max(1) as f64;
    if growth < crate::TOO_STEEP {
        bail!(
            "{} requests and {} seem to cost about the same",
            requests(4),
            requests(16)
        );
    }
    Ok(())
}
