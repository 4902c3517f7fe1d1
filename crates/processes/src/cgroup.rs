//! Limits and usage by cgroup v2, where this user may write there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const ROOT: &str = "/sys/fs/cgroup";
/// What is kept by it.
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];
/// How many processes and threads a container has at most.
const PIDS_MAX: u32 = 4_096;
/// The length of the window in which a limit of cpu counts, in microseconds.
const PERIOD_US: i64 = 100_000;

/// A cgroup below which each container has one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cgroups(PathBuf);

/// What a container may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) cpu_m: Option<i64>,
    pub(crate) memory: Option<i64>,
    /// How much more than others it gets, if there is not enough.
    pub(crate) cpu_request_m: i64,
}

impl Cgroups {
    /// Where containers may have cgroups; or why they may not.
    pub(crate) fn find(name: &str) -> Result<Self, String> {
        let table = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let own = table.lines().find_map(|line| line.strip_prefix("0::"));
        let own = own.ok_or("this machine has no cgroup v2")?;
        Self::below(Path::new(ROOT), own, name)
    }

    fn below(root: &Path, own: &str, name: &str) -> Result<Self, String> {
        let own = root.join(own.trim_start_matches('/'));
        let controllers = fs::read_to_string(own.join("cgroup.controllers"));
        let controllers = controllers.map_err(|_| "cgroup v2 is not mounted at /sys/fs/cgroup")?;
        let has = |name: &str| controllers.split_whitespace().any(|one| one == name);
        if let Some(missing) = CONTROLLERS.iter().find(|name| !has(name)) {
            return Err(format!(
                "the cgroup of this process has no controller {missing:?}"
            ));
        }
        let make = || -> io::Result<PathBuf> {
            // Nobody may be in a cgroup that has others below it: this process moves.
            let leaf = own.join(format!("{name}-itself"));
            fs::create_dir_all(&leaf)?;
            fs::write(leaf.join("cgroup.procs"), "0")?;
            let all = format!("+{}", CONTROLLERS.join(" +"));
            fs::write(own.join("cgroup.subtree_control"), &all)?;
            let below = own.join(name);
            fs::create_dir_all(&below)?;
            fs::write(below.join("cgroup.subtree_control"), &all)?;
            Ok(below)
        };
        make()
            .map(Self)
            .map_err(|error| format!("cgroups cannot be written: {error}"))
    }

    /// Makes the cgroup of a container.
    pub(crate) fn make(&self, id: &str, limits: &Limits) -> io::Result<PathBuf> {
        let folder = self.0.join(id.replace('/', "_"));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("pids.max"), PIDS_MAX.to_string())?;
        if let Some(memory) = limits.memory {
            fs::write(folder.join("memory.max"), memory.to_string())?;
            // What does not fit is killed, and not slow.
            let _ = fs::write(folder.join("memory.swap.max"), "0");
            // As kubelets have it: one that is out of memory is so as a whole.
            let _ = fs::write(folder.join("memory.oom.group"), "1");
        }
        if let Some(cpu_m) = limits.cpu_m {
            fs::write(folder.join("cpu.max"), cpu_max(cpu_m))?;
        }
        fs::write(
            folder.join("cpu.weight"),
            cpu_weight(limits.cpu_request_m).to_string(),
        )?;
        Ok(folder)
    }
}

fn cpu_max(cpu_m: i64) -> String {
    let quota = (cpu_m.saturating_mul(PERIOD_US) / 1_000).max(1_000);
    format!("{quota} {PERIOD_US}")
}

/// Shares, as cgroup v1 had them, on the scale of v2: upstream's `getCPUWeight`.
fn cpu_weight(cpu_m: i64) -> i64 {
    let shares = (cpu_m.saturating_mul(1_024) / 1_000).clamp(2, 262_144);
    1 + ((shares - 2) * 9_999) / 262_142
}

/// Takes a container's cgroup away, with all that is still in it.
pub(crate) fn remove(folder: &Path) {
    let _ = fs::write(folder.join("cgroup.kill"), "1");
    let _ = fs::remove_dir(folder);
}

/// Whether something in a cgroup was killed because its memory was used up.
pub(crate) fn was_out_of_memory(folder: &Path) -> bool {
    let events = fs::read_to_string(folder.join("memory.events")).unwrap_or_default();
    let mut kills = events
        .lines()
        .filter_map(|line| line.strip_prefix("oom_kill "));
    kills.any(|count| count.trim() != "0")
}

/// What is used: time on a cpu in nanoseconds, and bytes of memory.
pub(crate) fn usage(folder: &Path) -> Option<(u64, u64)> {
    let stat = fs::read_to_string(folder.join("cpu.stat")).ok()?;
    let micros = stat
        .lines()
        .find_map(|line| line.strip_prefix("usage_usec "))?;
    let memory = fs::read_to_string(folder.join("memory.current")).ok()?;
    let memory: u64 = memory.trim().parse().ok()?;
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let idle = stat
        .lines()
        .find_map(|line| line.strip_prefix("inactive_file "));
    let idle: u64 = idle.and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
    let micros: u64 = micros.parse().ok()?;
    Some((micros.saturating_mul(1_000), memory.saturating_sub(idle)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn limits_become_files() {
        let folder = Folder::new("cgroup");
        let own = folder.path().join("own");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("cgroup.controllers"), "cpu memory").unwrap();
        let missing = Cgroups::below(folder.path(), "/own", "pods").unwrap_err();
        assert!(missing.contains("\"pids\""), "{missing}");
        fs::write(own.join("cgroup.controllers"), "cpuset cpu memory pids").unwrap();
        let cgroups = Cgroups::below(folder.path(), "/own", "pods").unwrap();
        let limits = Limits {
            cpu_m: Some(250),
            memory: Some(64 << 20),
            cpu_request_m: 100,
        };
        let made = cgroups.make("u/c/0", &limits).unwrap();
        let read = |name: &str| fs::read_to_string(made.join(name)).unwrap();
        assert_eq!(read("memory.max"), "67108864");
        assert_eq!(read("cpu.max"), "25000 100000");
        assert_eq!(read("cpu.weight"), "4");
        assert_eq!(read("pids.max"), "4096");
        fs::write(made.join("memory.events"), "low 0\noom_kill 0\n").unwrap();
        assert!(!was_out_of_memory(&made));
        fs::write(made.join("memory.events"), "low 0\noom_kill 2\n").unwrap();
        assert!(was_out_of_memory(&made));
    }
}
