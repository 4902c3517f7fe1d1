//! Workloads → the pods that they lack.
//!
//! What the controllers of Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet and
//! Job would create, given what is there already: pods of the same input that a workload controls
//! (a Deployment by way of its ReplicaSets) count, and only what is missing is made.
//!
//! Names are made to be read and to be the same every time: `web-0`, `web-1` for a Deployment,
//! ReplicaSet, StatefulSet or Job `web`, and `agent-NODE` for a DaemonSet `agent`. (A real
//! ReplicaSet would say `web-6d4b75cb6d-x7k2p`.)

mod daemon_set;
mod deployment;
mod job;
pub mod limits;
mod stateful_set;
mod template;
#[cfg(test)]
mod tests;

use crate::load::{Kind, Loaded, Object, Source};
use k8s_openapi::api::core::v1::{Node, Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use std::collections::{BTreeMap, BTreeSet};
use template::{controlled_by, controller_of, is_active};

/// Makes the pods that the workloads among `objects` lack, and with them the ReplicaSets of
/// Deployments and the claims of StatefulSets.
///
/// All objects must have names, namespaces and uids. What is made is neither defaulted nor has it a
/// uid, and it comes from where its workload was read.
pub fn expand(objects: &[Loaded]) -> Vec<Loaded> {
    let mut world = World::new(objects);
    let scaled = deployment::scale(&mut world, objects);
    for loaded in objects {
        let at = &loaded.source;
        match &loaded.object {
            Object::ReplicaSet(set) => {
                let more = scaled.get(&id(&set.metadata)).copied().unwrap_or(0);
                deployment::replica_set(&mut world, at, set, more);
            }
            Object::ReplicationController(controller) => {
                deployment::replication_controller(&mut world, at, controller);
            }
            Object::StatefulSet(set) => stateful_set::expand(&mut world, at, set),
            Object::DaemonSet(set) => daemon_set::expand(&mut world, at, set),
            Object::Job(job) => job::expand(&mut world, at, job),
            _ => {}
        }
    }
    world.made
}

/// One more pod of a workload, on top of all that it should have: what would become of it?
///
/// The pod comes first, then the claims that come with it. `None` if the object is no workload, if
/// it makes no pods by number (a DaemonSet), or if all its numbers are taken (an Indexed Job).
pub fn one_more(objects: &[Loaded], workload: &Loaded) -> Option<Vec<Loaded>> {
    let mut world = World::new(objects);
    let at = &workload.source;
    match &workload.object {
        Object::Deployment(given) => {
            let scaled = deployment::scale(&mut world, objects);
            let sets = objects.iter().filter_map(|loaded| match &loaded.object {
                Object::ReplicaSet(set) => Some(&**set),
                _ => None,
            });
            let own =
                sets.filter(|set| is_controlled(&set.metadata, Kind::Deployment, &given.metadata));
            match own.max_by_key(|set| deployment::revision(set)) {
                Some(set) => {
                    let more = scaled.get(&id(&set.metadata)).copied().unwrap_or(0);
                    deployment::replica_set(&mut world, at, set, more.saturating_add(1));
                }
                None => {
                    let mut given = given.clone();
                    let spec = given.spec.as_mut()?;
                    spec.replicas = Some(spec.replicas.unwrap_or(1).saturating_add(1));
                    world.made.clear();
                    deployment::from_scratch(&mut world, at, &given);
                }
            }
        }
        Object::ReplicaSet(set) => deployment::replica_set(&mut world, at, set, 1),
        Object::ReplicationController(given) => {
            let mut given = given.clone();
            let spec = given.spec.as_mut()?;
            spec.replicas = Some(spec.replicas.unwrap_or(1).saturating_add(1));
            deployment::replication_controller(&mut world, at, &given);
        }
        Object::StatefulSet(set) => {
            let mut set = set.clone();
            let spec = set.spec.as_mut()?;
            spec.replicas = Some(spec.replicas.unwrap_or(1).saturating_add(1));
            stateful_set::expand(&mut world, at, &set);
        }
        Object::Job(given) => {
            let mut given = given.clone();
            let spec = given.spec.as_mut()?;
            spec.parallelism = Some(spec.parallelism.unwrap_or(1).saturating_add(1));
            spec.completions = None;
            spec.suspend = None;
            given.status = None;
            job::expand(&mut world, at, &given);
        }
        _ => return None,
    }
    let mut made = world.made;
    let last = made
        .iter()
        .rposition(|made| matches!(made.object, Object::Pod(_)))?;
    let pod = made.swap_remove(last);
    made.retain(|made| matches!(made.object, Object::PersistentVolumeClaim(_)));
    made.insert(0, pod);
    Some(made)
}

/// A workload's namespace and name.
type Id = (String, String);

/// What is there, and what has been made so far.
struct World<'a> {
    /// Pods that have not run their course, by namespace, kind and name of their controller.
    controlled: BTreeMap<(&'a str, &'a str, &'a str), Vec<&'a Pod>>,
    /// Names of pods that are taken.
    taken: BTreeSet<Id>,
    claims: BTreeSet<Id>,
    nodes: Vec<&'a Node>,
    made: Vec<Loaded>,
}

impl<'a> World<'a> {
    fn new(objects: &'a [Loaded]) -> Self {
        let mut world = Self {
            controlled: BTreeMap::new(),
            taken: BTreeSet::new(),
            claims: BTreeSet::new(),
            nodes: Vec::new(),
            made: Vec::new(),
        };
        for loaded in objects {
            match &loaded.object {
                Object::Pod(pod) => {
                    world.taken.insert(id(&pod.metadata));
                    if let Some(owner) = controller_of(&pod.metadata)
                        && is_active(pod)
                    {
                        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
                        let key = (namespace, &*owner.kind, &*owner.name);
                        world.controlled.entry(key).or_default().push(pod);
                    }
                }
                Object::PersistentVolumeClaim(claim) => {
                    world.claims.insert(id(&claim.metadata));
                }
                Object::Node(node) => world.nodes.push(node),
                _ => {}
            }
        }
        world
    }

    /// The active pods that a workload controls.
    fn pods_of(&self, kind: Kind, owner: &ObjectMeta) -> Vec<&'a Pod> {
        let namespace = owner.namespace.as_deref().unwrap_or_default();
        let name = owner.name.as_deref().unwrap_or_default();
        let pods = self.controlled.get(&(namespace, kind.as_str(), name));
        pods.into_iter()
            .flatten()
            .copied()
            .filter(|pod| is_controlled(&pod.metadata, kind, owner))
            .collect()
    }

    /// Makes a pod, unless there is one of this name.
    fn make(&mut self, at: &Source, pod: Pod) -> bool {
        if !self.taken.insert(id(&pod.metadata)) {
            return false;
        }
        self.made.push(Loaded {
            source: at.clone(),
            object: pod.into(),
        });
        true
    }

    /// Makes so many pods, named by the first numbers that are free.
    fn make_numbered(
        &mut self,
        at: &Source,
        base: &str,
        count: usize,
        template: &PodTemplateSpec,
        owner: (&ObjectMeta, &OwnerReference),
    ) {
        let (metadata, reference) = owner;
        let mut number = 0;
        for _ in 0..count {
            loop {
                let name = format!("{base}-{number}");
                number += 1;
                let pod = template::pod(
                    template,
                    metadata.namespace.as_deref(),
                    &name,
                    reference.clone(),
                );
                if self.make(at, pod) {
                    break;
                }
            }
        }
    }
}

fn id(metadata: &ObjectMeta) -> Id {
    (
        metadata.namespace.clone().unwrap_or_default(),
        metadata.name.clone().unwrap_or_default(),
    )
}

/// Whether an object is controlled by this owner. Manifests written by hand may leave the uid out.
fn is_controlled(metadata: &ObjectMeta, kind: Kind, owner: &ObjectMeta) -> bool {
    controller_of(metadata).is_some_and(|reference| {
        reference.kind == kind.as_str()
            && Some(&reference.name) == owner.name.as_ref()
            && metadata.namespace == owner.namespace
            && (reference.uid.is_empty()
                || owner.uid.as_ref().is_none_or(|uid| *uid == reference.uid))
    })
}
