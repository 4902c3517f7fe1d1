//! Reading many keys at one revision.

use crate::state::State;
use crate::{Entry, Error, Revision};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Bound;
use std::sync::Arc;

/// Entries as they all were at one revision.
#[derive(Clone, Debug)]
pub struct Page {
    /// In the order of their keys.
    pub entries: Vec<Arc<Entry>>,
    /// The revision at which they were read; the next page must be read at the same.
    pub revision: Revision,
    /// Whether there are entries after the last one.
    pub more: bool,
    /// How many.
    pub remaining: usize,
}

impl State {
    pub(crate) fn range(
        &self,
        prefix: &[u8],
        at: Option<Revision>,
        after: Option<&[u8]>,
        limit: Option<usize>,
    ) -> Result<Page, Error> {
        let revision = at.unwrap_or(self.revision);
        self.readable(revision)?;
        let current = self.from(prefix, after);
        if revision == self.revision {
            return Ok(page(current, revision, limit));
        }
        let then = self.changed_since(prefix, after, revision);
        let current = current.filter(|entry| !then.contains_key(entry.key.as_ref()));
        let undone = then.values().copied().flatten();
        Ok(page(merged(current, undone), revision, limit))
    }

    pub(crate) fn count(&self, prefix: &[u8]) -> usize {
        self.from(prefix, None).count()
    }

    pub(crate) fn outweighs(&self, prefix: &[u8], count: usize, bytes: usize) -> bool {
        let mut sum = 0;
        let mut light = self.from(prefix, None).enumerate().map(|(i, entry)| {
            sum += entry.value.len();
            i < count && sum <= bytes
        });
        light.any(|light| !light)
    }

    pub(crate) fn bytes(&self, prefix: &[u8], enough: usize) -> usize {
        let mut sum = 0;
        for entry in self.from(prefix, None) {
            sum += entry.value.len();
            if sum > enough {
                break;
            }
        }
        sum
    }

    /// The current entries of a prefix, past a key.
    fn from<'a>(
        &'a self,
        prefix: &'a [u8],
        after: Option<&'a [u8]>,
    ) -> impl Iterator<Item = &'a Arc<Entry>> {
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        self.current
            .range::<[u8], _>((start, Bound::Unbounded))
            .take_while(move |(key, _)| key.starts_with(prefix))
            .map(|(_, entry)| entry)
    }

    /// The keys that were written after a revision, with what they held at that revision.
    fn changed_since(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
        revision: Revision,
    ) -> BTreeMap<&[u8], Option<&Arc<Entry>>> {
        let mut then = BTreeMap::new();
        let concerned =
            |key: &Bytes| key.starts_with(prefix) && after.is_none_or(|after| key.as_ref() > after);
        for event in self.history_after(revision) {
            if concerned(event.key()) {
                then.entry(event.key().as_ref())
                    .or_insert(event.previous.as_ref());
            }
        }
        then
    }
}

fn page<'a>(
    mut entries: impl Iterator<Item = &'a Arc<Entry>>,
    revision: Revision,
    limit: Option<usize>,
) -> Page {
    let first: Vec<_> = match limit {
        Some(limit) => entries.by_ref().take(limit).cloned().collect(),
        None => entries.by_ref().cloned().collect(),
    };
    let remaining = entries.count();
    Page {
        entries: first,
        revision,
        more: remaining > 0,
        remaining,
    }
}

/// Two ordered sequences without a common key, as one.
fn merged<'a>(
    one: impl Iterator<Item = &'a Arc<Entry>>,
    other: impl Iterator<Item = &'a Arc<Entry>>,
) -> impl Iterator<Item = &'a Arc<Entry>> {
    let mut one: Peekable<_> = one.peekable();
    let mut other: Peekable<_> = other.peekable();
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(a), Some(b)) if a.key < b.key => one.next(),
        (Some(_), None) => one.next(),
        _ => other.next(),
    })
}
