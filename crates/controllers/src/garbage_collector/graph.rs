//! Which object names which as its owner.

use super::{AbsentOwners, Gvk, Identity, Observed, Owner};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What has to be done after something was seen.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Effects {
    /// Objects that may have to be deleted, by uid.
    pub delete: Vec<Arc<str>>,
    /// The same, after a pause that grows.
    pub delete_later: Vec<Arc<str>>,
    /// Objects whose dependents have to forget them, by uid.
    pub orphan: Vec<Arc<str>>,
    /// What users are told.
    pub invalid: Vec<InvalidOwner>,
}

/// An object names an owner that is in another namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidOwner {
    /// The object.
    pub dependent: Identity,
    /// The owner, as if it were in the object's namespace.
    pub owner: Identity,
}

impl InvalidOwner {
    /// What users are told, under the reason `OwnerRefInvalidNamespace`.
    pub fn message(&self) -> String {
        let namespace = &self.dependent.namespace;
        format!(
            "ownerRef {} does not exist in namespace {namespace:?}",
            self.owner
        )
    }
}

/// An object, or one that some object names as its owner.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) identity: Identity,
    pub(super) owners: Box<[Owner]>,
    pub(super) deleting: bool,
    pub(super) foreground: bool,
    pub(super) orphan: bool,
    /// Whether no reflector has seen it: it is known by what its dependents say.
    pub(super) is_virtual: bool,
}

impl Node {
    /// Whether it waits for its dependents to be deleted.
    pub(super) fn deletes_dependents(&self) -> bool {
        self.deleting && self.foreground
    }

    /// Whether it waits for its dependents to forget it.
    fn orphans_dependents(&self) -> bool {
        self.deleting && self.orphan
    }
}

/// Which object names which as its owner. Upstream's `GraphBuilder`. Written by whoever hears the
/// reflectors, read by attempts.
#[derive(Default, Debug)]
pub struct Graph {
    pub(super) nodes: BTreeMap<Arc<str>, Node>,
    /// The objects that name an owner, whether it is known or not.
    dependents: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    pub(super) absent: AbsentOwners,
    /// Kinds that objects name, so that each is there once.
    gvks: BTreeSet<Arc<Gvk>>,
}

impl Graph {
    /// How many objects are known, by reflectors or by their dependents.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The object of a uid, as far as it is known.
    pub fn identity(&self, uid: &str) -> Option<&Identity> {
        Some(&self.nodes.get(uid)?.identity)
    }

    /// The objects that name this one as their owner.
    pub fn dependents(&self, uid: &str) -> Vec<Identity> {
        let nodes = self.dependent_nodes(uid);
        nodes.map(|node| node.identity.clone()).collect()
    }

    pub(super) fn dependent_nodes(&self, uid: &str) -> impl Iterator<Item = &Node> {
        let uids = self.dependents.get(uid).into_iter().flatten();
        uids.filter_map(|uid| self.nodes.get(uid))
    }

    /// The objects for which this one has to wait when it is deleted in the foreground.
    pub(super) fn blocking_dependents(&self, uid: &str) -> impl Iterator<Item = &Node> {
        let blocks = move |owner: &Owner| &*owner.uid == uid && owner.blocks();
        self.dependent_nodes(uid)
            .filter(move |node| node.owners.iter().any(blocks))
    }

    /// A reflector sees an object, new or changed.
    pub fn observe(&mut self, mut object: Observed) -> Effects {
        let mut effects = Effects::default();
        let uid = self.uid(&object.identity.uid);
        object.identity.uid = uid.clone();
        for owner in &mut object.owners {
            owner.gvk = self.gvk(&owner.gvk);
            owner.uid = self.uid(&owner.uid);
        }
        let before = self.nodes.get(&uid).cloned();
        if let Some(before) = before.as_ref().filter(|before| before.is_virtual) {
            self.meet(before, &object.identity, &mut effects);
        }
        let owners = before.as_ref().map_or(&[][..], |before| &before.owners);
        let (added, removed, changed) = differences(owners, &object.owners);
        let now = Node {
            identity: object.identity,
            owners: object.owners.into(),
            deleting: object.deleting,
            foreground: object.foreground,
            orphan: object.orphan,
            is_virtual: false,
        };
        let seen = before.as_ref().filter(|before| !before.is_virtual);
        let starts_to_orphan =
            now.orphans_dependents() && !seen.is_some_and(Node::orphans_dependents);
        let starts_to_wait =
            now.deletes_dependents() && !seen.is_some_and(Node::deletes_dependents);
        // An object without a namespace is given up as long as an owner of it has one.
        let is_doubtful = now.identity.namespace.is_empty()
            && !now.owners.is_empty()
            && !(removed.is_empty() && changed.is_empty());
        self.nodes.insert(uid.clone(), now);
        if is_doubtful {
            effects.delete.push(uid.clone());
        }
        self.unblock_owners(&removed, &changed, &mut effects);
        self.link(&uid, &added, &mut effects);
        self.unlink(&uid, &removed);
        if starts_to_orphan {
            effects.orphan.push(uid);
        } else if starts_to_wait {
            let dependents = self.dependents.get(&uid).into_iter().flatten();
            effects.delete.extend(dependents.cloned());
            effects.delete.push(uid);
        }
        effects
    }

    /// A reflector sees that an object is gone.
    pub fn gone(&mut self, uid: &str) -> Effects {
        let mut effects = Effects::default();
        if let Some(node) = self.nodes.get(uid) {
            let identity = node.identity.clone();
            self.remove(&identity, &mut effects);
        }
        effects
    }

