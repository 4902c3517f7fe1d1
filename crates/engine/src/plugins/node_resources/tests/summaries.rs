//! What summaries say is what the rules say, to the last bit.

use super::*;
use crate::framework::PreScore;
use crate::plugins::node_resources::balanced_allocation::NodeResourcesBalancedAllocation;
use stowplan_base::Rng;

/// An amount: often one that nodes have, now and then none, too much for a float, or one off.
fn amount(rng: &mut Rng, usual: u64) -> u64 {
    match rng.below(40) {
        0 => 0,
        1 => 1 << 45,
        2 => (1 << 45) - 1,
        3 => i64::MAX as u64,
        4 => 1,
        _ => {
            let steps = [1, 3, 7, 100, 1 << 20][rng.below(5)];
            let steps = (usual / steps).max(1);
            (1 + rng.below(steps as usize) as u64) * (usual / steps)
        }
    }
}

/// A node with up to four pods, and a pod to be placed.
fn random_world(rng: &mut Rng) -> (World, Pod) {
    let mut world = World::default();
    let cpu = amount(rng, 64_000);
    let usual = 1 << [20, 33, 40][rng.below(3)];
    let memory = amount(rng, usual);
    let room = rng.below(6).to_string();
    let strings = [format!("{cpu}m"), memory.to_string()];
    let mut n = world.node("n", &[]);
    let amounts = [
        ("cpu", &*strings[0]),
        ("memory", &*strings[1]),
        ("pods", &*room),
    ];
    world.set_allocatable(&mut n, &amounts);
    world.add_node(n);
    let pod = |world: &mut World, name: &str, rng: &mut Rng| {
        let cpu = amount(rng, (cpu / 3).max(1));
        let memory = amount(rng, (memory / 3).max(1));
        let strings = [format!("{cpu}m"), memory.to_string(), "1".to_owned()];
        let mut amounts = vec![("cpu", &*strings[0]), ("memory", &*strings[1])];
        if rng.below(10) == 0 {
            amounts.push(("ephemeral-storage", &*strings[2]));
        }
        amounts.rotate_left(rng.below(2));
        amounts.truncate(amounts.len() - usize::from(rng.below(8) == 0));
        let mut pod = world.pod(name, &[]);
        world.set_requests(&mut pod, &amounts);
        // Not the same as what is asked for.
        pod.requests.non_zero_cpu_milli = pod.requests.non_zero_cpu_milli.max(100);
        pod.requests.non_zero_memory /= 1 + rng.below(2) as i64;
        pod
    };
    for i in 0..rng.below(5) {
        let other = pod(&mut world, &format!("default/p{i}"), rng);
        world.add_pod(other, "n");
    }
    let pod = pod(&mut world, "default/new", rng);
    (world, pod)
}

fn score_both<P>(plugin: &P, world: &World, pod: &Pod) -> Option<[Option<i64>; 2]>
where
    P: PreScore + Score,
    P::ScoreState: ScoreState<P>,
{
    let (cx, node) = (world.cx(), the_node(world));
    let PreScoreResult::Ready(state) = plugin.pre_score(cx, pod, &[]) else {
        return None;
    };
    let summary = state.score_summary(plugin, &world.snapshot.summaries()[0])?;
    Some([Some(summary), plugin.score(cx, &state, pod, node)])
}

#[test]
fn summaries_say_what_the_rules_say() {
    let fit = |kind| {
        NodeResourcesFit::new(NodeResourcesFitArgs {
            scoring_strategy: ScoringStrategy {
                kind,
                resources: ResourceSpec::cpu_and_memory(),
            },
            ..NodeResourcesFitArgs::default()
        })
    };
    let [least, most] = [
        ScoringStrategyKind::LeastAllocated,
        ScoringStrategyKind::MostAllocated,
    ]
    .map(fit);
    let balanced = NodeResourcesBalancedAllocation::new(Default::default());
    let (mut rng, mut known, mut fitting, mut full) = (Rng::new(17), [0; 3], 0, 0);
    for round in 0..20_000 {
        let (world, pod) = random_world(&mut rng);
        let (cx, node) = (world.cx(), the_node(&world));
        let PreFilterResult::Ready(state) = least.pre_filter(cx, &pod) else {
            panic!("NodeResourcesFit never skips and never narrows");
        };
        let fits = least.filter(cx, &state, &pod, node).is_ok();
        match state.fits_summary(&least, &world.snapshot.summaries()[0]) {
            true => assert!(fits, "round {round}"),
            false => full += usize::from(!fits),
        }
        fitting += usize::from(state.fits_summary(&least, &world.snapshot.summaries()[0]));
        let scores = [
            score_both(&least, &world, &pod),
            score_both(&most, &world, &pod),
            score_both(&balanced, &world, &pod),
        ];
        for (known, scores) in known.iter_mut().zip(scores) {
            if let Some([summary, score]) = scores {
                *known += 1;
                assert_eq!(summary, score, "round {round}");
            }
        }
    }
    assert!(known.iter().all(|known| *known > 10_000), "{known:?}");
    assert!(fitting > 3_000 && full > 3_000, "{fitting} {full}");
}
