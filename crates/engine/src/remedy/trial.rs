//! Making a change to a copy, and asking again.

use super::{Remedy, Suggestion};
use crate::Snapshot;
use crate::framework::{Cx, Framework};
use crate::model::{Effect, Labels, Node, Object, Pod, Resources, Toleration, TolerationOp};
use crate::schedule::{Scope, find_feasible};
use std::sync::Arc;
use stowplan_base::{Sym, sym};

/// On how many nodes the pod would fit after the change; `None` if on none.
pub(super) fn helps(
    framework: &Framework,
    cx: Cx<'_>,
    pod: &Pod,
    remedy: &Remedy,
) -> Option<usize> {
    let nodes = match remedy {
        Remedy::Ungate { .. } => fits_on(framework, cx, &ungated(pod)),
        Remedy::Tolerate { taint } => {
            let mut pod = pod.clone();
            let toleration = Toleration {
                key: taint.key,
                op: TolerationOp::Equal,
                value: taint.value,
                effect: Some(taint.effect).filter(|effect| *effect != Effect::PreferNoSchedule),
            };
            let tolerations = pod.tolerations.iter().copied().chain([toleration]);
            pod.tolerations = tolerations.collect();
            fits_on(framework, cx, &pod)
        }
        remedy => {
            let mut cluster = cx.cluster.clone();
            change(&mut cluster, remedy)?;
            let cx = Cx {
                cluster: &cluster,
                ..cx
            };
            fits_on(framework, cx, pod)
        }
    };
    (nodes > 0).then_some(nodes)
}

/// What would come of a gated pod without its gates.
pub(super) fn without_gates(framework: &Framework, cx: Cx<'_>, pod: &Pod) -> Option<Suggestion> {
    let remedy = Remedy::Ungate {
        gates: pod.scheduling_gates.to_vec(),
    };
    let nodes = helps(framework, cx, pod, &remedy)?;
    Some(Suggestion { remedy, nodes })
}

fn ungated(pod: &Pod) -> Pod {
    Pod {
        scheduling_gates: Box::default(),
        ..pod.clone()
    }
}

fn fits_on(framework: &Framework, cx: Cx<'_>, pod: &Pod) -> usize {
    if framework.run_pre_enqueue(cx, pod, None).is_some() {
        return 0;
    }
    let found = find_feasible(framework, cx, pod, Scope::Everything);
    found.map_or(0, |found| found.feasible.len())
}

/// Makes a change to a cluster; `None` if it does not apply there.
fn change(cluster: &mut Snapshot, remedy: &Remedy) -> Option<()> {
    match remedy {
        Remedy::Ungate { .. } | Remedy::Tolerate { .. } => return None,
        Remedy::Uncordon { node } => change_node(cluster, *node, |node| {
            node.unschedulable = false;
            // What the node controller adds to cordoned nodes.
            let taints = node.taints.iter().copied();
            node.taints = taints
                .filter(|taint| taint.key != sym::TAINT_UNSCHEDULABLE)
                .collect();
        })?,
        Remedy::Label { node, key, value } => change_node(cluster, *node, |node| {
            let labels = node.labels.iter().chain([(*key, *value)]);
            node.labels = Labels::new(labels.collect::<Vec<_>>());
        })?,
        Remedy::Free { node, amounts } => change_node(cluster, *node, |node| {
            for (resource, amount) in amounts {
                let before = node.allocatable.get(*resource);
                let after = before.saturating_add(*amount);
                Resources::set(&mut node.allocatable, *resource, after);
            }
        })?,
        Remedy::Evict { pods, .. } => {
            for pod in pods {
                cluster.unlist_pod(pod.namespace, pod.name);
                cluster.remove_pod(&pod.uid);
            }
        }
        Remedy::AddNode { like } => add_node(cluster, *like)?,
    }
    Some(())
}

fn change_node(cluster: &mut Snapshot, name: Sym, change: impl FnOnce(&mut Node)) -> Option<()> {
    let mut node = Node::clone(&cluster.node(name)?.node);
    change(&mut node);
    cluster.upsert(Object::Node(Arc::new(node)));
    Some(())
}

fn add_node(cluster: &mut Snapshot, like: Sym) -> Option<()> {
    let mut node = Node::clone(&cluster.node(like)?.node);
    let name = format!("{}+", cluster.names.text(like));
    node.name = cluster.names.intern(&name);
    node.uid = name.as_str().into();
    if node.labels.has(sym::HOSTNAME) {
        let labels = node.labels.iter().chain([(sym::HOSTNAME, node.name)]);
        node.labels = Labels::new(labels.collect::<Vec<_>>());
    }
    cluster.upsert(Object::Node(Arc::new(node)));
    Some(())
}
