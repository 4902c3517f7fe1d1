//! A node with what is on it.

use super::pods::swap;
use super::storage::Attached;
use crate::model::{CsiNode, Node, Pod, Resources, UsedPorts};
use smallvec::SmallVec;
use std::sync::Arc;
use stowplan_base::Sym;

/// How many pods a node has room for from the start, so that placing the first few need not
/// allocate. Small: there may be a million nodes.
const FEW_PODS: usize = 8;

/// Pods of which there are few on most nodes: two need no memory of their own.
type FewPods = SmallVec<[Arc<Pod>; 2]>;

/// A node, the pods on it, and their sums. Upstream's `NodeInfo`.
///
/// A clone is a dry run: pods can be added and taken away without touching the snapshot.
#[derive(Debug)]
pub struct NodeInfo {
    /// The node.
    pub node: Arc<Node>,
    /// Its number in the order of arrival.
    pub(super) arrival: u64,
    /// The node's `allocatable`, again: it is read with the sums below.
    allocatable: Resources,
    /// Bits of the names of its images.
    image_marks: ImageMarks,
    /// The pods on it, assumed ones included.
    pub pods: Vec<Arc<Pod>>,
    /// Those with an affinity or anti-affinity stanza.
    pub pods_with_affinity: FewPods,
    /// Those with required anti-affinity terms.
    pub pods_with_required_anti_affinity: FewPods,
    /// What they ask for, together.
    pub requested: Resources,
    /// Their cpu with a minimum per container, in thousandths.
    pub non_zero_cpu_milli: i64,
    /// Their memory with a minimum per container, in bytes.
    pub non_zero_memory: i64,
    /// The host ports they hold.
    pub used_ports: UsedPorts,
    /// Those with disks that may be in the way of others.
    pub pods_with_disks: FewPods,
    /// What the CSI drivers on the node can do.
    pub csi_node: Option<Arc<CsiNode>>,
    /// What is attached to the node, if it is known.
    attached: Option<Arc<Attached>>,
}

/// One bit of 256 for every image name. Most nodes do not hold the image that is asked for: that
/// can most often be told without looking at their images.
#[derive(Clone, Copy, Debug, Default)]
struct ImageMarks([u64; 4]);

impl ImageMarks {
    fn of(node: &Node) -> Self {
        let mut marks = Self::default();
        for name in node.images.iter().flat_map(|image| &image.names) {
            let (word, bit) = Self::place(*name);
            marks.0[word] |= bit;
        }
        marks
    }

    fn may_have(&self, name: Sym) -> bool {
        let (word, bit) = Self::place(name);
        self.0[word] & bit != 0
    }

    fn place(name: Sym) -> (usize, u64) {
        let place = name.number().wrapping_mul(0x9e37_79b1) >> 24;
        (place as usize / 64, 1 << (place % 64))
    }
}

impl Clone for NodeInfo {
    fn clone(&self) -> Self {
        let mut clone = Self::new(self.node.clone());
        clone.clone_from(self);
        clone
    }

    /// Takes no memory where there is enough of it.
    fn clone_from(&mut self, other: &Self) {
        let Self {
            node,
            arrival,
            pods,
            pods_with_affinity,
            pods_with_required_anti_affinity,
            requested,
            non_zero_cpu_milli,
            non_zero_memory,
            used_ports,
            pods_with_disks,
            csi_node,
            attached,
            allocatable,
            image_marks,
        } = other;
        self.node.clone_from(node);
        self.arrival = *arrival;
        self.pods.clone_from(pods);
        self.pods_with_affinity.clone_from(pods_with_affinity);
        self.pods_with_required_anti_affinity
            .clone_from(pods_with_required_anti_affinity);
        self.requested.clone_from(requested);
        self.non_zero_cpu_milli = *non_zero_cpu_milli;
        self.non_zero_memory = *non_zero_memory;
        self.used_ports.clone_from(used_ports);
        self.pods_with_disks.clone_from(pods_with_disks);
        self.csi_node.clone_from(csi_node);
        self.attached.clone_from(attached);
        self.allocatable.clone_from(allocatable);
        self.image_marks = *image_marks;
    }
}

