//! What is shown of a cluster: rows made of its objects.

use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_api::k8s::api::core::v1::{Node, Pod};
use stowplan_base::Quantity;
use stowplan_bridge::resources::{PodResources, RequestOptions};

/// Amounts of cpu (thousandths), memory (bytes) and GPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Room {
    pub(super) cpu_m: i64,
    pub(super) memory: i64,
    pub(super) gpus: i64,
}

impl Room {
    fn add(&mut self, other: Self) {
        self.cpu_m += other.cpu_m;
        self.memory += other.memory;
        self.gpus += other.gpus;
    }
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct NodeRow {
    pub(super) name: String,
    pub(super) zone: String,
    pub(super) is_ready: bool,
    pub(super) is_cordoned: bool,
    pub(super) room: Room,
    pub(super) requested: Room,
    pub(super) pods: usize,
}

/// How a pod stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PodState {
    /// It has no node.
    Waiting,
    /// It has one, and is not ready there.
    Starting,
    Ready,
    /// It is being deleted.
    Leaving,
    Succeeded,
    Failed,
}

impl PodState {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Leaving => "leaving",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

/// A pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PodRow {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) node: Option<String>,
    pub(super) priority: i32,
    pub(super) state: PodState,
    /// When it was made, in seconds.
    pub(super) since: i64,
    /// Why it waits.
    pub(super) message: String,
    pub(super) asks: Room,
}

impl PodRow {
    pub(super) fn title(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// A cluster at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Cluster {
    /// By zone and name.
    pub(super) nodes: Vec<NodeRow>,
    /// By namespace and name.
    pub(super) pods: Vec<PodRow>,
}

impl Cluster {
    /// The rows of these objects.
    pub(super) fn of(nodes: &[Arc<Node>], pods: &[Arc<Pod>]) -> Self {
        let mut pods: Vec<PodRow> = pods.iter().map(|pod| pod_row(pod)).collect();
        pods.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        let mut taken: BTreeMap<&str, (Room, usize)> = BTreeMap::new();
        let is_over = |pod: &PodRow| matches!(pod.state, PodState::Succeeded | PodState::Failed);
        for pod in pods.iter().filter(|pod| !is_over(pod)) {
            if let Some(node) = &pod.node {
                let (room, count) = taken.entry(node).or_default();
                room.add(pod.asks);
                *count += 1;
            }
        }
        let mut nodes: Vec<NodeRow> = nodes.iter().map(|node| node_row(node)).collect();
        for node in &mut nodes {
            (node.requested, node.pods) = taken.get(&*node.name).copied().unwrap_or_default();
        }
        nodes.sort_by(|a, b| (&a.zone, &a.name).cmp(&(&b.zone, &b.name)));
        Self { nodes, pods }
    }

    /// Pods that wait for a node, the oldest first.
    pub(super) fn pending(&self) -> Vec<&PodRow> {
        let waits = |pod: &&PodRow| pod.state == PodState::Waiting;
        let mut pending: Vec<_> = self.pods.iter().filter(waits).collect();
        pending.sort_by_key(|pod| pod.since);
        pending
    }

