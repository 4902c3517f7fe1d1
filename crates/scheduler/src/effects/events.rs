//! What pods are told by events.

use super::PodRef;
use std::sync::Arc;
use stowplan_client::{Event, EventRecorder, EventType, ObjectRef};

/// What an event tells of a pod.
#[derive(Clone, Debug)]
pub(crate) enum Note {
    Scheduled(String),
    FailedScheduling(String),
    Preempted(String),
}

/// Records what happens to pods.
#[derive(Clone)]
pub(crate) struct Recorder(pub(crate) Arc<EventRecorder>);

impl Recorder {
    /// Something happened to a pod.
    ///
    /// No event has a `related` object: upstream names the preemptor of a victim in vain, for it has no
    /// reference for the type in which it wraps it (`podExecutorPreemptor`).
    pub(crate) fn record(&self, scheduler: &Arc<str>, regarding: &PodRef, note: &Note) {
        let (kind, reason, action, text) = match note {
            Note::Scheduled(text) => (EventType::Normal, "Scheduled", "Binding", text),
            Note::FailedScheduling(text) => {
                (EventType::Warning, "FailedScheduling", "Scheduling", text)
            }
            Note::Preempted(text) => (EventType::Normal, "Preempted", "Preempting", text),
        };
        self.0.record(Event {
            kind,
            reason,
            action,
            note: text.as_str().into(),
            regarding: regarding.reference(),
            controller: scheduler.clone(),
        });
    }
}

impl PodRef {
    fn reference(&self) -> ObjectRef {
        ObjectRef {
            api_version: "v1".into(),
            kind: "Pod".into(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
        }
    }
}
