//! Changes that may help.

use super::Remedy;
use crate::NodeInfo;
use crate::framework::{Code, Cx, Framework};
use crate::model::{Labels, Node, Op, Pod, ResourceId, Taint};
use crate::schedule::Feasibility;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::{Sym, sym};

/// How many nodes are looked at as models for a new one.
const MODELS_MAX: usize = 64;

/// A change that may help.
pub(super) struct Candidate {
    pub(super) remedy: Remedy,
    /// How much it changes, among those of its kind.
    pub(super) change: f64,
    /// Settles ties: the node's position.
    pub(super) order: usize,
}

/// All that suggest themselves.
pub(super) fn all(
    framework: &Framework,
    cx: Cx<'_>,
    found: &Feasibility,
    pod: &Pod,
) -> Vec<Candidate> {
    let mut out = Vec::new();
    let mut taints: BTreeMap<(Sym, Sym), (Taint, usize, usize)> = BTreeMap::new();
    for (at, node) in cx.cluster.nodes().iter().enumerate() {
        if !found.diagnosis.statuses.is_explicit(at) {
            continue;
        }
        let verdicts = framework.run_all_filters(cx, &found.cycle, pod, node);
        let rejecting = verdicts.iter().filter_map(|(plugin, fit)| match fit {
            Err(status) if status.code != Code::Error => Some(*plugin),
            Err(_) => Some("an error"),
            Ok(()) => None,
        });
        let rejecting: Vec<&str> = rejecting.collect();
        let mut add = |remedy, change| {
            out.push(Candidate {
                remedy,
                change,
                order: at,
            });
        };
        match rejecting[..] {
            // A cordoned node has a taint that says so.
            ["NodeUnschedulable", "TaintToleration"]
                if only_taint(&node.node, pod).is_some_and(is_cordon) =>
            {
                add(
                    Remedy::Uncordon {
                        node: node.node.name,
                    },
                    0.0,
                );
            }
            ["TaintToleration"] => {
                if let Some(taint) = only_taint(&node.node, pod) {
                    let known = taints.entry((taint.key, taint.value));
                    known.or_insert((taint, 0, at)).1 += 1;
                }
            }
            ["NodeUnschedulable"] => add(
                Remedy::Uncordon {
                    node: node.node.name,
                },
                0.0,
            ),
            ["NodeAffinity"] => {
                if let Some((key, value)) = missing_label(&node.node, pod, cx) {
                    let node = node.node.name;
                    add(Remedy::Label { node, key, value }, 0.0);
                }
            }
            ["NodeResourcesFit"] => {
                for (remedy, change) in make_room(framework, cx, found, pod, node) {
                    add(remedy, change);
                }
            }
            ["NodePorts"] => {
                let in_the_way = |other: &&Arc<Pod>| {
                    let mut wanted = pod.host_ports.iter();
                    wanted.any(|port| other.host_ports.iter().any(|held| held.conflicts(port)))
                };
                let pods: Vec<_> = node.pods.iter().filter(in_the_way).cloned().collect();
                let change = pods.len() as f64;
                let node = node.node.name;
                add(Remedy::Evict { node, pods }, change);
            }
            _ => {}
        }
    }
    for (taint, nodes, order) in taints.into_values() {
        out.push(Candidate {
            remedy: Remedy::Tolerate { taint },
            // The more nodes it opens, the better.
            change: -(nodes as f64),
            order,
        });
    }
    out.extend(new_nodes(framework, cx, found, pod));
    out
}

fn is_cordon(taint: Taint) -> bool {
    taint.key == sym::TAINT_UNSCHEDULABLE
}

/// The taint that keeps the pod away, if it is only one.
fn only_taint(node: &Node, pod: &Pod) -> Option<Taint> {
    let tolerated = |taint: &Taint| pod.tolerations.iter().any(|t| t.tolerates(taint));
    let taints = node.taints.iter();
    let mut untolerated = taints.filter(|taint| taint.effect.rejects() && !tolerated(taint));
    match (untolerated.next(), untolerated.next()) {
        (Some(taint), None) => Some(*taint),
        _ => None,
    }
}

