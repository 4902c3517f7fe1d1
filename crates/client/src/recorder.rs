//! Events in events.k8s.io/v1. client-go's `tools/events/event_broadcaster.go`.
//!
//! An event that happens again becomes a series: the second time the event is patched, from then on
//! the series is only counted, and the count is written from time to time.

use crate::{Failed, Requests};
use jiff::{SignedDuration, Timestamp};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stowplan_base::Env;
use stowplan_cache::{EventType, ObjectRef};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How many events may wait to be written; more are dropped.
const WAITING_MAX: usize = 10_000;
/// How many are written at a time: bindings come first.
const WRITERS: usize = 16;
/// How often a count is written of an event that is there and not there in turn.
const TURNS_MAX: u32 = 3;
/// How often an event is sent while the server does not answer.
const TRIES_MAX: u32 = 12;
/// How long to wait between those.
const PAUSE: Duration = Duration::from_secs(10);
/// How long after its last event a series is over, and how often that is looked for.
const FINISH: SignedDuration = SignedDuration::from_mins(6);
/// How often the counts of series are written.
const REFRESH: SignedDuration = SignedDuration::from_mins(30);
/// How long a name may be.
const NAME_MAX: usize = 253;
/// How long a note may be.
const NOTE_MAX: usize = 1024;

/// What an event tells.
#[derive(Clone, Debug)]
pub struct Event {
    /// How it is meant.
    pub kind: EventType,
    /// Why it happened, in one word: `FailedScheduling`.
    pub reason: &'static str,
    /// What was done, in one word: `Scheduling`.
    pub action: &'static str,
    /// The same in a sentence.
    pub note: Arc<str>,
    /// What it is about.
    pub regarding: ObjectRef,
    /// The component that reports it.
    pub controller: Arc<str>,
}

/// What makes two events the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    kind: EventType,
    action: &'static str,
    reason: &'static str,
    controller: Arc<str>,
    regarding: (Arc<str>, Arc<str>),
}

/// An event as it was written first, and how often it happened since.
struct Entry {
    event: Arc<Recorded>,
    series: Option<Series>,
}

/// How often something happened, and when last.
#[derive(Clone, Copy)]
struct Series {
    count: i32,
    last: Timestamp,
}

/// All that an event tells. Thousands are remembered: the text for the API is made when it is sent.
struct Recorded {
    name: String,
    time: Timestamp,
    host: Arc<str>,
    event: Event,
}

impl Recorded {
    /// As the API takes it.
    fn body(&self, series: Option<Series>) -> Value {
        let event = &self.event;
        let mut body = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": self.namespace(), "name": self.name},
            "eventTime": micro_time(self.time),
            "reportingController": &*event.controller,
            "reportingInstance": format!("{}-{}", event.controller, self.host),
            "action": event.action,
            "reason": event.reason,
            "regarding": reference(&event.regarding),
            "note": truncated(&event.note),
            "type": event.kind.text(),
        });
        if let Some(series) = series {
            body["series"] = series.body();
        }
        body
    }

    /// Where the event is: with what it is about, or in `default`.
    fn namespace(&self) -> &str {
        match &*self.event.regarding.namespace {
            "" => "default",
            namespace => namespace,
        }
    }
}

impl Series {
    fn body(self) -> Value {
        json!({"count": self.count, "lastObservedTime": micro_time(self.last)})
    }
}

/// An event that has to be written, or its count, if it happened before.
struct Write {
    event: Arc<Recorded>,
    series: Option<Series>,
}

/// Collects events. Callers do not wait.
pub struct EventRecorder {
    env: Arc<dyn Env>,
    host: Arc<str>,
    entries: Mutex<BTreeMap<Key, Entry>>,
    queue: mpsc::Sender<Write>,
}

impl EventRecorder {
    /// A recorder for this host, and where its writes come out.
    pub fn new(env: Arc<dyn Env>, host: &str) -> (Arc<Self>, EventWrites) {
        let (queue, writes) = mpsc::channel(WAITING_MAX);
        let recorder = Self {
            env,
            host: host.into(),
            entries: Mutex::default(),
            queue,
        };
        (Arc::new(recorder), EventWrites(writes))
    }

    /// Something happened.
    pub fn record(&self, event: Event) {
        if let Some(write) = self.note(event, self.now()) {
            self.push(write);
        }
    }

