//! Names, namespaces and uids.

use crate::cluster::Loaded;
use crate::road::made_up_uid;
use crate::{LoadError, Source};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_api::load::Object;
use stowplan_apimachinery::{Edit, View, meta};
use stowplan_registry::Resource;

/// Namespace and name.
type Id = (String, String);

/// The names that were given so far.
#[derive(Default)]
pub(super) struct Names {
    /// How often a prefix was made a name of.
    generated: BTreeMap<String, usize>,
    /// Where objects were read, by kind.
    seen: BTreeMap<String, BTreeMap<Id, Source>>,
    /// Uids of workloads, by kind.
    owners: BTreeMap<String, BTreeMap<Id, String>>,
}

impl Names {
    /// Puts a namespaced object without a namespace into `default`, takes it away from others, and
    /// makes a name of `generateName`.
    pub(super) fn complete(&mut self, resource: &Resource, object: &mut Value) {
        let metadata = object.at_mut("metadata");
        match resource.namespaced() {
            true if metadata.text("namespace").is_empty() => metadata.set("namespace", "default"),
            true => {}
            false => drop(metadata.unset("namespace")),
        }
        let stem = metadata.text("generateName").to_owned();
        if metadata.text("name").is_empty() && !stem.is_empty() {
            let number = self.generated.entry(stem.clone()).or_default();
            metadata.set("name", format!("{stem}{number}"));
            *number += 1;
        }
        self.complete_owners(object);
    }

    /// Remembers the uid of a workload, for pods that name it without.
    pub(super) fn owner(&mut self, workload: &Value) {
        let owners = self.owners.entry(workload.text("kind").to_owned());
        let id = (
            meta::namespace(workload).to_owned(),
            meta::name(workload).to_owned(),
        );
        let uid = meta::uid(workload).to_owned();
        owners.or_default().insert(id, uid);
    }

    /// Gives owners the uids that files written by hand leave out.
    fn complete_owners(&self, object: &mut Value) {
        let namespace = meta::namespace(object).to_owned();
        if object.at("metadata").list("ownerReferences").is_empty() {
            return;
        }
        for owner in object.at_mut("metadata").each_mut("ownerReferences") {
            if !owner.text("uid").is_empty() {
                continue;
            }
            let (kind, name) = (owner.text("kind"), owner.text("name").to_owned());
            let id = (namespace.clone(), name);
            let known = self.owners.get(kind).and_then(|owners| owners.get(&id));
            let uid = known.cloned();
            let uid = uid.unwrap_or_else(|| made_up_uid(kind, &id.0, &id.1));
            owner.set("uid", uid);
        }
    }

    /// No two objects may have kind, namespace and name in common.
    pub(super) fn check_duplicate(
        &mut self,
        resource: &Resource,
        object: &Value,
        source: &Source,
    ) -> Result<(), LoadError> {
        let (namespace, name) = (meta::namespace(object), meta::name(object));
        let seen = self.seen.entry(resource.kind().to_owned()).or_default();
        match seen.entry((namespace.to_owned(), name.to_owned())) {
            Entry::Vacant(free) => {
                free.insert(source.clone());
                Ok(())
            }
            Entry::Occupied(first) => {
                let kind = resource.kind();
                let title = match namespace {
                    "" => format!("{kind} {name}"),
                    namespace => format!("{kind} {namespace}/{name}"),
                };
                let message = format!("{title}: already defined in {}", first.get());
                Err(LoadError::object(source, message))
            }
        }
    }
}

/// What a kubelet and the volume controller would have said of an object that nobody has seen: a pod that
/// is on a node runs, a volume is there to be taken. Then the uid, if it has none.
pub(super) fn settle(object: &mut Value) {
    let on_node = !object.at("spec").text("nodeName").is_empty();
    let taken = object.at("spec").has("claimRef");
    let phase = match (object.text("kind"), object.at("status").text("phase")) {
        ("Pod", "") if on_node => "Running",
        ("Pod", "Pending") if on_node && !object.at("status").has("conditions") => "Running",
        ("Pod", "") => "Pending",
        ("PersistentVolume", "" | "Pending") if taken => "Bound",
        ("PersistentVolume", "" | "Pending") => "Available",
        _ => "",
    };
    if !phase.is_empty() {
        object.at_mut("status").set("phase", phase);
    }
    if meta::uid(object).is_empty() {
        let kind = object.text("kind");
        let uid = made_up_uid(kind, meta::namespace(object), meta::name(object));
        object.at_mut("metadata").set("uid", uid);
    }
}

/// No two objects may have a uid in common: pods are told apart by it.
pub(super) fn check_uids(objects: &[Loaded], errors: &mut Vec<LoadError>) {
    let mut seen: BTreeMap<&str, &Loaded> = BTreeMap::new();
    for loaded in objects {
        let Some(uid) = loaded.object.metadata().uid.as_deref() else {
            continue;
        };
        if let Some(first) = seen.get(uid) {
            let message = format!(
                "{}: metadata.uid: {uid:?} is also that of {} in {}, leave it out in one of them",
                loaded.object.title(),
                first.object.title(),
                first.source
            );
            errors.push(LoadError::object(&loaded.source, message));
        } else {
            seen.insert(uid, loaded);
        }
    }
}

/// Namespaces that objects are in exist, with nothing but the label that every namespace has.
pub(super) fn imply_namespaces(objects: &mut Vec<Loaded>) {
    let mut known = BTreeSet::new();
    let mut used: BTreeMap<String, Source> = BTreeMap::new();
    for loaded in &*objects {
        if let Object::Namespace(_) = loaded.object {
            known.insert(loaded.object.name().to_owned());
        } else if loaded.object.kind().is_namespaced()
            && !used.contains_key(loaded.object.namespace())
        {
            used.insert(loaded.object.namespace().to_owned(), loaded.source.clone());
        }
    }
    for (name, source) in used {
        if known.contains(&name) {
            continue;
        }
        let label = ("kubernetes.io/metadata.name".to_owned(), name.clone());
        let namespace = Namespace {
            metadata: ObjectMeta {
                uid: Some(made_up_uid("Namespace", "", &name)),
                name: Some(name),
                labels: Some([label].into()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        objects.push(Loaded {
            source,
            object: namespace.into(),
        });
    }
}
