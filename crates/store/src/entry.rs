//! What is stored under a key.

use crate::Revision;
use crate::decoded::Slot;
use bytes::Bytes;
use std::sync::Arc;

/// One version of a key, as one write left it. Never changes.
#[derive(Debug)]
pub struct Entry {
    /// Where it is stored.
    pub key: Bytes,
    /// What is stored.
    pub value: Bytes,
    /// The revision of the write that created the key (anew, if it was deleted before).
    pub create_revision: Revision,
    /// The revision of the write that made this version.
    pub mod_revision: Revision,
    /// How many writes since the creation, that one included.
    pub version: u64,
    pub(crate) slot: Slot,
}

impl Entry {
    /// The decoded form of the value: made by the first who asks, shared by all as long as there is
    /// room for it ([`crate::Options::decoded_bytes`]).
    ///
    /// One entry keeps one form. Who asks for another type gets it made for himself.
    pub fn decoded<T: Send + Sync + 'static>(&self, make: impl FnOnce(&[u8]) -> T) -> Arc<T> {
        let size = self.value.len();
        self.slot.get_or_make(size, || make(&self.value))
    }

    /// The decoded form, if somebody has asked for it and it is still there.
    pub fn decoded_before<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.slot.get()
    }

    /// Bytes that it takes up, roughly.
    pub(crate) fn size(&self) -> usize {
        Self::size_of(&self.key, &self.value)
    }

    /// Bytes that an entry takes up, roughly.
    pub(crate) fn size_of(key: &[u8], value: &[u8]) -> usize {
        const OVERHEAD: usize = 170;
        key.len() + value.len() + OVERHEAD
    }
}
