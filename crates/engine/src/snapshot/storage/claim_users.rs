//! The pods that use a claim.

use crate::model::Pod;
use std::collections::BTreeMap;
use stowplan_base::Sym;

/// How many pods on each node use a claim, by (namespace, claim, node).
#[derive(Clone, Debug, Default)]
pub(super) struct ClaimUsers(BTreeMap<(Sym, Sym, Sym), Users>);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Users {
    /// Volumes that name the claim.
    named: u32,
    /// Generic ephemeral volumes that the claim was made for.
    ephemeral: u32,
}

impl ClaimUsers {
    /// A pod came to the node.
    pub(super) fn add(&mut self, pod: &Pod, node: Sym) {
        for volume in &pod.volumes {
            let Some(claim) = volume.claim() else {
                continue;
            };
            let users = self.0.entry((pod.namespace, claim, node)).or_default();
            match volume.is_ephemeral() {
                true => users.ephemeral += 1,
                false => users.named += 1,
            }
        }
    }

    /// A pod left the node.
    pub(super) fn remove(&mut self, pod: &Pod, node: Sym) {
        for volume in &pod.volumes {
            let Some(claim) = volume.claim() else {
                continue;
            };
            let key = (pod.namespace, claim, node);
            let Some(users) = self.0.get_mut(&key) else {
                continue;
            };
            match volume.is_ephemeral() {
                true => users.ephemeral -= 1,
                false => users.named -= 1,
            }
            if *users == Users::default() {
                self.0.remove(&key);
            }
        }
    }

    /// Whether some pod names the claim.
    pub(super) fn is_named(&self, namespace: Sym, claim: Sym) -> bool {
        self.of(namespace, claim).any(|(_, users)| users.named > 0)
    }

    /// The nodes with pods that use the claim.
    pub(super) fn nodes(&self, namespace: Sym, claim: Sym) -> impl Iterator<Item = Sym> {
        self.of(namespace, claim).map(|(node, _)| node)
    }

    fn of(&self, namespace: Sym, claim: Sym) -> impl Iterator<Item = (Sym, &Users)> {
        self.0
            .range((namespace, claim, Sym::EMPTY)..)
            .take_while(move |((ns, name, _), _)| (*ns, *name) == (namespace, claim))
            .map(|((_, _, node), users)| (*node, users))
    }
}
