//! One request that a controller wants to make.

use crate::Event;
use k8s_openapi::api::autoscaling::v1::Scale;
use serde_json::{Value, json};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use stowplan_cache::{Cluster, Key, Kind, Object, read_lean};

/// How something is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Makes an object.
    Post,
    /// Replaces an object or a part of it.
    Put,
    /// Changes an object by a patch.
    Patch,
    /// Deletes an object.
    Delete,
}

impl Method {
    /// The method of the HTTP request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// Any object, to be cast back by those who know its kind.
type AnyObject = Arc<dyn Any + Send + Sync>;

/// Takes the answer to a write in, so that whoever wrote sees it at once.
type Absorb = fn(&Cluster, &Key, &str) -> Option<AnyObject>;

/// Says what happened, once it is known.
type Tell = Box<dyn FnOnce(&Outcome) -> Option<Event> + Send>;

/// One request that a controller wants to make.
pub struct Write {
    /// How.
    pub method: Method,
    /// Where.
    pub path: String,
    /// Of which type the body is.
    pub content_type: &'static str,
    /// What is sent.
    pub body: Vec<u8>,
    /// What it is about.
    pub kind: Kind,
    /// The object; its name is empty if the server makes one up.
    pub key: Key,
    tolerated: &'static [u16],
    tolerates_terminating: bool,
    tolerates_everything: bool,
    absorb: Absorb,
    tell: Option<Tell>,
}

impl fmt::Debug for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = String::from_utf8_lossy(&self.body);
        write!(f, "{} {} {body}", self.method.as_str(), self.path)
    }
}

impl Write {
    fn new<K: Object>(method: Method, key: Key, path: String, body: Vec<u8>) -> Self {
        Self {
            method,
            path,
            content_type: "application/json",
            body,
            kind: Kind::of::<K>(),
            key,
            tolerated: &[],
            tolerates_terminating: false,
            tolerates_everything: false,
            absorb: absorb::<K>,
            tell: None,
        }
    }

    /// Makes an object.
    pub fn create<K: Object>(object: &K) -> Self {
        let key = Key::of(object);
        let path = Kind::of::<K>().path(&key.namespace);
        Self::new::<K>(Method::Post, key, path, bytes(object))
    }

    /// Replaces an object; if it has a resource version, only while that is still the object's.
    pub fn update<K: Object>(object: &K) -> Self {
        Self::update_part(object, "")
    }

    /// Replaces the status of an object.
    pub fn update_status<K: Object>(object: &K) -> Self {
        Self::update_part(object, "/status")
    }

    fn update_part<K: Object>(object: &K, subresource: &str) -> Self {
        let key = Key::of(object);
        let path = Kind::of::<K>().path_of(&key) + subresource;
        Self::new::<K>(Method::Put, key, path, bytes(object))
    }

    /// Replaces the scale of an object of whatever kind, as the server showed it at `path`.
    pub fn update_scale(path: String, scale: &Value) -> Self {
        let text = |field: &str| scale["metadata"][field].as_str().unwrap_or_default();
        let key = Key::new(text("namespace"), text("name"));
        let mut write = Self::new::<Scale>(Method::Put, key, path, bytes(scale));
        write.absorb = |_, _, _| None;
        write
    }

    /// A JSON merge patch of an object, or of a part of it such as `/status`.
    pub fn merge<K: Object>(key: &Key, subresource: &str, patch: &Value) -> Self {
        let path = Kind::of::<K>().path_of(key) + subresource;
        let mut write = Self::new::<K>(Method::Patch, key.clone(), path, bytes(patch));
        write.content_type = "application/merge-patch+json";
        write
    }

    /// A strategic merge patch of an object, or of a part of it such as `/status`.
    pub fn strategic_merge<K: Object>(key: &Key, subresource: &str, patch: &Value) -> Self {
        let mut write = Self::merge::<K>(key, subresource, patch);
        write.content_type = "application/strategic-merge-patch+json";
        write
    }

