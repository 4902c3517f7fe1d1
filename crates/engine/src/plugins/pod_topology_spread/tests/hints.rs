//! Queueing hints.

use super::*;
use crate::framework::{Action, EventResource};
use std::sync::Arc;

fn hint(
    world: &World,
    pod: &Pod,
    resource: EventResource,
    old: Option<Object>,
    new: Option<Object>,
) -> Hint {
    let event = ClusterEvent::new(resource, Action::ALL);
    plugin().hint(world.cx(), &event, pod, old.as_ref(), new.as_ref())
}

#[test]
fn hints_for_pods() {
    let mut world = two_zones();
    let mut zone = constraint(&mut world, "zone", HARD);
    zone.honor_node_taints = true;
    let pod = web(&mut world, vec![zone]);
    let mut on_node = world.pod("ns/old", &[("app", "web")]);
    on_node.node_name = Some(world.sym("a1"));
    let object = |pod: &Pod| Some(Object::Pod(Arc::new(pod.clone())));
    let ask = |world: &World, old: Option<Object>, new: Option<Object>| {
        hint(world, &pod, EventResource::AssignedPod, old, new)
    };
    assert_eq!(ask(&world, None, object(&on_node)), Hint::Queue);
    assert_eq!(ask(&world, object(&on_node), None), Hint::Queue);
    let mut unrelated = on_node.clone();
    unrelated.labels = world.labels(&[("app", "other")]);
    assert_eq!(ask(&world, None, object(&unrelated)), Hint::Skip);
    assert_eq!(
        ask(&world, object(&on_node), object(&unrelated)),
        Hint::Queue
    );
    let mut more = on_node.clone();
    more.labels = world.labels(&[("app", "web"), ("x", "y")]);
    assert_eq!(ask(&world, object(&on_node), object(&more)), Hint::Skip);
    let mut pending = on_node.clone();
    pending.node_name = None;
    assert_eq!(ask(&world, None, object(&pending)), Hint::Skip);
    pending.nominated_node_name = on_node.node_name;
    assert_eq!(ask(&world, None, object(&pending)), Hint::Queue);
    let mut foreign = on_node.clone();
    foreign.namespace = world.sym("elsewhere");
    assert_eq!(ask(&world, object(&foreign), None), Hint::Skip);
    // The pod itself learns to tolerate something.
    let mut tolerant = pod.clone();
    tolerant.tolerations = [Toleration {
        key: Sym::EMPTY,
        op: TolerationOp::Exists,
        value: Sym::EMPTY,
        effect: None,
    }]
    .into();
    assert_eq!(ask(&world, object(&pod), object(&tolerant)), Hint::Queue);
}

#[test]
fn hints_for_nodes() {
    let mut world = two_zones();
    let zone = constraint(&mut world, "zone", HARD);
    let pod = web(&mut world, vec![zone]);
    let in_zone = world.node("n", &[("zone", "a")]);
    let moved = world.node("n", &[("zone", "b")]);
    let bare = world.node("n", &[]);
    let mut tainted = in_zone.clone();
    tainted.taints = [Taint {
        key: Sym::EMPTY,
        value: Sym::EMPTY,
        effect: Effect::NoSchedule,
    }]
    .into();
    let object = |node: &crate::model::Node| Some(Object::Node(Arc::new(node.clone())));
    for (old, new, expected) in [
        (None, object(&in_zone), Hint::Queue),
        (None, object(&bare), Hint::Skip),
        (object(&in_zone), None, Hint::Queue),
        (object(&bare), None, Hint::Skip),
        (object(&in_zone), object(&in_zone), Hint::Skip),
        (object(&in_zone), object(&moved), Hint::Queue),
        (object(&in_zone), object(&bare), Hint::Queue),
        (object(&bare), object(&in_zone), Hint::Queue),
        (object(&in_zone), object(&tainted), Hint::Queue),
    ] {
        let what = format!("{old:?} -> {new:?}");
        let got = hint(&world, &pod, EventResource::Node, old, new);
        assert_eq!(got, expected, "{what}");
    }
}
