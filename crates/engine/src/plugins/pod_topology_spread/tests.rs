//! The plugin against small clusters.

use super::*;
use crate::framework::{Action, Code, EventResource};
use crate::model::{
    Effect, Kind, NodeSelector, NodeSelectorTerm, OwnerRef, PodSelectorOwner, Requirement, Taint,
    Toleration, TolerationOp,
};
use crate::testing::World;
use std::sync::Arc;

const HARD: UnsatisfiableAction = UnsatisfiableAction::DoNotSchedule;
const SOFT: UnsatisfiableAction = UnsatisfiableAction::ScheduleAnyway;

fn plugin() -> PodTopologySpread {
    PodTopologySpread::new(PodTopologySpreadArgs::default())
}

/// Zones a (nodes a1, a2) and b (node b1); hostname labels are the node names.
fn two_zones() -> World {
    let mut world = World::default();
    for (name, zone) in [("a1", "a"), ("a2", "a"), ("b1", "b")] {
        let labels = [("kubernetes.io/hostname", name), ("zone", zone)];
        let node = world.node(name, &labels);
        world.add_node(node);
    }
    world
}

fn constraint(world: &mut World, key: &str, action: UnsatisfiableAction) -> SpreadConstraint {
    SpreadConstraint {
        max_skew: 1,
        topology_key: world.sym(key),
        when_unsatisfiable: action,
        selector: world.selector(&[("app", "web")]),
        min_domains: 1,
        honor_node_affinity: true,
        honor_node_taints: false,
        match_label_keys: Box::default(),
    }
}

/// A pod of app web with these constraints.
fn web(world: &mut World, constraints: Vec<SpreadConstraint>) -> Pod {
    let mut pod = world.pod("ns/new", &[("app", "web")]);
    pod.spread_constraints = constraints.into();
    pod
}

/// Puts pods of app web on nodes.
fn occupy(world: &mut World, nodes: &[&str]) {
    for (i, node) in nodes.iter().enumerate() {
        let pod = world.pod(&format!("ns/old-{i}"), &[("app", "web")]);
        world.add_pod(pod, node);
    }
}

fn hard_state(world: &World, pod: &Pod) -> HardConstraints {
    match plugin().pre_filter(world.cx(), pod) {
        PreFilter::Ready(state) => state,
        _ => panic!("PreFilter has something to check"),
    }
}

fn verdicts_of(world: &World, state: &HardConstraints, pod: &Pod) -> Vec<Fit> {
    let nodes = world.snapshot.nodes().iter();
    nodes
        .map(|node| plugin().filter(world.cx(), state, pod, node))
        .collect()
}

fn verdicts(world: &World, pod: &Pod) -> Vec<Fit> {
    verdicts_of(world, &hard_state(world, pod), pod)
}

/// Whether each node is feasible.
fn fits(world: &World, pod: &Pod) -> Vec<bool> {
    verdicts(world, pod).iter().map(Result::is_ok).collect()
}

