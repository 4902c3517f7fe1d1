//! What roles and bindings grant, read from the store as it changes.
//!
//! Everybody's requests are decided by it, before anything else is known of them. So it never reads what
//! has not changed, and a decision that has much to look at is a heavy request's.

use crate::api::Api;
use crate::flowcontrol::{Flow, Weight};
use crate::limits::LIGHT_RIGHTS_BYTES_MAX;
use crate::storage::glance;
use serde_json::Value;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use stowplan_auth::{Grants, Policy, Rights, Role, User};
use stowplan_kinds::columns::Read;
use stowplan_store::{Entry, Revision, Store, Watch};

/// The roles and bindings of the store.
#[derive(Default)]
pub(crate) struct Rbac {
    policy: RwLock<Policy>,
    /// What changes them. Nothing before the first question, and after changes were missed.
    feed: Mutex<Option<[Watch; 2]>>,
    /// Everything up to this revision is in the policy.
    seen: AtomicU64,
}

/// Each begins the keys of two resources.
const PREFIXES: [&str; 2] = ["/registry/role", "/registry/clusterrole"];

/// What is kept in the policy.
const READS: &[Read] = &[
    Read("metadata", &[Read("name", &[]), Read("namespace", &[])]),
    Read("rules", &[]),
    Read("roleRef", &[]),
    Read("subjects", &[]),
];

impl Rbac {
    /// Takes in what has changed. There is no lag: what a write has answered is seen by the next request.
    /// Whoever changes a large object does this himself before he is answered, so that others need not.
    pub(crate) fn catch_up(&self, store: &Store) {
        let now = store.revision();
        if self.seen.load(Ordering::Acquire) >= now.0 {
            return;
        }
        let mut feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        if self.seen.load(Ordering::Acquire) >= now.0 {
            return;
        }
        let seen = match feed.as_mut().and_then(|watches| self.follow(watches)) {
            Some(seen) => seen,
            None => {
                let read = self.read_all(store);
                let seen = read.as_ref().map_or(Revision(0), |(_, seen)| *seen);
                *feed = read.map(|(watches, _)| watches);
                seen
            }
        };
        self.seen.store(seen.0, Ordering::Release);
    }

    /// Takes in what the watches tell, and says up to which revision; nothing if there is a gap.
    fn follow(&self, watches: &mut [Watch; 2]) -> Option<Revision> {
        let mut seen = Revision(u64::MAX);
        for watch in watches {
            loop {
                let next = watch.try_next().ok()?;
                for event in &next.events {
                    match event.current() {
                        Some(entry) => self.put(entry),
                        None => self.remove(event.key()),
                    }
                }
                if next.events.is_empty() {
                    seen = seen.min(next.revision);
                    break;
                }
            }
        }
        Some(seen)
    }

    /// Begins anew.
    fn read_all(&self, store: &Store) -> Option<([Watch; 2], Revision)> {
        let now = store.revision();
        let [role, cluster_role] = PREFIXES.map(|prefix| store.watch(prefix, now).ok());
        let watches = [role?, cluster_role?];
        let mut policy = Policy::default();
        for prefix in PREFIXES {
            let page = store.range(prefix.as_bytes(), None, None, None).ok()?;
            for entry in &page.entries {
                put(&mut policy, entry);
            }
        }
        *self.write() = policy;
        Some((watches, now))
    }

    fn put(&self, entry: &Entry) {
        let Some(place) = place(&entry.key) else {
            return;
        };
        // Read while nobody waits for the lock.
        let object = glance::part(entry, READS);
        put_object(&mut self.write(), place.resource, &object);
    }

    fn remove(&self, key: &[u8]) {
        if let Some(place) = place(key) {
            let mut policy = self.write();
            match place.resource {
                "rolebindings" | "clusterrolebindings" => {
                    policy.remove_binding(place.namespace, place.name);
                }
                _ => policy.remove_role(place.namespace, place.name),
            }
        }
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Policy> {
        self.policy.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask<T>(&self, store: &Store, question: impl FnOnce(&Policy) -> T) -> T {
        self.catch_up(store);
        let policy = self.policy.read();
        question(&policy.unwrap_or_else(PoisonError::into_inner))
    }
}

fn put(policy: &mut Policy, entry: &Entry) {
    if let Some(place) = place(&entry.key) {
        put_object(policy, place.resource, &glance::part(entry, READS));
    }
}

fn put_object(policy: &mut Policy, resource: &str, object: &Value) {
    match resource {
        "rolebindings" | "clusterrolebindings" => policy.put_binding(object),
        _ => policy.put_role(object),
    }
}

/// What a key of the store is about.
struct Place<'a> {
    resource: &'a str,
    namespace: &'a str,
    name: &'a str,
}

/// Nothing if it is about neither roles nor bindings.
fn place(key: &[u8]) -> Option<Place<'_>> {
    let key = std::str::from_utf8(key).ok()?.strip_prefix("/registry/")?;
    let (resource, rest) = key.split_once('/')?;
    let (namespace, name) = match resource {
        "roles" | "rolebindings" => rest.split_once('/')?,
        "clusterroles" | "clusterrolebindings" => ("", rest),
        _ => return None,
    };
    Some(Place {
        resource,
        namespace,
        name,
    })
}

/// The roles and bindings of a server, however much there is to look at.
pub(crate) struct All<'a>(pub(crate) &'a Api);

impl Grants for All<'_> {
    fn rights(&self, user: &User, namespace: &str) -> Rights {
        let Self(api) = self;
        api.rbac().ask(api.store(), |p| p.rights(user, namespace))
    }

    fn role(&self, namespace: &str, name: &str) -> Option<Arc<Role>> {
        let Self(api) = self;
        api.rbac().ask(api.store(), |p| p.role(namespace, name))
    }
}

/// The same as long as there is little to look at.
struct BoundedGrants<'a> {
    api: &'a Api,
    left: Cell<Option<usize>>,
}

impl Grants for BoundedGrants<'_> {
    fn rights(&self, user: &User, namespace: &str) -> Rights {
        let left = self.left.get();
        let within = |policy: &Policy| policy.rights_within(user, namespace, left?);
        let rights = self.api.rbac().ask(self.api.store(), within);
        let bytes = rights.as_ref().map(Rights::bytes);
        self.left
            .set(left.zip(bytes).map(|(left, bytes)| left - bytes));
        rights.unwrap_or_default()
    }

    fn role(&self, namespace: &str, name: &str) -> Option<Arc<Role>> {
        All(self.api).role(namespace, name)
    }
}

/// Finds out what somebody may do. A light request is made heavy for it if there is much to look at;
/// nothing if there is no seat for that.
pub(crate) async fn decide<T>(
    api: &Api,
    flow: &Flow,
    weight: Weight,
    question: impl Fn(&dyn Grants) -> T,
) -> Option<T> {
    if weight == Weight::Heavy {
        return Some(question(&All(api)));
    }
    if let Some(outcome) = decide_by_few(api, &question) {
        return Some(outcome);
    }
    let work = std::pin::pin!(async { question(&All(api)) });
    Weight::Heavy.carry(api, flow, work).await
}

/// Nothing if there is much to look at.
fn decide_by_few<T>(api: &Api, question: impl Fn(&dyn Grants) -> T) -> Option<T> {
    let few = BoundedGrants {
        api,
        left: Cell::new(Some(LIGHT_RIGHTS_BYTES_MAX)),
    };
    let outcome = question(&few);
    few.left.get().map(|_| outcome)
}

#[cfg(test)]
#[path = "rbac_tests.rs"]
mod tests;
