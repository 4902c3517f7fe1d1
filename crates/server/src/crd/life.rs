//! The life of definitions: their names are granted, they are served, and they take their objects
//! with them. What upstream's controllers do in their own time is done here before the request that
//! causes it is answered.

use super::{Custom, overlap};
use crate::api::Api;
use crate::request::Target;
use crate::resource::Resource;
use crate::verbs::delete;
use crate::{clock, storage};
use serde_json::Value;
use std::sync::Arc;
use stowplan_apimachinery::{Edit, View};
use stowplan_crd::{CLEANUP, Definition, names};
use stowplan_patch::managed;
use stowplan_store::{CommitError, Entry, Expect, Txn};

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";

/// Whether a resource is that of definitions.
pub(crate) fn is_definition(resource: &Resource) -> bool {
    !resource.is_custom() && resource.is(GROUP, PLURAL)
}

/// Where a definition is kept, and what is there now.
pub(crate) fn entry(api: &Api, definition: &Definition) -> (String, Option<Arc<Entry>>) {
    let (group, plural) = (&definition.group, &definition.plural);
    let key = format!("/registry/{GROUP}/{PLURAL}/{plural}.{group}");
    let entry = api.store().get(key.as_bytes());
    (key, entry)
}

/// What a write to a definition, or to an object whose definition goes, entails. A client that hangs up
/// does not stop it half-way.
pub(crate) struct FollowUp(Option<(Arc<Api>, Resource)>);

impl FollowUp {
    /// Of a write that is about to be made; most entail nothing.
    pub(crate) fn of(api: &Arc<Api>, target: &Target) -> Option<Self> {
        let resource = &target.resource;
        let may = resource.is_custom() || is_definition(resource);
        may.then(|| Self(Some((Arc::clone(api), resource.clone()))))
    }

    /// Begins with it, if there is anything to do now that the write has been made.
    pub(crate) fn start(&mut self) -> Option<tokio::task::JoinHandle<()>> {
        let (api, resource) = self.0.take()?;
        let goes = |definition| {
            let present = entry(&api, definition).1;
            let present = present.map(|entry| storage::object(&entry));
            present.is_some_and(|object| object.at("metadata").has("deletionTimestamp"))
        };
        if resource.custom().is_some_and(|c| !goes(&c.definition)) {
            return None;
        }
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        Some(runtime.spawn(async move { reconcile(&api).await }))
    }
}

impl Drop for FollowUp {
    fn drop(&mut self) {
        drop(self.start());
    }
}

/// Marks a definition for deletion: it waits for its objects. Upstream: `REST.Delete` in
/// `pkg/registry/customresourcedefinition/etcd.go`.
pub(crate) fn mark(definition: &mut Value, now: &str) {
    let metadata = definition.at_mut("metadata");
    metadata.default_to("deletionTimestamp", now);
    let finalizers = metadata.list_mut("finalizers");
    if !finalizers.iter().any(|f| f == CLEANUP) {
        finalizers.push(CLEANUP.into());
    }
    let why =
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    names::set_condition(
        definition,
        "Terminating",
        true,
        "InstanceDeletionPending",
        why,
        now,
    );
}

fn all(api: &Api, prefix: &str) -> Vec<Arc<Entry>> {
    let page = api.store().range(prefix.as_bytes(), None, None, None);
    page.map(|page| page.entries).unwrap_or_default()
}

/// Brings definitions, and what is served, to where they shall be.
pub(crate) async fn reconcile(api: &Api) {
    let _one = api.resources().settling().lock().await;
    let Some(resource) = api.resources().by_group(GROUP, PLURAL) else {
        return;
    };
    let prefix = storage::key(&resource, "", "");
    // Nothing new is let in where all is about to be deleted.
    serve(api, &prefix);
    // A grant can free a name that another definition waits for.
    let mut settled = false;
    while settle_all(api, &resource, &prefix).await {
        settled = true;
    }
    if settled {
        serve(api, &prefix);
    }
}

/// Serves what the definitions of the moment define.
fn serve(api: &Api, prefix: &str) {
    let entries = all(api, prefix);
    let mut served = Vec::new();
    for entry in &entries {
        let object = storage::object(entry);
        let (group, plural) = defined(&object);
        if overlap::with_built_in(group, plural) {
            continue;
        }
        if names::is_true(&object, "NamesAccepted") || names::is_true(&object, "Established") {
            let definition = api.resources().compiled(entry, || Definition::new(&object));
            let versions = definition.versions.iter().filter(|v| v.served);
            served.extend(versions.map(|version| Custom {
                definition: Arc::clone(&definition),
                version: Arc::clone(version),
            }));
        }
    }
    api.resources().serve(served, &entries);
}