    fn now(&self) -> Timestamp {
        let nanos = self.env.now().as_nanos().into();
        Timestamp::from_nanosecond(nanos).unwrap_or_default()
    }

    fn push(&self, write: Write) {
        if self.queue.try_send(write).is_err() {
            tracing::debug!("an event was dropped: too many are waiting");
        }
    }

    /// What has to be written about it.
    fn note(&self, event: Event, now: Timestamp) -> Option<Write> {
        let regarding = &event.regarding;
        let key = Key {
            kind: event.kind,
            action: event.action,
            reason: event.reason,
            controller: event.controller.clone(),
            regarding: (regarding.uid.clone(), regarding.resource_version.clone()),
        };
        let mut entries = self.entries.lock().unwrap_or_else(|lock| lock.into_inner());
        if let Some(entry) = entries.get_mut(&key) {
            let known = entry.series.is_some();
            let count = entry.series.map_or(1, |series| series.count);
            entry.series = Some(Series {
                count: count.saturating_add(1),
                last: now,
            });
            return (!known).then(|| entry.write());
        }
        let event = Arc::new(Recorded {
            name: event_name(regarding, now),
            time: now,
            host: self.host.clone(),
            event,
        });
        let entry = Entry {
            event,
            series: None,
        };
        let write = entry.write();
        entries.insert(key, entry);
        Some(write)
    }

    /// Writes the counts of series that are over, or of all of them; forgets what is over.
    fn sweep(&self, now: Timestamp, refresh: bool) {
        let mut entries = self.entries.lock().unwrap_or_else(|lock| lock.into_inner());
        entries.retain(|_, entry| {
            let last = entry.series.map_or(entry.event.time, |series| series.last);
            let is_over = last < now - FINISH;
            if entry.series.is_some() && (is_over || refresh) {
                self.push(entry.write());
            }
            !is_over
        });
    }
}

impl Entry {
    fn write(&self) -> Write {
        Write {
            event: self.event.clone(),
            series: self.series,
        }
    }
}

/// The writes that a recorder asks for.
pub struct EventWrites(mpsc::Receiver<Write>);

impl EventWrites {
    /// Writes events for as long as it is let, and looks after the recorder's series.
    pub async fn carry_out(mut self, requests: Arc<Requests>, recorder: Arc<EventRecorder>) {
        let mut tasks = JoinSet::new();
        let span = Duration::from_secs(FINISH.as_secs().unsigned_abs());
        let mut sweep = recorder.env.sleep(span);
        let mut refreshed = recorder.now();
        loop {
            tokio::select! {
                biased;
                write = self.0.recv(), if tasks.len() < WRITERS => {
                    let Some(write) = write else { return };
                    let requests = requests.clone();
                    tasks.spawn(async move { write.carry_out(&requests).await });
                }
                Some(_) = tasks.join_next() => {}
                () = &mut sweep => {
                    sweep = recorder.env.sleep(span);
                    let now = recorder.now();
                    let refresh = now >= refreshed + REFRESH;
                    recorder.sweep(now, refresh);
                    if refresh {
                        refreshed = now;
                    }
                }
            }
        }
    }
}

impl Write {
    async fn carry_out(self, requests: &Requests) {
        for _ in 0..TRIES_MAX {
            match self.attempt(requests).await {
                Ok(()) => return,
                Err(failed) if failed.code().is_some() || matches!(failed, Failed::Fenced) => {
                    tracing::debug!(error = %failed, "an event was refused");
                    return;
                }
                Err(_) => requests.env().sleep(PAUSE).await,
            }
        }
    }

    /// The first time an event is created, from then on its count is written: the event may be gone
    /// again, or not be there yet, for what happens first need not be sent first.
    async fn attempt(&self, requests: &Requests) -> Result<(), Failed> {
        let Some(series) = self.series else {
            return self.create(requests).await;
        };
        let mut turns = 0;
        loop {
            let counted = self.count(requests, series).await;
            if !counted
                .as_ref()
                .is_err_and(|failed| failed.code() == Some(404))
            {
                return counted;
            }
            let created = self.create(requests).await;
            turns += 1;
            let is_there = created
                .as_ref()
                .is_err_and(|failed| failed.code() == Some(409));
            if !is_there || turns == TURNS_MAX {
                return created;
            }
        }
    }

