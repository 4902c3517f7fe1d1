//! Pods.

use super::{
    HostPort, Labels, Node, NodeSelector, NodeSelectorTerm, PodClaim, PodRequests, PodVolume,
    Selector, Toleration,
};
use std::sync::Arc;
use stowplan_base::{Names, Sym, Time};

/// `namespace/name`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PodKey {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl std::fmt::Display for PodKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A reference to the object that controls another (`ownerReferences` with `controller: true`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OwnerRef {
    /// `apiVersion`.
    pub api_version: Sym,
    /// `kind`.
    pub kind: Sym,
    /// `name`.
    pub name: Sym,
    /// `uid`.
    pub uid: Arc<str>,
}

/// A pod, cut down to what scheduling reads.
#[derive(Clone, Hash, Debug)]
pub struct Pod {
    /// Namespace and name as text, for messages and order.
    pub key: PodKey,
    /// The namespace, interned.
    pub namespace: Sym,
    /// The name, interned.
    pub name: Sym,
    /// `metadata.uid`: what tells two pods of one name apart.
    pub uid: Arc<str>,
    /// `metadata.resourceVersion`, or empty.
    pub resource_version: Arc<str>,
    /// `metadata.labels`.
    pub labels: Labels,
    /// The controlling owner.
    pub controller: Option<OwnerRef>,
    /// Whether `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    /// `spec.nodeName`: bound, or `None` while pending.
    pub node_name: Option<Sym>,
    /// `status.nominatedNodeName`.
    pub nominated_node_name: Option<Sym>,
    /// `spec.schedulerName`.
    pub scheduler_name: Sym,
    /// `spec.priority`, 0 if unset.
    pub priority: i32,
    /// `spec.preemptionPolicy` is `Never`.
    pub never_preempts: bool,
    /// `status.startTime`; `None` counts as "now", later than everything.
    pub start_time: Option<Time>,
    /// The condition `DisruptionTarget` is true because of `PreemptionByScheduler`.
    pub preempted_by_scheduler: bool,
    /// `status.phase` is `Succeeded` or `Failed`: the pod takes up nothing any more.
    pub finished: bool,
    /// `spec.schedulingGates`, by name.
    pub scheduling_gates: Box<[Sym]>,
    /// `spec.tolerations`.
    pub tolerations: Box<[Toleration]>,
    /// `spec.nodeSelector`.
    pub node_selector: Labels,
    /// `spec.affinity.nodeAffinity`.
    pub node_affinity: NodeAffinity,
    /// `spec.affinity.podAffinity`; `None` if absent.
    pub pod_affinity: Option<PodAffinity>,
    /// `spec.affinity.podAntiAffinity`; `None` if absent.
    pub pod_anti_affinity: Option<PodAffinity>,
    /// A selector in `podAffinity` or `podAntiAffinity` that cannot be parsed fails the attempt.
    pub affinity_error: Option<Box<str>>,
    /// `spec.topologySpreadConstraints`.
    pub spread_constraints: Box<[SpreadConstraint]>,
    /// Host ports of containers and sidecars.
    pub host_ports: Box<[HostPort]>,
    /// What the pod asks for.
    pub requests: PodRequests,
    /// Images of containers, init containers and image volumes, names as ImageLocality compares them.
    pub images: Box<[Sym]>,
    /// Containers and init containers, for ImageLocality's threshold.
    pub container_count: u32,
    /// `spec.volumes`.
    pub volumes: Box<[PodVolume]>,
    /// `spec.resourceClaims`, with what `status.resourceClaimStatuses` says of them.
    pub resource_claims: Box<[PodClaim]>,
    /// `status.extendedResourceClaimStatus.resourceClaimName`.
    pub extended_resource_claim: Option<Sym>,
    /// What the status says of claims, as an opaque text: read only to tell whether it changed.
    pub claim_statuses: Box<str>,
    /// Node features that the pod needs, inferred from its spec.
    pub required_features: Box<[Sym]>,
}

impl Pod {
    /// Whether the pod is on a node (or is about to be).
    pub fn is_assigned(&self) -> bool {
        self.node_name.is_some()
    }

    /// Whether `nodeSelector` and the required node affinity accept `node`. Upstream's
    /// `GetRequiredNodeAffinity(pod).Match(node)`.
    pub fn required_node_affinity_matches(&self, node: &Node, names: &Names) -> bool {
        let selected = |(key, value)| node.labels.get(key) == Some(value);
        self.node_selector.iter().all(selected)
            && self
                .node_affinity
                .required
                .as_ref()
                .is_none_or(|required| required.matches(node, names))
    }

    /// Upstream's `podWithAffinity`: has an affinity or anti-affinity stanza, be it empty.
    pub fn has_pod_affinity(&self) -> bool {
        self.pod_affinity.is_some() || self.pod_anti_affinity.is_some()
    }

    /// Upstream's `podWithRequiredAntiAffinity`.
    pub fn has_required_anti_affinity(&self) -> bool {
        self.pod_anti_affinity
            .as_ref()
            .is_some_and(|terms| !terms.required.is_empty())
    }

    /// Whether some volume can take up an attachment.
    pub fn has_attachable_volumes(&self) -> bool {
        self.volumes.iter().any(|volume| volume.may_be_attached())
    }

    /// Whether some volume is a disk that can be in the way of other pods.
    pub fn has_restricted_disks(&self) -> bool {
        let mut sources = self.volumes.iter().map(|volume| &volume.source);
        sources.any(|source| source.is_restricted_disk())
    }

