//! How far the run is: a bar on a terminal, a line per workload elsewhere.

use super::table;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;
use stowplan_bench::Report;

/// Steps of a bar.
const STEPS: f64 = 1000.0;

/// Shown on standard error, if anything is.
pub(super) enum Progress {
    Bar(ProgressBar),
    Lines,
    Nothing,
}

impl Progress {
    /// A bar or lines, unless results are printed as they come and nobody looks.
    pub(super) fn new(results_follow: bool) -> Self {
        if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new(STEPS as u64);
            let style =
                ProgressStyle::with_template("{prefix} {msg} {wide_bar} {percent:>3}% {elapsed}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(Duration::from_millis(200));
            Self::Bar(bar)
        } else if results_follow {
            Self::Lines
        } else {
            Self::Nothing
        }
    }

    /// A workload begins, the `at`th of so many.
    pub(super) fn begin(&self, at: usize, of: usize, workload: &str) {
        if let Self::Bar(bar) = self {
            bar.set_prefix(format!("[{}/{of}]", at + 1));
            bar.set_message(workload.to_owned());
            bar.set_position(0);
            bar.reset_elapsed();
        }
    }

    /// So much of it is done, from 0 to 1.
    pub(super) fn done(&self, share: f64) {
        if let Self::Bar(bar) = self {
            bar.set_position((share * STEPS) as u64);
        }
    }

    /// It is over.
    pub(super) fn end(&self, report: &Report) {
        match self {
            Self::Bar(bar) => bar.println(table::line(report)),
            Self::Lines => anstream::eprintln!("{}", table::line(report)),
            Self::Nothing => {}
        }
    }

    /// Everything is over.
    pub(super) fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
