//! One more node.

use super::candidates::Candidate;
use super::{Case, Remedy};
use crate::NodeInfo;
use crate::cast::float;
use crate::model::{Labels, Node, ResourceId};
use std::sync::Arc;
use stowplan_base::{Sym, sym};

/// How many models for a new node are kept.
const MODELS_MAX: usize = 64;

/// Nodes that would do if they were empty and new: of those that look alike the first.
pub(super) fn all(case: Case<'_>) -> Vec<Candidate> {
    let mut models: Vec<(usize, NodeInfo)> = Vec::new();
    for (at, node) in case.cx.cluster.nodes().iter().enumerate() {
        let new = empty(node);
        let is_like = |(_, model): &(usize, NodeInfo)| {
            let (model, new) = (&model.node, &new.node);
            model.taints == new.taints
                && model.allocatable == new.allocatable
                && model.labels == new.labels
        };
        if !models.iter().any(is_like) && case.fits(&new) {
            models.push((at, new));
        }
        if models.len() == MODELS_MAX {
            break;
        }
    }
    let candidates = models.into_iter().map(|(at, model)| Candidate {
        remedy: Remedy::AddNode {
            like: case.node(at).node.name,
        },
        change: float(model.node.allocatable.get(ResourceId::CPU)),
        order: at,
    });
    candidates.collect()
}

/// A node like this one, in the same domains, but by itself: it has no name yet.
fn empty(like: &NodeInfo) -> NodeInfo {
    let mut node = Node {
        name: Sym::EMPTY,
        ..Node::clone(&like.node)
    };
    if node.labels.has(sym::HOSTNAME) {
        node.labels = Labels::new(node.labels.iter().chain([(sym::HOSTNAME, Sym::EMPTY)]));
    }
    let mut empty = NodeInfo::new(Arc::new(node));
    empty.csi_node.clone_from(&like.csi_node);
    empty
}