    /// Takes an object out: its dependents may have to go, and owners that waited for it.
    pub(super) fn remove(&mut self, identity: &Identity, effects: &mut Effects) {
        let Some(node) = self.nodes.remove(&identity.uid) else {
            return;
        };
        self.unlink(&identity.uid, &node.owners);
        if let Some(dependents) = self.dependents.get(&identity.uid) {
            effects.delete.extend(dependents.iter().cloned());
            self.absent.add(identity.clone());
        }
        let waits = |owner: &&Owner| {
            let owner = self.nodes.get(&owner.uid);
            owner.is_some_and(Node::deletes_dependents)
        };
        let waiting = node.owners.iter().filter(waits);
        effects
            .delete
            .extend(waiting.map(|owner| owner.uid.clone()));
    }

    /// An object that was known by its dependents is seen. Those that described it otherwise may be wrong.
    fn meet(&mut self, before: &Node, seen: &Identity, effects: &mut Effects) {
        if before.identity == *seen {
            return;
        }
        let mut doubtful = Vec::new();
        for dependent in self.dependent_nodes(&seen.uid) {
            if super::virtual_delete::partition(dependent, seen).1 {
                doubtful.push(dependent.identity.clone());
            }
        }
        for dependent in doubtful {
            if !seen.namespace.is_empty() && dependent.namespace != seen.namespace {
                self.report(&dependent.uid, &seen.uid, effects);
            }
            effects.delete.push(dependent.uid);
        }
    }

    /// Adds an object to the dependents of these owners. Owners that are not known become virtual; the
    /// server will be asked whether they exist. Upstream's `addDependentToOwners`.
    fn link(&mut self, uid: &Arc<str>, owners: &[Owner], effects: &mut Effects) {
        let Some(namespace) = self
            .nodes
            .get(uid)
            .map(|node| node.identity.namespace.clone())
        else {
            return;
        };
        let mut is_doubtful = false;
        for owner in owners {
            let dependents = self.dependents.entry(owner.uid.clone()).or_default();
            dependents.insert(uid.clone());
            let Some(known) = self.nodes.get(&owner.uid) else {
                let node = Node {
                    identity: owner.identity_in(&namespace),
                    owners: [].into(),
                    deleting: false,
                    foreground: false,
                    orphan: false,
                    is_virtual: true,
                };
                self.nodes.insert(owner.uid.clone(), node);
                effects.delete.push(owner.uid.clone());
                continue;
            };
            if is_doubtful {
                continue;
            }
            let is_namespaced = !known.identity.namespace.is_empty();
            let is_elsewhere = known.identity.namespace != namespace;
            // Who comes late to an owner that waits for its dependents has to go as well.
            is_doubtful = known.deletes_dependents()
                || (is_namespaced && is_elsewhere)
                || !owner.means(&known.identity)
                || (is_elsewhere && known.is_virtual);
            if is_namespaced && is_elsewhere && !known.is_virtual {
                self.report(uid, &owner.uid, effects);
            }
        }
        if is_doubtful {
            effects.delete.push(uid.clone());
        }
    }

    fn unlink(&mut self, uid: &str, owners: &[Owner]) {
        for owner in owners {
            if let Some(dependents) = self.dependents.get_mut(&owner.uid) {
                dependents.remove(uid);
                if dependents.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
    }

    /// Owners that do not have to wait for the object any more. Upstream's
    /// `addUnblockedOwnersToDeleteQueue`.
    fn unblock_owners(&self, removed: &[Owner], changed: &[(Owner, Owner)], effects: &mut Effects) {
        let removed = removed.iter().filter(|owner| owner.blocks());
        let unblocked = changed
            .iter()
            .filter(|(before, now)| before.blocks() && !now.blocks())
            .map(|(_, now)| now);
        let free = removed.chain(unblocked);
        let known = free.filter(|owner| self.nodes.contains_key(&owner.uid));
        effects.delete.extend(known.map(|owner| owner.uid.clone()));
    }

    fn report(&self, dependent: &str, owner: &str, effects: &mut Effects) {
        let Some(node) = self.nodes.get(dependent) else {
            return;
        };
        let mut owners = node.owners.iter();
        if let Some(owner) = owners.find(|named| &*named.uid == owner) {
            effects.invalid.push(InvalidOwner {
                dependent: node.identity.clone(),
                owner: owner.identity_in(&node.identity.namespace),
            });
        }
    }

    /// The same uid, once in memory.
    fn uid(&self, uid: &Arc<str>) -> Arc<str> {
        let known = self.nodes.get_key_value(uid).map(|(known, _)| known);
        let known = known.or_else(|| Some(self.dependents.get_key_value(uid)?.0));
        known.unwrap_or(uid).clone()
    }

    /// The same kind, once in memory.
    fn gvk(&mut self, gvk: &Arc<Gvk>) -> Arc<Gvk> {
        if let Some(known) = self.gvks.get(gvk) {
            return known.clone();
        }
        self.gvks.insert(gvk.clone());
        gvk.clone()
    }
}

/// What was added, what was removed, and what changed, from what to what.
type Differences = (Vec<Owner>, Vec<Owner>, Vec<(Owner, Owner)>);

/// How owners differ, by uid. Upstream's `referencesDiffs`.
fn differences(before: &[Owner], now: &[Owner]) -> Differences {
    let find = |owners: &[Owner], uid: &str| -> Option<Owner> {
        owners.iter().find(|owner| &*owner.uid == uid).cloned()
    };
    let (mut added, mut changed) = (Vec::new(), Vec::new());
    for owner in now {
        match find(before, &owner.uid) {
            None => added.push(owner.clone()),
            Some(old) if old != *owner => changed.push((old, owner.clone())),
            Some(_) => {}
        }
    }
    let is_removed = |owner: &&Owner| find(now, &owner.uid).is_none();
    let removed = before.iter().filter(is_removed).cloned().collect();
    (added, removed, changed)
}