    /// All pod affinity and anti-affinity terms, required and preferred.
    pub fn affinity_terms(&self) -> impl Iterator<Item = &AffinityTerm> {
        let stanzas = [&self.pod_affinity, &self.pod_anti_affinity];
        stanzas.into_iter().flatten().flat_map(|stanza| {
            let preferred = stanza.preferred.iter().map(|preferred| &preferred.term);
            stanza.required.iter().chain(preferred)
        })
    }

    /// The required affinity terms.
    pub fn required_affinity(&self) -> &[AffinityTerm] {
        self.pod_affinity
            .as_ref()
            .map_or(&[], |terms| &terms.required)
    }

    /// The required anti-affinity terms.
    pub fn required_anti_affinity(&self) -> &[AffinityTerm] {
        self.pod_anti_affinity
            .as_ref()
            .map_or(&[], |terms| &terms.required)
    }

    /// The preferred affinity terms.
    pub fn preferred_affinity(&self) -> &[WeightedAffinityTerm] {
        self.pod_affinity
            .as_ref()
            .map_or(&[], |terms| &terms.preferred)
    }

    /// The preferred anti-affinity terms.
    pub fn preferred_anti_affinity(&self) -> &[WeightedAffinityTerm] {
        self.pod_anti_affinity
            .as_ref()
            .map_or(&[], |terms| &terms.preferred)
    }
}

/// `spec.affinity.nodeAffinity`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NodeAffinity {
    /// `requiredDuringSchedulingIgnoredDuringExecution`.
    pub required: Option<NodeSelector>,
    /// `preferredDuringSchedulingIgnoredDuringExecution`.
    pub preferred: Box<[PreferredNodeTerm]>,
}

/// A preferred node selector term.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PreferredNodeTerm {
    /// What a match is worth.
    pub weight: i32,
    /// The condition.
    pub term: NodeSelectorTerm,
}

/// `podAffinity` or `podAntiAffinity`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct PodAffinity {
    /// `requiredDuringSchedulingIgnoredDuringExecution`.
    pub required: Box<[AffinityTerm]>,
    /// `preferredDuringSchedulingIgnoredDuringExecution`.
    pub preferred: Box<[WeightedAffinityTerm]>,
}

/// One pod affinity term.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AffinityTerm {
    /// Namespaces by name; already holds the pod's own where the API means it.
    pub namespaces: Box<[Sym]>,
    /// Namespaces by label; [`Selector::Nothing`] if absent.
    pub namespace_selector: Selector,
    /// Which pods.
    pub selector: Selector,
    /// The label whose equal values make nodes one domain.
    pub topology_key: Sym,
}

impl AffinityTerm {
    /// Whether `pod`, whose namespace bears `namespace_labels`, is meant.
    pub fn matches(&self, pod: &Pod, namespace_labels: &Labels, names: &Names) -> bool {
        (self.namespaces.contains(&pod.namespace)
            || self.namespace_selector.matches(namespace_labels, names))
            && self.selector.matches(&pod.labels, names)
    }
}

/// A preferred pod affinity term.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WeightedAffinityTerm {
    /// What a match is worth.
    pub weight: i32,
    /// The term.
    pub term: AffinityTerm,
}

/// What happens when a spread constraint cannot be met.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnsatisfiableAction {
    /// A filter.
    DoNotSchedule,
    /// A score.
    ScheduleAnyway,
}

/// One of `spec.topologySpreadConstraints`, as the API object has it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SpreadConstraint {
    /// `maxSkew`.
    pub max_skew: i32,
    /// `topologyKey`.
    pub topology_key: Sym,
    /// `whenUnsatisfiable`.
    pub when_unsatisfiable: UnsatisfiableAction,
    /// `labelSelector`; [`Selector::Nothing`] if absent.
    pub selector: Selector,
    /// `minDomains`, 1 if unset.
    pub min_domains: i32,
    /// `nodeAffinityPolicy` is `Honor` (the default).
    pub honor_node_affinity: bool,
    /// `nodeTaintsPolicy` is `Honor` (not the default).
    pub honor_node_taints: bool,
    /// `matchLabelKeys` that the selector does not hold yet.
    pub match_label_keys: Box<[Sym]>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Requirement;
    use crate::testing::World;

    #[test]
    fn node_selector_and_required_affinity_must_both_accept_the_node() {
        let mut world = World::default();
        let node = world.node("n", &[("zone", "a"), ("disk", "ssd")]);
        let mut pod = world.pod("ns/p", &[]);
        let accepts = |pod: &Pod, world: &World| {
            pod.required_node_affinity_matches(&node, &world.snapshot.names)
        };
        assert!(accepts(&pod, &world));
        pod.node_selector = world.labels(&[("zone", "a")]);
        assert!(accepts(&pod, &world));
        let disk = Requirement::equals(world.sym("disk"), world.sym("hdd"));
        let term = NodeSelectorTerm {
            expressions: [disk].into(),
            ..NodeSelectorTerm::default()
        };
        pod.node_affinity.required = Some(NodeSelector {
            terms: [term].into(),
        });
        assert!(!accepts(&pod, &world));
        pod.node_affinity.required = Some(NodeSelector::default());
        assert!(!accepts(&pod, &world), "no terms match nothing");
        pod.node_affinity.required = None;
        pod.node_selector = world.labels(&[("zone", "b")]);
        assert!(!accepts(&pod, &world));
    }
}
