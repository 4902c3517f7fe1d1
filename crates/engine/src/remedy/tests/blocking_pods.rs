//! Pods in the way of others in whole domains.

use super::{add_node, check, place, pod};
use crate::model::{
    AffinityTerm, Pod, PodAffinity, Selector, SpreadConstraint, UnsatisfiableAction,
};
use crate::testing::World;

fn term(world: &mut World, key: &str, app: &str) -> AffinityTerm {
    AffinityTerm {
        namespaces: [world.sym("a")].into(),
        namespace_selector: Selector::Nothing,
        selector: world.selector(&[("app", app)]),
        topology_key: world.sym(key),
    }
}

/// One more term of required anti-affinity.
pub(super) fn keep_away(world: &mut World, pod: &mut Pod, key: &str, app: &str) {
    let mut terms = pod.required_anti_affinity().to_vec();
    terms.push(term(world, key, app));
    pod.pod_anti_affinity = Some(PodAffinity {
        required: terms.into(),
        preferred: Box::default(),
    });
}

/// One more hard constraint with skew 1.
fn spread(world: &mut World, pod: &mut Pod, key: &str) {
    let constraint = SpreadConstraint {
        max_skew: 1,
        topology_key: world.sym(key),
        when_unsatisfiable: UnsatisfiableAction::DoNotSchedule,
        selector: world.selector(&[("app", "web")]),
        min_domains: 1,
        honor_node_affinity: true,
        honor_node_taints: false,
        match_label_keys: Box::default(),
    };
    let constraints = pod.spread_constraints.iter().cloned();
    pod.spread_constraints = constraints.chain([constraint]).collect();
}

fn add_zoned(world: &mut World, name: &str, zone: &str) {
    add_node(world, name, "4", |world, node| {
        node.labels = world.labels(&[(HOST, name), ("zone", zone)]);
    });
}

fn place_web(world: &mut World, name: &str, priority: i32, node: &str) {
    let mut other = world.pod(name, &[("app", "web")]);
    other.priority = priority;
    world.add_pod(other, node);
}

pub(super) const HOST: &str = "kubernetes.io/hostname";

#[test]
fn a_pod_that_is_shunned_on_a_node_goes() {
    let mut world = World::default();
    add_zoned(&mut world, "n1", "a");
    add_zoned(&mut world, "n2", "a");
    place_web(&mut world, "a/w1", 0, "n1");
    place_web(&mut world, "a/w2", 0, "n2");
    place_web(&mut world, "a/w3", 0, "n2");
    place(&mut world, "a/other", "1", 0, "n1");
    let mut pod = pod(&mut world, "1");
    keep_away(&mut world, &mut pod, HOST, "web");
    check(
        &world,
        &pod,
        &["evict n1 w1 (1)", "evict n2 w2 w3 (1)", "add n1 (1)"],
    );
}

#[test]
fn pods_that_are_shunned_in_a_zone_leave_it() {
    let mut world = World::default();
    for (node, zone) in [("n1", "a"), ("n2", "a"), ("n3", "b"), ("n4", "b")] {
        add_zoned(&mut world, node, zone);
    }
    for (name, node) in [("a/w1", "n1"), ("a/w2", "n2"), ("a/w3", "n3")] {
        place_web(&mut world, name, 0, node);
    }
    let mut pod = pod(&mut world, "1");
    keep_away(&mut world, &mut pod, "zone", "web");
    check(
        &world,
        &pod,
        &["evict zone=b w3 (2)", "evict zone=a w1 w2 (2)"],
    );
    // Whoever leaves the zone leaves the node.
    keep_away(&mut world, &mut pod, HOST, "web");
    check(
        &world,
        &pod,
        &["evict zone=b w3 (2)", "evict zone=a w1 w2 (2)"],
    );
}

/// To leave the zone could lead to the same rack, and the other way round.
#[test]
fn pods_that_are_shunned_in_two_ways_go() {
    let mut world = World::default();
    for (name, zone) in [("n1", "a"), ("n2", "a"), ("n3", "b")] {
        add_node(&mut world, name, "4", |world, node| {
            node.labels = world.labels(&[("zone", zone), ("rack", "r")]);
        });
    }
    place_web(&mut world, "a/w1", 0, "n1");
    let mut db = world.pod("a/db", &[("app", "db")]);
    db.priority = 1;
    world.add_pod(db, "n3");
    let mut pod = pod(&mut world, "1");
    keep_away(&mut world, &mut pod, "zone", "web");
    keep_away(&mut world, &mut pod, "rack", "db");
    check(&world, &pod, &["evict rack=r db (1)", "evict * w1 db (3)"]);
}

