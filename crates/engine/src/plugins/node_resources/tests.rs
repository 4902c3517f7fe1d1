use super::balanced_allocation::*;
use super::fit::*;
use crate::NodeInfo;
use crate::framework::{
    Action, ClusterEvent, Code, EventResource, Hint, Plugin, PreFilter, PreScore,
};
use crate::model::{DeviceClass, Node, Object, Pod};
use crate::testing::World;
use std::sync::Arc;

type Amounts = [(&'static str, &'static str)];

const GPU: &str = "example.com/gpu";

fn pod(world: &mut World, name: &str, requests: &Amounts) -> Pod {
    let mut pod = world.pod(name, &[]);
    world.set_requests(&mut pod, requests);
    pod
}

fn node(world: &mut World, name: &str, allocatable: &Amounts) -> Node {
    let mut node = world.node(name, &[]);
    world.set_allocatable(&mut node, allocatable);
    node
}

/// A node `n` with one pod on it.
fn one_node(allocatable: &Amounts, used: &Amounts) -> World {
    let mut world = World::default();
    let n = node(&mut world, "n", allocatable);
    world.add_node(n);
    let p = pod(&mut world, "default/used", used);
    world.add_pod(p, "n");
    world
}

fn the_node(world: &World) -> &NodeInfo {
    &world.snapshot.nodes()[0]
}

fn filter(world: &World, args: NodeResourcesFitArgs, pod: &Pod) -> Option<(Code, String)> {
    let plugin = NodeResourcesFit::new(args);
    let PreFilter::Ready(state) = plugin.pre_filter(world.cx(), pod) else {
        panic!("NodeResourcesFit never skips and never narrows");
    };
    let status = plugin
        .filter(world.cx(), &state, pod, the_node(world))
        .err()?;
    Some((status.code, status.message(&world.snapshot)))
}

#[track_caller]
fn check_fit(
    allocatable: &Amounts,
    used: &Amounts,
    requests: &Amounts,
    expected: Option<(Code, &str)>,
) {
    let mut world = one_node(allocatable, used);
    let pod = pod(&mut world, "default/new", requests);
    let verdict = filter(&world, NodeResourcesFitArgs::default(), &pod);
    assert_eq!(
        verdict,
        expected.map(|(code, text)| (code, text.to_owned()))
    );
}

#[test]
fn room_is_allocatable_less_requested() {
    // upstream: TestEnoughRequests
    use Code::{Unschedulable, UnschedulableAndUnresolvable};
    let node = [("cpu", "10"), ("memory", "20"), (GPU, "4")];
    check_fit(&node, &[("cpu", "9")], &[("cpu", "1")], None);
    check_fit(
        &node,
        &[("cpu", "9"), ("memory", "19")],
        &[("cpu", "2"), ("memory", "2")],
        Some((Unschedulable, "Insufficient cpu, Insufficient memory")),
    );
    check_fit(
        &node,
        &[(GPU, "3")],
        &[(GPU, "2")],
        Some((Unschedulable, "Insufficient example.com/gpu")),
    );
    check_fit(
        &node,
        &[],
        &[("ephemeral-storage", "1"), ("hugepages-2Mi", "2Mi")],
        Some((
            UnschedulableAndUnresolvable,
            "Insufficient ephemeral-storage, Insufficient hugepages-2Mi",
        )),
    );
}

#[test]
fn semantic_9_unresolvable_as_soon_as_one_resource_is_above_allocatable() {
    check_fit(
        &[("cpu", "10"), ("memory", "20")],
        &[("cpu", "9")],
        &[("cpu", "2"), ("memory", "21")],
        Some((
            Code::UnschedulableAndUnresolvable,
            "Insufficient cpu, Insufficient memory",
        )),
    );
    check_fit(
        &[("cpu", "10")],
        &[],
        &[(GPU, "1")],
        Some((
            Code::UnschedulableAndUnresolvable,
            "Insufficient example.com/gpu",
        )),
    );
    check_fit(
        &[("pods", "1")],
        &[],
        &[],
        Some((Code::Unschedulable, "Too many pods")),
    );
}

