//! The server says that an owner does not exist where its dependents say it is.

use super::graph::Node;
use super::{Effects, Graph, Identity};
use std::sync::Arc;

/// Whether a dependent names exactly this owner, and whether it names its uid otherwise: by another name or
/// kind, or from another namespace. Both can be true if it names it twice. Upstream's `partitionDependents`.
pub(super) fn partition(dependent: &Node, owner: &Identity) -> (bool, bool) {
    if !owner.namespace.is_empty() && owner.namespace != dependent.identity.namespace {
        return (false, true);
    }
    let mut found = (false, false);
    for named in dependent
        .owners
        .iter()
        .filter(|named| named.uid == owner.uid)
    {
        match named.means(owner) {
            true => found.0 = true,
            false => found.1 = true,
        }
    }
    found
}

impl Graph {
    /// The server was asked for this object, and it is not there. What a reflector has seen under the same
    /// uid but elsewhere stays; so does an owner that other dependents describe otherwise.
    pub fn absent(&mut self, identity: &Identity) -> Effects {
        let mut effects = Effects::default();
        let Some(node) = self.nodes.get(&identity.uid) else {
            return effects;
        };
        let mut matching = Vec::new();
        let mut other: Vec<Node> = Vec::new();
        for dependent in self.dependent_nodes(&identity.uid) {
            let (is_match, is_mismatch) = partition(dependent, identity);
            if is_match {
                matching.push(dependent.identity.uid.clone());
            }
            if is_mismatch {
                other.push(dependent.clone());
            }
        }
        let stays = match node.is_virtual {
            true => !other.is_empty(),
            false => node.identity != *identity,
        };
        if !stays {
            self.remove(identity, &mut effects);
            return effects;
        }
        let is_it = node.is_virtual && node.identity == *identity;
        if !matching.is_empty() {
            self.absent.add(identity.clone());
            effects.delete.extend(matching);
        }
        if is_it
            && let Some(alternative) = alternative(&other, identity)
            && let Some(node) = self.nodes.get_mut(&identity.uid)
        {
            effects.delete_later.push(alternative.uid.clone());
            node.identity = alternative;
        }
        effects
    }
}

/// Another description that dependents give of an owner: the first that follows the one that is known to be
/// wrong, or the first of all. Upstream's `getAlternateOwnerIdentity`.
fn alternative(dependents: &[Node], wrong: &Identity) -> Option<Identity> {
    let is_cluster_scoped = wrong.namespace.is_empty();
    let mut all = Vec::new();
    for dependent in dependents {
        let namespace = &dependent.identity.namespace;
        for owner in dependent
            .owners
            .iter()
            .filter(|owner| owner.uid == wrong.uid)
        {
            if owner.means(wrong) && (is_cluster_scoped || wrong.namespace == *namespace) {
                continue;
            }
            let mut identity = owner.identity_in(namespace);
            // The kind is known to have no namespace.
            if is_cluster_scoped && identity.gvk == wrong.gvk {
                identity.namespace = Arc::from("");
            }
            all.push(identity);
        }
    }
    all.retain(|identity| identity != wrong);
    let following = all.iter().filter(|identity| *identity > wrong).min();
    following.or_else(|| all.iter().min()).cloned()
}
