//! By what nodes differ in the eyes of this plugin.

use super::pod_claims::{PodClaims, Provision, UnboundClaim};
use crate::Snapshot;
use crate::framework::NodesToCheck;
use crate::model::{NodeSelector, Op};
use stowplan_base::Sym;

/// Most often only some labels count.
pub(super) fn asks(cluster: &Snapshot, claims: &PodClaims) -> NodesToCheck {
    match keys(cluster, claims) {
        Some(mut keys) => {
            keys.sort_unstable();
            keys.dedup();
            let need = need(claims);
            NodesToCheck::Alike { keys, need }
        }
        None => NodesToCheck::All,
    }
}

/// The labels that count; `None` if other things count as well.
fn keys(cluster: &Snapshot, claims: &PodClaims) -> Option<Vec<Sym>> {
    let mut keys = Vec::new();
    if !claims.promised.is_empty() {
        return None;
    }
    for volume in claims.bound.iter().flatten() {
        if volume.migrated.is_some() {
            return None;
        }
        keys.extend(keys_of(volume.node_affinity.as_ref()));
    }
    for UnboundClaim {
        candidates,
        provision,
    } in &claims.unbound
    {
        let Provision { claim, class, room } = provision;
        let free = cluster.free_volumes(claim.storage_class);
        if room.is_some() || free.is_some_and(|free| free.has_labelled()) {
            return None;
        }
        for volume in candidates.iter().flat_map(|candidates| candidates.iter()) {
            keys.extend(keys_of(volume.node_affinity.as_ref()));
        }
        for term in &class.allowed_topologies {
            if !term.fields.is_empty() {
                return None;
            }
            keys.extend(term.expressions.iter().map(|r| r.key));
        }
    }
    Some(keys)
}

fn keys_of(affinity: Option<&NodeSelector>) -> impl Iterator<Item = Sym> {
    let terms = affinity.into_iter().flat_map(|affinity| &affinity.terms);
    terms.flat_map(|term| term.expressions.iter().map(|r| r.key))
}

/// A label that a bound volume needs: whoever lacks it is rejected, unless something is broken.
fn need(claims: &PodClaims) -> Option<(Sym, Box<[Sym]>)> {
    let is_broken = |unbound: &UnboundClaim| unbound.candidates.is_err();
    if claims.unbound.iter().any(is_broken) {
        return None;
    }
    let bound = claims.bound.iter().flatten();
    bound
        .filter_map(|volume| volume.node_affinity.as_ref())
        .find_map(|affinity| match &affinity.terms[..] {
            [term] => term.expressions.iter().find(|r| r.op == Op::In),
            _ => None,
        })
        .map(|listed| (listed.key, listed.values.clone()))
}
