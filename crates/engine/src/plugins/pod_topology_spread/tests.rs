//! The plugin against small clusters.

mod account;
mod hints;
mod scoring;

use super::*;
use crate::framework::Code;
use crate::model::{
    Effect, NodeSelector, NodeSelectorTerm, Requirement, Taint, Toleration, TolerationOp,
};
use crate::testing::World;

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
        PreFilterResult::Ready(state) => state,
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
    assert!(matches!(outcome, PreFilterResult::Skip));
}

#[test]
fn with_pre_filter_or_pre_score_disabled_the_attempt_fails() {
    let mut world = two_zones();
    let pod = web(&mut world, Vec::new());
    let status = plugin().pre_filter_disabled(world.cx(), &pod).unwrap_err();
    assert_eq!(status.code, Code::Error);
    let status = plugin().pre_score_disabled(world.cx(), &pod).unwrap_err();
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
fn dry_run_move_the_counts_and_the_minimum() {
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
    plugin().remove_pod(world.cx(), &mut state, &pod, &other, &a1);
    assert_eq!(fit(&state), [true, true, false]);
    plugin().add_pod(world.cx(), &mut state, &pod, &other, &a1);
    plugin().add_pod(world.cx(), &mut state, &pod, &other, &a1);
    assert_eq!(fit(&state), [false, false, true]);
    assert_eq!(fit(&before), [true, true, true]);
}

#[test]
fn a_dry_run_subtracts_a_terminating_victim_that_was_never_counted() {
    let mut world = two_zones();
    let mut victim = world.pod("ns/victim", &[("app", "web")]);
    victim.terminating = true;
    let zone = constraint(&mut world, "zone", HARD);
    let pod = web(&mut world, vec![zone]);
    let mut state = hard_state(&world, &pod);
    let a1 = world.snapshot.nodes()[0].clone();
    plugin().remove_pod(world.cx(), &mut state, &pod, &victim, &a1);
    // Zone a has -1 now: one more in zone b makes a skew of 2.
    let all = verdicts_of(&world, &state, &pod);
    assert_eq!(
        all.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, true, false]
    );
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
