//! The machine that a run is made on.

/// The most memory that this process ever held; `None` where the system does not tell.
pub(super) fn peak_rss_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib = field(&status, "VmHWM:")?;
    Some(kib as f64 / 1024.0)
}

/// The number behind a name, in the form of `/proc`.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line[name.len()..].split_whitespace().next()?.parse().ok()
}
