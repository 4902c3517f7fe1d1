use super::*;
use crate::Failure;
use crate::testing::World;
use std::time::Duration;

fn told(world: &World, name: &str) -> Option<String> {
    let node = world.get::<Node>("", name);
    annotation(&*node, ANNOTATION).map(str::to_owned)
}

#[test]
fn steps_overlap() {
    let mut size = Size::default();
    let mut seen = Vec::new();
    for _ in 0..2_100 {
        size.add();
        seen.push(size.seconds());
    }
    let at = |nodes: usize| seen[nodes - 1];
    assert_eq!(
        [at(1), at(100), at(101), at(500), at(501)],
        [0, 0, 15, 15, 30]
    );
    assert_eq!(
        [at(1_000), at(1_001), at(2_000), at(2_001)],
        [30, 60, 60, 300]
    );
    let mut left = vec![0; 2_101];
    while size.nodes > 0 {
        size.remove();
        left[size.nodes] = size.seconds();
    }
    assert_eq!(
        [left[1_800], left[1_799], left[900], left[899]],
        [300, 60, 60, 30]
    );
    assert_eq!(
        [left[450], left[449], left[90], left[89], left[0]],
        [30, 15, 15, 0, 0]
    );
}

#[test]
fn nodes_are_told_when_they_come_and_when_they_change() {
    let ttl = Ttl::default();
    let mut world = World::default();
    world.join(0, &ttl);
    world.add_json::<Node>(json!({"metadata": {"name": "n0"}}));
    world.settle(&[&ttl], Duration::from_secs(1));
    assert_eq!(told(&world, "n0").as_deref(), Some("0"));
    for number in 1..=100 {
        world.add_json::<Node>(json!({"metadata": {"name": format!("n{number}")}}));
    }
    world.settle(&[&ttl], Duration::from_secs(1));
    assert_eq!(told(&world, "n100").as_deref(), Some("15"));
    // The first one when it is next heard of.
    assert_eq!(told(&world, "n0").as_deref(), Some("0"));
    world.change::<Node>("", "n0", |node| {
        node.spec.get_or_insert_default().unschedulable = Some(true);
    });
    world.settle(&[&ttl], Duration::from_secs(1));
    assert_eq!(told(&world, "n0").as_deref(), Some("15"));
    world.take_writes();
    world.sync(&ttl, "", "n0");
    assert!(world.take_writes().is_empty());
}

#[test]
fn what_makes_no_sense_is_replaced_and_a_write_that_fails_is_tried_again() {
    let ttl = Ttl::default();
    let mut world = World::default();
    world.add_json::<Node>(json!({"metadata": {"name": "n", "annotations": {ANNOTATION: "soon"}}}));
    let mut first = true;
    world.refuse(move |_| {
        let failure = Failure {
            code: 500,
            message: "it broke".to_owned(),
            ..Failure::default()
        };
        std::mem::take(&mut first).then_some(failure)
    });
    world.join(0, &ttl);
    world.settle(&[&ttl], Duration::from_secs(5));
    assert_eq!(world.errors, ["it broke"]);
    assert_eq!(told(&world, "n").as_deref(), Some("0"));
}
