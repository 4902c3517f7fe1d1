//! A request as the handlers see it.

mod info;
pub(crate) mod options;
mod query;

use crate::resource::Resource;
use crate::storage;
use crate::streams::Upgrade;
use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use stowplan_apimachinery::meta::GroupResource;
use stowplan_apimachinery::{Status, View, go, names};
use stowplan_auth::{Decision, User};
use stowplan_kinds::Strategy;
use stowplan_store::Entry;

pub(crate) use info::Info;
pub(crate) use query::Query;
pub(crate) use query::unescape;

/// A request, its body read.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) info: Info,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) user: User,
    /// Who really asks, if in the name of the user.
    pub(crate) impersonator: Option<User>,
    /// Whether they may, once that is known.
    pub(crate) decision: Option<Decision>,
    /// The object that was sent, as far as its name goes.
    pub(crate) sent: OnceLock<Sent>,
    /// The connection, for who takes it over.
    pub(crate) upgrade: Upgrade,
    /// Each with its place among them.
    warnings: Mutex<HashMap<String, usize>>,
}

impl Request {
    pub(crate) fn new(method: Method, info: Info, query: Query, headers: HeaderMap) -> Self {
        Self {
            method,
            info,
            query,
            headers,
            body: Bytes::new(),
            user: User::default(),
            impersonator: None,
            decision: None,
            sent: OnceLock::new(),
            upgrade: Upgrade::default(),
            warnings: Mutex::default(),
        }
    }

    /// The header as text; empty if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// Tells the client something that does not keep its request from succeeding. What has been
    /// said is not said twice.
    pub(crate) fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let mut warnings = self
            .warnings
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let place = warnings.len();
        warnings.entry(text).or_insert(place);
    }

    /// What has been told so far.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let warnings = self
            .warnings
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut told: Vec<(&String, &usize)> = warnings.iter().collect();
        told.sort_by_key(|(_, place)| **place);
        told.into_iter().map(|(text, _)| text.clone()).collect()
    }
}

/// By what an object in a request's body is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
}

impl Sent {
    pub(crate) fn of(object: &Value) -> Self {
        let text = |field| object.at("metadata").text(field).to_owned();
        Self {
            namespace: text("namespace"),
            name: text("name"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
        }
    }
}

/// The resource that a request is about, and which object of it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) resource: Resource,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// Refuses a name that cannot be part of a path.
pub(crate) fn check_name(name: &str) -> Result<(), Status> {
    let faults = names::path_segment(name, false);
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Status::bad_request(format!(
            "Name parameter invalid: {}: {}",
            go::quote(name),
            faults.join(";")
        ))),
    }
}

impl Target {
    /// What "not found" and "conflict" name.
    pub(crate) fn group_resource(&self) -> GroupResource {
        self.resource.group_resource()
    }

    /// What objects are sent and answered: the resource itself, or what its subresource speaks.
    pub(crate) fn spoken(&self) -> Resource {
        let below = self.resource.subresource(&self.subresource);
        let other = below.and_then(|below| self.resource.spoken(below));
        other.unwrap_or_else(|| self.resource.clone())
    }

    /// The strategy of the object or of its subresource.
    pub(crate) fn strategy(&self) -> &dyn Strategy {
        if let Some(custom) = self.resource.custom() {
            return custom.strategy(&self.subresource);
        }
        let own = self.resource.strategy();
        match self.subresource.as_str() {
            "" => own,
            name => own.subresource(name).unwrap_or(own),
        }
    }

    /// A name that no object can have is refused before anything else. Upstream:
    /// `NamespaceKeyFunc`.
    pub(crate) fn check_name(&self) -> Result<(), Status> {
        check_name(&self.name)
    }

    /// The same, where objects are judged in the form in which they are kept.
    pub(crate) fn judge(&self) -> Option<Self> {
        Some(Self {
            resource: self.resource.judge()?,
            ..self.clone()
        })
    }

    /// A stored object as this request sees it.
    pub(crate) fn object(&self, entry: &Entry) -> Arc<Value> {
        self.resource.view(storage::object(entry))
    }

    /// Where the object is kept.
    pub(crate) fn key(&self) -> String {
        storage::key(&self.resource, &self.namespace, &self.name)
    }
}