#[test]
fn semantic_10_an_overcommitted_node_accepts_a_pod_without_requests() {
    check_fit(&[("cpu", "1")], &[("cpu", "5")], &[], None);
    check_fit(&[("cpu", "1")], &[("cpu", "5")], &[("cpu", "0")], None);
    check_fit(
        &[("cpu", "1"), ("memory", "1Gi")],
        &[("cpu", "5")],
        &[("memory", "1Gi")],
        None,
    );
}

#[test]
fn ignored_resources_must_be_extended() {
    let ignoring = |resources: &[&str], groups: &[&str]| {
        let strings = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        NodeResourcesFitArgs {
            ignored_resources: strings(resources),
            ignored_resource_groups: strings(groups),
            ..NodeResourcesFitArgs::default()
        }
    };
    let mut world = one_node(&[], &[]);
    let pod = pod(
        &mut world,
        "default/new",
        &[(GPU, "1"), ("hugepages-2Mi", "2Mi")],
    );
    let huge = Some((
        Code::UnschedulableAndUnresolvable,
        "Insufficient hugepages-2Mi".to_owned(),
    ));
    let by_name = ignoring(&[GPU, "hugepages-2Mi"], &[]);
    assert_eq!(filter(&world, by_name, &pod), huge);
    let by_group = ignoring(&[], &["example.com", "hugepages-2Mi"]);
    assert_eq!(filter(&world, by_group, &pod), huge);
    assert_ne!(filter(&world, ignoring(&["gpu"], &["com"]), &pod), huge);
}

#[test]
fn filter_without_pre_filter_is_an_error() {
    let mut world = one_node(&[], &[]);
    let pod = pod(&mut world, "default/new", &[]);
    let plugin = NodeResourcesFit::new(NodeResourcesFitArgs::default());
    let status = plugin
        .filter_unprepared(world.cx(), &pod)
        .expect_err("an error");
    assert_eq!(status.code, Code::Error);
    assert_eq!(
        status.message(&world.snapshot),
        "error reading \"PreFilterNodeResourcesFit\" from cycleState: not found"
    );
}

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
    let state = plugin.score_unprepared(world.cx(), &pod).expect("a state");
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
        PreScore::Skip => None,
        PreScore::Ready(state) => plugin.score(world.cx(), &state, &pod, node),
        PreScore::Failed(status) => panic!("{status:?}"),
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
    let state = plugin.score_unprepared(world.cx(), &pod).expect("a state");
    assert_eq!(
        plugin.score(world.cx(), &state, &pod, the_node(&world)),
        Some(0)
    );
}

#[track_caller]
fn check_hint(
    world: &World,
    event: (EventResource, Action),
    pod: &Pod,
    old: Option<Object>,
    new: Option<Object>,
    expected: Hint,
) {
    let plugin = NodeResourcesFit::new(NodeResourcesFitArgs::default());
    let event = ClusterEvent::new(event.0, event.1);
    let hint = plugin.hint(world.cx(), &event, pod, old.as_ref(), new.as_ref());
    assert_eq!(hint, expected);
}

#[test]
fn hints_after_pod_events() {
    // upstream: Test_isSchedulableAfterPodEvent
    let delete = (EventResource::AssignedPod, Action::DELETE);
    let shrink = (EventResource::AssignedPod, Action::UPDATE_POD_SCALE_DOWN);
    let mut world = one_node(&[], &[]);
    let waiting = pod(
        &mut world,
        "default/waiting",
        &[("cpu", "1"), ("memory", "0")],
    );
    let object = |pod: &Pod| Some(Object::Pod(Arc::new(pod.clone())));

    let mut other = pod(
        &mut world,
        "default/other",
        &[("cpu", "2"), ("memory", "2")],
    );
    check_hint(&world, delete, &waiting, object(&other), None, Hint::Skip);
    other.nominated_node_name = Some(world.sym("n"));
    check_hint(&world, delete, &waiting, object(&other), None, Hint::Queue);
    other.nominated_node_name = None;

    let mut less_cpu = pod(
        &mut world,
        "default/other",
        &[("cpu", "1"), ("memory", "2")],
    );
    check_hint(
        &world,
        shrink,
        &waiting,
        object(&other),
        object(&less_cpu),
        Hint::Skip,
    );
    less_cpu.node_name = Some(world.sym("n"));
    check_hint(
        &world,
        shrink,
        &waiting,
        object(&other),
        object(&less_cpu),
        Hint::Queue,
    );
    let mut less_memory = pod(&mut world, "default/other", &[("cpu", "2")]);
    less_memory.node_name = Some(world.sym("n"));
    check_hint(
        &world,
        shrink,
        &waiting,
        object(&other),
        object(&less_memory),
        Hint::Skip,
    );
    check_hint(
        &world,
        shrink,
        &waiting,
        object(&waiting),
        object(&waiting),
        Hint::Queue,
    );
}