    /// Deletes this very object (by its uid), with its usual grace period, in the background. That it is
    /// not there, or that another one has its name, is as good.
    pub fn delete<K: Object>(object: &K) -> Self {
        let uid = object.metadata().uid.as_deref();
        Self::delete_with(object, &json!({"preconditions": {"uid": uid}}))
    }

    /// Deletes this very object at once.
    pub fn delete_now<K: Object>(object: &K) -> Self {
        let uid = object.metadata().uid.as_deref();
        let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": uid}});
        Self::delete_with(object, &options)
    }

    /// Deletes an object with these `DeleteOptions`. That it is not there, or that another one has its
    /// name, is as good.
    pub fn delete_with<K: Object>(object: &K, options: &Value) -> Self {
        let key = Key::of(object);
        let path = Kind::of::<K>().path_of(&key);
        let mut write = Self::new::<K>(Method::Delete, key, path, bytes(options));
        write.absorb = absorb_deleted::<K>;
        write.tolerated = &[404, 409];
        write
    }

    /// These codes are no failure.
    pub fn tolerating(mut self, codes: &'static [u16]) -> Self {
        self.tolerated = codes;
        self
    }

    /// That the namespace is being deleted, so that nothing can be made in it, is no failure.
    pub fn tolerating_terminating(mut self) -> Self {
        self.tolerates_terminating = true;
        self
    }

    /// No answer is a failure: what comes after judges it.
    pub fn tolerating_everything(mut self) -> Self {
        self.tolerates_everything = true;
        self
    }

    /// Records an event once it is known what came of it.
    pub fn telling(
        mut self,
        tell: impl FnOnce(&Outcome) -> Option<Event> + Send + 'static,
    ) -> Self {
        self.tell = Some(Box::new(tell));
        self
    }

    /// What the answer means: the object goes into the cluster.
    pub fn answered(&self, cluster: &Cluster, answer: Result<&str, Failure>) -> Outcome {
        match answer {
            Ok(text) => Outcome::Done((self.absorb)(cluster, &self.key, text)),
            Err(failure) if self.tolerates(&failure) => Outcome::Tolerated(failure),
            Err(failure) => Outcome::Failed(failure),
        }
    }

    fn tolerates(&self, failure: &Failure) -> bool {
        self.tolerates_everything
            || self.tolerated.contains(&failure.code)
            || (self.tolerates_terminating && failure.is_namespace_terminating())
    }

    /// The event to record, if any.
    pub fn told(&mut self, outcome: &Outcome) -> Option<Event> {
        self.tell.take()?(outcome)
    }
}

/// Kubernetes objects can always be written as JSON: their maps have names as keys.
fn bytes<T: serde::Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

fn absorb<K: Object>(cluster: &Cluster, key: &Key, text: &str) -> Option<AnyObject> {
    let object: Arc<K> = Arc::new(read_lean(text).ok()?);
    match is_gone(&*object) {
        // The last finalizer was taken away: the server deleted it in the same breath.
        true => cluster
            .of::<K>()
            .forget(key, object.metadata().uid.as_deref().unwrap_or_default()),
        false => cluster.of::<K>().upsert(object.clone()),
    }
    Some(object)
}

/// Whether nothing holds an object any more that somebody has deleted. What holds a namespace is in its spec:
/// the watch tells when it is gone.
fn is_gone<K: Object>(object: &K) -> bool {
    let meta = object.metadata();
    let is_held = meta
        .finalizers
        .as_ref()
        .is_some_and(|held| !held.is_empty());
    let has_grace = meta.deletion_grace_period_seconds.is_some_and(|s| s > 0);
    let is_namespace = K::KIND == "Namespace";
    meta.deletion_timestamp.is_some() && !is_held && !has_grace && !is_namespace
}

