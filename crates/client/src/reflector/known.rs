//! The keys of what is there.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// Which objects of a kind there are, in which version: all that is kept of them. A list that is
/// taken again is compared with it.
#[derive(Default)]
pub(super) struct Known {
    entries: HashMap<(Box<str>, Box<str>), Entry>,
    /// Counts the lists that were begun.
    list: u32,
    hasher: RandomState,
}

struct Entry {
    /// A hash of `resourceVersion`, which is text that only its server understands.
    version: u64,
    /// The list in which, or after which, the object was last seen.
    list: u32,
}

/// What an object is to those who know the earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// It is known in this version.
    Same,
    /// It is new or changed.
    Changed,
}

impl Known {
    /// Everything is about to be listed.
    pub(super) fn start_list(&mut self) {
        self.list = self.list.wrapping_add(1);
    }

    /// An object is there.
    pub(super) fn see(&mut self, namespace: &str, name: &str, version: &str) -> Verdict {
        let version = self.hasher.hash_one(version);
        let list = self.list;
        let key = (namespace.into(), name.into());
        match self.entries.insert(key, Entry { version, list }) {
            Some(before) if before.version == version => Verdict::Same,
            _ => Verdict::Changed,
        }
    }

    /// An object is gone.
    pub(super) fn remove(&mut self, namespace: &str, name: &str) {
        let key: (Box<str>, Box<str>) = (namespace.into(), name.into());
        self.entries.remove(&key);
    }

    /// Whether an object is there.
    pub(super) fn has(&self, namespace: &str, name: &str) -> bool {
        let key: (Box<str>, Box<str>) = (namespace.into(), name.into());
        self.entries.contains_key(&key)
    }

    /// Everything was listed: what was not seen is gone.
    pub(super) fn end_list(&mut self) -> Vec<(Box<str>, Box<str>)> {
        let list = self.list;
        let mut gone: Vec<_> = self
            .entries
            .extract_if(|_, entry| entry.list != list)
            .map(|(key, _)| key)
            .collect();
        gone.sort_unstable();
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_list_tells_what_is_new_changed_and_gone() {
        let mut known = Known::default();
        known.start_list();
        assert_eq!(known.see("n", "stays", "1"), Verdict::Changed);
        assert_eq!(known.see("n", "changes", "2"), Verdict::Changed);
        assert_eq!(known.see("n", "goes", "3"), Verdict::Changed);
        assert!(known.end_list().is_empty());
        assert_eq!(known.see("n", "comes", "4"), Verdict::Changed);
        known.see("n", "deleted", "5");
        known.remove("n", "deleted");
        // The first attempt at a list breaks off.
        known.start_list();
        known.see("n", "goes", "3");
        known.start_list();
        assert_eq!(known.see("n", "stays", "1"), Verdict::Same);
        assert_eq!(known.see("n", "changes", "6"), Verdict::Changed);
        assert_eq!(known.see("n", "comes", "4"), Verdict::Same);
        assert_eq!(known.end_list(), [("n".into(), "goes".into())]);
        assert!(known.end_list().is_empty());
    }
}