fn soft_state(world: &World, plugin: &PodTopologySpread, pod: &Pod) -> Option<SoftConstraints> {
    let feasible: Vec<_> = world.snapshot.nodes().iter().collect();
    match plugin.pre_score(world.cx(), pod, &feasible) {
        PreScore::Ready(state) => Some(state),
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
fn the_fullest_domain_is_refused() {
    let mut world = two_zones();
    occupy(&mut world, &["a1"]);
    let zone = constraint(&mut world, "zone", HARD);
    let pod = web(&mut world, vec![zone]);
    let refused = Err(Status::unschedulable(
        "node(s) didn't match pod topology spread constraints",
    ));
    assert_eq!(verdicts(&world, &pod), [refused.clone(), refused, Ok(())]);
}

#[test]
fn a_pod_outside_its_own_selector_does_not_count_itself() {
    let mut world = two_zones();
    occupy(&mut world, &["a1"]);
    let zone = constraint(&mut world, "zone", HARD);
    let mut pod = web(&mut world, vec![zone]);
    pod.labels = world.labels(&[("app", "other")]);
    assert_eq!(fits(&world, &pod), [true, true, true]);
}

#[test]
fn without_hard_constraints_the_filter_is_skipped() {
    let mut world = two_zones();
    let zone = constraint(&mut world, "zone", SOFT);
    let pod = web(&mut world, vec![zone]);
    let outcome = plugin().pre_filter(world.cx(), &pod);
    assert!(matches!(outcome, PreFilter::Skip));
}

#[test]
fn with_pre_filter_or_pre_score_disabled_the_attempt_fails() {
    let mut world = two_zones();
    let pod = web(&mut world, Vec::new());
    let status = plugin().filter_unprepared(world.cx(), &pod).unwrap_err();
    assert_eq!(status.code, Code::Error);
    let status = plugin().score_unprepared(world.cx(), &pod).unwrap_err();
    assert_eq!(status.code, Code::Error);
}

#[test]
fn too_few_domains_make_the_global_minimum_0() {
    let mut world = two_zones();
    occupy(&mut world, &["a1", "b1"]);
    let mut zone = constraint(&mut world, "zone", HARD);
    zone.min_domains = 2;
    let pod = web(&mut world, vec![zone.clone()]);
    assert_eq!(fits(&world, &pod), [true, true, true]);
    zone.min_domains = 3;
    let pod = web(&mut world, vec![zone]);
    assert_eq!(fits(&world, &pod), [false, false, false]);
}

#[test]
fn match_label_keys_narrow_the_selector_merged_or_not() {
    let mut world = two_zones();
    let old = world.pod("ns/old", &[("app", "web"), ("rev", "1")]);
    world.add_pod(old, "a1");
    let rev = world.sym("rev");
    let mut zone = constraint(&mut world, "zone", HARD);
    zone.match_label_keys = [rev].into();
    let mut pod = web(&mut world, vec![zone.clone()]);
    pod.labels = world.labels(&[("app", "web"), ("rev", "2")]);
    assert_eq!(fits(&world, &pod), [true, true, true]);
    pod.labels = world.labels(&[("app", "web"), ("rev", "1")]);
    assert_eq!(fits(&world, &pod), [false, false, true]);
    // A key that the pod does not bear is ignored.
    pod.labels = world.labels(&[("app", "web")]);
    assert_eq!(fits(&world, &pod), [false, false, true]);
    // What the API server merged already may be merged again.
    zone.selector = world.selector(&[("app", "web"), ("rev", "1")]);
    pod.labels = world.labels(&[("app", "web"), ("rev", "1")]);
    pod.spread_constraints = [zone.clone()].into();
    assert_eq!(fits(&world, &pod), [false, false, true]);
    // `{}` with keys is not empty any more; an absent selector stays absent.
    zone.selector = Selector::everything();
    pod.spread_constraints = [zone.clone()].into();
    assert_eq!(fits(&world, &pod), [false, false, true]);
    zone.selector = Selector::Nothing;
    pod.spread_constraints = [zone].into();
    assert_eq!(fits(&world, &pod), [true, true, true]);
}

#[test]
fn semantic_19_an_empty_selector_counts_nobody_and_nil_matches_nobody() {
    let mut world = two_zones();
    occupy(&mut world, &["a1", "a1", "a2"]);
    for selector in [Selector::everything(), Selector::Nothing] {
        let mut zone = constraint(&mut world, "zone", HARD);
        zone.selector = selector;
        let pod = web(&mut world, vec![zone]);
        assert_eq!(fits(&world, &pod), [true, true, true]);
    }
    // But `{}` matches the pod itself: with a skew of 0 it would be refused everywhere.
    let mut zone = constraint(&mut world, "zone", HARD);
    zone.selector = Selector::everything();
    zone.max_skew = 0;
    let pod = web(&mut world, vec![zone]);
    assert_eq!(fits(&world, &pod), [false, false, false]);
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
fn semantic_21_who_does_not_count() {
    let mut world = two_zones();
    let mut terminating = world.pod("ns/terminating", &[("app", "web")]);
    terminating.terminating = true;
    world.add_pod(terminating, "a1");
    let foreign = world.pod("elsewhere/web", &[("app", "web")]);
    world.add_pod(foreign, "a1");
    let zone = constraint(&mut world, "zone", HARD);
    let pod = web(&mut world, vec![zone]);
    assert_eq!(fits(&world, &pod), [true, true, true]);
}

#[test]
fn semantic_21_a_node_without_every_hard_key_counts_for_no_constraint() {
    let mut world = two_zones();
    let bare = world.node("c1", &[("zone", "c")]);
    world.add_node(bare);
    occupy(&mut world, &["a1", "b1"]);
    let zone = constraint(&mut world, "zone", HARD);
    let host = constraint(&mut world, "kubernetes.io/hostname", HARD);
    // Zone c would be the emptiest domain, if c1 had a hostname.
    let mut pod = web(&mut world, vec![zone, host]);
    let all = verdicts(&world, &pod);
    assert_eq!(
        all[3],
        Err(Status::unresolvable(
            "node(s) didn't match pod topology spread constraints (missing required label)"
        ))
    );
    assert_eq!(fits(&world, &pod), [false, true, false, false]);
    pod.spread_constraints = pod.spread_constraints[..1].into();
    assert_eq!(fits(&world, &pod), [false, false, false, true]);
}

#[test]
fn semantic_21_node_affinity_policy() {
    let mut world = two_zones();
    occupy(&mut world, &["a1"]);
    let mut zone = constraint(&mut world, "zone", HARD);
    let mut pod = web(&mut world, vec![zone.clone()]);
    // Zone b is out of reach, so zone a is alone and even.
    pod.node_selector = world.labels(&[("zone", "a")]);
    assert_eq!(fits(&world, &pod), [true, true, true]);
    zone.honor_node_affinity = false;
    pod.spread_constraints = [zone].into();
    assert_eq!(fits(&world, &pod), [false, false, true]);
}

#[test]
fn semantic_21_node_taints_policy() {
    let mut world = World::default();
    for (name, zone) in [("a1", "a"), ("b1", "b")] {
        let mut node = world.node(name, &[("zone", zone)]);
        if zone == "b" {
            node.taints = [Taint {
                key: world.sym("broken"),
                value: Sym::EMPTY,
                effect: Effect::NoExecute,
            }]
            .into();
        }
        world.add_node(node);
    }
    occupy(&mut world, &["a1"]);
    let mut zone = constraint(&mut world, "zone", HARD);
    let mut pod = web(&mut world, vec![zone.clone()]);
    assert_eq!(fits(&world, &pod), [false, true]);
    zone.honor_node_taints = true;
    pod.spread_constraints = [zone].into();
    assert_eq!(fits(&world, &pod), [true, true]);
    pod.tolerations = [Toleration {
        key: Sym::EMPTY,
        op: TolerationOp::Exists,
        value: Sym::EMPTY,
        effect: None,
    }]
    .into();
    assert_eq!(fits(&world, &pod), [false, true]);
}

#[test]
fn trials_move_the_counts_and_the_minimum() {
    let mut world = two_zones();
    occupy(&mut world, &["a1", "b1"]);
    let zone = constraint(&mut world, "zone", HARD);
    let pod = web(&mut world, vec![zone]);
    let before = hard_state(&world, &pod);
    let mut state = before.clone();
    let a1 = world.snapshot.nodes()[0].clone();
    let other = a1.pods[0].clone();
    let fit = |state: &HardConstraints| -> Vec<bool> {
        let all = verdicts_of(&world, state, &pod);
        all.iter().map(Result::is_ok).collect()
    };
    assert_eq!(fit(&state), [true, true, true]);
    plugin().trial(world.cx(), &mut state, &pod, &other, &a1, Trial::Remove);
    assert_eq!(fit(&state), [true, true, false]);
    plugin().trial(world.cx(), &mut state, &pod, &other, &a1, Trial::Add);
    plugin().trial(world.cx(), &mut state, &pod, &other, &a1, Trial::Add);
    assert_eq!(fit(&state), [false, false, true]);
    assert_eq!(fit(&before), [true, true, true]);
}

#[test]
fn a_trial_subtracts_a_terminating_victim_that_was_never_counted() {
    let mut world = two_zones();
    let mut victim = world.pod("ns/victim", &[("app", "web")]);
    victim.terminating = true;
    let zone = constraint(&mut world, "zone", HARD);
    let pod = web(&mut world, vec![zone]);
    let mut state = hard_state(&world, &pod);
    let a1 = world.snapshot.nodes()[0].clone();
    plugin().trial(world.cx(), &mut state, &pod, &victim, &a1, Trial::Remove);
    // Zone a has -1 now: one more in zone b makes a skew of 2.
    let all = verdicts_of(&world, &state, &pod);
    assert_eq!(
        all.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, true, false]
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
    let PreScore::Ready(state) = plugin().pre_score(world.cx(), &pod, &feasible) else {
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
    let PreFilter::Ready(state) = listed.pre_filter(world.cx(), &pod) else {
        panic!("the default constraint holds");
    };
    let all = verdicts_of(&world, &state, &pod);
    assert_eq!(
        all.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [false, false, true]
    );
}

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

#[test]
fn a_required_term_that_cannot_be_parsed_excludes_the_node() {
    let mut world = two_zones();
    occupy(&mut world, &["a1"]);
    let zone = constraint(&mut world, "zone", HARD);
    let mut pod = web(&mut world, vec![zone]);
    let broken = NodeSelectorTerm {
        error: Some("bad value".into()),
        ..NodeSelectorTerm::default()
    };
    let good = NodeSelectorTerm {
        expressions: [Requirement::equals(world.sym("zone"), world.sym("a"))].into(),
        ..NodeSelectorTerm::default()
    };
    pod.node_affinity.required = Some(NodeSelector {
        terms: [broken, good].into(),
    });
    assert_eq!(fits(&world, &pod), [true, true, true]);
}
