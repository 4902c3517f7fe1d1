//! Making a change to a copy, and asking again.

use super::{Remedy, Suggestion};
use crate::Snapshot;
use crate::framework::{Cx, Framework};
use crate::model::{
    CsiNode, Effect, Kind, Labels, Node, Object, Pod, Resources, Taint, Toleration, TolerationOp,
    VolumeAttachment,
};
use crate::schedule::{Coverage, find_feasible};
use std::collections::BTreeSet;
use std::sync::Arc;
use stowplan_base::{Sym, sym};

/// Trials for one pod.
pub(super) struct DryRun<'a> {
    framework: &'a Framework,
    cx: Cx<'a>,
    pod: &'a Pod,
    /// A copy of the cluster: it costs more than a trial, so that one has to do for all of them.
    copy: Option<Snapshot>,
}

impl<'a> DryRun<'a> {
    /// No trial was made yet.
    pub(super) fn new(framework: &'a Framework, cx: Cx<'a>, pod: &'a Pod) -> Self {
        Self {
            framework,
            cx,
            pod,
            copy: None,
        }
    }

    /// On how many nodes the pod would fit after the change; `None` if on none.
    pub(super) fn helps(&mut self, remedy: &Remedy) -> Option<usize> {
        let nodes = match remedy {
            Remedy::Ungate { .. } => self.fits_on(self.cx, &ungated(self.pod)),
            Remedy::Tolerate { taint } => self.fits_on(self.cx, &tolerating(self.pod, taint)),
            remedy => self.helps_on_copy(remedy)?,
        };
        (nodes > 0).then_some(nodes)
    }

    /// Changes the copy, asks, and undoes the change.
    fn helps_on_copy(&mut self, remedy: &Remedy) -> Option<usize> {
        let copy = self.copy.take();
        let mut cluster = copy.unwrap_or_else(|| self.cx.cluster.clone());
        let before = cluster.log().end();
        let unlisted = change(&mut cluster, remedy)?;
        let cx = Cx {
            cluster: &cluster,
            ..self.cx
        };
        let nodes = self.fits_on(cx, self.pod);
        if cluster.rewind(before) {
            for pod in unlisted {
                cluster.list_pod(pod);
            }
            self.copy = Some(cluster);
        }
        Some(nodes)
    }

    fn fits_on(&self, cx: Cx<'_>, pod: &Pod) -> usize {
        if self.framework.run_pre_enqueue(cx, pod, None).is_some() {
            return 0;
        }
        let found = find_feasible(self.framework, cx, pod, Coverage::Everything);
        found.map_or(0, |found| found.feasible.len())
    }
}

/// What would come of a gated pod without its gates.
pub(super) fn without_gates(framework: &Framework, cx: Cx<'_>, pod: &Pod) -> Option<Suggestion> {
    let remedy = Remedy::Ungate {
        gates: pod.scheduling_gates.to_vec(),
    };
    let nodes = DryRun::new(framework, cx, pod).helps(&remedy)?;
    Some(Suggestion { remedy, nodes })
}

fn tolerating(pod: &Pod, taint: &Taint) -> Pod {
    let toleration = Toleration {
        key: taint.key,
        op: TolerationOp::Equal,
        value: taint.value,
        effect: Some(taint.effect).filter(|effect| *effect != Effect::PreferNoSchedule),
    };
    let tolerations = pod.tolerations.iter().copied().chain([toleration]);
    Pod {
        tolerations: tolerations.collect(),
        ..pod.clone()
    }
}

fn ungated(pod: &Pod) -> Pod {
    Pod {
        scheduling_gates: Box::default(),
        ..pod.clone()
    }
}

/// Makes a change to a cluster; `None` if it does not apply there. Returns the pods that are no longer
/// listed, which no log tells of.
fn change(cluster: &mut Snapshot, remedy: &Remedy) -> Option<Vec<Arc<Pod>>> {
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
        Remedy::Evict { pods, .. } => return evict(cluster, pods),
        Remedy::AddNode { like } => add_node(cluster, *like)?,
    }
    Some(Vec::new())
}

fn evict(cluster: &mut Snapshot, pods: &[Arc<Pod>]) -> Option<Vec<Arc<Pod>>> {
    let mut left: Vec<(&Pod, Sym)> = Vec::new();
    let mut unlisted = Vec::new();
    for pod in pods {
        left.push((pod, cluster.node_of_pod(&pod.uid)?));
        unlisted.extend(cluster.unlist_pod(pod.namespace, pod.name));
        cluster.remove_pod(&pod.uid);
    }
    detach(cluster, &left);
    Some(unlisted)
}

/// Volumes that pods left behind on a node where nobody else uses them are detached.
fn detach(cluster: &mut Snapshot, left: &[(&Pod, Sym)]) {
    let volumes = |pod: &Pod| -> Vec<Sym> {
        let claims = pod.volumes.iter().filter_map(|volume| volume.claim());
        let claims = claims.filter_map(|claim| cluster.claims.get(pod.namespace, claim));
        claims.map(|claim| claim.volume_name).collect()
    };
    let mut unused: BTreeSet<(Sym, Sym)> = BTreeSet::new();
    for (pod, node) in left {
        unused.extend(volumes(pod).into_iter().map(|volume| (*node, volume)));
    }
    let nodes: BTreeSet<Sym> = unused.iter().map(|(node, _)| *node).collect();
    for info in nodes.iter().filter_map(|node| cluster.node(*node)) {
        for volume in info.pods.iter().flat_map(|pod| volumes(pod)) {
            unused.remove(&(info.node.name, volume));
        }
    }
    if unused.is_empty() {
        return;
    }
    let is_unused = |attachment: &&Arc<VolumeAttachment>| {
        let volume = attachment.volume_name;
        volume.is_some_and(|volume| unused.contains(&(attachment.node_name, volume)))
    };
    let detached = cluster.volume_attachments.iter().filter(is_unused);
    let detached: Vec<Sym> = detached.map(|attachment| attachment.name).collect();
    for name in detached {
        cluster.remove(Kind::VolumeAttachment, Sym::EMPTY, name);
    }
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
    // Its drivers come with it.
    let csi_node = cluster.csi_nodes.get(Sym::EMPTY, like);
    let csi_node = csi_node.map(|csi_node| CsiNode {
        name: node.name,
        ..CsiNode::clone(csi_node)
    });
    cluster.upsert(Object::Node(Arc::new(node)));
    if let Some(csi_node) = csi_node {
        cluster.upsert(Object::CSINode(Arc::new(csi_node)));
    }
    Some(())
}
