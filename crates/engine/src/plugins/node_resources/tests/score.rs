use super::*;
use crate::framework::PreScore;
use crate::plugins::node_resources::balanced_allocation::*;

fn strategy(kind: ScoringStrategyKind, resources: &[(&str, i64)]) -> NodeResourcesFitArgs {
    let spec = |(name, weight): &(&str, i64)| ResourceSpec {
        name: (*name).to_owned(),
        weight: *weight,
    };
    NodeResourcesFitArgs {
        scoring_strategy: ScoringStrategy {
            kind,
            resources: resources.iter().map(spec).collect(),
        },
        ..NodeResourcesFitArgs::default()
    }
}

#[track_caller]
fn check_score(args: NodeResourcesFitArgs, used: &Amounts, requests: &Amounts, expected: i64) {
    let mut world = one_node(&[("cpu", "4"), ("memory", "10000"), (GPU, "8")], used);
    let pod = pod(&mut world, "default/new", requests);
    let plugin = NodeResourcesFit::new(args);
    let state = plugin
        .pre_score_disabled(world.cx(), &pod)
        .expect("a state");
    let score = plugin.score(world.cx(), &state, &pod, the_node(&world));
    assert_eq!(score, Some(expected));
}

#[test]
fn least_and_most_allocated() {
    // upstream: TestLeastAllocatedScoringStrategy, TestMostAllocatedScoringStrategy
    let least = ScoringStrategyKind::LeastAllocated;
    let most = ScoringStrategyKind::MostAllocated;
    let used = [("cpu", "1"), ("memory", "3000")];
    let requests = [("cpu", "2"), ("memory", "2000")];
    let both = [("cpu", 1), ("memory", 1)];
    check_score(strategy(least.clone(), &both), &used, &requests, 37);
    check_score(strategy(most.clone(), &both), &used, &requests, 62);
    let weighted = [("cpu", 3), ("memory", 1)];
    check_score(strategy(least.clone(), &weighted), &used, &requests, 31);
    // A scalar counts only when the pod asks for it and the node has it; overcommitment ends at 0.
    let gpu = [("cpu", 1), (GPU, 1), ("example.com/none", 1)];
    check_score(strategy(least.clone(), &gpu), &used, &requests, 25);
    check_score(strategy(least.clone(), &gpu), &used, &[(GPU, "4")], 62);
    check_score(strategy(least, &both), &[("cpu", "5")], &[], 50);
    check_score(strategy(most, &both), &[("cpu", "5")], &[], 50);
}

#[test]
fn requested_to_capacity_ratio() {
    // upstream: TestRequestedToCapacityRatioScoringStrategy, TestBrokenLinearFunction
    let shape =
        |points: &[(i32, i32)]| ScoringStrategyKind::RequestedToCapacityRatio(points.to_vec());
    let both = [("cpu", 1), ("memory", 1)];
    let up = shape(&[(0, 0), (100, 10)]);
    check_score(
        strategy(up.clone(), &both),
        &[],
        &[("cpu", "1"), ("memory", "5001")],
        38,
    );
    // A resource that scores 0 has no weight.
    check_score(strategy(up, &both), &[], &[("cpu", "1")], 25);
    let bent = shape(&[(10, 1), (50, 9), (90, 5)]);
    check_score(
        strategy(bent.clone(), &[("cpu", 1)]),
        &[],
        &[("cpu", "100m")],
        10,
    );
    check_score(
        strategy(bent.clone(), &[("cpu", 1)]),
        &[],
        &[("cpu", "1200m")],
        50,
    );
    check_score(
        strategy(bent.clone(), &[("cpu", 1)]),
        &[],
        &[("cpu", "2800m")],
        70,
    );
    check_score(strategy(bent, &[("cpu", 1)]), &[], &[("cpu", "9")], 50);
}

#[track_caller]
fn check_balance(resources: &[&str], used: &Amounts, requests: &Amounts, expected: Option<i64>) {
    let mut world = one_node(&[("cpu", "10"), ("memory", "1000"), (GPU, "8")], used);
    let pod = pod(&mut world, "default/new", requests);
    let spec = |name: &&str| ResourceSpec {
        name: (*name).to_owned(),
        weight: 1,
    };
    let plugin = NodeResourcesBalancedAllocation::new(NodeResourcesBalancedAllocationArgs {
        resources: resources.iter().map(spec).collect(),
    });
    let node = the_node(&world);
    let score = match plugin.pre_score(world.cx(), &pod, &[node]) {
        PreScoreResult::Skip => None,
        PreScoreResult::Ready(state) => plugin.score(world.cx(), &state, &pod, node),
        PreScoreResult::Failed(status) => panic!("{status:?}"),
    };
    assert_eq!(score, expected);
}

#[test]
fn semantic_6_balance_before_and_after() {
    // upstream: TestNodeResourcesBalancedAllocation
    let both = ["cpu", "memory"];
    check_balance(&both, &[], &[("memory", "0")], None);
    check_balance(&both, &[], &[(GPU, "1")], None);
    check_balance(&both, &[], &[("cpu", "1"), ("memory", "100")], Some(75));
    check_balance(&both, &[("cpu", "6")], &[("memory", "600")], Some(90));
    check_balance(&both, &[], &[("cpu", "6")], Some(60));
    let three = ["cpu", "memory", GPU];
    check_balance(
        &three,
        &[("cpu", "5")],
        &[("cpu", "1"), (GPU, "4")],
        Some(73),
    );
}

#[test]
fn balance_without_pre_score_gives_best_effort_pods_nothing() {
    let mut world = one_node(&[("cpu", "10")], &[]);
    let pod = pod(&mut world, "default/new", &[]);
    let plugin =
        NodeResourcesBalancedAllocation::new(NodeResourcesBalancedAllocationArgs::default());
    let state = plugin
        .pre_score_disabled(world.cx(), &pod)
        .expect("a state");
    assert_eq!(
        plugin.score(world.cx(), &state, &pod, the_node(&world)),
        Some(0)
    );
}
