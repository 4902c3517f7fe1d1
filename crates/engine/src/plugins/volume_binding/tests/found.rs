//! What is found by way of indexes, against a walk over all volumes and capacities.

use super::super::matching::{Candidates, node_affinity_matches, refers_to};
use super::*;
use crate::Snapshot;
use crate::model::CsiStorageCapacity;
use crate::testing::churn::{CLASSES, Churn};
use stowplan_base::{Quantity, Sym};

/// Upstream's `FindMatchingVolume`, over all volumes.
fn choice_walked<'a>(
    cluster: &'a Snapshot,
    claim: &PersistentVolumeClaim,
    labels: &Labels,
    taken: &[Sym],
) -> Option<&'a Arc<PersistentVolume>> {
    let names = &cluster.names;
    let fits = |volume: &&Arc<PersistentVolume>| {
        volume.storage_class == claim.storage_class
            && volume.capacity >= claim.request.unwrap_or(Quantity::ZERO)
            && volume.volume_mode == claim.volume_mode
            && volume.attributes_class == claim.attributes_class
            && !volume.terminating
            && !taken.contains(&volume.name)
    };
    let reachable = |volume: &&Arc<PersistentVolume>| {
        node_affinity_matches(volume.node_affinity.as_ref(), labels, names)
    };
    let mut fitting = cluster.volumes.iter().filter(fits);
    if let Some(reserved) = fitting.find(|volume| refers_to(volume, claim)) {
        return Some(reserved).filter(reachable);
    }
    let selected = |volume: &&Arc<PersistentVolume>| match &claim.selector {
        Some(Ok(selector)) => selector.matches(&volume.labels, names),
        _ => true,
    };
    let mut free: Vec<_> = cluster
        .volumes
        .iter()
        .filter(fits)
        .filter(|volume| volume.claim_ref.is_none() && volume.phase == sym::AVAILABLE)
        .filter(selected)
        .filter(|volume| {
            let mut modes = claim.access_modes.iter();
            modes.all(|mode| volume.access_modes.contains(mode))
        })
        .filter(reachable)
        .collect();
    free.sort_by_key(|volume| volume.capacity);
    free.first().copied()
}

#[test]
fn a_claim_gets_the_volume_that_a_walk_finds() {
    let mut found = 0;
    for seed in 0..40 {
        let mut churn = Churn::new(seed);
        for step in 0..150 {
            churn.change();
            let claim = churn.claim();
            let cluster = &churn.world.snapshot;
            // Of a pod with two claims the first may have taken any volume.
            let candidates = Candidates::of(cluster, &claim, 2).expect("selectors are valid");
            let taken = cluster.volumes.iter().map(|v| vec![v.name]);
            let taken: Vec<_> = taken.chain([vec![]]).collect();
            for node in cluster.nodes() {
                let labels = &node.node.labels;
                for taken in &taken {
                    let is_taken = |name| taken.contains(&name);
                    let chosen = candidates.choose(cluster, &claim, labels, is_taken);
                    let walked = choice_walked(cluster, &claim, labels, taken);
                    assert_eq!(chosen, walked, "seed {seed} step {step}");
                    found += usize::from(chosen.is_some());
                }
            }
        }
    }
    assert!(found > 1000, "{found} volumes found");
}

#[test]
fn there_is_room_where_a_walk_finds_some() {
    let mut found = 0;
    for seed in 0..40 {
        let mut churn = Churn::new(seed);
        for step in 0..150 {
            churn.change();
            for class in CLASSES {
                let class = churn.world.sym(class);
                let cluster = &churn.world.snapshot;
                for (node, size) in cluster.nodes().iter().zip([1_i64, 5, 6, 10, 11]) {
                    let (labels, size) = (&node.node.labels, size << 30);
                    let sufficient = |capacity: &&Arc<CsiStorageCapacity>| {
                        capacity.storage_class == class
                            && capacity.volume_limit().is_some_and(|limit| limit >= size)
                            && capacity.node_topology.matches(labels, &cluster.names)
                    };
                    let walked = cluster.storage_capacities.iter().any(|c| sufficient(&c));
                    let has_room = find::has_room(cluster, class, size, labels);
                    assert_eq!(has_room, walked, "seed {seed} step {step}");
                    found += usize::from(has_room);
                }
            }
        }
    }
    assert!(found > 1000, "room was found {found} times");
}
