//! What the operating system says of the process. The metrics of Prometheus' own client libraries.

use crate::registry::{Kind, Text};

/// The kernel counts time for others in hundredths of a second, whatever it uses itself.
const TICKS_PER_SECOND: f64 = 100.0;

/// The names of the metrics of this file.
pub(crate) const NAMES: [&str; 5] = [
    "process_cpu_seconds_total",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
];

const HELP: [(Kind, &str); 5] = [
    (
        Kind::Counter,
        "Total user and system CPU time spent in seconds.",
    ),
    (Kind::Gauge, "Number of open file descriptors."),
    (Kind::Gauge, "Resident memory size in bytes."),
    (
        Kind::Gauge,
        "Start time of the process since unix epoch in seconds.",
    ),
    (Kind::Gauge, "Virtual memory size in bytes."),
];

/// Writes what is known; nothing where there is no `/proc`.
pub(crate) fn write(text: &mut Text) {
    let Some(values) = read() else { return };
    for ((name, (kind, help)), value) in NAMES.iter().zip(HELP).zip(values) {
        text.plain_header(name, kind, help);
        text.sample(name, &[], value);
    }
}

fn read() -> Option<[f64; 5]> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program is in parentheses and may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    // The first of these is field 3 of proc(5).
    let field = |n: usize| fields.get(n - 3)?.parse::<f64>().ok();
    let resident = memory("VmRSS:")?;
    let boot = std::fs::read_to_string("/proc/stat").ok()?;
    let boot = boot.lines().find_map(|line| line.strip_prefix("btime "))?;
    let boot: f64 = boot.trim().parse().ok()?;
    let open = std::fs::read_dir("/proc/self/fd").ok()?.count();
    Some([
        (field(14)? + field(15)?) / TICKS_PER_SECOND,
        open as f64,
        resident,
        boot + field(22)? / TICKS_PER_SECOND,
        field(23)?,
    ])
}

fn memory(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024.0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_seen() {
        let [_, open, resident, start, virtual_size] = read().unwrap();
        assert!(open >= 3.0 && resident > 100_000.0 && virtual_size >= resident);
        assert!(start > 1_600_000_000.0);
    }
}
