//! What is stored under a key.

use crate::Revision;
use bytes::Bytes;
use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

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
    /// The decoded form of the value: made by the first who asks, shared by all.
    ///
    /// One entry keeps one form. Who asks for another type gets it made for himself.
    pub fn decoded<T: Send + Sync + 'static>(&self, make: impl FnOnce(&[u8]) -> T) -> Arc<T> {
        self.slot.get_or_make(|| make(&self.value))
    }

    /// Bytes that it takes up, roughly.
    pub(crate) fn size(&self) -> usize {
        const OVERHEAD: usize = 160;
        self.key.len() + self.value.len() + OVERHEAD
    }
}

/// Room for one value of any type, filled once.
#[derive(Default)]
pub(crate) struct Slot(OnceLock<Arc<dyn Any + Send + Sync>>);

impl Slot {
    pub(crate) fn filled(value: Arc<dyn Any + Send + Sync>) -> Self {
        Self(OnceLock::from(value))
    }

    pub(crate) fn get_or_make<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut own: Option<Arc<T>> = None;
        let mut make = Some(make);
        let kept = self.0.get_or_init(|| match make.take() {
            Some(make) => own.insert(Arc::new(make())).clone(),
            None => Arc::new(()),
        });
        if let Some(own) = own {
            return own;
        }
        match (kept.clone().downcast::<T>(), make) {
            (Ok(kept), _) => kept,
            (Err(_), Some(make)) => Arc::new(make()),
            (Err(_), None) => unreachable!("what was made here was returned above"),
        }
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() {
            "filled"
        } else {
            "empty"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_slot_is_filled_once_and_keeps_its_type() {
        let slot = Slot::default();
        let made = Cell::new(0);
        let make = || {
            made.set(made.get() + 1);
            String::from("first")
        };
        let first = slot.get_or_make(make);
        let second = slot.get_or_make(make);
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(made.get(), 1);
        assert_eq!(*slot.get_or_make(|| 7_u32), 7, "another type is made anew");
        assert_eq!(*slot.get_or_make(|| 8_u32), 8);
        assert_eq!(*slot.get_or_make(make), "first");
    }

    #[test]
    fn a_filled_slot_makes_nothing() {
        let slot = Slot::filled(Arc::new(5_u8));
        assert_eq!(*slot.get_or_make(|| 6_u8), 5);
    }
}
