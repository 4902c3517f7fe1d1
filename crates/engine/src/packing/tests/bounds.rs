//! The lower bound and the policies' guarantees, against the best packing of all.

use super::{Amounts, Instance};
use crate::packing::Packing;
use stowplan_base::Rng;

/// The fewest nodes that hold these new pods beside what is there, by trying everything.
fn fewest(instance: &Instance, pods: &[Amounts]) -> usize {
    let mut free = instance.nodes.clone();
    let mut used = vec![false; free.len()];
    for (size, at) in instance.old.iter().chain(&instance.daemons) {
        free[*at][0] -= size[0];
        free[*at][1] -= size[1];
    }
    for (_, at) in &instance.old {
        used[*at] = true;
    }
    let mut best = usize::MAX;
    try_all(pods, &mut free, &mut used, &mut best);
    best
}

fn try_all(pods: &[Amounts], free: &mut [Amounts], used: &mut [bool], best: &mut usize) {
    let count = used.iter().filter(|used| **used).count();
    if count >= *best {
        return;
    }
    let Some((pod, rest)) = pods.split_first() else {
        *best = count;
        return;
    };
    for at in 0..free.len() {
        if (0..2).any(|r| pod[r] > 0 && pod[r] > free[at][r]) {
            continue;
        }
        let was = used[at];
        used[at] = true;
        free[at] = [free[at][0] - pod[0], free[at][1] - pod[1]];
        try_all(rest, free, used, best);
        free[at] = [free[at][0] + pod[0], free[at][1] + pod[1]];
        used[at] = was;
    }
}

#[test]
fn no_packing_is_below_the_bound() {
    let mut tight = 0;
    let mut all = 0;
    for seed in 0..300 {
        let instance = Instance::random(&mut Rng::new(1000 + seed), 4, 7);
        for policy in Packing::ALL {
            let packed = instance.pack(policy, seed);
            let pods = packed.nodes.iter().zip(&instance.pods);
            let placed: Vec<Amounts> = pods
                .filter(|(node, _)| node.is_some())
                .map(|(_, pod)| *pod)
                .collect();
            let (fewest, census) = (fewest(&instance, &placed), packed.census);
            let bound = census.lower_bound.nodes;
            assert!(
                bound <= fewest && fewest <= census.nodes_used,
                "seed {seed}, {policy:?}: {bound} <= {fewest} <= {} in {instance:?}",
                census.nodes_used
            );
            all += 1;
            tight += usize::from(bound == fewest);
        }
    }
    assert!(
        tight * 10 >= all * 9,
        "only {tight} of {all} bounds are exact"
    );
}

#[test]
fn policies_keep_their_promises() {
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let pods = 1 + rng.below(8);
        let instance = Instance {
            nodes: vec![[1000, 1000]; pods],
            pods: (0..pods)
                .map(|_| [10 * (1 + rng.below(100) as i64), 0])
                .collect(),
            ..Instance::default()
        };
        let best = fewest(&instance, &instance.pods);
        let used = |policy| instance.pack(policy, seed).census.nodes_used;
        let context = || format!("seed {seed}, {best} in {:?}", instance.pods);
        // Dósa 2007; Dósa and Sgall 2013 and 2014.
        let decreasing = used(Packing::FirstFitDecreasing);
        assert!(9 * decreasing <= 11 * best + 6, "{}", context());
        for policy in [Packing::FirstFit, Packing::BestFit] {
            assert!(10 * used(policy) <= 17 * best, "{policy:?}: {}", context());
        }
    }
}

#[test]
fn what_decides_the_bound() {
    use crate::model::ResourceId;
    let bound = |instance: &Instance| {
        let bound = instance.pack(Packing::BestFit, 0).census.lower_bound;
        (bound.nodes, bound.by)
    };
    let empty = Instance {
        nodes: vec![[1000, 1000]; 4],
        ..Instance::default()
    };
    assert_eq!(bound(&empty), (0, None));
    let by_sum = Instance {
        pods: vec![[400, 100]; 5],
        ..empty.clone()
    };
    assert_eq!(bound(&by_sum), (3, Some(ResourceId::CPU)));
    let by_size = Instance {
        pods: vec![[100, 600]; 3],
        ..empty.clone()
    };
    assert_eq!(bound(&by_size), (3, Some(ResourceId::MEMORY)));
    let beside_old = Instance {
        old: vec![([100, 100], 1)],
        pods: vec![[100, 100]; 3],
        ..empty.clone()
    };
    assert_eq!(
        bound(&beside_old),
        (1, None),
        "there is room beside the old pod"
    );
    let beside_daemons = Instance {
        daemons: (0..4).map(|at| ([500, 100], at)).collect(),
        pods: vec![[250, 100]; 3],
        ..empty.clone()
    };
    assert_eq!(bound(&beside_daemons), (2, Some(ResourceId::CPU)));
    let for_nothing = Instance {
        pods: vec![[0, 0]],
        ..empty
    };
    assert_eq!(bound(&for_nothing), (1, Some(ResourceId::PODS)));
}
