use super::*;

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
        .pre_filter_disabled(world.cx(), &pod)
        .expect_err("an error");
    assert_eq!(status.code, Code::Error);
    assert_eq!(
        status.message(&world.snapshot),
        "error reading \"PreFilterNodeResourcesFit\" from cycleState: not found"
    );
}
