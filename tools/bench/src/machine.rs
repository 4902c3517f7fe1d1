//! The machine that a run is made on, as far as the system tells.

use std::fmt;

/// The machine that a run is made on, as far as the system tells.
pub struct Machine {
    cores: usize,
    memory_gib: Option<u64>,
    model: Option<String>,
}

impl Machine {
    /// This machine.
    pub fn this() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        Self {
            cores: std::thread::available_parallelism().map_or(1, Into::into),
            memory_gib: number(&read("/proc/meminfo"), "MemTotal:")
                .map(|kib| (kib + (1 << 19)) >> 20),
            model: value(&read("/proc/cpuinfo"), "model name")
                .map(|model| model.trim_start_matches([' ', '\t', ':']).to_owned()),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cores {
            1 => f.write_str("1 core")?,
            cores => write!(f, "{cores} cores")?,
        }
        if let Some(model) = &self.model {
            write!(f, " ({model})")?;
        }
        match self.memory_gib {
            Some(gib) => write!(f, ", {gib} GiB of memory"),
            None => Ok(()),
        }
    }
}

/// The most memory that this process ever held; `None` where the system does not tell.
pub(crate) fn peak_rss_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    number(&status, "VmHWM:").map(|kib| kib as f64 / 1024.0)
}

/// Forgets the peak, where the system can: what counts is the memory from now on.
pub(crate) fn reset_peak_rss() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Writes to so much memory, or to half of what is free, and gives it back.
///
/// A virtual machine may get memory from its host only when it first touches it: decisions at which the heap
/// grew were seen to take 5 ms longer, in the first runs after the machine was started only. That is not the
/// engine's time. (What the system itself takes to clear a page is, and still counts.)
pub fn touch_memory(bytes: u64) {
    const PAGE: usize = 4096;
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = number(&info, "MemAvailable:").map_or(0, |kib| kib << 10);
    let bytes = usize::try_from(bytes.min(free / 2)).unwrap_or(0);
    let mut memory = vec![0_u8; bytes];
    memory.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    std::hint::black_box(&memory);
}

/// What follows a name at the beginning of a line, in the files of `/proc`.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name))
}

fn number(text: &str, name: &str) -> Option<u64> {
    value(text, name)?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_proc() {
        let text = "Name:\tstowplan\nVmHWM:\t  123456 kB\nmodel name\t: Some CPU @ 2GHz\n";
        assert_eq!(number(text, "VmHWM:"), Some(123_456));
        assert_eq!(number(text, "VmRSS:"), None);
        assert_eq!(value(text, "model name"), Some("\t: Some CPU @ 2GHz"));
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let mut machine = Machine {
            cores: 2,
            memory_gib: None,
            model: None,
        };
        assert_eq!(machine.to_string(), "2 cores");
        machine.memory_gib = Some(23);
        machine.model = Some("Some CPU".to_owned());
        assert_eq!(machine.to_string(), "2 cores (Some CPU), 23 GiB of memory");
    }
}
