//! What a controller tells users about an object.

use stowplan_cache::Object;

/// How serious an event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventType {
    /// As it should be.
    Normal,
    /// Something to look into.
    Warning,
}

/// What an event is about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ObjectRef {
    /// The kind.
    pub kind: String,
    /// Group and version.
    pub api_version: String,
    /// The namespace; empty for objects that have none.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The uid.
    pub uid: String,
    /// The version that was looked at.
    pub resource_version: String,
}

impl ObjectRef {
    /// A reference to an object.
    pub fn of<K: Object>(object: &K) -> Self {
        let meta = object.metadata();
        Self {
            kind: K::KIND.to_owned(),
            api_version: K::API_VERSION.to_owned(),
            namespace: meta.namespace.clone().unwrap_or_default(),
            name: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
            resource_version: meta.resource_version.clone().unwrap_or_default(),
        }
    }
}

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
