//! Events in events.k8s.io/v1. client-go's `tools/events/event_broadcaster.go`.
//!
//! An event that happens again becomes a series: the second time the event is patched, from then on
//! the series is only counted, and the count is written from time to time.

use super::PodRef;
use super::requests::{Failed, Requests};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stowplan_api::k8s::jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How many events may wait to be written; more are dropped.
const WAITING_MAX: usize = 10_000;
/// How many are written at a time.
const WRITERS: usize = 32;
/// How often an event is sent while the server does not answer.
const TRIES_MAX: u32 = 12;
/// How long to wait between those.
const PAUSE: Duration = Duration::from_secs(10);
/// How long after its last event a series is over, and how often that is looked for.
const FINISH: SignedDuration = SignedDuration::from_mins(6);
/// How often the counts of series are written.
const REFRESH: SignedDuration = SignedDuration::from_mins(30);
/// How long a note may be.
const NOTE_MAX: usize = 1024;

/// What an event tells.
#[derive(Clone, Debug)]
pub(crate) enum Note {
    Scheduled(String),
    FailedScheduling(String),
    Preempted(String),
}

impl Note {
    /// Type, reason, action and text.
    fn parts(&self) -> (&'static str, &'static str, &'static str, &str) {
        match self {
            Self::Scheduled(text) => ("Normal", "Scheduled", "Binding", text),
            Self::FailedScheduling(text) => ("Warning", "FailedScheduling", "Scheduling", text),
            Self::Preempted(text) => ("Normal", "Preempted", "Preempting", text),
        }
    }
}

/// What makes two events the same.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    reason: &'static str,
    scheduler: Arc<str>,
    regarding: (Arc<str>, Arc<str>),
    related: Option<(Arc<str>, Arc<str>)>,
}

/// An event as it was written first, and how often it happened since.
#[derive(Clone)]
struct Entry {
    event: Event,
    first: Timestamp,
    /// How often it happened, and when last.
    series: Option<(i32, Timestamp)>,
}

/// An event as the API takes it.
#[derive(Clone)]
struct Event {
    namespace: Arc<str>,
    name: String,
    body: Value,
}

/// What has to be written.
enum Write {
    Create(Event),
    /// The event, and its body with the series.
    Patch(Event, Value),
}

/// Collects events; whoever tells them does not wait.
pub(crate) struct Recorder {
    host: String,
    entries: Mutex<HashMap<Key, Entry>>,
    queue: mpsc::Sender<Write>,
}

impl Recorder {
    /// A recorder for this host, and where its writes come out.
    pub(crate) fn new(host: String) -> (Arc<Self>, Writes) {
        let (queue, writes) = mpsc::channel(WAITING_MAX);
        let recorder = Self {
            host,
            entries: Mutex::default(),
            queue,
        };
        (Arc::new(recorder), Writes(writes))
    }

    /// Something happened to a pod.
    pub(crate) fn record(
        &self,
        scheduler: &Arc<str>,
        regarding: &PodRef,
        related: Option<&PodRef>,
        note: &Note,
    ) {
        if let Some(write) = self.note(scheduler, regarding, related, note, Timestamp::now()) {
            self.push(write);
        }
    }

    fn push(&self, write: Write) {
        if self.queue.try_send(write).is_err() {
            tracing::debug!("an event was dropped: too many are waiting");
        }
    }

    /// What has to be written about it.
    fn note(
        &self,
        scheduler: &Arc<str>,
        regarding: &PodRef,
        related: Option<&PodRef>,
        note: &Note,
        now: Timestamp,
    ) -> Option<Write> {
        let id = |pod: &PodRef| (pod.uid.clone(), pod.resource_version.clone());
        let key = Key {
            reason: note.parts().1,
            scheduler: scheduler.clone(),
            regarding: id(regarding),
            related: related.map(id),
        };
        let mut entries = self.entries.lock().unwrap_or_else(|lock| lock.into_inner());
        if let Some(entry) = entries.get_mut(&key) {
            let known = entry.series.is_some();
            let count = entry.series.map_or(1, |(count, _)| count);
            entry.series = Some((count.saturating_add(1), now));
            return (!known).then(|| entry.patch());
        }
        let event = self.event(scheduler, regarding, related, note, now);
        let entry = Entry {
            event: event.clone(),
            first: now,
            series: None,
        };
        entries.insert(key, entry);
        Some(Write::Create(event))
    }

