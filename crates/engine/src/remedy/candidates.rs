//! Changes that may help.

use super::{Case, Place, Remedy, blocking_pods, labels, new_nodes, room, volumes};
use crate::cast::{count, float};
use crate::framework::Code;
use crate::model::{Node, Pod, Taint};
use crate::plugins::inter_pod_affinity;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::{Sym, sym};

/// A change that may help.
pub(super) struct Candidate {
    pub(super) remedy: Remedy,
    /// How much it changes, among those of its kind.
    pub(super) change: f64,
    /// Settles ties: the node's position.
    pub(super) order: usize,
}

/// A node that one filter alone rejects.
#[derive(Clone, Copy)]
pub(super) struct Rejected {
    /// Its position.
    pub(super) at: usize,
    /// It does not help that pods go.
    pub(super) unresolvable: bool,
}

/// All that suggest themselves.
pub(super) fn all(case: Case<'_>) -> Vec<Candidate> {
    let mut out = new_nodes::all(case);
    for (plugin, nodes) in rejected_by_one(case) {
        out.extend(match plugin {
            "TaintToleration" => taints(case, &nodes),
            "NodeUnschedulable" => cordons(case, &nodes),
            "NodeAffinity" => labels::asked_for(case, &nodes),
            "NodeResourcesFit" => room::all(case, &nodes),
            "NodePorts" => ports(case, &nodes),
            "VolumeRestrictions" => volumes::held(case, &nodes),
            "NodeVolumeLimits" => volumes::too_many(case, &nodes),
            "InterPodAffinity" => {
                let found = inter_pod_affinity::blocking_pods(case.cx.cluster, case.pod);
                blocking_pods::gone(case, &found, &nodes)
            }
            "PodTopologySpread" => blocking_pods::spread(case, &nodes),
            // Of the others, no change is known but a new node.
            _ => Vec::new(),
        });
    }
    out
}

/// The nodes that exactly one filter rejects, by that filter.
fn rejected_by_one(case: Case<'_>) -> BTreeMap<&'static str, Vec<Rejected>> {
    let mut nodes: BTreeMap<&str, Vec<Rejected>> = BTreeMap::new();
    for (at, node) in case.cx.cluster.nodes().iter().enumerate() {
        if !case.found.diagnosis.statuses.is_explicit(at) {
            continue;
        }
        let verdicts = case.verdicts(node).into_iter();
        let rejecting = verdicts.filter_map(|(plugin, fit)| Some((plugin, fit.err()?.code)));
        let rejecting: Vec<(&str, Code)> = rejecting.collect();
        let (plugin, code) = match rejecting[..] {
            // A cordoned node has a taint that says so.
            [(cordon @ "NodeUnschedulable", code), ("TaintToleration", _)]
                if only_taint(&node.node, case.pod).is_some_and(is_cordon) =>
            {
                (cordon, code)
            }
            [only] => only,
            _ => continue,
        };
        if code == Code::Error {
            continue;
        }
        nodes.entry(plugin).or_default().push(Rejected {
            at,
            unresolvable: code == Code::UnschedulableAndUnresolvable,
        });
    }
    nodes
}

fn cordons(case: Case<'_>, nodes: &[Rejected]) -> Vec<Candidate> {
    let uncordon = |rejected: &Rejected| Candidate {
        remedy: Remedy::Uncordon {
            node: case.node(rejected.at).node.name,
        },
        change: 0.0,
        order: rejected.at,
    };
    nodes.iter().map(uncordon).collect()
}

fn taints(case: Case<'_>, nodes: &[Rejected]) -> Vec<Candidate> {
    let mut taints: BTreeMap<(Sym, Sym), (Taint, usize, usize)> = BTreeMap::new();
    for Rejected { at, .. } in nodes {
        if let Some(taint) = only_taint(&case.node(*at).node, case.pod) {
            let known = taints.entry((taint.key, taint.value));
            known.or_insert((taint, 0, *at)).1 += 1;
        }
    }
    let taints = taints.into_values();
    taints
        .map(|(taint, nodes, order)| Candidate {
            remedy: Remedy::Tolerate { taint },
            // The more nodes it opens, the better.
            change: -float(count(nodes)),
            order,
        })
        .collect()
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

fn ports(case: Case<'_>, nodes: &[Rejected]) -> Vec<Candidate> {
    let in_the_way = |other: &Pod| {
        let mut wanted = case.pod.host_ports.iter();
        wanted.any(|port| other.host_ports.iter().any(|held| held.conflicts(port)))
    };
    let holders = nodes.iter().map(|Rejected { at, .. }| {
        let node = case.node(*at);
        let pods = node.pods.iter().filter(|other| in_the_way(other));
        Candidate::evict(Place::Node(node.node.name), pods.cloned().collect(), *at)
    });
    holders.collect()
}

impl Candidate {
    /// These pods go.
    pub(super) fn evict(from: Place, pods: Vec<Arc<Pod>>, order: usize) -> Self {
        Self {
            change: float(count(pods.len())),
            remedy: Remedy::Evict { from, pods },
            order,
        }
    }
}