    /// The pods on a node.
    pub(super) fn on(&self, node: &str) -> Vec<&PodRow> {
        let here = |pod: &&PodRow| pod.node.as_deref() == Some(node);
        self.pods.iter().filter(here).collect()
    }
}

fn node_row(node: &Node) -> NodeRow {
    let meta = &node.metadata;
    let labels = meta.labels.as_ref();
    let zone = labels.and_then(|labels| labels.get("topology.kubernetes.io/zone"));
    let status = node.status.as_ref();
    let mut conditions = status.iter().flat_map(|s| s.conditions.iter().flatten());
    let allocatable = status.and_then(|status| status.allocatable.as_ref());
    let amount = |name: &str| -> Quantity {
        let text = allocatable.and_then(|all| all.get(name));
        text.and_then(|text| text.0.parse().ok())
            .unwrap_or(Quantity::ZERO)
    };
    NodeRow {
        name: meta.name.clone().unwrap_or_default(),
        zone: zone.cloned().unwrap_or_default(),
        is_ready: conditions.any(|one| one.type_ == "Ready" && one.status == "True"),
        is_cordoned: node.spec.as_ref().and_then(|spec| spec.unschedulable) == Some(true),
        room: Room {
            cpu_m: amount("cpu").milli_value(),
            memory: amount("memory").value(),
            gpus: amount("nvidia.com/gpu").value(),
        },
        ..NodeRow::default()
    }
}

fn pod_row(pod: &Pod) -> PodRow {
    let meta = &pod.metadata;
    let spec = pod.spec.as_ref();
    PodRow {
        namespace: meta.namespace.clone().unwrap_or_default(),
        name: meta.name.clone().unwrap_or_default(),
        node: spec.and_then(|spec| spec.node_name.clone()),
        priority: spec.and_then(|spec| spec.priority).unwrap_or(0),
        state: state(pod),
        since: meta
            .creation_timestamp
            .as_ref()
            .map_or(0, |time| time.0.as_second()),
        message: waits_for(pod),
        asks: asks(pod),
    }
}

fn state(pod: &Pod) -> PodState {
    let status = pod.status.as_ref();
    let has_node = pod
        .spec
        .as_ref()
        .is_some_and(|spec| spec.node_name.is_some());
    match status.and_then(|status| status.phase.as_deref()) {
        Some("Succeeded") => PodState::Succeeded,
        Some("Failed") => PodState::Failed,
        _ if pod.metadata.deletion_timestamp.is_some() => PodState::Leaving,
        _ if !has_node => PodState::Waiting,
        _ => {
            let mut conditions = status.iter().flat_map(|s| s.conditions.iter().flatten());
            match conditions.any(|one| one.type_ == "Ready" && one.status == "True") {
                true => PodState::Ready,
                false => PodState::Starting,
            }
        }
    }
}

/// What the scheduler says of a pod that it found no node for.
fn waits_for(pod: &Pod) -> String {
    let status = pod.status.iter();
    let mut conditions = status.flat_map(|status| status.conditions.iter().flatten());
    let scheduled = conditions.find(|one| one.type_ == "PodScheduled" && one.status == "False");
    let message = scheduled.and_then(|one| one.message.clone());
    message.unwrap_or_default()
}

fn asks(pod: &Pod) -> Room {
    let Ok(resources) = PodResources::of(pod) else {
        return Room::default();
    };
    let amounts = resources.requests(RequestOptions::default());
    let amount = |name: &str| amounts.get(name).copied().unwrap_or(Quantity::ZERO);
    Room {
        cpu_m: amount("cpu").milli_value(),
        memory: amount("memory").value(),
        gpus: amount("nvidia.com/gpu").value(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, spec: serde_json::Value, status: serde_json::Value) -> Arc<Pod> {
        let meta =
            json!({"name": name, "namespace": "n", "creationTimestamp": "1970-01-01T00:00:07Z"});
        let pod = json!({"metadata": meta, "spec": spec, "status": status});
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn rows_say_what_objects_say() {
        let node = json!({
            "metadata": {"name": "a", "labels": {"topology.kubernetes.io/zone": "z"}},
            "spec": {"unschedulable": true},
            "status": {
                "allocatable": {"cpu": "8", "memory": "1Ki", "nvidia.com/gpu": "2"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        });
        let nodes = [Arc::new(serde_json::from_value::<Node>(node).unwrap())];
        let asks = json!([{"name": "c", "resources": {"requests": {"cpu": "250m", "nvidia.com/gpu": "1"}}}]);
        let here = json!({"containers": asks, "nodeName": "a", "priority": 7});
        let condition = |kind: &str, status: &str| json!({"conditions": [{"type": kind, "status": status, "message": "0/1 nodes"}]});
        let pods = [
            pod("b", here.clone(), condition("Ready", "True")),
            pod("a", here.clone(), json!({})),
            pod("done", here, json!({"phase": "Succeeded"})),
            pod(
                "waits",
                json!({"containers": asks}),
                condition("PodScheduled", "False"),
            ),
        ];
        let cluster = Cluster::of(&nodes, &pods);
        let [node] = &cluster.nodes[..] else {
            panic!("{cluster:?}")
        };
        assert!(node.is_ready && node.is_cordoned && node.zone == "z");
        assert_eq!(
            (node.room.cpu_m, node.room.memory, node.room.gpus),
            (8_000, 1_024, 2)
        );
        // What is over takes no room.
        assert_eq!(
            (node.requested.cpu_m, node.requested.gpus, node.pods),
            (500, 2, 2)
        );
        let states: Vec<_> = cluster
            .pods
            .iter()
            .map(|pod| (&*pod.name, pod.state))
            .collect();
        let expected = [
            ("a", PodState::Starting),
            ("b", PodState::Ready),
            ("done", PodState::Succeeded),
            ("waits", PodState::Waiting),
        ];
        assert_eq!(states, expected);
        let pending = cluster.pending();
        assert_eq!(
            (pending.len(), &*pending[0].message, pending[0].since),
            (1, "0/1 nodes", 7)
        );
        assert_eq!(cluster.on("a").len(), 3);
    }
}
