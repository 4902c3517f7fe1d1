//! Plain objects for tests.

pub(crate) mod churn;
pub(crate) mod storage;

use crate::Snapshot;
use crate::framework::{Cx, Underway};
use crate::model::{
    Labels, Namespace, Node, NodeAffinity, Object, Pod, PodKey, PodRequests, Requirement,
    ResourceId, ResourceList, Resources, Selector,
};
use std::sync::Arc;
use stowplan_base::{Sym, sym};

/// A cluster under construction.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) snapshot: Snapshot,
    pub(crate) underway: Underway,
}

impl World {
    /// What plugins see of it.
    pub(crate) fn cx(&self) -> Cx<'_> {
        Cx {
            cluster: &self.snapshot,
            underway: &self.underway,
        }
    }

    pub(crate) fn sym(&mut self, text: &str) -> Sym {
        self.snapshot.names.intern(text)
    }

    pub(crate) fn labels(&mut self, pairs: &[(&str, &str)]) -> Labels {
        Labels::new(
            pairs
                .iter()
                .map(|(key, value)| (self.sym(key), self.sym(value)))
                .collect::<Vec<_>>(),
        )
    }

    /// `matchLabels` of these pairs; none is `{}`.
    pub(crate) fn selector(&mut self, pairs: &[(&str, &str)]) -> Selector {
        Selector::All(
            pairs
                .iter()
                .map(|(key, value)| Requirement::equals(self.sym(key), self.sym(value)))
                .collect(),
        )
    }

    /// An empty node, not yet in the cluster.
    pub(crate) fn node(&mut self, name: &str, labels: &[(&str, &str)]) -> Node {
        Node {
            name: self.sym(name),
            uid: name.into(),
            labels: self.labels(labels),
            annotations: Labels::default(),
            unschedulable: false,
            taints: Box::default(),
            allocatable_list: ResourceList::default(),
            allocatable: Resources::default(),
            conditions: Box::default(),
            images: Box::default(),
            declared_features: Box::default(),
        }
    }

    /// A pending pod that asks for nothing. `name` is `namespace/name` and serves as the uid.
    pub(crate) fn pod(&mut self, name: &str, labels: &[(&str, &str)]) -> Pod {
        let (namespace, short) = name.split_once('/').expect("namespace/name");
        Pod {
            key: PodKey {
                namespace: namespace.into(),
                name: short.into(),
            },
            namespace: self.sym(namespace),
            name: self.sym(short),
            uid: name.into(),
            resource_version: "".into(),
            labels: self.labels(labels),
            controller: None,
            terminating: false,
            node_name: None,
            nominated_node_name: None,
            scheduler_name: sym::DEFAULT_SCHEDULER,
            priority: 0,
            never_preempts: false,
            start_time: None,
            preempted_by_scheduler: false,
            finished: false,
            scheduling_gates: Box::default(),
            tolerations: Box::default(),
            node_selector: Labels::default(),
            node_affinity: NodeAffinity::default(),
            pod_affinity: None,
            pod_anti_affinity: None,
            affinity_error: None,
            spread_constraints: Box::default(),
            host_ports: Box::default(),
            requests: PodRequests::default(),
            images: Box::default(),
            container_count: 1,
            volumes: Box::default(),
            resource_claims: Box::default(),
            extended_resource_claim: None,
            claim_statuses: Box::default(),
            required_features: Box::default(),
        }
    }

    /// Amounts as the API writes them: `("cpu", "500m")`.
    pub(crate) fn resources(&mut self, pairs: &[(&str, &str)]) -> (ResourceList, Resources) {
        let list = ResourceList::new(
            pairs
                .iter()
                .map(|(name, amount)| (self.sym(name), amount.parse().expect("a quantity")))
                .collect::<Vec<_>>(),
        );
        let Snapshot {
            names,
            resource_names,
            ..
        } = &mut self.snapshot;
        let columns = resource_names.resources(&list, names);
        (list, columns)
    }

    /// Gives a node what pods can ask for; 110 pods unless told.
    pub(crate) fn set_allocatable(&mut self, node: &mut Node, pairs: &[(&str, &str)]) {
        let pairs = [&[("pods", "110")], pairs].concat();
        let at = usize::from(pairs[1..].iter().any(|(name, _)| *name == "pods"));
        (node.allocatable_list, node.allocatable) = self.resources(&pairs[at..]);
    }

    /// Makes a pod ask for this, in every form that is counted.
    pub(crate) fn set_requests(&mut self, pod: &mut Pod, pairs: &[(&str, &str)]) {
        let (list, columns) = self.resources(pairs);
        pod.requests = PodRequests {
            non_zero_cpu_milli: columns.get(ResourceId::CPU),
            non_zero_memory: columns.get(ResourceId::MEMORY),
            total: list.clone(),
            total_columns: columns.clone(),
            spec: list.clone(),
            spec_columns: columns,
            scoring: list,
        };
    }

    pub(crate) fn add_namespace(&mut self, name: &str, labels: &[(&str, &str)]) {
        let namespace = Namespace {
            name: self.sym(name),
            labels: self.labels(labels),
        };
        self.snapshot.upsert(Object::Namespace(Arc::new(namespace)));
    }

    pub(crate) fn add_node(&mut self, node: Node) {
        self.snapshot.upsert(Object::Node(Arc::new(node)));
    }

    /// Binds the pod to a node.
    pub(crate) fn add_pod(&mut self, mut pod: Pod, node: &str) {
        pod.node_name = Some(self.sym(node));
        self.snapshot.upsert(Object::Pod(Arc::new(pod)));
    }
}
