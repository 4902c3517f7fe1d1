//! What is made from texts once and used often: regular expressions, programs.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How many are kept, and how many bytes they may take up together.
const KEPT_MAX: usize = 1024;
const BYTES_MAX: usize = 64 << 20;

/// What was made of texts, by text, failures included.
pub struct Kept<T>(Mutex<Known<T>>);

struct Known<T> {
    made: HashMap<String, T>,
    bytes: usize,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::new(Known {
            made: HashMap::new(),
            bytes: 0,
        }))
    }
}

impl<T: Clone> Kept<T> {
    /// What a text came to, now or earlier. `make` also says how many bytes that takes up; nobody
    /// waits for it.
    pub fn get<E>(
        &self,
        text: &str,
        make: impl FnOnce(&str) -> Result<(T, usize), E>,
    ) -> Result<T, E> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = lock().made.get(text) {
            return Ok(made.clone());
        }
        let (made, bytes) = make(text)?;
        let bytes = bytes.saturating_add(text.len());
        let mut known = lock();
        if known.made.len() >= KEPT_MAX || known.bytes.saturating_add(bytes) > BYTES_MAX {
            known.made.clear();
            known.bytes = 0;
        }
        if bytes <= BYTES_MAX && known.made.insert(text.to_owned(), made.clone()).is_none() {
            known.bytes += bytes;
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    type Made = Result<usize, ()>;

    #[test]
    fn what_is_kept_is_bounded_and_right() {
        let kept = Kept::default();
        let made = Cell::new(0);
        let make = |bytes: usize| {
            let made = &made;
            move |text: &str| {
                made.set(made.get() + 1);
                Ok::<_, ()>((text.parse::<usize>().map_err(|_| ()), bytes))
            }
        };
        let get = |text: &str, bytes: usize| -> Made { kept.get(text, make(bytes)).unwrap() };
        for i in 0..=KEPT_MAX {
            assert_eq!(get(&i.to_string(), 1), Ok(i));
            assert_eq!(get(&i.to_string(), 1), Ok(i));
            assert_eq!(made.get(), i + 1, "each is made once");
            assert!(kept.0.lock().unwrap().made.len() <= KEPT_MAX);
        }
        let before = made.get();
        assert_eq!(get("x", 1), Err(()));
        assert_eq!(get("x", 1), Err(()));
        assert_eq!(made.get(), before + 1, "failures are kept");
        for i in 0..10 {
            assert_eq!(get(&i.to_string(), BYTES_MAX / 4), Ok(i));
            assert!(kept.0.lock().unwrap().bytes <= BYTES_MAX);
        }
    }
}
