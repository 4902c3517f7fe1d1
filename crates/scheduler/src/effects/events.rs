//! What people are told by events.

use super::ObjectRef;
use std::sync::Arc;
use stowplan_bridge::effects::api_version;
use stowplan_client::{Event, EventRecorder, EventType, ObjectRef as Regarding};

/// What an event tells.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    /// `Normal` or `Warning`.
    pub(crate) kind: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) action: &'static str,
    pub(crate) text: String,
}

/// Records what happens to objects.
#[derive(Clone)]
pub(crate) struct Recorder(pub(crate) Arc<EventRecorder>);

impl Recorder {
    /// Something happened to an object.
    ///
    /// No event has a `related` object: upstream names the preemptor of a victim in vain, for it has no
    /// reference for the type in which it wraps it (`podExecutorPreemptor`).
    pub(crate) fn record(&self, scheduler: &Arc<str>, regarding: &ObjectRef, note: &Note) {
        self.0.record(Event {
            kind: match note.kind {
                "Warning" => EventType::Warning,
                _ => EventType::Normal,
            },
            reason: note.reason,
            action: note.action,
            note: note.text.as_str().into(),
            regarding: Regarding {
                api_version: api_version(regarding.kind).into(),
                kind: regarding.kind.as_str().into(),
                namespace: regarding.namespace.clone(),
                name: regarding.name.clone(),
                uid: regarding.uid.clone(),
                resource_version: regarding.resource_version.clone(),
            },
            controller: scheduler.clone(),
        });
    }
}
