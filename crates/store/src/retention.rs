//! How much history is kept.

/// How much history a store keeps of itself; [`crate::Store::compact`] drops more.
///
/// The newest `revisions` writes are kept (somewhat more, since history is dropped in pieces),
/// unless they take up more than `bytes`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Retention {
    /// Writes to keep at least, if there is room.
    pub revisions: usize,
    /// Bytes that old versions may take up in memory.
    pub bytes: usize,
}

impl Retention {
    /// Keeps everything until somebody compacts.
    pub const ALL: Self = Self {
        revisions: usize::MAX,
        bytes: usize::MAX,
    };
}

impl Default for Retention {
    /// 100,000 writes, at most 128 MiB.
    fn default() -> Self {
        Self {
            revisions: 100_000,
            bytes: 128 << 20,
        }
    }
}
