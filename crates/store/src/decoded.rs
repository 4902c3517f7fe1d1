//! Decoded forms of entries, kept for whoever asks next.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A decoded form, of whatever type.
type Form = Arc<dyn Any + Send + Sync>;

/// Keeps decoded forms alive, up to a bound for all entries together: of a large history of large
/// objects only bytes stay in memory. Those that were made first go first.
#[derive(Debug)]
pub(crate) struct Cache {
    bytes_max: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    forms: VecDeque<(Form, usize)>,
    bytes: usize,
}

impl Cache {
    /// What a decoded form takes up for each byte that it was made from, roughly: trees of JSON were
    /// measured.
    const BYTES_PER_BYTE: usize = 15;

    pub(crate) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
            bytes_max,
            kept: Mutex::default(),
        })
    }

    /// Keeps a form that was made from so many bytes, for a while.
    fn keep(&self, form: Form, encoded: usize) {
        let size = encoded.saturating_mul(Self::BYTES_PER_BYTE);
        if size > self.bytes_max {
            return;
        }
        // Freed without a lock.
        let mut gone = Vec::new();
        let mut kept = lock(&self.kept);
        kept.forms.push_back((form, size));
        kept.bytes += size;
        while kept.bytes > self.bytes_max {
            let Some((form, size)) = kept.forms.pop_front() else {
                break;
            };
            kept.bytes -= size;
            gone.push(form);
        }
        drop(kept);
    }

    /// Bytes that are held, roughly.
    pub(crate) fn bytes(&self) -> usize {
        lock(&self.kept).bytes
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} forms, {} bytes", self.forms.len(), self.bytes)
    }
}

/// Where an entry finds its decoded form again, as long as somebody holds it.
pub(crate) struct Slot {
    cache: Arc<Cache>,
    form: Mutex<Option<Weak<dyn Any + Send + Sync>>>,
}

impl Slot {
    pub(crate) fn new(cache: &Arc<Cache>) -> Self {
        Self {
            cache: Arc::clone(cache),
            form: Mutex::new(None),
        }
    }

    /// The form, if somebody holds it.
    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let known = lock(&self.form).as_ref().and_then(Weak::upgrade)?;
        known.downcast().ok()
    }

    /// The form, found or made. Two who ask at once may both make it: nobody waits for another.
    pub(crate) fn get_or_make<T: Send + Sync + 'static>(
        &self,
        encoded: usize,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let known = lock(&self.form).as_ref().and_then(Weak::upgrade);
        match known.map(Arc::downcast::<T>) {
            Some(Ok(form)) => return form,
            // An entry keeps one form.
            Some(Err(_)) => return Arc::new(make()),
            None => {}
        }
        let made = Arc::new(make());
        let form: Form = made.clone();
        *lock(&self.form) = Some(Arc::downgrade(&form));
        self.cache.keep(form, encoded);
        made
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let filled = lock(&self.form)
            .as_ref()
            .is_some_and(|form| form.strong_count() > 0);
        f.write_str(if filled { "filled" } else { "empty" })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_slot_is_filled_once_and_keeps_its_type() {
        let slot = Slot::new(&Cache::new(1_000));
        assert!(slot.get::<String>().is_none());
        let made = Cell::new(0);
        let make = || {
            made.set(made.get() + 1);
            String::from("first")
        };
        let first = slot.get_or_make(1, make);
        let second = slot.get_or_make(1, make);
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(made.get(), 1);
        assert!(
            slot.get::<String>()
                .is_some_and(|form| Arc::ptr_eq(&first, &form))
        );
        assert!(slot.get::<u32>().is_none());
        let other = slot.get_or_make(1, || 7_u32);
        assert_eq!(*other, 7, "another type is made anew");
        assert_eq!(*slot.get_or_make(1, || 8_u32), 8);
        assert_eq!(*slot.get_or_make(1, make), "first");
    }

    #[test]
    fn the_oldest_forms_are_forgotten_when_there_are_too_many() {
        let room = 3 * 10 * Cache::BYTES_PER_BYTE;
        let cache = Cache::new(room);
        let slots: Vec<Slot> = (0..4).map(|_| Slot::new(&cache)).collect();
        let made = Cell::new(0);
        let ask = |i: usize| {
            let make = || {
                made.set(made.get() + 1);
                i
            };
            assert_eq!(*slots[i].get_or_make(10, make), i);
        };
        (0..4).for_each(ask);
        assert_eq!((made.get(), cache.bytes()), (4, room));
        (1..4).for_each(ask);
        assert_eq!(made.get(), 4, "the last three are there");
        ask(0);
        assert_eq!(made.get(), 5, "the first was forgotten");
    }

    #[test]
    fn what_is_in_use_is_shared_even_if_it_is_too_large_to_be_kept() {
        let cache = Cache::new(10);
        let slot = Slot::new(&cache);
        let first = slot.get_or_make(1_000, || 1_u8);
        assert!(Arc::ptr_eq(&first, &slot.get_or_make(1_000, || 2_u8)));
        drop(first);
        assert_eq!(*slot.get_or_make(1_000, || 3_u8), 3);
        assert_eq!(cache.bytes(), 0);
    }
}
