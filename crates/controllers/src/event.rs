//! What a controller tells users about an object.

use stowplan_cache::{EventType, Object, ObjectRef};

/// What a controller tells users about an object, as a `v1` Event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// What it is about.
    pub about: ObjectRef,
    /// How serious it is.
    pub event_type: EventType,
    /// A word for machines, such as `SuccessfulCreate`.
    pub reason: &'static str,
    /// A sentence for people.
    pub message: String,
}

impl Event {
    /// As it should be.
    pub fn normal<K: Object>(about: &K, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            about: ObjectRef::of(about),
            event_type: EventType::Normal,
            reason,
            message: message.into(),
        }
    }

    /// Something to look into.
    pub fn warning<K: Object>(about: &K, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            event_type: EventType::Warning,
            ..Self::normal(about, reason, message)
        }
    }
}