#[test]
fn pods_that_shun_the_pod_go() {
    let mut world = World::default();
    add_zoned(&mut world, "n1", "a");
    add_zoned(&mut world, "n2", "a");
    let mut loner = world.pod("a/loner", &[]);
    keep_away(&mut world, &mut loner, "zone", "web");
    world.add_pod(loner, "n1");
    place(&mut world, "a/other", "1", 0, "n2");
    let mut pod = pod(&mut world, "1");
    pod.labels = world.labels(&[("app", "web")]);
    check(&world, &pod, &["evict zone=a loner (2)"]);
}

#[test]
fn nobody_goes_for_a_pod_that_seeks_others_in_vain() {
    let mut world = World::default();
    add_zoned(&mut world, "n1", "a");
    place_web(&mut world, "a/w1", 0, "n1");
    let mut pod = pod(&mut world, "1");
    keep_away(&mut world, &mut pod, HOST, "web");
    pod.pod_affinity = Some(PodAffinity {
        required: [term(&mut world, "zone", "db")].into(),
        preferred: Box::default(),
    });
    check(&world, &pod, &[]);
}

#[test]
fn pods_leave_a_crowded_domain_or_a_node_comes_to_an_empty_one() {
    let mut world = World::default();
    add_zoned(&mut world, "a1", "a");
    add_zoned(&mut world, "a2", "a");
    add_zoned(&mut world, "b1", "b");
    place_web(&mut world, "a/w1", 5, "a1");
    place_web(&mut world, "a/w2", 0, "a2");
    place_web(&mut world, "a/w3", 1, "a2");
    place(&mut world, "a/large", "4", 0, "b1");
    let mut pod = pod(&mut world, "1");
    pod.labels = world.labels(&[("app", "web")]);
    spread(&mut world, &mut pod, "zone");
    check(
        &world,
        &pod,
        &[
            "evict zone=a w2 w3 w1 (2)",
            "free b1 cpu 1000 (1)",
            "evict b1 large (1)",
            "add b1 (1)",
        ],
    );
}

/// Whoever leaves the node leaves the zone.
#[test]
fn one_pod_goes_for_two_constraints() {
    let mut world = World::default();
    add_zoned(&mut world, "a1", "a");
    add_zoned(&mut world, "a2", "a");
    add_zoned(&mut world, "b1", "b");
    place_web(&mut world, "a/w1", 0, "a2");
    place_web(&mut world, "a/w2", 5, "a1");
    place_web(&mut world, "a/w3", 5, "b1");
    let mut pod = pod(&mut world, "1");
    pod.labels = world.labels(&[("app", "web")]);
    place(&mut world, "a/large", "4", 9, "b1");
    place(&mut world, "a/huge", "4", 9, "a2");
    add_zoned(&mut world, "b2", "b");
    place(&mut world, "a/all", "4", 9, "b2");
    spread(&mut world, &mut pod, "zone");
    spread(&mut world, &mut pod, HOST);
    check(
        &world,
        &pod,
        &[
            "evict zone=a w2 (1)",
            "free b2 cpu 1000 (1)",
            "evict b2 all (1)",
            "add b1 (1)",
        ],
    );
}

#[test]
fn a_node_without_a_domain_is_given_one() {
    let mut world = World::default();
    add_zoned(&mut world, "a1", "a");
    add_node(&mut world, "new", "4", |_, _| {});
    place_web(&mut world, "a/w1", 0, "a1");
    place(&mut world, "a/large", "4", 0, "a1");
    let mut pod = pod(&mut world, "1");
    pod.labels = world.labels(&[("app", "web")]);
    spread(&mut world, &mut pod, "zone");
    check(
        &world,
        &pod,
        &[
            "label new zone=a (1)",
            "free a1 cpu 1000 (1)",
            "evict a1 large (1)",
            "add a1 (1)",
        ],
    );
}