/// A deleted object may still be there, on its way out. It is gone if the server answers with a Status, or
/// if nothing holds it any more.
fn absorb_deleted<K: Object>(cluster: &Cluster, key: &Key, text: &str) -> Option<AnyObject> {
    #[derive(serde::Deserialize)]
    struct Answer {
        kind: Option<String>,
        details: Option<Details>,
    }
    #[derive(serde::Deserialize)]
    struct Details {
        uid: Option<String>,
    }
    let answer: Answer = serde_json::from_str(text).ok()?;
    if answer.kind.as_deref() == Some("Status") {
        let uid = answer.details.and_then(|details| details.uid);
        cluster
            .of::<K>()
            .forget(key, uid.as_deref().unwrap_or_default());
        return None;
    }
    absorb::<K>(cluster, key, text)
}

/// What the server said to a read.
pub type Answer = Result<Value, Failure>;

/// What came of a write, or of a read.
pub enum Outcome {
    /// It was carried out; the object as the server answered with it, if it did.
    Done(Option<AnyObject>),
    /// The server refused, which is as good.
    Tolerated(Failure),
    /// The server refused, or did not answer.
    Failed(Failure),
    /// It was a read, and this is what the server said.
    Answered(Answer),
    /// It was not tried, because one before it failed.
    Skipped,
}

impl Outcome {
    /// Whether it was carried out.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }

    /// Why it failed.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Done(_) | Self::Tolerated(_) | Self::Answered(_) | Self::Skipped => None,
        }
    }

    /// Why the server refused, whether that is as good or not.
    pub fn refusal(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) | Self::Tolerated(failure) => Some(failure),
            Self::Done(_) | Self::Answered(_) | Self::Skipped => None,
        }
    }

    /// What the server said to a read.
    pub fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Answered(answer) => Some(answer),
            _ => None,
        }
    }

    /// The object as the server answered with it.
    pub fn object<K: Object>(&self) -> Option<Arc<K>> {
        match self {
            Self::Done(Some(object)) => object.clone().downcast().ok(),
            _ => None,
        }
    }
}

/// Why a write came to nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// The code of the server's answer; 0 if there was none.
    pub code: u16,
    /// `reason` of the `Status`, such as `AlreadyExists`.
    pub reason: String,
    /// What the server said.
    pub message: String,
    /// Reasons of the `causes`, such as `NamespaceTerminating`.
    pub causes: Vec<String>,
}

impl Failure {
    /// Whether the namespace is being deleted, so that nothing can be made in it.
    pub fn is_namespace_terminating(&self) -> bool {
        self.causes
            .iter()
            .any(|cause| cause == "NamespaceTerminating")
    }

    /// Whether an object of that name exists.
    pub fn is_already_exists(&self) -> bool {
        self.code == 409 && self.reason == "AlreadyExists"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::{Namespace, Pod};

    fn answered<K: Object>(meta: &Value) -> bool {
        let cluster = Cluster::default();
        let read = |meta: &Value| serde_json::from_value::<K>(json!({"metadata": meta}));
        let before = read(&json!({"name": "a", "uid": "u", "resourceVersion": "1"}));
        let before = before.expect("an object");
        cluster.add(before.clone());
        let answer = json!({"metadata": meta}).to_string();
        let outcome = Write::update(&before).answered(&cluster, Ok(&answer));
        assert!(outcome.object::<K>().is_some());
        !cluster.all::<K>().is_empty()
    }

    #[test]
    fn an_object_that_nothing_holds_any_more_is_gone() {
        let meta = |finalizers: &[&str], grace: Option<i64>| {
            json!({
                "name": "a", "uid": "u", "resourceVersion": "2",
                "deletionTimestamp": "2026-03-01T12:00:00Z",
                "deletionGracePeriodSeconds": grace, "finalizers": finalizers,
            })
        };
        assert!(!answered::<Pod>(&meta(&[], None)));
        assert!(!answered::<Pod>(&meta(&[], Some(0))));
        assert!(answered::<Pod>(&meta(&[], Some(30))));
        assert!(answered::<Pod>(&meta(&["x/y"], None)));
        // Namespaces are held by what their spec says.
        assert!(answered::<Namespace>(&meta(&[], None)));
        let there = json!({"name": "a", "uid": "u", "resourceVersion": "2"});
        assert!(answered::<Pod>(&there));
    }
}
