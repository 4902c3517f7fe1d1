//! Revisions.

use std::fmt;

/// The number of a write: one more for each, never given twice, also across restarts.
///
/// A store without any writes is at [`Revision::FIRST`], so that 0 stays free for "any".
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Revision(pub u64);

impl Revision {
    /// Where an empty store is, as in etcd. The first write gets the next one.
    pub const FIRST: Self = Self(1);

    /// The revision of the write after this one.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// How many writes lie between an earlier revision and this one; 0 if it is not earlier.
    pub(crate) fn since(self, earlier: Self) -> usize {
        usize::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
