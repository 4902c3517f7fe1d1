//! A real Kubernetes to compare with: its programs, and a cluster of them on loopback.

mod build;
mod certificates;
mod cluster;
mod process;
mod stowplan;

pub(crate) use build::cache;
pub use build::{VERSION, build, build_ginkgo, build_kwok, build_specs};
pub use cluster::{Cluster, Options};
pub use process::{Process, free_ports};
pub use stowplan::Stowplan;

use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// Asks again and again until the answer is yes.
pub(crate) fn wait_for(what: &str, mut ready: impl FnMut() -> bool) -> Result<()> {
    let start = Instant::now();
    while !ready() {
        if start.elapsed() > Duration::from_secs(300) {
            bail!("{what} did not come up within five minutes");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
