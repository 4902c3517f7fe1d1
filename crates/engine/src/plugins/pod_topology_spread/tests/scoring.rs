//! Scores and default constraints.

use super::super::{default_selector, scoring};
use super::*;
use crate::model::{Kind, OwnerRef, PodSelectorOwner};
use std::sync::Arc;

fn soft_state(world: &World, plugin: &PodTopologySpread, pod: &Pod) -> Option<SoftConstraints> {
    let feasible: Vec<_> = world.snapshot.nodes().iter().collect();
    match plugin.pre_score(world.cx(), pod, &feasible) {
        PreScoreResult::Ready(state) => Some(state),
        _ => None,
    }
}

/// The raw score of every node; `None` if the plugin skips the pod.
fn raw_scores(world: &World, plugin: &PodTopologySpread, pod: &Pod) -> Option<Vec<Option<i64>>> {
    let state = soft_state(world, plugin, pod)?;
    let nodes = world.snapshot.nodes().iter();
    Some(
        nodes
            .map(|node| plugin.score(world.cx(), &state, pod, node))
            .collect(),
    )
}

#[test]
fn semantic_20_filter_counts_per_label_value_and_score_counts_hostname_per_node() {
    let mut world = World::default();
    for (name, host) in [("n1", "same"), ("n2", "same"), ("n3", "other")] {
        let node = world.node(name, &[("kubernetes.io/hostname", host)]);
        world.add_node(node);
    }
    occupy(&mut world, &["n1"]);
    let hard = constraint(&mut world, "kubernetes.io/hostname", HARD);
    let soft = constraint(&mut world, "kubernetes.io/hostname", SOFT);
    let pod = web(&mut world, vec![hard, soft]);
    assert_eq!(fits(&world, &pod), [false, false, true]);
    // ln(3 + 2) = 1.6 for one pod on n1; n2 has none, whatever its label.
    assert_eq!(
        raw_scores(&world, &plugin(), &pod),
        Some(vec![Some(2), Some(0), Some(0)])
    );
}

#[test]
fn semantic_22_scores_and_normalised_scores() {
    let mut world = two_zones();
    let bare = world.node("x", &[("kubernetes.io/hostname", "x")]);
    world.add_node(bare);
    occupy(&mut world, &["a1", "a1", "a2"]);
    let mut zone = constraint(&mut world, "zone", SOFT);
    zone.max_skew = 3;
    let pod = web(&mut world, vec![zone]);
    // Three pods in zone a, two zones: 3 * ln(4) + 2 = 6.16; zone b: 2. The bare node is ignored.
    let raw = raw_scores(&world, &plugin(), &pod);
    assert_eq!(raw, Some(vec![Some(6), Some(6), Some(2), None]));
    let over = Range { min: 2, max: 6 };
    assert_eq!(scoring::normalize(2, over), 100);
    assert_eq!(scoring::normalize(6, over), 33);
    assert_eq!(scoring::normalize(0, Range { min: 0, max: 0 }), 100);
}

#[test]
fn soft_counts_come_from_all_nodes_but_only_for_domains_with_a_feasible_one() {
    let mut world = two_zones();
    occupy(&mut world, &["a1", "b1"]);
    let zone = constraint(&mut world, "zone", SOFT);
    let pod = web(&mut world, vec![zone]);
    let feasible = [&world.snapshot.nodes()[1]];
    let PreScoreResult::Ready(state) = plugin().pre_score(world.cx(), &pod, &feasible) else {
        panic!("there is something to score");
    };
    // The pod on a1 counts; one domain: 1 * ln(3) = 1.1.
    let score = plugin().score(world.cx(), &state, &pod, feasible[0]);
    assert_eq!(score, Some(1));
}

fn owner(world: &mut World, kind: Kind, name: &str, pairs: &[(&str, &str)]) -> PodSelectorOwner {
    PodSelectorOwner {
        kind,
        namespace: world.sym("ns"),
        name: world.sym(name),
        selector: world.selector(pairs),
    }
}

