//! Pods whose volumes are in the way.

use super::candidates::{Candidate, Rejected};
use super::{Case, Place, TRIALS_MAX};
use crate::plugins::node_volume_limits::Holders;
use crate::plugins::volume_restrictions::{claim_holders, disk_holders};
use std::sync::Arc;

/// Disks and claims that cannot be shared: those who hold them go.
pub(super) fn held(case: Case<'_>, nodes: &[Rejected]) -> Vec<Candidate> {
    let of_claims = claim_holders(case.cx, case.pod);
    let mut out: Vec<Candidate> = Vec::new();
    let mut claims_are_told = of_claims.is_empty();
    for Rejected { at, .. } in nodes {
        let node = case.node(*at);
        let is_new = |pod: &Arc<_>| !of_claims.iter().any(|known| Arc::ptr_eq(known, pod));
        let mut pods = disk_holders(case.pod, node);
        pods.retain(is_new);
        let from = match of_claims[..] {
            [] => Place::Node(node.node.name),
            _ => Place::Anywhere,
        };
        // Who holds claims is in the way on all nodes: once is enough where it is nobody else.
        if pods.is_empty() && std::mem::replace(&mut claims_are_told, true) {
            continue;
        }
        pods.splice(0..0, of_claims.iter().cloned());
        out.push(Candidate::evict(from, pods, *at));
    }
    out
}

/// More volumes than the node can hold: others go, and theirs are detached. Who that is is worked
/// out where the least volumes are too many.
pub(super) fn too_many(case: Case<'_>, nodes: &[Rejected]) -> Vec<Candidate> {
    let cluster = case.cx.cluster;
    let mut full: Vec<(i64, usize, Holders<'_>)> = Vec::new();
    for Rejected { at, .. } in nodes {
        let holders = Holders::of(cluster, case.pod, case.node(*at));
        full.extend(holders.map(|holders| (holders.surplus(), *at, holders)));
    }
    full.sort_by_key(|(surplus, at, _)| (*surplus, *at));
    full.truncate(TRIALS_MAX);
    let evict = |(_, at, holders): (i64, usize, Holders<'_>)| {
        let from = Place::Node(case.node(at).node.name);
        let pods = holders.who_could_go(cluster);
        (!pods.is_empty()).then(|| Candidate::evict(from, pods, at))
    };
    full.into_iter().filter_map(evict).collect()
}
