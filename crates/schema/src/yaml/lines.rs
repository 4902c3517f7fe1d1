//! Lines of a text.

use std::cell::OnceCell;

/// Where lines end. Looked for once, and only if somebody asks.
#[derive(Default)]
pub(super) struct Lines {
    ends: OnceCell<Vec<usize>>,
}

impl Lines {
    /// The line in which something stands, counted from one.
    pub(super) fn line(&self, text: &[u8], offset: usize) -> usize {
        let ends = self.ends.get_or_init(|| {
            let bytes = text.iter().enumerate();
            bytes
                .filter(|(_, b)| **b == b'\n')
                .map(|(at, _)| at)
                .collect()
        });
        ends.partition_point(|end| *end < offset) + 1
    }
}
