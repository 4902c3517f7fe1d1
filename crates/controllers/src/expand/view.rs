//! What controllers see of a cluster: no more than they ask about.

use k8s_openapi::api::core::v1::Node;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use stowplan_apimachinery::{View as _, meta};

/// Whether an owner reference is the one that says who controls.
fn controls(reference: &&Value) -> bool {
    reference.flag("controller")
}

/// Who controls an object: its `ownerReferences` entry with `controller: true`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// `ReplicaSet`
    pub kind: String,
    /// Its name, in the object's own namespace.
    pub name: String,
    /// Its uid; files written by hand may leave it out.
    pub uid: String,
}

impl Owner {
    /// The controller of an object, if it has one.
    pub fn of(object: &Value) -> Option<Self> {
        let references = object.at("metadata").list("ownerReferences");
        let owner = references.iter().find(controls)?;
        Some(Self {
            kind: owner.text("kind").to_owned(),
            name: owner.text("name").to_owned(),
            uid: owner.text("uid").to_owned(),
        })
    }

    /// Whether it is this object, of this kind.
    pub fn is(&self, kind: &str, object: &Value) -> bool {
        let uid = meta::uid(object);
        self.kind == kind
            && self.name == meta::name(object)
            && (self.uid.is_empty() || uid.is_empty() || self.uid == uid)
    }
}

/// A pod that has not run its course and that somebody controls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pod {
    /// Who controls it.
    pub owner: Owner,
    /// Its labels.
    pub labels: Map<String, Value>,
    /// The node that it is on, or that a DaemonSet means it for.
    pub node: String,
    /// Its index in an Indexed Job.
    pub index: Option<i64>,
}

/// What is there.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Active pods by namespace, and kind and name of their controller.
    pods: BTreeMap<(String, String, String), Vec<Pod>>,
    /// Names of all pods, by namespace.
    pod_names: BTreeMap<String, BTreeSet<String>>,
    /// Names of all claims, by namespace.
    claim_names: BTreeMap<String, BTreeSet<String>>,
    /// All nodes, in order, as DaemonSets see them.
    pub(crate) nodes: Vec<Node>,
}

fn labels(object: &Value) -> Map<String, Value> {
    let labels = object.at("metadata").at("labels");
    labels.as_object().cloned().unwrap_or_default()
}

impl View {
    /// Takes in a pod, a claim or a node; others are nothing to controllers.
    pub fn see(&mut self, object: &Value) {
        let namespace = meta::namespace(object).to_owned();
        let name = meta::name(object).to_owned();
        match object.text("kind") {
            "Pod" => {
                let names = self.pod_names.entry(namespace.clone());
                names.or_default().insert(name);
                if let Some(owner) = Owner::of(object)
                    && is_active(object)
                {
                    let key = (namespace, owner.kind.clone(), owner.name.clone());
                    let index = object.at("metadata").at("annotations");
                    let index = index.text(crate::job::COMPLETION_INDEX).parse().ok();
                    self.pods.entry(key).or_default().push(Pod {
                        owner,
                        labels: labels(object),
                        node: super::daemon_set::target(object),
                        index,
                    });
                }
            }
            "PersistentVolumeClaim" => {
                self.claim_names.entry(namespace).or_default().insert(name);
            }
            "Node" => {
                let (metadata, spec) = (object.at("metadata"), object.at("spec"));
                let node = json!({
                    "metadata": {"name": name, "labels": metadata.at("labels")},
                    "spec": {"taints": spec.at("taints")},
                });
                self.nodes.extend(super::template::typed::<Node>(&node));
            }
            _ => {}
        }
    }

    /// Whether a pod of this name is there.
    pub fn has_pod(&self, namespace: &str, name: &str) -> bool {
        let names = self.pod_names.get(namespace);
        names.is_some_and(|names| names.contains(name))
    }

    /// Whether a claim of this name is there.
    pub fn has_claim(&self, namespace: &str, name: &str) -> bool {
        let names = self.claim_names.get(namespace);
        names.is_some_and(|names| names.contains(name))
    }

    /// The active pods that a workload controls.
    pub fn pods_of<'a>(
        &'a self,
        kind: &'a str,
        workload: &'a Value,
    ) -> impl Iterator<Item = &'a Pod> {
        let namespace = meta::namespace(workload).to_owned();
        let key = (namespace, kind.to_owned(), meta::name(workload).to_owned());
        let pods = self.pods.get(&key).into_iter().flatten();
        pods.filter(move |pod| pod.owner.is(kind, workload))
    }

    /// The active pods of a namespace whose controller is of this kind.
    pub(crate) fn pods_of_kind<'a>(
        &'a self,
        namespace: &'a str,
        kind: &'a str,
    ) -> impl Iterator<Item = &'a Pod> {
        let from = (namespace.to_owned(), kind.to_owned(), String::new());
        let range = self.pods.range(from..);
        range
            .take_while(move |((there, of, _), _)| there == namespace && of == kind)
            .flat_map(|(_, pods)| pods)
    }
}

/// Whether a pod has neither run its course nor is on its way out: otherwise its controller replaces it.
fn is_active(pod: &Value) -> bool {
    let phase = pod.at("status").text("phase");
    !matches!(phase, "Succeeded" | "Failed") && !pod.at("metadata").has("deletionTimestamp")
}