    async fn create(&self, requests: &Requests) -> Result<(), Failed> {
        let path = format!("{}?fieldValidation=Ignore", self.path());
        let body = self.event.body(self.series);
        let answer: Result<IgnoredAny, _> = requests
            .change("POST", &path, "application/json", &body)
            .await;
        answer.map(drop)
    }

    async fn count(&self, requests: &Requests, series: Series) -> Result<(), Failed> {
        let path = format!("{}/{}", self.path(), self.event.name);
        let patch = json!({"series": series.body()});
        let content_type = "application/strategic-merge-patch+json";
        let answer: Result<IgnoredAny, _> =
            requests.change("PATCH", &path, content_type, &patch).await;
        answer.map(drop)
    }

    fn path(&self) -> String {
        let namespace = self.event.namespace();
        format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events")
    }
}

fn reference(object: &ObjectRef) -> Value {
    let mut reference = json!({
        "kind": object.kind,
        "apiVersion": object.api_version,
        "name": &*object.name,
        "uid": &*object.uid,
        "resourceVersion": &*object.resource_version,
    });
    if !object.namespace.is_empty() {
        reference["namespace"] = (&*object.namespace).into();
    }
    reference
}

/// Upstream's `GenerateEventName`: where the object's name would make it too long, a uid takes its place.
fn event_name(object: &ObjectRef, now: Timestamp) -> String {
    let nanos = now.as_nanosecond();
    let name = format!("{}.{nanos:x}", object.name);
    match name.len() <= NAME_MAX {
        true => name,
        false => format!("{}.{nanos:x}", object.uid),
    }
}

fn micro_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// As long as the API allows, at most.
pub(crate) fn truncated(note: &str) -> String {
    if note.len() <= NOTE_MAX {
        return note.to_owned();
    }
    let suffix = " ...";
    let mut end = NOTE_MAX - suffix.len();
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{suffix}", &note[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_base::{Time, Virtual};

    fn pod(version: &str) -> ObjectRef {
        ObjectRef {
            api_version: "v1".into(),
            kind: "Pod".into(),
            namespace: "n".into(),
            name: "p".into(),
            uid: "u".into(),
            resource_version: version.into(),
        }
    }

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(minutes * 60).unwrap()
    }

    #[test]
    fn what_happens_again_becomes_a_series_that_is_counted() {
        let env = Virtual::new(Time::default(), 0);
        let (recorder, mut writes) = EventRecorder::new(Arc::new(env), "host");
        let event = |version: &str| Event {
            kind: EventType::Warning,
            reason: "FailedScheduling",
            action: "Scheduling",
            note: "no room".into(),
            regarding: pod(version),
            controller: "s".into(),
        };
        let record = |version: &str, now| recorder.note(event(version), now);
        let body = |write: &Write| write.event.body(write.series);
        let first = body(&record("1", at(0)).expect("the first is written"));
        assert_eq!(first["reportingInstance"], "s-host");
        assert_eq!(first["eventTime"], "1970-01-01T00:00:00.000000Z");
        assert_eq!(first["note"], "no room");
        let second = body(&record("1", at(1)).expect("the second starts a series"));
        assert_eq!(second["series"]["count"], 2);
        assert_eq!(second["metadata"], first["metadata"]);
        assert!(record("1", at(2)).is_none(), "the third is counted");
        let changed = record("2", at(2)).expect("a changed pod is another");
        assert!(changed.series.is_none());
        recorder.sweep(at(9), false);
        let over = body(
            &writes
                .0
                .try_recv()
                .expect("written when the series is over"),
        );
        assert_eq!(over["series"]["count"], 3);
        let anew = record("1", at(9)).expect("a new event");
        assert!(anew.series.is_none());
    }

    #[test]
    fn pods_with_long_names_have_events_too() {
        let now = Timestamp::from_nanosecond(0x17c5_0000_0000_0000).unwrap();
        assert_eq!(event_name(&pod("1"), now), "p.17c5000000000000");
        let named = |length: usize| ObjectRef {
            name: "p".repeat(length).into(),
            ..pod("1")
        };
        assert_eq!(event_name(&named(236), now).len(), NAME_MAX);
        assert_eq!(event_name(&named(237), now), "u.17c5000000000000");
    }

    #[test]
    fn long_notes_are_cut_between_characters() {
        let note = truncated(&"ä".repeat(600));
        assert!(note.len() <= NOTE_MAX && note.ends_with(" ..."));
        assert_eq!(truncated("short"), "short");
    }
}
