use super::*;
use crate::testing::World;
use serde_json::Value;

fn node(world: &mut World, taints: Value) {
    world.add_json::<Node>(json!({"metadata": {"name": "n"}, "spec": {"taints": taints}}));
}

fn pod(world: &mut World, tolerations: Value) {
    world.add_json::<Pod>(json!({
        "metadata": {"namespace": "shop", "name": "p"},
        "spec": {"nodeName": "n", "containers": [], "tolerations": tolerations},
    }));
}

fn taint() -> Value {
    json!({"key": "k", "value": "v", "effect": "NoExecute"})
}

fn settled(taints: Value, tolerations: Value, seconds: u64) -> World {
    let mut world = World::default();
    let controller = TaintEviction::default();
    node(&mut world, taints);
    pod(&mut world, tolerations);
    world.join(0, &controller);
    world.settle(&[&controller], Duration::from_secs(seconds));
    world
}

#[test]
fn pods_go_when_their_taints_are_not_tolerated_any_longer() {
    let forever = json!([{"key": "k", "operator": "Exists"}]);
    let minute = json!([{"key": "k", "operator": "Exists", "tolerationSeconds": 60}]);
    let both = json!([{"key": "k", "value": "v", "effect": "NoExecute"}]);
    let other = json!([{"key": "k", "value": "w"}]);
    let negative = json!([{"operator": "Exists", "tolerationSeconds": -1}]);
    for (name, taints, tolerations, seconds, goes) in [
        ("no taint", json!([]), json!([]), 9, false),
        ("not tolerated", json!([taint()]), json!([]), 0, true),
        ("another value", json!([taint()]), other, 0, true),
        ("tolerated", json!([taint()]), forever, 9999, false),
        ("tolerated by value", json!([taint()]), both, 9999, false),
        ("not yet", json!([taint()]), minute.clone(), 59, false),
        ("a minute is over", json!([taint()]), minute, 60, true),
        ("at once", json!([taint()]), negative, 0, true),
        (
            "another effect",
            json!([{"key": "k", "effect": "NoSchedule"}]),
            json!([]),
            9,
            false,
        ),
    ] {
        let world = settled(taints, tolerations, seconds);
        let pod = world.get::<Pod>("shop", "p");
        assert_eq!(is_deleting(&*pod), goes, "{name}");
        let condition = pod_condition(&pod, "DisruptionTarget");
        let reason = condition.and_then(|condition| condition.reason.as_deref());
        assert_eq!(reason == Some("DeletionByTaintManager"), goes, "{name}");
    }
}

#[test]
fn a_taint_that_goes_away_saves_the_pod() {
    let mut world = World::default();
    let controller = TaintEviction::default();
    node(&mut world, json!([taint()]));
    pod(
        &mut world,
        json!([{"operator": "Exists", "tolerationSeconds": 60}]),
    );
    world.join(0, &controller);
    world.settle(&[&controller], Duration::from_secs(30));
    node(&mut world, json!([]));
    world.settle(&[&controller], Duration::from_secs(300));
    assert!(!is_deleting(&*world.get::<Pod>("shop", "p")));
    let messages: Vec<&str> = world.events.iter().map(|event| &*event.message).collect();
    assert_eq!(messages, ["Cancelling deletion of Pod shop/p"]);
}

#[test]
fn a_deletion_that_fails_is_tried_again_and_told_once() {
    let mut world = World::default();
    let controller = TaintEviction::default();
    node(&mut world, json!([taint()]));
    pod(&mut world, json!([]));
    let mut left = 2;
    world.refuse(move |write| {
        let fails = write.method == crate::Method::Delete && left > 0;
        left -= i32::from(fails);
        fails.then(|| crate::Failure {
            code: 500,
            ..crate::Failure::default()
        })
    });
    world.join(0, &controller);
    world.settle(&[&controller], Duration::from_secs(10));
    assert!(is_deleting(&*world.get::<Pod>("shop", "p")));
    assert_eq!(world.take_reasons(), ["TaintManagerEviction"]);
}

#[test]
fn a_taint_that_is_not_tolerated_at_all_ends_the_wait() {
    let mut world = World::default();
    let controller = TaintEviction::default();
    node(&mut world, json!([taint()]));
    pod(
        &mut world,
        json!([{"key": "k", "operator": "Exists", "tolerationSeconds": 60}]),
    );
    world.join(0, &controller);
    world.settle(&[&controller], Duration::from_secs(30));
    node(
        &mut world,
        json!([taint(), {"key": "other", "effect": "NoExecute"}]),
    );
    world.settle(&[&controller], Duration::ZERO);
    assert!(is_deleting(&*world.get::<Pod>("shop", "p")));
    let messages: Vec<&str> = world.events.iter().map(|event| &*event.message).collect();
    assert_eq!(
        messages,
        [
            "Cancelling deletion of Pod shop/p",
            "Marking for deletion Pod shop/p"
        ]
    );
}
