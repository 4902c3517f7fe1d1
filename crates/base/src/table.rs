//! A hash map that can be walked.

use crate::Lookup;
use std::borrow::Borrow;
use std::hash::Hash;

/// A hash map whose entries stand in a row: first come, first, until one is removed and the last
/// takes its place. That order follows from the calls and from nothing else.
///
/// For what comes and goes all the time: once it is as large as it gets, it allocates nothing.
#[derive(Clone, Debug)]
pub struct Table<K, V> {
    positions: Lookup<K, u32>,
    entries: Vec<(K, V)>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self {
            positions: Lookup::default(),
            entries: Vec::new(),
        }
    }
}

impl<K: Eq + Hash + Clone, V> Table<K, V> {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of `key`.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let at = *self.positions.get(key)?;
        Some(&self.entries[at as usize].1)
    }

    /// The value of `key`, to be changed.
    pub fn get_mut<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let at = *self.positions.get(key)?;
        Some(&mut self.entries[at as usize].1)
    }

    /// The value of `key`, made by `make` when absent.
    pub fn or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let entries = &mut self.entries;
        let at = *self.positions.or_insert_with(key.clone(), || end(entries)) as usize;
        if at == entries.len() {
            entries.push((key, make()));
        }
        &mut entries[at].1
    }

    /// Sets `key`; returns what it replaced.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let entries = &mut self.entries;
        let at = *self.positions.or_insert_with(key.clone(), || end(entries)) as usize;
        match entries.get_mut(at) {
            Some((_, held)) => Some(std::mem::replace(held, value)),
            None => {
                entries.push((key, value));
                None
            }
        }
    }

    /// Removes `key`; returns what it held.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let at = self.positions.remove(key)?;
        let (_, value) = self.entries.swap_remove(at as usize);
        if let Some((moved, _)) = self.entries.get(at as usize)
            && let Some(position) = self.positions.get_mut(moved.borrow())
        {
            *position = at;
        }
        Some(value)
    }

    /// All entries, in the order of the row.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// About how many bytes it takes up.
    pub fn bytes(&self) -> usize {
        self.positions.bytes() + self.entries.capacity() * size_of::<(K, V)>()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// The position that the next entry will have.
fn end<T>(entries: &[T]) -> u32 {
    u32::try_from(entries.len()).expect("fewer than 2^32 entries")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn a_table_is_a_map() {
        let mut table = Table::new();
        let mut model = BTreeMap::new();
        let mut rng = Rng::new(7);
        for value in 0..5_000 {
            let key = rng.below(50);
            match rng.below(4) {
                0 => assert_eq!(table.remove(&key), model.remove(&key)),
                1 => assert_eq!(table.get(&key), model.get(&key)),
                2 => {
                    let made = *table.or_insert_with(key, || value);
                    assert_eq!(made, *model.entry(key).or_insert(value));
                }
                _ => assert_eq!(table.insert(key, value), model.insert(key, value)),
            }
            let mut walked: Vec<_> = table.iter().collect();
            walked.sort_unstable();
            assert!(walked.into_iter().eq(&model));
            assert_eq!(table.len(), model.len());
        }
    }

    #[test]
    fn the_last_takes_the_place_of_one_that_is_removed() {
        let mut table = Table::new();
        for key in ["a", "b", "c", "d"] {
            table.insert(key, ());
        }
        table.remove("a");
        assert!(table.iter().map(|(key, ())| *key).eq(["d", "b", "c"]));
    }
}
