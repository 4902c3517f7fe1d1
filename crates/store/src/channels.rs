//! Events by prefix, for watches.

use crate::{Event, Revision};
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use tokio::sync::Notify;

/// One channel for each prefix that somebody watches. An event is put into all channels that it
/// concerns, so that a watch neither wakes up for others nor searches the history.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    by_prefix: HashMap<Bytes, Channel>,
    /// How many channels have a prefix of that length: a key is looked up once per length.
    lengths: BTreeMap<usize, usize>,
}

/// The kept events of one prefix.
#[derive(Debug)]
pub(crate) struct Channel {
    /// Every event of the prefix after this revision is or was here.
    complete_after: Revision,
    /// The last event that was dropped; who has not seen it has a gap.
    pub(crate) lost: Revision,
    events: VecDeque<Arc<Event>>,
    notify: Arc<Notify>,
    watches: usize,
}

impl Channel {
    /// At most `max` events after a revision, with at most so many bytes (or one event), and whether
    /// these are all.
    pub(crate) fn after(
        &self,
        revision: Revision,
        max: usize,
        bytes_max: usize,
    ) -> (Vec<Arc<Event>>, bool) {
        let start = self.events.partition_point(|e| e.revision <= revision);
        let mut bytes = 0;
        let fits = |event: &&Arc<Event>| {
            let first = bytes == 0;
            bytes += event.key().len() + event.entry.value.len();
            first || bytes <= bytes_max
        };
        let new = self.events.range(start..).take(max).take_while(fits);
        let events: Vec<_> = new.cloned().collect();
        let all = start + events.len() == self.events.len();
        (events, all)
    }
}

impl Channels {
    /// After which revision every event of a prefix is here; `now` is that of the store.
    pub(crate) fn complete_after(&self, prefix: &[u8], now: Revision) -> Revision {
        let channel = self.by_prefix.get(prefix);
        channel.map_or(now, |channel| channel.complete_after)
    }

    /// Adds a watch from `after` on. `now` is the revision of the store, `older` the events of the prefix
    /// after `after`, `newer` all events that come after those.
    pub(crate) fn join<'a>(
        &mut self,
        prefix: &Bytes,
        after: Revision,
        now: Revision,
        older: Vec<Arc<Event>>,
        newer: impl Iterator<Item = &'a Arc<Event>>,
    ) -> Arc<Notify> {
        let channel = self.by_prefix.entry(prefix.clone()).or_insert_with(|| {
            *self.lengths.entry(prefix.len()).or_default() += 1;
            Channel {
                complete_after: now,
                lost: Revision(0),
                events: VecDeque::new(),
                notify: Arc::new(Notify::new()),
                watches: 0,
            }
        });
        channel.watches += 1;
        if after < channel.complete_after {
            let newer = newer.filter(|event| event.key().starts_with(prefix));
            let missing = older.into_iter().chain(newer.cloned());
            let complete_after = channel.complete_after;
            let missing: Vec<_> = missing
                .take_while(|event| event.revision <= complete_after)
                .collect();
            for event in missing.into_iter().rev() {
                channel.events.push_front(event);
            }
            channel.complete_after = after;
        }
        channel.notify.clone()
    }

    /// Removes a watch, and its channel if it was the last: that is given back.
    pub(crate) fn leave(&mut self, prefix: &Bytes) -> Option<Channel> {
        let channel = self.by_prefix.get_mut(prefix)?;
        channel.watches -= 1;
        if channel.watches > 0 {
            return None;
        }
        if let Some(count) = self.lengths.get_mut(&prefix.len()) {
            *count -= 1;
        }
        self.lengths.retain(|_, count| *count > 0);
        self.by_prefix.remove(prefix)
    }

    pub(crate) fn get(&self, prefix: &Bytes) -> Option<&Channel> {
        self.by_prefix.get(prefix)
    }

    /// Puts an event into its channels. `before` is the revision before the batch it belongs to:
    /// each channel is woken once per batch.
    pub(crate) fn push(
        &mut self,
        event: &Arc<Event>,
        before: Revision,
        wake: &mut Vec<Arc<Notify>>,
    ) {
        for (length, _) in self.lengths.range(..=event.key().len()) {
            let Some(channel) = self.by_prefix.get_mut(&event.key()[..*length]) else {
                continue;
            };
            if channel.events.back().is_none_or(|e| e.revision <= before) {
                wake.push(channel.notify.clone());
            }
            channel.events.push_back(event.clone());
        }
    }

    /// Drops the events up to a revision.
    pub(crate) fn trim(&mut self, to: Revision) {
        for channel in self.by_prefix.values_mut() {
            let count = channel.events.partition_point(|e| e.revision <= to);
            if let Some(last) = channel.events.drain(..count).next_back() {
                channel.lost = last.revision;
            }
            channel.complete_after = channel.complete_after.max(to);
        }
    }

    /// Everybody, to be told that the store is closed.
    pub(crate) fn all(&self) -> Vec<Arc<Notify>> {
        self.by_prefix.values().map(|c| c.notify.clone()).collect()
    }

    pub(crate) fn watches(&self) -> usize {
        self.by_prefix.values().map(|c| c.watches).sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Expect, Options, Revision, Store, Txn};

    fn put(store: &Store, key: &str) -> Revision {
        let put = Txn::new().put(key.to_owned(), "v", Expect::Any);
        store.commit_blocking(put).expect("stored").revision
    }

    /// Whatever is there of a channel already, a watch is told each event once and in order.
    #[test]
    fn watches_of_one_channel_may_begin_anywhere() {
        let store = Store::in_memory(Options::default());
        let first = store.revision();
        let revisions: Vec<Revision> = (0..8).map(|i| put(&store, ["/a/x", "/b"][i % 2])).collect();
        assert_eq!(store.events_to_join(b"/a/", first), 8);
        let late = store.watch("/a/", revisions[3]).expect("kept");
        assert_eq!(store.events_to_join(b"/a/", revisions[3]), 0);
        assert_eq!(store.events_to_join(b"/a/", first), 4);
        let early = store.watch("/a/", first).expect("kept");
        put(&store, "/a/y");
        for (mut watch, count) in [(early, 5), (late, 3)] {
            let seen = watch.try_next().expect("open").events;
            assert_eq!(seen.len(), count);
            assert!(
                seen.windows(2)
                    .all(|pair| pair[0].revision < pair[1].revision)
            );
        }
        assert_eq!(store.stats().watches, 0);
    }
}