/// The label that the node lacks, if it is only one and only one value will do, or any of several.
fn missing_label(node: &Node, pod: &Pod, cx: Cx<'_>) -> Option<(Sym, Sym)> {
    let names = &cx.cluster.names;
    let mut missing: Vec<(Sym, Sym)> = pod
        .node_selector
        .iter()
        .filter(|(key, value)| node.labels.get(*key) != Some(*value))
        .collect();
    if let Some(required) = &pod.node_affinity.required
        && !required.matches(node, names)
    {
        let [term] = &required.terms[..] else {
            return None;
        };
        let failing = |r: &&crate::model::Requirement| !r.matches(&node.labels, names);
        for requirement in term.expressions.iter().filter(failing) {
            let value = match requirement.op {
                Op::In => *requirement.values.first()?,
                Op::Exists => Sym::EMPTY,
                _ => return None,
            };
            missing.push((requirement.key, value));
        }
    }
    missing.dedup();
    match missing[..] {
        [only] => Some(only),
        _ => None,
    }
}

/// What is short on a node, and who could make up for it by going.
fn make_room(
    framework: &Framework,
    cx: Cx<'_>,
    found: &Feasibility,
    pod: &Pod,
    node: &NodeInfo,
) -> Vec<(Remedy, f64)> {
    let name = node.node.name;
    let short = shortage(pod, node);
    if short.is_empty() {
        return Vec::new();
    }
    // In parts of what the node has; what it has none of counts as a whole node.
    let parts = short.iter().map(|(resource, amount)| {
        let allocatable = node.allocatable().get(*resource);
        *amount as f64 / (allocatable.max(1) as f64)
    });
    let change = parts.fold(0.0, f64::max);
    let free = Remedy::Free {
        node: name,
        amounts: short.clone(),
    };
    let mut out = vec![(free, change)];
    if let Some(pods) = who_could_go(framework, cx, found, pod, node, &short) {
        let change = pods.len() as f64;
        out.push((Remedy::Evict { node: name, pods }, change));
    }
    out
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
    let pods = node.pods.len() as i64 + 1 - allocatable.get(ResourceId::PODS);
    if pods > 0 {
        short.push((ResourceId::PODS, pods));
    }
    short
}

/// Pods whose going makes room: those of the least priority, and of these the ones that give most of
/// what is short. Then each is asked whether it has to go at all.
fn who_could_go(
    framework: &Framework,
    cx: Cx<'_>,
    found: &Feasibility,
    pod: &Pod,
    node: &NodeInfo,
    short: &[(ResourceId, i64)],
) -> Option<Vec<Arc<Pod>>> {
    let gives = |other: &Pod| -> f64 {
        let columns = &other.requests.total_columns;
        let parts = short.iter().map(|(resource, missing)| match *resource {
            ResourceId::PODS => 0.0,
            resource => (columns.get(resource) as f64 / *missing as f64).min(1.0),
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
    let fits = |node: &NodeInfo| {
        let verdicts = framework.run_all_filters(cx, &found.cycle, pod, node);
        verdicts.iter().all(|(_, fit)| fit.is_ok())
    };
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
    if gone.is_empty() || !fits(&trial) {
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

/// Nodes that would do if they were empty and new: of those that look alike the first.
fn new_nodes(framework: &Framework, cx: Cx<'_>, found: &Feasibility, pod: &Pod) -> Vec<Candidate> {
    let mut models: Vec<(Labels, &Arc<Node>)> = Vec::new();
    let mut out = Vec::new();
    for (at, info) in cx.cluster.nodes().iter().enumerate() {
        let node = &info.node;
        let labels = node.labels.iter().filter(|(key, _)| *key != sym::HOSTNAME);
        let labels = Labels::new(labels);
        let is_like = |(other_labels, other): &(Labels, &Arc<Node>)| {
            *other_labels == labels
                && other.taints == node.taints
                && other.allocatable == node.allocatable
        };
        if models.iter().any(is_like) {
            continue;
        }
        models.push((labels, node));
        let empty = NodeInfo::new(node.clone());
        let verdicts = framework.run_all_filters(cx, &found.cycle, pod, &empty);
        // A filter that looks at more than the node is asked again when the change is tried.
        if verdicts.iter().any(|(_, fit)| fit.is_ok()) && shortage(pod, &empty).is_empty() {
            let size = node.allocatable.get(ResourceId::CPU) as f64;
            out.push(Candidate {
                remedy: Remedy::AddNode { like: node.name },
                change: size,
                order: at,
            });
        }
        if models.len() == MODELS_MAX {
            break;
        }
    }
    out
}
