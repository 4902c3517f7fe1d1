//! What events are about.

use crate::Object;
use std::borrow::Cow;
use std::sync::Arc;

/// How an event is meant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EventType {
    /// All is well.
    Normal,
    /// Somebody should look at this.
    Warning,
}

impl EventType {
    /// As the API has it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// An object that an event is about, in one version.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ObjectRef {
    /// Group and version of its kind.
    pub api_version: Cow<'static, str>,
    /// Its kind.
    pub kind: Cow<'static, str>,
    /// Its namespace; empty if it has none.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its uid.
    pub uid: Arc<str>,
    /// Its version.
    pub resource_version: Arc<str>,
}

impl ObjectRef {
    /// A reference to an object.
    pub fn of<K: Object>(object: &K) -> Self {
        let meta = object.metadata();
        let text = |field: &Option<String>| field.as_deref().unwrap_or_default().into();
        Self {
            api_version: K::API_VERSION.into(),
            kind: K::KIND.into(),
            namespace: text(&meta.namespace),
            name: text(&meta.name),
            uid: text(&meta.uid),
            resource_version: text(&meta.resource_version),
        }
    }
}
