//! How well a cluster is packed.

use super::cover::Bins;
use crate::model::{Pod, ResourceId};
use crate::{NodeInfo, Snapshot};
use std::collections::BTreeSet;
use stowplan_base::Names;

/// How many nodes are in use, and how many would have to be.
///
/// A node is in use while a pod is on it that could be elsewhere: pods of DaemonSets and static
/// pods do not count, for they come with the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Census {
    /// How many nodes there are.
    pub nodes: usize,
    /// How many of them are in use.
    pub nodes_used: usize,
    /// How few could be.
    pub lower_bound: Bound,
    /// Cpu of the nodes in use, in thousandths: what all pods on them ask for, and what there is.
    pub cpu: (i128, i128),
    /// Memory of the nodes in use, in bytes.
    pub memory: (i128, i128),
}

/// A number of nodes below which the new pods cannot be placed, whatever the policy.
///
/// Old pods stay where they are, and their nodes are in use; the new ones go anywhere that has the
/// room. Only amounts of resources are looked at, so the true minimum may be greater.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The number of nodes.
    pub nodes: usize,
    /// The resource that needs so many; `None` if the nodes of old pods have room for everything.
    pub by: Option<ResourceId>,
}

/// A node, its pods parted into those that could be elsewhere and the rest.
struct Parted<'a> {
    node: &'a NodeInfo,
    /// New pods that could be elsewhere.
    movable: Vec<&'a Pod>,
    /// Old pods, and those that come with the node.
    fixed: Vec<&'a Pod>,
    /// Whether an old pod keeps the node in use.
    is_open: bool,
}

/// Counts the nodes in use. `is_new` says which pods were placed now.
pub fn census(cluster: &Snapshot, is_new: impl Fn(&Pod) -> bool) -> Census {
    let parted = |node| Parted::of(node, &cluster.names, &is_new);
    let nodes: Vec<Parted<'_>> = cluster.nodes().iter().map(parted).collect();
    let used = || nodes.iter().filter(|node| node.is_used());
    let sums = |id: ResourceId| {
        used().fold((0, 0), |(asked, all), Parted { node, .. }| {
            (
                asked + i128::from(node.requested.get(id)),
                all + i128::from(node.node.allocatable.get(id)),
            )
        })
    };
    Census {
        nodes: nodes.len(),
        nodes_used: used().count(),
        lower_bound: lower_bound(&nodes),
        cpu: sums(ResourceId::CPU),
        memory: sums(ResourceId::MEMORY),
    }
}

impl<'a> Parted<'a> {
    fn of(node: &'a NodeInfo, names: &Names, is_new: impl Fn(&Pod) -> bool) -> Self {
        let mut parted = Self {
            node,
            movable: Vec::new(),
            fixed: Vec::new(),
            is_open: false,
        };
        for pod in &node.pods {
            match (comes_with_node(pod, names), is_new(pod)) {
                (false, true) => parted.movable.push(pod),
                (with_node, _) => {
                    parted.fixed.push(pod);
                    parted.is_open |= !with_node;
                }
            }
        }
        parted
    }

    fn is_used(&self) -> bool {
        self.is_open || !self.movable.is_empty()
    }

    /// What the fixed pods leave of a resource.
    fn room(&self, id: ResourceId) -> i64 {
        let used = self.fixed.iter().map(|pod| match id {
            ResourceId::PODS => 1,
            id => i128::from(pod.requests.total_columns.get(id)),
        });
        let room = i128::from(self.node.node.allocatable.get(id)) - used.sum::<i128>();
        i64::try_from(room.max(0)).unwrap_or(i64::MAX)
    }

    /// Whether the new pods stay within the room: not every resource is looked at by a filter.
    fn holds(&self, id: ResourceId) -> bool {
        let sizes = self.movable.iter().map(|pod| i128::from(size(pod, id)));
        sizes.sum::<i128>() <= i128::from(self.room(id))
    }
}

fn comes_with_node(pod: &Pod, names: &Names) -> bool {
    pod.controller
        .as_ref()
        .is_some_and(|owner| ["DaemonSet", "Node"].contains(&names.text(owner.kind)))
}

/// What NodeResourcesFit wants to see free for a pod.
fn size(pod: &Pod, id: ResourceId) -> i64 {
    match id {
        ResourceId::PODS => 1,
        id => pod.requests.spec_columns.get(id).max(0),
    }
}

fn lower_bound(nodes: &[Parted<'_>]) -> Bound {
    let movable: Vec<&Pod> = nodes
        .iter()
        .flat_map(|node| &node.movable)
        .copied()
        .collect();
    let open = nodes.iter().filter(|node| node.is_open).count();
    let asked = movable
        .iter()
        .flat_map(|pod| pod.requests.spec_columns.iter());
    let resources: BTreeSet<ResourceId> =
        asked.map(|(id, _)| id).chain([ResourceId::PODS]).collect();
    let mut bound = Bound {
        // Whoever is placed is somewhere.
        nodes: open.max(usize::from(!movable.is_empty())),
        by: None,
    };
    for id in resources {
        if !nodes.iter().all(|node| node.holds(id)) {
            continue;
        }
        let needed = open + bins(nodes, id).opened_at_least(&sizes(&movable, id));
        if needed > bound.nodes || (needed == bound.nodes && bound.by.is_none() && needed > open) {
            bound = Bound {
                nodes: needed,
                by: Some(id),
            };
        }
    }
    bound
}

fn bins(nodes: &[Parted<'_>], id: ResourceId) -> Bins {
    let room = |open: bool| {
        let nodes = nodes.iter().filter(move |node| node.is_open == open);
        nodes.map(|node| node.room(id)).collect::<Vec<i64>>()
    };
    let mut closed = room(false);
    closed.sort_unstable_by(|a, b| b.cmp(a));
    Bins {
        open: room(true),
        closed,
    }
}

/// The sizes that are not 0, the largest first.
fn sizes(pods: &[&Pod], id: ResourceId) -> Vec<i64> {
    let mut sizes: Vec<i64> = pods.iter().map(|pod| size(pod, id)).collect();
    sizes.retain(|size| *size > 0);
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes
}
