//! A sign of life while something takes long.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// What is over sooner needs no sign.
const PATIENCE: Duration = Duration::from_millis(500);

/// Shown on standard error, if that is a terminal, until it is dropped.
pub(crate) struct Working(ProgressBar);

impl Working {
    /// Something begins that may take long.
    pub(crate) fn on(what: &'static str) -> Self {
        let bar = ProgressBar::new_spinner().with_message(what);
        let style = ProgressStyle::with_template("{spinner} {msg} … {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(PATIENCE);
        Self(bar)
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
