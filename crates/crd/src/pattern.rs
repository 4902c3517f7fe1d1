//! Regular expressions, compiled once.
//!
//! An expression costs thousands of times more to compile than to match, and a definition's is asked
//! for every value in every object.

use regex::Regex;
use std::cell::RefCell;
use std::collections::HashMap;

/// How many expressions each thread keeps.
const KEPT_MAX: usize = 256;

thread_local! {
    static KEPT: RefCell<HashMap<String, Regex>> = RefCell::default();
}

/// The expression, compiled now or earlier.
pub(crate) fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    KEPT.with_borrow_mut(|kept| {
        if let Some(regex) = kept.get(pattern) {
            return Ok(regex.clone());
        }
        let regex = Regex::new(pattern)?;
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(pattern.to_owned(), regex.clone());
        Ok(regex)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_right() {
        for round in 0..2 {
            for i in 0..=KEPT_MAX {
                let regex = compile(&format!("^a{{{i}}}$")).unwrap();
                assert!(regex.is_match(&"a".repeat(i)), "{round} {i}");
                assert!(KEPT.with_borrow(HashMap::len) <= KEPT_MAX);
            }
        }
        assert!(compile("(").is_err());
        assert!(!KEPT.with_borrow(|kept| kept.contains_key("(")));
    }
}
