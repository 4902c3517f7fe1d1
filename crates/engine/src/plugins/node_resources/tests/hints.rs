use super::*;
use crate::framework::{Action, ClusterEvent, EnqueueExtensions, EventResource, Hint};
use crate::model::{DeviceClass, Object};
use std::sync::Arc;

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
fn device_classes_stand_for_extended_resources() {
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

    // With such a class, a node without the resource may do: DynamicResources will know.
    let node_added = (EventResource::Node, Action::ADD);
    let node = Some(Object::Node(Arc::new(node(&mut world, "n", &[]))));
    check_hint(&world, node_added, &by_name, None, node.clone(), Hint::Skip);
    assert!(filter(&world, NodeResourcesFitArgs::default(), &by_name).is_some());
    world.snapshot.upsert(gpu.expect("a class"));
    check_hint(&world, node_added, &by_name, None, node, Hint::Queue);
    assert_eq!(
        filter(&world, NodeResourcesFitArgs::default(), &by_name),
        None
    );
}
