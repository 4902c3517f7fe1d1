//! Events in v1, as controllers and kubelets tell them. client-go's `tools/record`.
//!
//! An event that happens again is counted: the first is written, and later ones patch its count. Many
//! that differ only in their message become one. Who tells too many about one object is not heard.

mod correlator;

use crate::recorder::truncated;
use crate::{Failed, Requests};
use correlator::Correlator;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use stowplan_base::Env;
use stowplan_cache::{EventType, ObjectRef};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How many events may wait to be written; more are dropped. client-go's limit.
const WAITING_MAX: usize = 1_000;
/// How many are written at a time.
const WRITERS: usize = 8;

/// How the message of an event begins that stands for many.
const COMBINED: &str = "(combined from similar events): ";

/// What an event tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct V1Event {
    /// What it is about.
    pub about: ObjectRef,
    /// How it is meant.
    pub event_type: EventType,
    /// Why it happened, in one word.
    pub reason: Cow<'static, str>,
    /// The same in a sentence.
    pub message: String,
    /// The part of the object that it is about, such as `spec.containers{web}`.
    pub field_path: Option<String>,
    /// Who says so, such as `deployment-controller`.
    pub component: Arc<str>,
    /// On which host; empty for those who act for the whole cluster.
    pub host: Arc<str>,
}

/// An event as it is written: for the first time, or once more.
#[derive(Clone, PartialEq, Debug)]
struct Record {
    event: V1Event,
    name: String,
    first: Timestamp,
    last: Timestamp,
    count: i32,
}

/// Collects events; whoever tells them does not wait.
pub struct Recorder {
    env: Arc<dyn Env>,
    correlator: Mutex<Correlator>,
    queue: mpsc::Sender<Record>,
}

impl Recorder {
    /// A recorder, and where its writes come out.
    pub fn new(env: Arc<dyn Env>) -> (Arc<Self>, RecorderWrites) {
        let (queue, writes) = mpsc::channel(WAITING_MAX);
        let recorder = Self {
            env,
            correlator: Mutex::default(),
            queue,
        };
        (Arc::new(recorder), RecorderWrites(writes))
    }

    /// Something happened.
    pub fn record(&self, event: V1Event) {
        let nanos = self.env.now().as_nanos().into();
        let now = Timestamp::from_nanosecond(nanos).unwrap_or_default();
        let correlator = self.correlator.lock();
        let mut correlator = correlator.unwrap_or_else(PoisonError::into_inner);
        let Some(record) = correlator.correlate(event, now) else {
            return;
        };
        if self.queue.try_send(record).is_err() {
            tracing::debug!("an event was dropped: too many are waiting");
        }
    }
}

/// The writes that a recorder asks for.
pub struct RecorderWrites(mpsc::Receiver<Record>);

impl RecorderWrites {
    /// Writes events for as long as it is let.
    pub async fn carry_out(mut self, requests: Arc<Requests>) {
        let mut tasks = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                record = self.0.recv(), if tasks.len() < WRITERS => {
                    let Some(record) = record else { break };
                    let requests = requests.clone();
                    tasks.spawn(async move { record.carry_out(&requests).await });
                }
                Some(_) = tasks.join_next() => {}
            }
        }
        while tasks.join_next().await.is_some() {}
    }
}

impl Record {
    async fn carry_out(&self, requests: &Requests) {
        if let Err(failed) = self.attempt(requests).await {
            tracing::debug!(error = %failed, "an event was not written");
        }
    }

    async fn attempt(&self, requests: &Requests) -> Result<(), Failed> {
        let path = format!("/api/v1/namespaces/{}/events", self.namespace());
        if self.count > 1 {
            let patch = json!({
                "count": self.count,
                "lastTimestamp": seconds(self.last),
                "message": truncated(&self.event.message),
            });
            let one = format!("{path}/{}", self.name);
            let content_type = "application/strategic-merge-patch+json";
            let patched = requests.change::<Value>("PATCH", &one, content_type, &patch);
            match patched.await {
                // It is gone after an hour: written anew.
                Err(failed) if failed.code() == Some(404) => {}
                patched => return patched.map(drop),
            }
        }
        let body = self.body();
        let made = requests.change::<Value>("POST", &path, "application/json", &body);
        made.await.map(drop)
    }

    /// Where the event is: with what it is about, or in `default`.
    fn namespace(&self) -> &str {
        match &*self.event.about.namespace {
            "" => "default",
            namespace => namespace,
        }
    }

    fn body(&self) -> Value {
        let V1Event { about, .. } = &self.event;
        let mut involved = json!({
            "kind": about.kind,
            "name": &*about.name,
            "uid": &*about.uid,
            "apiVersion": about.api_version,
            "resourceVersion": &*about.resource_version,
        });
        if !about.namespace.is_empty() {
            involved["namespace"] = json!(&*about.namespace);
        }
        if let Some(path) = &self.event.field_path {
            involved["fieldPath"] = json!(path);
        }
        let mut source = json!({"component": &*self.event.component});
        if !self.event.host.is_empty() {
            source["host"] = json!(&*self.event.host);
        }
        // client-go leaves the reporter out of an event that stands for many.
        let (component, host) = match self.event.message.starts_with(COMBINED) {
            true => ("", ""),
            false => (&*self.event.component, &*self.event.host),
        };
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": self.namespace(), "name": self.name},
            "involvedObject": involved,
            "reason": self.event.reason,
            "message": truncated(&self.event.message),
            "source": source,
            "firstTimestamp": seconds(self.first),
            "lastTimestamp": seconds(self.last),
            "count": self.count,
            "type": self.event.event_type.text(),
            "reportingComponent": component,
            "reportingInstance": host,
        })
    }
}

/// A time without fractions of seconds, as v1 has it.
fn seconds(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second())
        .unwrap_or(at)
        .to_string()
}