    fn event(
        &self,
        scheduler: &str,
        regarding: &PodRef,
        related: Option<&PodRef>,
        note: &Note,
        now: Timestamp,
    ) -> Event {
        let (kind, reason, action, text) = note.parts();
        let name = format!("{}.{:x}", regarding.name, now.as_nanosecond());
        let mut body = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": &*regarding.namespace, "name": name},
            "eventTime": micro_time(now),
            "reportingController": scheduler,
            "reportingInstance": format!("{scheduler}-{}", self.host),
            "action": action,
            "reason": reason,
            "regarding": reference(regarding),
            "note": truncated(text),
            "type": kind,
        });
        if let Some(related) = related {
            body["related"] = reference(related);
        }
        Event {
            namespace: regarding.namespace.clone(),
            name,
            body,
        }
    }

    /// Writes the counts of series that are over, or of all of them; forgets what is over.
    fn sweep(&self, now: Timestamp, refresh: bool) {
        let mut entries = self.entries.lock().unwrap_or_else(|lock| lock.into_inner());
        entries.retain(|_, entry| {
            let last = entry.series.map_or(entry.first, |(_, last)| last);
            let is_over = last < now - FINISH;
            if entry.series.is_some() && (is_over || refresh) {
                self.push(entry.patch());
            }
            !is_over
        });
    }
}

impl Entry {
    fn patch(&self) -> Write {
        let mut body = self.event.body.clone();
        if let Some((count, last)) = self.series {
            body["series"] = json!({"count": count, "lastObservedTime": micro_time(last)});
        }
        Write::Patch(self.event.clone(), body)
    }
}

/// The writes that a recorder asks for.
pub(crate) struct Writes(mpsc::Receiver<Write>);

impl Writes {
    /// Writes events for as long as it is let, and looks after the recorder's series.
    pub(crate) async fn carry_out(mut self, requests: Arc<Requests>, recorder: Arc<Recorder>) {
        let mut tasks = JoinSet::new();
        let span = Duration::from_secs(FINISH.as_secs().unsigned_abs());
        let mut sweep = tokio::time::interval(span);
        let mut refreshed = Timestamp::now();
        loop {
            tokio::select! {
                write = self.0.recv(), if tasks.len() < WRITERS => {
                    let Some(write) = write else { return };
                    let requests = requests.clone();
                    tasks.spawn(async move { write.carry_out(&requests).await });
                }
                Some(_) = tasks.join_next() => {}
                _ = sweep.tick() => {
                    let now = Timestamp::now();
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
                Err(failed) if failed.code().is_some() => {
                    tracing::debug!(error = %failed, "an event was refused");
                    return;
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    async fn attempt(&self, requests: &Requests) -> Result<(), Failed> {
        let (event, series) = match self {
            Self::Create(event) => (event, None),
            Self::Patch(event, body) => (event, Some(body)),
        };
        let path = format!(
            "/apis/events.k8s.io/v1/namespaces/{}/events",
            event.namespace
        );
        if let Some(body) = series {
            let patch = json!({"series": body["series"]});
            let path = format!("{path}/{}", event.name);
            let content_type = "application/strategic-merge-patch+json";
            let answer: Result<Value, _> =
                requests.change("PATCH", &path, content_type, &patch).await;
            match answer {
                // The event is gone, or was never written: it is written anew.
                Err(failed) if failed.code() == Some(404) => {}
                answer => return answer.map(drop),
            }
        }
        let body = series.unwrap_or(&event.body);
        let answer: Result<Value, _> = requests
            .change("POST", &path, "application/json", body)
            .await;
        answer.map(drop)
    }
}

fn reference(pod: &PodRef) -> Value {
    json!({
        "kind": "Pod",
        "apiVersion": "v1",
        "namespace": &*pod.namespace,
        "name": &*pod.name,
        "uid": &*pod.uid,
        "resourceVersion": &*pod.resource_version,
    })
}

fn micro_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// As long as the API allows, at most.
fn truncated(note: &str) -> String {
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

    fn pod(version: &str) -> PodRef {
        PodRef {
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
        let (recorder, mut writes) = Recorder::new("host".to_owned());
        let note = Note::FailedScheduling("no room".to_owned());
        let scheduler: Arc<str> = "s".into();
        let record =
            |version: &str, now| recorder.note(&scheduler, &pod(version), None, &note, now);
        let Some(Write::Create(event)) = record("1", at(0)) else {
            panic!("the first is written")
        };
        assert_eq!(event.body["reportingInstance"], "s-host");
        assert_eq!(event.body["eventTime"], "1970-01-01T00:00:00.000000Z");
        let Some(Write::Patch(_, body)) = record("1", at(1)) else {
            panic!("the second starts a series")
        };
        assert_eq!(body["series"]["count"], 2);
        assert!(record("1", at(2)).is_none(), "the third is counted");
        assert!(
            matches!(record("2", at(2)), Some(Write::Create(_))),
            "a changed pod is another"
        );
        recorder.sweep(at(9), false);
        let Ok(Write::Patch(_, body)) = writes.0.try_recv() else {
            panic!("the count is written when the series is over")
        };
        assert_eq!(body["series"]["count"], 3);
        assert!(matches!(record("1", at(9)), Some(Write::Create(_))));
    }

    #[test]
    fn long_notes_are_cut_between_characters() {
        let note = truncated(&"ä".repeat(600));
        assert!(note.len() <= NOTE_MAX && note.ends_with(" ..."));
        assert_eq!(truncated("short"), "short");
    }
}
