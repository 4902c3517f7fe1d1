//! More room on a node, or pods that leave it.

use super::candidates::{Candidate, Rejected};
use super::measure::part;
use super::{Case, Place, Remedy};
use crate::NodeInfo;
use crate::cast::{count, float};
use crate::model::{Pod, ResourceId};
use std::sync::Arc;

/// For each of the nodes.
pub(super) fn all(case: Case<'_>, nodes: &[Rejected]) -> Vec<Candidate> {
    let nodes = nodes.iter();
    nodes
        .flat_map(|rejected| make_room(case, rejected.at))
        .collect()
}

/// What is short on a node, and who could make up for it by going.
fn make_room(case: Case<'_>, at: usize) -> Vec<Candidate> {
    let node = case.node(at);
    let name = node.node.name;
    let short = shortage(case.pod, node);
    if short.is_empty() {
        return Vec::new();
    }
    let parts = short
        .iter()
        .map(|(resource, amount)| part(*amount, node.allocatable().get(*resource)));
    let change = parts.fold(0.0, f64::max);
    let pods = who_could_go(case, node, &short);
    let free = Candidate {
        remedy: Remedy::Free {
            node: name,
            amounts: short,
        },
        change,
        order: at,
    };
    let evict = pods.map(|pods| Candidate::evict(Place::Node(name), pods, at));
    [Some(free), evict].into_iter().flatten().collect()
}

fn shortage(pod: &Pod, node: &NodeInfo) -> Vec<(ResourceId, i64)> {
    let allocatable = node.allocatable();
    let mut short: Vec<_> = pod
        .requests
        .spec_columns
        .iter()
        .filter_map(|(resource, asked)| {
            let requested = node.requested.get(resource).saturating_add(asked);
            let missing = requested.saturating_sub(allocatable.get(resource));
            (missing > 0).then_some((resource, missing))
        })
        .collect();
    let pods = count(node.pods.len()) + 1 - allocatable.get(ResourceId::PODS);
    if pods > 0 {
        short.push((ResourceId::PODS, pods));
    }
    short
}

/// Pods whose going makes room: those of the least priority, and of these the ones that give most of
/// what is short. Then each is asked whether it has to go at all.
fn who_could_go(
    case: Case<'_>,
    node: &NodeInfo,
    short: &[(ResourceId, i64)],
) -> Option<Vec<Arc<Pod>>> {
    let pod = case.pod;
    let gives = |other: &Pod| -> f64 {
        let columns = &other.requests.total_columns;
        let parts = short.iter().map(|(resource, missing)| match *resource {
            ResourceId::PODS => 0.0,
            resource => (float(columns.get(resource)) / float(*missing)).min(1.0),
        });
        parts.sum()
    };
    let mut order: Vec<_> = node.pods.iter().filter(|p| !p.terminating).collect();
    order.sort_by(|a, b| {
        let by_gift = gives(b).total_cmp(&gives(a));
        a.priority
            .cmp(&b.priority)
            .then(by_gift)
            .then(a.uid.cmp(&b.uid))
    });
    let mut trial = node.clone();
    let mut gone: Vec<Arc<Pod>> = Vec::new();
    for other in order {
        if gives(other) > 0.0 || short.iter().any(|(r, _)| *r == ResourceId::PODS) {
            trial.remove_this_pod(other);
            gone.push(other.clone());
        }
        if shortage(pod, &trial).is_empty() {
            break;
        }
    }
    if gone.is_empty() || !case.fits(&trial) {
        return None;
    }
    for at in (0..gone.len()).rev() {
        trial.add_pod(gone[at].clone());
        if shortage(pod, &trial).is_empty() {
            gone.remove(at);
        } else {
            trial.remove_this_pod(&gone[at]);
        }
    }
    Some(gone)
}
