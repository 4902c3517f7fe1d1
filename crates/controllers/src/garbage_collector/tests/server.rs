//! A server as the garbage collector sees it: objects with owners and finalizers, and what happened.

use super::super::*;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// An object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) identity: Identity,
    pub(super) owners: Vec<Owner>,
    pub(super) finalizers: Vec<String>,
    pub(super) deleting: bool,
    pub(super) version: u64,
}

/// What a reflector is told.
pub(super) enum Event {
    Seen(Observed),
    Gone(Arc<str>),
}

/// Kinds whose names begin with `Cluster` have no namespace; those that begin with `Custom` do not know
/// strategic merge patches. One reflector per kind tells what happened, in order.
#[derive(Default)]
pub(super) struct Server {
    pub(super) objects: BTreeMap<(String, Arc<str>, Box<str>), Object>,
    pub(super) events: BTreeMap<String, VecDeque<Event>>,
    version: u64,
    /// What the garbage collector did.
    pub(super) log: Vec<String>,
}

pub(super) fn is_namespaced(kind: &str) -> bool {
    !kind.starts_with("Cluster")
}

impl Server {
    fn key(identity: &Identity) -> (String, Arc<str>, Box<str>) {
        let kind = identity.gvk.kind.to_string();
        let namespace = match is_namespaced(&kind) {
            true => identity.namespace.clone(),
            false => Arc::from(""),
        };
        (kind, namespace, identity.name.clone())
    }

    pub(super) fn by_uid(&self, uid: &str) -> Option<&Object> {
        let mut objects = self.objects.values();
        objects.find(|object| &*object.identity.uid == uid)
    }

    /// Stores an object, or removes it if nothing holds it, and tells.
    pub(super) fn store(&mut self, mut object: Object) {
        self.version += 1;
        object.version = self.version;
        let key = Self::key(&object.identity);
        let events = self.events.entry(key.0.clone()).or_default();
        if object.deleting && object.finalizers.is_empty() {
            events.push_back(Event::Gone(object.identity.uid.clone()));
            self.objects.remove(&key);
            return;
        }
        let has = |finalizer: &str| object.finalizers.iter().any(|have| have == finalizer);
        events.push_back(Event::Seen(Observed {
            identity: object.identity.clone(),
            owners: object.owners.clone(),
            deleting: object.deleting,
            foreground: has(FOREGROUND),
            orphan: has(ORPHAN),
        }));
        self.objects.insert(key, object);
    }

    /// Deletes an object, as `Store.Delete` with its `deletionFinalizersForGarbageCollection`.
    pub(super) fn delete(&mut self, uid: &str, policy: Policy) {
        let Some(mut object) = self.by_uid(uid).cloned() else {
            return;
        };
        object
            .finalizers
            .retain(|have| have != FOREGROUND && have != ORPHAN);
        match policy {
            Policy::Foreground => object.finalizers.push(FOREGROUND.to_owned()),
            Policy::Orphan => object.finalizers.push(ORPHAN.to_owned()),
            Policy::Background => {}
        }
        object.deleting = true;
        self.store(object);
    }

    /// Whether one of an object's owners is there and does not wait for its dependents.
    pub(super) fn has_solid_owner(&self, object: &Object) -> bool {
        object.owners.iter().any(|owner| {
            let identity = owner.identity_in(&object.identity.namespace);
            let found = self.objects.get(&Self::key(&identity));
            found.is_some_and(|found| {
                let waits = found.deleting && found.finalizers.iter().any(|f| f == FOREGROUND);
                found.identity.uid == owner.uid && !waits
            })
        })
    }

    pub(super) fn answer(&mut self, request: &Request) -> Answer {
        let (Request::Get(target) | Request::Delete { target, .. } | Request::Patch { target, .. }) =
            request;
        let namespaced = is_namespaced(&target.gvk.kind);
        if namespaced && target.namespace.is_empty() {
            return Answer::NoNamespace;
        }
        let Some(object) = self.objects.get(&Self::key(target)).cloned() else {
            return Answer::NotFound { namespaced };
        };
        match request {
            Request::Get(_) => Answer::Found(Live {
                uid: object.identity.uid.to_string(),
                resource_version: object.version.to_string(),
                owners: object.owners,
                finalizers: object.finalizers,
                deleting: object.deleting,
                namespaced,
            }),
            Request::Delete {
                target,
                resource_version,
                policy,
            } => {
                if target.uid != object.identity.uid
                    || *resource_version != object.version.to_string()
                {
                    return Answer::Conflict;
                }
                // Nothing is deleted that somebody still owns.
                assert!(!object.owners.is_empty(), "{target}");
                assert!(!self.has_solid_owner(&object), "{target} {object:?}");
                let how = policy.as_str();
                self.log.push(format!("delete {} {how}", target.name));
                self.delete(&target.uid, *policy);
                Answer::Done
            }
            Request::Patch {
                target,
                patch_type,
                body,
            } => self.patch(object, target, *patch_type, &body["metadata"]),
        }
    }

    fn patch(
        &mut self,
        mut object: Object,
        target: &Identity,
        patch_type: PatchType,
        meta: &Value,
    ) -> Answer {
        let is_custom = object.identity.gvk.kind.starts_with("Custom");
        if patch_type == PatchType::Strategic && is_custom {
            return Answer::Unsupported;
        }
        let version = meta["resourceVersion"].as_str();
        if version.is_some_and(|version| version != object.version.to_string())
            || meta["uid"]
                .as_str()
                .is_some_and(|uid| *uid != *object.identity.uid)
        {
            return Answer::Conflict;
        }
        if let Some(finalizers) = meta["finalizers"].as_array() {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            object.finalizers = finalizers.iter().map(text).collect();
        }
        if let Some(owners) = meta["ownerReferences"].as_array() {
            let uid = |owner: &Value| Arc::<str>::from(owner["uid"].as_str().unwrap());
            if patch_type == PatchType::Merge {
                let named: Vec<_> = owners.iter().map(uid).collect();
                object.owners.retain(|owner| named.contains(&owner.uid));
            }
            for entry in owners {
                let uid = uid(entry);
                match entry["$patch"] == "delete" {
                    true => object.owners.retain(|owner| owner.uid != uid),
                    false => {
                        let owner = object.owners.iter_mut().find(|owner| owner.uid == uid);
                        owner.unwrap().block = entry["blockOwnerDeletion"].as_bool();
                    }
                }
            }
        }
        let what = match meta.get("finalizers") {
            Some(finalizers) => format!("finalizers {finalizers}"),
            None => {
                let show = |owner: &Owner| match owner.blocks() {
                    true => format!("{}!", owner.uid),
                    false => owner.uid.to_string(),
                };
                let owners: Vec<_> = object.owners.iter().map(show).collect();
                format!("owners [{}]", owners.join(" "))
            }
        };
        self.log.push(format!("patch {} {what}", target.name));
        self.store(object);
        Answer::Done
    }
}
