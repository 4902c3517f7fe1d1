//! How much a change changes, so that changes of different kinds can be compared.

use super::Remedy;
use crate::Snapshot;
use crate::cast::float;
use crate::model::{Pod, ResourceId};
use stowplan_base::Sym;

/// In nodes: a new one counts as one, room as the part of a node that it is, pods that go as what they
/// leave. What moves nothing (labels, taints, gates) counts as nothing.
pub(super) fn size(cluster: &Snapshot, remedy: &Remedy) -> f64 {
    match remedy {
        Remedy::Ungate { .. }
        | Remedy::Tolerate { .. }
        | Remedy::Uncordon { .. }
        | Remedy::Label { .. } => 0.0,
        Remedy::Free { node, amounts } => largest_part(cluster, *node, amounts.iter().copied()),
        Remedy::Evict { pods, .. } => pods.iter().map(|pod| held_by(cluster, pod)).sum(),
        Remedy::AddNode { .. } => 1.0,
    }
}

/// The part of its node that a pod takes up.
fn held_by(cluster: &Snapshot, pod: &Pod) -> f64 {
    let Some(node) = cluster.node_of_pod(&pod.uid) else {
        return 0.0;
    };
    let amounts = pod.requests.total_columns.iter();
    largest_part(cluster, node, amounts.chain([(ResourceId::PODS, 1)]))
}

fn largest_part(
    cluster: &Snapshot,
    node: Sym,
    amounts: impl Iterator<Item = (ResourceId, i64)>,
) -> f64 {
    let parts = amounts.map(|(resource, amount)| {
        let node = cluster.node(node);
        part(
            amount,
            node.map_or(0, |node| node.allocatable().get(resource)),
        )
    });
    parts.fold(0.0, f64::max)
}

/// An amount in parts of what a node has; each unit of what it has none of counts as a whole node.
pub(super) fn part(amount: i64, allocatable: i64) -> f64 {
    float(amount) / float(allocatable.max(1))
}
