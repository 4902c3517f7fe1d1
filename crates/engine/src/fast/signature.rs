//! Which pods are alike.

use crate::ReadKeys;
use crate::model::{Labels, OwnerRef, Pod, PodKey, SpreadConstraint};
use std::hash::{Hash, Hasher};
use stowplan_base::{Names, Sym, WordHasher};

/// The label keys that count for one pod: those that others read, and those that its own selectors
/// read.
struct Keys<'a> {
    pod: &'a Pod,
    read: &'a ReadKeys,
}

impl Keys<'_> {
    fn counts(&self, key: Sym) -> bool {
        self.read.contains(key) || self.own(key)
    }

    fn own(&self, key: Sym) -> bool {
        let in_spread = |c: &SpreadConstraint| {
            c.match_label_keys.contains(&key)
                || c.selector.requirements().iter().any(|r| r.key == key)
        };
        self.pod.spread_constraints.iter().any(in_spread)
            || self
                .pod
                .affinity_terms()
                .any(|term| term.selector.requirements().iter().any(|r| r.key == key))
    }

    fn labels(&self) -> impl Iterator<Item = (Sym, Sym)> {
        self.pod.labels.iter().filter(|(key, _)| self.counts(*key))
    }
}

/// The owner, if it is of a kind whose selector default spread constraints read.
fn spreading_owner<'a>(pod: &'a Pod, names: &Names) -> Option<&'a OwnerRef> {
    let owner = pod.controller.as_ref()?;
    let kind = (names.text(owner.api_version), names.text(owner.kind));
    let reads = [
        ("v1", "ReplicationController"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
    ];
    (pod.spread_constraints.is_empty() && reads.contains(&kind)).then_some(owner)
}

/// A hash of everything by which plugins can tell pods apart.
pub(super) fn hash(pod: &Pod, read: &ReadKeys, names: &Names) -> u64 {
    let mut hasher = WordHasher::default();
    for label in (Keys { pod, read }).labels() {
        label.hash(&mut hasher);
    }
    if let Some(owner) = spreading_owner(pod, names) {
        (owner.kind, owner.name).hash(&mut hasher);
    }
    let Pod {
        namespace,
        node_name,
        priority,
        tolerations,
        node_selector,
        node_affinity,
        pod_affinity,
        pod_anti_affinity,
        spread_constraints,
        host_ports,
        requests,
        images,
        container_count,
        required_features,
        ..
    } = pod;
    (namespace, node_name, priority).hash(&mut hasher);
    (tolerations, node_selector, node_affinity).hash(&mut hasher);
    (pod_affinity, pod_anti_affinity, spread_constraints).hash(&mut hasher);
    // What is asked for in other forms follows from these, nearly always.
    (
        &requests.spec,
        requests.non_zero_cpu_milli,
        requests.non_zero_memory,
    )
        .hash(&mut hasher);
    (host_ports, images).hash(&mut hasher);
    (container_count, required_features).hash(&mut hasher);
    hasher.finish()
}

/// Whether `pod` is of the class that `example` stands for.
pub(super) fn is_like(pod: &Pod, example: &Pod, read: &ReadKeys, names: &Names) -> bool {
    // Taken apart so that a new field cannot be forgotten.
    let Pod {
        // What tells pods apart, but not to plugins.
        key: _,
        name: _,
        uid: _,
        resource_version: _,
        terminating: _,
        nominated_node_name: _,
        scheduler_name: _,
        never_preempts: _,
        start_time: _,
        preempted_by_scheduler: _,
        finished: _,
        scheduling_gates: _,
        // What is asked anew for every pod.
        volumes: _,
        resource_claims: _,
        extended_resource_claim: _,
        claim_statuses: _,
        labels: _,
        controller: _,
        namespace,
        node_name,
        priority,
        tolerations,
        node_selector,
        node_affinity,
        pod_affinity,
        pod_anti_affinity,
        affinity_error,
        spread_constraints,
        host_ports,
        requests,
        images,
        container_count,
        required_features,
    } = pod;
    *namespace == example.namespace
        && *node_name == example.node_name
        && *priority == example.priority
        && *requests == example.requests
        && (Keys { pod, read }).labels().eq(example.labels.iter())
        && *tolerations == example.tolerations
        && *node_selector == example.node_selector
        && *node_affinity == example.node_affinity
        && *pod_affinity == example.pod_affinity
        && *pod_anti_affinity == example.pod_anti_affinity
        && *affinity_error == example.affinity_error
        && *spread_constraints == example.spread_constraints
        && *host_ports == example.host_ports
        && *images == example.images
        && *container_count == example.container_count
        && *required_features == example.required_features
        && same_owner(spreading_owner(pod, names), example.controller.as_ref())
}

fn same_owner(a: Option<&OwnerRef>, b: Option<&OwnerRef>) -> bool {
    let id = |owner: &OwnerRef| (owner.api_version, owner.kind, owner.name);
    a.map(id) == b.map(id)
}

/// The example of the class of `pod`: only what makes the class is left of it.
pub(super) fn example(pod: &Pod, read: &ReadKeys, names: &Names) -> Pod {
    let labels = Labels::new((Keys { pod, read }).labels());
    Pod {
        // Nobody's: the example itself is never nominated.
        uid: "".into(),
        key: PodKey {
            namespace: pod.key.namespace.clone(),
            name: "".into(),
        },
        name: Sym::EMPTY,
        resource_version: "".into(),
        labels,
        controller: spreading_owner(pod, names).cloned(),
        nominated_node_name: None,
        volumes: Box::default(),
        resource_claims: Box::default(),
        extended_resource_claim: None,
        claim_statuses: Box::default(),
        ..pod.clone()
    }
}