/// The group and the plural that a definition defines.
fn defined(definition: &Value) -> (&str, &str) {
    let spec = definition.at("spec");
    (spec.text("group"), spec.at("names").text("plural"))
}

/// Settles what is unsettled; says whether anything was.
async fn settle_all(api: &Api, resource: &Resource, prefix: &str) -> bool {
    let entries = all(api, prefix);
    let objects: Vec<Arc<Value>> = entries.iter().map(|e| storage::object(e)).collect();
    let now = clock::seconds(api.env().now());
    for (entry, object) in entries.iter().zip(&objects) {
        let group = object.at("spec").text("group");
        let kin = objects.iter().map(|o| &**o);
        let kin = kin.filter(|o| o.at("spec").text("group") == group);
        let changed = match object.at("metadata").has("deletionTimestamp") {
            true => finalize(api, resource, entry, object).await,
            false => match names::settle(object, kin, &now) {
                Some(new) => put_status(api, resource, entry, object, new, &now).await,
                None => false,
            },
        };
        if changed {
            return true;
        }
    }
    false
}

async fn put_status(
    api: &Api,
    resource: &Resource,
    entry: &Entry,
    old: &Value,
    new: Value,
    now: &str,
) -> bool {
    let new = owned(resource, old, new, now);
    let expect = Expect::Revision(entry.mod_revision);
    let txn = Txn::new().put(entry.key.clone(), storage::encode(&new), expect);
    api.store().commit(txn).await.is_ok()
}

/// The server itself owns what it says of a definition.
fn owned(resource: &Resource, old: &Value, mut new: Value, now: &str) -> Value {
    let request = managed::Request {
        ty: resource.ty(),
        api_version: &resource.api_version(),
        kind: resource.kind(),
        subresource: "status",
        manager: "kube-apiserver",
        reset_fields: &[&["spec"]],
        empty: resource.empty(),
        versions: &managed::OneVersion,
        now,
    };
    managed::update(Some(old), &mut new, &request);
    new
}

/// Deletes the objects of a definition, and then the definition itself.
async fn finalize(api: &Api, resource: &Resource, entry: &Entry, object: &Value) -> bool {
    let finalizers = object.at("metadata").list("finalizers");
    if !finalizers.iter().any(|f| f == CLEANUP) {
        return false;
    }
    let Some((reason, message)) = empty_out(api, object).await else {
        return false;
    };
    let mut left = finalizers.to_vec();
    left.retain(|f| f != CLEANUP);
    let expect = Expect::Revision(entry.mod_revision);
    if left.is_empty() {
        let txn = Txn::new().delete(entry.key.clone(), expect);
        return api.store().commit(txn).await.is_ok();
    }
    let now = clock::seconds(api.env().now());
    let mut new = object.clone();
    new.at_mut("metadata").set("finalizers", left);
    names::set_condition(&mut new, "Terminating", false, reason, message, &now);
    put_status(api, resource, entry, object, new, &now).await
}

/// Deletes what goes with a definition, and says what came of it; `None` if something is left.
/// Upstream: `CRDFinalizer.sync`.
async fn empty_out(api: &Api, definition: &Value) -> Option<(&'static str, &'static str)> {
    let (group, plural) = defined(definition);
    if overlap::with_built_in(group, plural) {
        let why = "instances overlap with built-in resources in storage";
        return Some(("OverlappingBuiltInResource", why));
    }
    if !names::is_true(definition, "Established") {
        return Some(("NeverEstablished", "resource was never established"));
    }
    let prefix = storage::custom_prefix(group, plural);
    let done = ("InstanceDeletionCompleted", "removed all instances");
    empty(api, &prefix).await.then_some(done)
}

/// Deletes objects; those that finalizers hold are only marked. Says whether all are gone.
async fn empty(api: &Api, prefix: &str) -> bool {
    let now = clock::seconds(api.env().now());
    loop {
        let mut raced = false;
        for entry in all(api, prefix) {
            let Some(txn) = delete::step(&entry, &now) else {
                continue;
            };
            match api.store().commit(txn).await {
                Ok(_) => {}
                // Whoever was quicker changed it.
                Err(CommitError::Conflict(_)) => raced = true,
                Err(error) => {
                    tracing::error!(%error, "objects of a definition cannot be deleted");
                    return false;
                }
            }
        }
        if !raced {
            return all(api, prefix).is_empty();
        }
    }
}