impl NodeInfo {
    /// A node without pods.
    pub fn new(node: Arc<Node>) -> Self {
        Self {
            arrival: 0,
            pods: Vec::with_capacity(FEW_PODS),
            pods_with_affinity: FewPods::new(),
            pods_with_required_anti_affinity: FewPods::new(),
            requested: Resources::zeros(&node.allocatable),
            allocatable: node.allocatable.clone(),
            image_marks: ImageMarks::of(&node),
            non_zero_cpu_milli: 0,
            non_zero_memory: 0,
            used_ports: UsedPorts::default(),
            pods_with_disks: FewPods::new(),
            csi_node: None,
            attached: None,
            node,
        }
    }

    /// The node's number in the order of arrival.
    pub fn arrival(&self) -> u64 {
        self.arrival
    }

    /// What the node has for pods.
    pub fn allocatable(&self) -> &Resources {
        &self.allocatable
    }

    /// Whether the node holds an image of this name.
    pub fn holds_image(&self, name: Sym) -> bool {
        let images = || self.node.images.iter();
        self.image_marks.may_have(name) && images().any(|image| image.names.contains(&name))
    }

    /// Replaces the node object; returns what it was.
    pub(super) fn set_node(&mut self, node: Arc<Node>) -> Arc<Node> {
        self.allocatable.clone_from(&node.allocatable);
        self.image_marks = ImageMarks::of(&node);
        std::mem::replace(&mut self.node, node)
    }

    /// What is attached to the node; `None` if that has to be found out.
    pub fn attached(&self) -> Option<&Attached> {
        self.attached.as_deref()
    }

    /// Notes what is attached to the node, until a pod with volumes comes or goes.
    pub(super) fn set_attached(&mut self, attached: Option<Attached>) {
        self.attached = attached.map(Arc::new);
    }

    /// Puts a pod on the node.
    pub fn add_pod(&mut self, pod: Arc<Pod>) {
        self.requested.add(&pod.requests.total_columns);
        let requests = &pod.requests;
        self.non_zero_cpu_milli = self
            .non_zero_cpu_milli
            .wrapping_add(requests.non_zero_cpu_milli);
        self.non_zero_memory = self.non_zero_memory.wrapping_add(requests.non_zero_memory);
        for port in &pod.host_ports {
            self.used_ports.add(*port);
        }
        if pod.has_restricted_disks() {
            self.pods_with_disks.push(pod.clone());
        }
        if pod.has_attachable_volumes() {
            self.attached = None;
        }
        if pod.has_pod_affinity() {
            self.pods_with_affinity.push(pod.clone());
        }
        if pod.has_required_anti_affinity() {
            self.pods_with_required_anti_affinity.push(pod.clone());
        }
        self.pods.push(pod);
    }

    /// Takes this very pod off the node.
    pub(crate) fn remove_this_pod(&mut self, pod: &Arc<Pod>) {
        if let Some(at) = self.pods.iter().position(|p| Arc::ptr_eq(p, pod)) {
            self.remove_pod_at(at);
        }
    }

    /// Replaces a pod by a version of it that looks the same.
    pub(super) fn swap_pod(&mut self, old: &Arc<Pod>, new: &Arc<Pod>) {
        swap(&mut self.pods, old, new);
        if new.has_pod_affinity() {
            swap(&mut self.pods_with_affinity, old, new);
            swap(&mut self.pods_with_required_anti_affinity, old, new);
        }
        if new.has_restricted_disks() {
            swap(&mut self.pods_with_disks, old, new);
        }
    }

    fn remove_pod_at(&mut self, at: usize) {
        let pod = self.pods.swap_remove(at);
        if pod.has_pod_affinity() {
            let stays = |p: &mut Arc<Pod>| !Arc::ptr_eq(p, &pod);
            self.pods_with_affinity.retain(stays);
            self.pods_with_required_anti_affinity.retain(stays);
        }
        self.requested.sub(&pod.requests.total_columns);
        let requests = &pod.requests;
        self.non_zero_cpu_milli = self
            .non_zero_cpu_milli
            .wrapping_sub(requests.non_zero_cpu_milli);
        self.non_zero_memory = self.non_zero_memory.wrapping_sub(requests.non_zero_memory);
        for port in &pod.host_ports {
            self.used_ports.remove(*port);
        }
        if pod.has_restricted_disks() {
            self.pods_with_disks.retain(|p| !Arc::ptr_eq(p, &pod));
        }
        if pod.has_attachable_volumes() {
            self.attached = None;
        }
    }
}