#[test]
fn semantic_22_system_defaults_need_a_selector_and_no_zone_label() {
    let mut world = World::default();
    for (name, zone) in [("a1", Some("a")), ("a2", Some("a")), ("x", None)] {
        let mut labels = vec![("kubernetes.io/hostname", name)];
        labels.extend(zone.map(|zone| ("topology.kubernetes.io/zone", zone)));
        let node = world.node(name, &labels);
        world.add_node(node);
    }
    occupy(&mut world, &["a1", "a1", "x"]);
    let pod = web(&mut world, Vec::new());
    assert_eq!(raw_scores(&world, &plugin(), &pod), None);
    let service = owner(&mut world, Kind::Service, "web", &[("app", "web")]);
    world.snapshot.upsert(Object::Service(Arc::new(service)));
    // Three hosts: ln(5) = 1.609; zone "a" and the missing one: ln(4) = 1.386.
    // a1: 2 * 1.609 + 2 + 2 * 1.386 + 4 = 11.99; a2: 2 + 2 * 1.386 + 4 = 8.77; x: 1.609 + 2 = 3.6.
    assert_eq!(
        raw_scores(&world, &plugin(), &pod),
        Some(vec![Some(12), Some(9), Some(4)])
    );
    // A list of defaults requires every label, as a pod's own constraints do.
    let zone = constraint(&mut world, "topology.kubernetes.io/zone", SOFT);
    let listed = PodTopologySpread::new(PodTopologySpreadArgs {
        defaults: DefaultConstraints::List(vec![zone]),
    });
    let raw = raw_scores(&world, &listed, &pod).unwrap();
    assert_eq!(raw[2], None);
}

#[test]
fn default_selectors_come_from_services_and_the_controller() {
    let mut world = two_zones();
    let mut pod = world.pod("ns/new", &[("app", "web"), ("tier", "front")]);
    let select =
        |world: &World, pod: &Pod| default_selector::default_selector(&world.snapshot, pod);
    assert!(select(&world, &pod).is_empty());

    let by_tier = owner(&mut world, Kind::Service, "front", &[("tier", "front")]);
    let by_app = owner(&mut world, Kind::Service, "other", &[("app", "other")]);
    for service in [by_tier, by_app] {
        world.snapshot.upsert(Object::Service(Arc::new(service)));
    }
    assert_eq!(select(&world, &pod), world.selector(&[("tier", "front")]));

    let set = owner(&mut world, Kind::ReplicaSet, "web", &[("app", "web")]);
    world.snapshot.upsert(Object::ReplicaSet(Arc::new(set)));
    let controlled_by = |world: &mut World, api_version: &str, kind: &str| OwnerRef {
        api_version: world.sym(api_version),
        kind: world.sym(kind),
        name: world.sym("web"),
        uid: "uid".into(),
    };
    pod.controller = Some(controlled_by(&mut world, "apps/v1", "ReplicaSet"));
    let both = world.selector(&[("tier", "front"), ("app", "web")]);
    assert_eq!(select(&world, &pod), both);
    pod.controller = Some(controlled_by(
        &mut world,
        "extensions/v1beta1",
        "ReplicaSet",
    ));
    assert_eq!(select(&world, &pod), world.selector(&[("tier", "front")]));

    // A ReplicationController's labels win, whether it selects the pod or not.
    let old = owner(
        &mut world,
        Kind::ReplicationController,
        "web",
        &[("tier", "back")],
    );
    world
        .snapshot
        .upsert(Object::ReplicationController(Arc::new(old)));
    pod.controller = Some(controlled_by(&mut world, "v1", "ReplicationController"));
    assert_eq!(select(&world, &pod), world.selector(&[("tier", "back")]));
}

#[test]
fn hard_defaults_of_a_list_filter() {
    let mut world = two_zones();
    occupy(&mut world, &["a1"]);
    let set = owner(&mut world, Kind::Service, "web", &[("app", "web")]);
    world.snapshot.upsert(Object::Service(Arc::new(set)));
    let mut zone = constraint(&mut world, "zone", HARD);
    zone.selector = Selector::Nothing;
    let listed = PodTopologySpread::new(PodTopologySpreadArgs {
        defaults: DefaultConstraints::List(vec![zone]),
    });
    let pod = web(&mut world, Vec::new());
    let PreFilterResult::Ready(state) = listed.pre_filter(world.cx(), &pod) else {
        panic!("the default constraint holds");
    };
    let all = verdicts_of(&world, &state, &pod);
    assert_eq!(
        all.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [false, false, true]
    );
}
