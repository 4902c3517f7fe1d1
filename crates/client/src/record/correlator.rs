//! Which events are written, and as what. client-go's `events_cache.go`.

use super::{COMBINED, Record, V1Event};
use jiff::{SignedDuration, Timestamp};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// How much is remembered of each. client-go's limit.
const REMEMBERED_MAX: usize = 4_096;
/// How many events of one source about one object are written at once, and how often one more.
const BURST: f64 = 25.0;
const REFILL_S: f64 = 300.0;
/// So many that differ in their message only, within this long, become one.
const SIMILAR_MAX: usize = 10;
const SIMILAR_WITHIN: SignedDuration = SignedDuration::from_secs(600);

/// Source and object.
type About = (Arc<str>, Arc<str>, Arc<str>, Arc<str>);
/// The same with type and reason.
type Similar = (About, Option<String>, &'static str, Cow<'static, str>);

/// What is remembered of events.
#[derive(Default)]
pub(super) struct Correlator {
    /// How many more of one source about one object may be written, and since when.
    allowed: Remembered<About, (f64, Timestamp)>,
    /// Messages of events that are alike but for them, and when the last came.
    similar: Remembered<Similar, (BTreeSet<String>, Timestamp)>,
    /// Events as they were written.
    written: Remembered<(Similar, String), Record>,
}

impl Correlator {
    /// What has to be written about an event, if anything.
    pub(super) fn correlate(&mut self, mut event: V1Event, now: Timestamp) -> Option<Record> {
        let V1Event { about, .. } = &event;
        let who: About = (
            event.component.clone(),
            about.namespace.clone(),
            about.name.clone(),
            about.uid.clone(),
        );
        let (kind, reason) = (event.event_type.text(), event.reason.clone());
        // Of whatever part of the object.
        let mut like: Similar = (who.clone(), None, kind, reason);
        let message = if self.is_one_of_many(&like, &event.message, now) {
            event.message = format!("{COMBINED}{}", event.message);
            String::new()
        } else {
            like.1.clone_from(&event.field_path);
            event.message.clone()
        };
        let record = self.counted((like, message), event, now);
        self.is_allowed(who, now).then_some(record)
    }

    fn is_one_of_many(&mut self, like: &Similar, message: &str, now: Timestamp) -> bool {
        let fresh = || (BTreeSet::new(), now);
        let (messages, last) = self.similar.entry(like, fresh);
        if now.duration_since(*last) > SIMILAR_WITHIN {
            messages.clear();
        }
        *last = now;
        messages.insert(message.to_owned());
        if messages.len() < SIMILAR_MAX {
            return false;
        }
        messages.pop_first();
        true
    }

    fn counted(&mut self, key: (Similar, String), event: V1Event, now: Timestamp) -> Record {
        let name = || format!("{}.{:x}", event.about.name, now.as_nanosecond());
        let fresh = || Record {
            event: event.clone(),
            name: name(),
            first: now,
            last: now,
            count: 0,
        };
        let record = self.written.entry(&key, fresh);
        record.count = record.count.saturating_add(1);
        record.last = now;
        record.event.message.clone_from(&event.message);
        record.clone()
    }

    fn is_allowed(&mut self, who: About, now: Timestamp) -> bool {
        let (left, since) = self.allowed.entry(&who, || (BURST, now));
        let passed = now.duration_since(*since).as_secs_f64().max(0.0);
        *left = (*left + passed / REFILL_S).min(BURST);
        *since = now;
        if *left < 1.0 {
            return false;
        }
        *left -= 1.0;
        true
    }
}

/// A map that forgets what came first when it is full.
struct Remembered<K, V> {
    entries: BTreeMap<K, V>,
    order: VecDeque<K>,
}

impl<K, V> Default for Remembered<K, V> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<K: Ord + Clone, V> Remembered<K, V> {
    fn entry(&mut self, key: &K, fresh: impl FnOnce() -> V) -> &mut V {
        if !self.entries.contains_key(key) {
            if self.entries.len() >= REMEMBERED_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.entries.remove(&oldest);
            }
            self.order.push_back(key.clone());
        }
        self.entries.entry(key.clone()).or_insert_with(fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_cache::{EventType, ObjectRef};

    fn event(name: &str, message: &str) -> V1Event {
        V1Event {
            about: ObjectRef {
                api_version: "v1".into(),
                kind: "Pod".into(),
                namespace: "shop".into(),
                name: name.into(),
                uid: format!("uid-{name}").into(),
                resource_version: "1".into(),
            },
            event_type: EventType::Normal,
            reason: "Tested".into(),
            field_path: None,
            message: message.to_owned(),
            component: "tester".into(),
            host: "".into(),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
    }

    #[test]
    fn an_event_that_happens_again_is_counted_under_its_first_name() {
        let mut correlator = Correlator::default();
        let first = correlator.correlate(event("a", "m"), at(0)).expect("one");
        let second = correlator.correlate(event("a", "m"), at(5)).expect("two");
        assert_eq!((first.count, second.count), (1, 2));
        assert_eq!(second.name, first.name);
        assert_eq!((second.first, second.last), (at(0), at(5)));
        let other = correlator.correlate(event("b", "m"), at(6)).expect("other");
        assert_eq!(other.count, 1);
    }

    #[test]
    fn the_tenth_message_that_is_alike_is_combined_with_those_that_follow() {
        let mut correlator = Correlator::default();
        for number in 0..9 {
            let mut one = event("a", &number.to_string());
            one.field_path = Some(format!("spec.containers{{{number}}}"));
            let record = correlator.correlate(one, at(number)).expect("one");
            assert_eq!(record.count, 1);
            assert_eq!(record.body()["reportingComponent"], "tester");
        }
        let tenth = correlator.correlate(event("a", "9"), at(9)).expect("ten");
        assert_eq!(tenth.event.message, "(combined from similar events): 9");
        assert_eq!(tenth.body()["reportingComponent"], "");
        let next = correlator
            .correlate(event("a", "10"), at(10))
            .expect("more");
        assert_eq!((next.count, next.name), (2, tenth.name));
        let later = correlator
            .correlate(event("a", "11"), at(700))
            .expect("new");
        assert_eq!(later.event.message, "11");
    }

    #[test]
    fn who_tells_too_much_of_one_object_is_not_heard_for_a_while() {
        let mut correlator = Correlator::default();
        let heard = |correlator: &mut Correlator, seconds| {
            correlator.correlate(event("a", "m"), at(seconds)).is_some()
        };
        assert_eq!((0..30).filter(|_| heard(&mut correlator, 0)).count(), 25);
        assert!(!heard(&mut correlator, 100));
        assert!(heard(&mut correlator, 301));
        assert!(correlator.correlate(event("b", "m"), at(1)).is_some());
    }
}
