//! What is made from texts of a definition once, and used for every value in every object.

use std::cell::RefCell;
use std::collections::HashMap;

/// How many are kept.
const KEPT_MAX: usize = 256;

/// What was made of texts, by text. Each thread has its own.
pub(crate) struct Kept<T>(RefCell<HashMap<String, T>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T: Clone> Kept<T> {
    /// What a text came to, now or earlier. Failures are not kept.
    pub(crate) fn get<E>(
        &self,
        text: &str,
        make: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut kept = self.0.borrow_mut();
        if let Some(known) = kept.get(text) {
            return Ok(known.clone());
        }
        let made = make(text)?;
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(text.to_owned(), made.clone());
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn what_is_kept_is_bounded_and_right() {
        let kept = Kept::default();
        let made = Cell::new(0);
        let make = |text: &str| {
            made.set(made.get() + 1);
            text.parse::<usize>()
        };
        for i in 0..=KEPT_MAX {
            assert_eq!(kept.get(&i.to_string(), make), Ok(i));
            assert_eq!(kept.get(&i.to_string(), make), Ok(i));
            assert_eq!(made.get(), i + 1, "each is made once");
            assert!(kept.0.borrow().len() <= KEPT_MAX);
        }
        assert!(kept.get("x", make).is_err());
        assert!(!kept.0.borrow().contains_key("x"));
    }
}
