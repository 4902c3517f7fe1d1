//! Nodes.

use super::{Labels, ResourceList, Resources, Taint};
use std::sync::Arc;
use stowplan_base::Sym;

/// A node, cut down to what scheduling reads.
#[derive(Clone, Hash, Debug)]
pub struct Node {
    /// `metadata.name`.
    pub name: Sym,
    /// `metadata.uid`.
    pub uid: Arc<str>,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `metadata.annotations`: read only to tell whether they changed.
    pub annotations: Labels,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `spec.taints`, in the object's order.
    pub taints: Box<[Taint]>,
    /// `status.allocatable`, exactly.
    pub allocatable_list: ResourceList,
    /// `status.allocatable` as columns.
    pub allocatable: Resources,
    /// `status.conditions` as (type, status), sorted: read only to tell whether they changed.
    pub conditions: Box<[(Sym, Sym)]>,
    /// `status.images`.
    pub images: Box<[NodeImage]>,
    /// `status.declaredFeatures`, in the object's order.
    pub declared_features: Box<[Sym]>,
}

impl Node {
    /// Whether no rule can tell the two apart. Annotations and conditions, which change with every
    /// heartbeat, matter only to those who are told of events.
    pub fn looks_like(&self, other: &Self) -> bool {
        let Self {
            uid: _,
            annotations: _,
            conditions: _,
            name,
            labels,
            unschedulable,
            taints,
            allocatable_list,
            allocatable,
            images,
            declared_features,
        } = self;
        *name == other.name
            && *labels == other.labels
            && *unschedulable == other.unschedulable
            && *taints == other.taints
            && *allocatable_list == other.allocatable_list
            && *allocatable == other.allocatable
            && *images == other.images
            && *declared_features == other.declared_features
    }
}

/// An image that a node holds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NodeImage {
    /// All its names.
    pub names: Box<[Sym]>,
    /// Its size.
    pub size_bytes: i64,
}