#[test]
fn queue_19_hints_after_node_events() {
    // upstream: Test_isSchedulableAfterNodeChange
    let event = (EventResource::Node, Action::UPDATE_NODE_ALLOCATABLE);
    let mut world = one_node(&[], &[]);
    let waiting = pod(&mut world, "default/waiting", &[("cpu", "2")]);
    let mut object = |allocatable: &Amounts| {
        let node = node(&mut world, "n", allocatable);
        Some(Object::Node(Arc::new(node)))
    };
    let small = object(&[("cpu", "1"), ("memory", "1")]);
    let big = object(&[("cpu", "2"), ("memory", "1")]);
    let more_memory = object(&[("cpu", "2"), ("memory", "2")]);
    let more_pods = object(&[("cpu", "2"), ("memory", "1"), ("pods", "111")]);
    let full = object(&[("cpu", "2"), ("pods", "0")]);
    for (old, new, expected) in [
        (None, &small, Hint::Skip),
        (None, &big, Hint::Queue),
        (None, &full, Hint::Skip),
        (small.clone(), &big, Hint::Queue),
        (big.clone(), &more_memory, Hint::Skip),
        (big.clone(), &more_pods, Hint::Queue),
        (more_memory.clone(), &big, Hint::Skip),
    ] {
        check_hint(&world, event, &waiting, old, new.clone(), expected);
    }
}

#[test]
fn hints_after_device_class_events() {
    // upstream: Test_isSchedulableAfterDeviceClassEvent
    let event = (EventResource::DeviceClass, Action::ADD);
    let mut world = one_node(&[], &[]);
    let implicit = "deviceclass.resource.kubernetes.io/fast";
    let by_name = pod(&mut world, "default/a", &[(GPU, "1")]);
    let by_class = pod(&mut world, "default/b", &[(implicit, "1")]);
    let mut class = |resource: Option<&str>| {
        let class = DeviceClass {
            name: world.sym("fast"),
            created: None,
            extended_resource_name: resource.map(|name| world.sym(name)),
            implicit_resource_name: world.sym(implicit),
        };
        Some(Object::DeviceClass(Arc::new(class)))
    };
    let (plain, gpu) = (class(None), class(Some(GPU)));
    for (pod, old, new, expected) in [
        (&by_name, None, &plain, Hint::Skip),
        (&by_name, None, &gpu, Hint::Queue),
        (&by_name, plain.clone(), &gpu, Hint::Queue),
        (&by_name, gpu.clone(), &gpu, Hint::Skip),
        (&by_class, None, &plain, Hint::Queue),
        (&by_class, plain.clone(), &gpu, Hint::Skip),
    ] {
        check_hint(&world, event, pod, old, new.clone(), expected);
    }

    // With such a class, a node without the resource may do.
    let node_added = (EventResource::Node, Action::ADD);
    let node = Some(Object::Node(Arc::new(node(&mut world, "n", &[]))));
    check_hint(&world, node_added, &by_name, None, node.clone(), Hint::Skip);
    world.snapshot.upsert(gpu.expect("a class"));
    check_hint(&world, node_added, &by_name, None, node, Hint::Queue);
}
