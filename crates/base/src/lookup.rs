//! A hash map that can be asked but not walked.

#![expect(clippy::disallowed_types, reason = "it offers no way to walk the map")]

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A hash map without iteration: hash order can never leak into a decision.
///
/// Whoever needs order keeps a `Vec` or a `BTreeMap` beside it.
#[derive(Clone, Debug)]
pub struct Lookup<K, V> {
    map: HashMap<K, V, BuildHasherDefault<WordHasher>>,
}

impl<K, V> Default for Lookup<K, V> {
    fn default() -> Self {
        Self {
            map: HashMap::default(),
        }
    }
}

impl<K: Eq + Hash, V> Lookup<K, V> {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty map with room for so many keys.
    pub fn with_capacity(keys: usize) -> Self {
        Self {
            map: HashMap::with_capacity_and_hasher(keys, BuildHasherDefault::default()),
        }
    }

    /// The value of `key`.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.map.get(key)
    }

    /// The value of `key`, to be changed.
    pub fn get_mut<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.map.get_mut(key)
    }

    /// Whether `key` is present.
    pub fn contains<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.map.contains_key(key)
    }

    /// Sets `key`; returns what it replaced.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.map.insert(key, value)
    }

    /// Removes `key`; returns what it held.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.map.remove(key)
    }

    /// The value of `key`, made by `make` when absent.
    pub fn or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        self.map.entry(key).or_insert_with(make)
    }

    /// Shows all entries, in no order: for what comes out the same in any.
    pub fn each(&self, mut see: impl FnMut(&K, &V)) {
        self.map.iter().for_each(|(key, value)| see(key, value));
    }

    /// About how many bytes it takes up.
    pub fn bytes(&self) -> usize {
        // A byte for each place, and of eight places one stays free.
        self.map.capacity() * 8 / 7 * (size_of::<(K, V)>() + 1)
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

/// Multiply-and-rotate hashing, word by word: quick on ids, the same on every run.
#[derive(Clone, Copy, Default)]
pub struct WordHasher(u64);

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

impl WordHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(SEED);
    }
}

impl Hasher for WordHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        if rest.is_empty() {
            return;
        }
        self.add(match bytes.last_chunk() {
            // Some of them for the second time: that is quicker than one by one.
            Some(last) => u64::from_le_bytes(*last),
            None => rest
                .iter()
                .rev()
                .fold(0, |word, b| word << 8 | u64::from(*b)),
        });
    }

    fn write_u8(&mut self, n: u8) {
        self.add(u64::from(n));
    }

    fn write_u32(&mut self, n: u32) {
        self.add(u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        self.add(n);
    }

    fn write_usize(&mut self, n: usize) {
        self.add(n as u64);
    }

    fn finish(&self) -> u64 {
        // The table takes its index from the low bits; the product's best bits are the high ones.
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insert_get_remove() {
        let mut map = Lookup::new();
        for i in 0_u32..1000 {
            assert_eq!(map.insert(i, i * 2), None);
        }
        assert_eq!(map.get(&500), Some(&1000));
        assert_eq!(map.remove(&500), Some(1000));
        assert_eq!(map.get(&500), None);
        assert_eq!(map.len(), 999);
    }
}
