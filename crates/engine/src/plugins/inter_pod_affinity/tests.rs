//! The plugin against small clusters.

use super::*;
use crate::framework::{Action, EventResource};
use crate::model::{
    AffinityTerm, Labels, Op, PodAffinity, Requirement, Selector, WeightedAffinityTerm,
};
use crate::testing::World;
use std::sync::Arc;

fn plugin() -> InterPodAffinity {
    InterPodAffinity::new(InterPodAffinityArgs::default())
}

/// Zones a (nodes a1, a2) and b (node b1), and a node x without labels.
fn cluster() -> World {
    let mut world = World::default();
    for (name, zone) in [("a1", "a"), ("a2", "a"), ("b1", "b")] {
        let node = world.node(name, &[("host", name), ("zone", zone)]);
        world.add_node(node);
    }
    let bare = world.node("x", &[]);
    world.add_node(bare);
    world
}

/// A term of a pod in namespace ns: pods of this app in the same namespace.
fn term(world: &mut World, app: &str, key: &str) -> AffinityTerm {
    AffinityTerm {
        namespaces: [world.sym("ns")].into(),
        namespace_selector: Selector::Nothing,
        selector: world.selector(&[("app", app)]),
        topology_key: world.sym(key),
    }
}

fn required(terms: &[AffinityTerm]) -> Option<PodAffinity> {
    Some(PodAffinity {
        required: terms.into(),
        preferred: Box::default(),
    })
}

fn preferred(weight: i32, term: AffinityTerm) -> Option<PodAffinity> {
    Some(PodAffinity {
        required: Box::default(),
        preferred: [WeightedAffinityTerm { weight, term }].into(),
    })
}

fn app(world: &mut World, name: &str, app: &str) -> Pod {
    world.pod(name, &[("app", app)])
}

fn state(world: &World, pod: &Pod) -> RequiredTerms {
    match plugin().pre_filter(world.cx(), pod) {
        PreFilterResult::Ready(state) => state,
        _ => panic!("PreFilter has something to check"),
    }
}

fn fits_with(world: &World, state: &RequiredTerms, pod: &Pod) -> Vec<bool> {
    let nodes = world.snapshot.nodes().iter();
    nodes
        .map(|node| plugin().filter(world.cx(), state, pod, node).is_ok())
        .collect()
}

/// Whether each of a1, a2, b1, x is feasible.
fn fits(world: &World, pod: &Pod) -> Vec<bool> {
    fits_with(world, &state(world, pod), pod)
}

fn raw_scores(world: &World, plugin: &InterPodAffinity, pod: &Pod) -> Option<Vec<i64>> {
    let PreScoreResult::Ready(state) = plugin.pre_score(world.cx(), pod, &[]) else {
        return None;
    };
    let nodes = world.snapshot.nodes().iter();
    nodes
        .map(|node| plugin.score(world.cx(), &state, pod, node))
        .collect()
}

#[test]
fn affinity_and_anti_affinity() {
    let mut world = cluster();
    let db = app(&mut world, "ns/db", "db");
    world.add_pod(db, "a1");
    let mut pod = app(&mut world, "ns/new", "web");
    let near = term(&mut world, "db", "zone");
    pod.pod_affinity = required(std::slice::from_ref(&near));
    assert_eq!(fits(&world, &pod), [true, true, false, false]);
    let refused = state(&world, &pod).filter(&world.snapshot.nodes()[2].node);
    assert_eq!(
        refused,
        Err(Status::unresolvable(
            "node(s) didn't match pod affinity rules"
        ))
    );

    pod.pod_affinity = None;
    pod.pod_anti_affinity = required(&[near]);
    assert_eq!(fits(&world, &pod), [false, false, true, true]);
    let refused = state(&world, &pod).filter(&world.snapshot.nodes()[0].node);
    assert_eq!(
        refused,
        Err(Status::unschedulable(
            "node(s) didn't match pod anti-affinity rules"
        ))
    );
}

#[test]
fn existing_pods_keep_newcomers_away() {
    let mut world = cluster();
    let mut hermit = app(&mut world, "ns/hermit", "hermit");
    hermit.pod_anti_affinity = required(&[term(&mut world, "web", "zone")]);
    world.add_pod(hermit, "b1");
    let pod = app(&mut world, "ns/new", "web");
    assert_eq!(fits(&world, &pod), [true, true, false, true]);
    let refused = state(&world, &pod).filter(&world.snapshot.nodes()[2].node);
    assert_eq!(
        refused,
        Err(Status::unschedulable(
            "node(s) didn't satisfy existing pods anti-affinity rules"
        ))
    );
    let other = app(&mut world, "ns/other", "other");
    let outcome = plugin().pre_filter(world.cx(), &other);
    assert!(matches!(outcome, PreFilterResult::Skip));
}

#[test]
fn semantic_23_one_pod_must_match_all_affinity_terms() {
    let mut world = cluster();
    let db = world.pod("ns/db", &[("app", "db")]);
    let both = world.pod("ns/both", &[("app", "db"), ("tier", "back")]);
    world.add_pod(db, "a1");
    world.add_pod(both, "b1");
    let by_app = term(&mut world, "db", "zone");
    let mut by_tier = by_app.clone();
    by_tier.selector = world.selector(&[("tier", "back")]);
    by_tier.topology_key = world.sym("host");
    let mut pod = app(&mut world, "ns/new", "web");
    pod.pod_affinity = required(&[by_app.clone(), by_tier.clone()]);
    assert_eq!(fits(&world, &pod), [false, false, true, false]);
    // Anti-affinity counts term by term.
    pod.pod_affinity = None;
    pod.pod_anti_affinity = required(&[by_app, by_tier]);
    assert_eq!(fits(&world, &pod), [false, false, false, true]);
}

#[test]
fn semantic_23_the_first_of_a_group_is_let_in_where_the_keys_are() {
    let mut world = cluster();
    let mut pod = app(&mut world, "ns/new", "web");
    pod.pod_affinity = required(&[term(&mut world, "web", "zone")]);
    assert_eq!(fits(&world, &pod), [true, true, true, false]);
    // Not if it does not match its own terms.
    let mut stranger = pod.clone();
    stranger.labels = Labels::default();
    assert_eq!(fits(&world, &stranger), [false, false, false, false]);
    // Not if somebody is there already.
    let first = app(&mut world, "ns/first", "web");
    world.add_pod(first, "b1");
    assert_eq!(fits(&world, &pod), [false, false, true, false]);
}

#[test]
fn semantic_23_a_match_on_a_node_without_the_key_does_not_end_the_exception() {
    let mut world = cluster();
    let first = app(&mut world, "ns/first", "web");
    world.add_pod(first, "x");
    let mut pod = app(&mut world, "ns/new", "web");
    pod.pod_affinity = required(&[term(&mut world, "web", "zone")]);
    assert_eq!(fits(&world, &pod), [true, true, true, false]);
}

#[test]
fn semantic_12_terminating_pods_count() {
    let mut world = cluster();
    let mut db = app(&mut world, "ns/db", "db");
    db.terminating = true;
    world.add_pod(db, "a1");
    let mut pod = app(&mut world, "ns/new", "web");
    pod.pod_anti_affinity = required(&[term(&mut world, "db", "host")]);
    assert_eq!(fits(&world, &pod), [false, true, true, true]);
}

#[test]
fn the_pods_own_terms_find_namespaces_by_label() {
    let mut world = cluster();
    world.add_namespace("ns", &[]);
    world.add_namespace("prod", &[("stage", "prod")]);
    world.add_namespace("test", &[("stage", "test")]);
    for (name, node) in [("prod/db", "a1"), ("test/db", "b1")] {
        let db = app(&mut world, name, "db");
        world.add_pod(db, node);
    }
    let mut away = term(&mut world, "db", "host");
    away.namespaces = Box::default();
    away.namespace_selector = world.selector(&[("stage", "prod")]);
    let mut pod = app(&mut world, "ns/new", "web");
    pod.pod_anti_affinity = required(std::slice::from_ref(&away));
    assert_eq!(fits(&world, &pod), [false, true, true, true]);
    // Names and labels add up.
    away.namespaces = [world.sym("test")].into();
    pod.pod_anti_affinity = required(std::slice::from_ref(&away));
    assert_eq!(fits(&world, &pod), [false, true, false, true]);
    // `{}` is every namespace.
    away.namespaces = Box::default();
    away.namespace_selector = Selector::everything();
    pod.pod_anti_affinity = required(&[away]);
    assert_eq!(fits(&world, &pod), [false, true, false, true]);
}

#[test]
fn a_namespace_selector_that_accepts_no_labels_accepts_every_namespace() {
    let mut world = cluster();
    world.add_namespace("prod", &[("stage", "prod")]);
    let db = app(&mut world, "prod/db", "db");
    world.add_pod(db, "a1");
    let mut away = term(&mut world, "db", "host");
    away.namespaces = Box::default();
    away.namespace_selector = Selector::All(
        [Requirement {
            key: world.sym("stage"),
            op: Op::DoesNotExist,
            values: Box::default(),
        }]
        .into(),
    );
    let mut pod = app(&mut world, "ns/new", "web");
    pod.pod_anti_affinity = required(std::slice::from_ref(&away));
    assert_eq!(fits(&world, &pod), [false, true, true, true]);
    // For an existing pod's term the namespace's labels are looked up.
    let mut hermit = app(&mut world, "ns/hermit", "hermit");
    away.selector = world.selector(&[("app", "web")]);
    hermit.pod_anti_affinity = required(&[away]);
    world.add_pod(hermit, "b1");
    let newcomer = app(&mut world, "prod/new", "web");
    let outcome = plugin().pre_filter(world.cx(), &newcomer);
    assert!(matches!(outcome, PreFilterResult::Skip));
    let newcomer = app(&mut world, "unknown/new", "web");
    assert_eq!(fits(&world, &newcomer), [true, true, false, true]);
}

#[test]
fn dry_run_add_and_remove() {
    let mut world = cluster();
    let mut rival = app(&mut world, "ns/rival", "web");
    let against = term(&mut world, "web", "zone");
    rival.pod_anti_affinity = required(std::slice::from_ref(&against));
    world.add_pod(rival.clone(), "a1");
    let mut pod = app(&mut world, "ns/new", "web");
    pod.pod_affinity = required(&[term(&mut world, "web", "host")]);
    let mut state = state(&world, &pod);
    let a1 = world.snapshot.nodes()[0].clone();
    assert_eq!(fits_with(&world, &state, &pod), [false; 4]);
    plugin().remove_pod(world.cx(), &mut state, &pod, &rival, &a1);
    // Nobody matches any more: the pod is the first of its kind.
    assert_eq!(fits_with(&world, &state, &pod), [true, true, true, false]);
    plugin().add_pod(world.cx(), &mut state, &pod, &rival, &a1);
    assert_eq!(fits_with(&world, &state, &pod), [false; 4]);
}

#[test]
fn a_selector_that_cannot_be_parsed_rejects_the_pod() {
    let mut world = cluster();
    let mut pod = app(&mut world, "ns/new", "web");
    pod.affinity_error = Some("requiredAffinityTerms: bad".into());
    let PreFilterResult::Rejected(status) = plugin().pre_filter(world.cx(), &pod) else {
        panic!("the pod is rejected");
    };
    assert_eq!(status.code, Code::UnschedulableAndUnresolvable);
    assert_eq!(
        status.message(&world.snapshot),
        "parsing pod: requiredAffinityTerms: bad"
    );
    let outcome = plugin().pre_score(world.cx(), &pod, &[]);
    assert!(matches!(outcome, PreScoreResult::Failed(status) if status.code == Code::Error));
    assert!(plugin().pre_filter_disabled(world.cx(), &pod).is_err());
    assert!(plugin().pre_score_disabled(world.cx(), &pod).is_err());
}

#[test]
fn preferred_terms_of_the_pod() {
    let mut world = cluster();
    for (name, node) in [("ns/db1", "a1"), ("ns/db2", "a2"), ("ns/db3", "b1")] {
        let db = app(&mut world, name, "db");
        world.add_pod(db, node);
    }
    let mut pod = app(&mut world, "ns/new", "web");
    pod.pod_affinity = preferred(10, term(&mut world, "db", "zone"));
    pod.pod_anti_affinity = preferred(3, term(&mut world, "db", "host"));
    let raw = raw_scores(&world, &plugin(), &pod);
    assert_eq!(raw, Some(vec![17, 17, 7, 0]));
    let over = Range { min: 0, max: 17 };
    let normalized = |raw| plugin().normalize(&PreferredTerms::default(), raw, over);
    assert_eq!([17, 7, 0].map(normalized), [100, 41, 0]);
}

#[test]
fn terms_of_existing_pods_weigh_too() {
    let mut world = cluster();
    let mut friend = app(&mut world, "ns/friend", "friend");
    friend.pod_affinity = preferred(5, term(&mut world, "web", "zone"));
    let mut foe = app(&mut world, "ns/foe", "foe");
    foe.pod_anti_affinity = preferred(7, term(&mut world, "web", "host"));
    let mut needy = app(&mut world, "ns/needy", "needy");
    needy.pod_affinity = required(&[term(&mut world, "web", "host")]);
    world.add_pod(friend, "a1");
    world.add_pod(foe, "a2");
    world.add_pod(needy, "b1");
    let mut pod = app(&mut world, "ns/new", "web");
    let scores = |world: &World, pod: &Pod, hard: i32, ignore: bool| {
        let plugin = InterPodAffinity::new(InterPodAffinityArgs {
            hard_pod_affinity_weight: hard,
            ignore_preferred_terms_of_existing_pods: ignore,
        });
        raw_scores(world, &plugin, pod)
    };
    assert_eq!(scores(&world, &pod, 1, false), Some(vec![5, -2, 1, 0]));
    assert_eq!(scores(&world, &pod, 0, false), Some(vec![5, -2, 0, 0]));
    assert_eq!(scores(&world, &pod, 50, false), Some(vec![5, -2, 50, 0]));
    assert_eq!(scores(&world, &pod, 1, true), None);
    // With preferred terms of its own nothing is ignored.
    pod.pod_affinity = preferred(100, term(&mut world, "nobody", "zone"));
    assert_eq!(scores(&world, &pod, 1, true), Some(vec![5, -2, 1, 0]));
}

#[test]
fn semantic_24_equal_scores_are_0_and_no_match_at_all_is_skipped() {
    let over = Range { min: 4, max: 4 };
    assert_eq!(plugin().normalize(&PreferredTerms::default(), 4, over), 0);
    let mut world = cluster();
    let mut pod = app(&mut world, "ns/new", "web");
    pod.pod_affinity = preferred(10, term(&mut world, "db", "zone"));
    assert_eq!(raw_scores(&world, &plugin(), &pod), None);
    // On a node without the key a match is worth nothing.
    let db = app(&mut world, "ns/db", "db");
    world.add_pod(db, "x");
    assert_eq!(raw_scores(&world, &plugin(), &pod), None);
    // Two terms that cancel out are a match all the same.
    pod.pod_anti_affinity = preferred(10, term(&mut world, "db", "zone"));
    let db = app(&mut world, "ns/db2", "db");
    world.add_pod(db, "a1");
    assert_eq!(raw_scores(&world, &plugin(), &pod), Some(vec![0; 4]));
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
    let mut world = cluster();
    let mut pod = app(&mut world, "ns/new", "web");
    pod.pod_affinity = required(&[term(&mut world, "db", "zone")]);
    pod.pod_anti_affinity = required(&[term(&mut world, "foe", "zone")]);
    let on = |world: &mut World, name: &str, label: &str| {
        let mut pod = app(world, name, label);
        pod.node_name = Some(world.sym("a1"));
        pod
    };
    let object = |pod: &Pod| Some(Object::Pod(Arc::new(pod.clone())));
    let db = on(&mut world, "ns/p", "db");
    let foe = on(&mut world, "ns/p", "foe");
    let other = on(&mut world, "ns/p", "other");
    let mut hermit = other.clone();
    hermit.pod_anti_affinity = required(&[term(&mut world, "web", "zone")]);
    let mut pending = db.clone();
    pending.node_name = None;
    for (old, new, expected) in [
        (None, object(&db), Hint::Queue),
        (None, object(&pending), Hint::Skip),
        (None, object(&foe), Hint::Skip),
        (object(&db), None, Hint::Skip),
        (object(&foe), None, Hint::Queue),
        (object(&other), None, Hint::Skip),
        (object(&hermit), None, Hint::Queue),
        (object(&other), object(&db), Hint::Queue),
        (object(&db), object(&other), Hint::Skip),
        (object(&foe), object(&other), Hint::Queue),
        (object(&other), object(&foe), Hint::Skip),
        (object(&pod), object(&pod), Hint::Queue),
    ] {
        let what = format!("{old:?} -> {new:?}");
        let got = hint(&world, &pod, EventResource::AssignedPod, old, new);
        assert_eq!(got, expected, "{what}");
    }
}

#[test]
fn hints_for_nodes() {
    let mut world = cluster();
    let mut seeker = app(&mut world, "ns/new", "web");
    let zone = term(&mut world, "db", "zone");
    let mut hermit = seeker.clone();
    seeker.pod_affinity = required(std::slice::from_ref(&zone));
    hermit.pod_anti_affinity = required(&[zone]);
    let in_a = world.node("n", &[("zone", "a")]);
    let in_b = world.node("n", &[("zone", "b")]);
    let bare = world.node("n", &[]);
    let object = |node: &crate::model::Node| Some(Object::Node(Arc::new(node.clone())));
    use Hint::{Queue, Skip};
    for (old, new, for_seeker, for_hermit) in [
        (None, object(&in_a), Queue, Queue),
        (None, object(&bare), Skip, Queue),
        (object(&in_a), object(&in_b), Queue, Queue),
        (object(&in_a), object(&in_a), Skip, Skip),
        (object(&in_a), object(&bare), Skip, Queue),
        (object(&bare), object(&in_a), Queue, Skip),
    ] {
        let what = format!("{old:?} -> {new:?}");
        let ask = |pod: &Pod| hint(&world, pod, EventResource::Node, old.clone(), new.clone());
        assert_eq!(ask(&seeker), for_seeker, "{what}");
        assert_eq!(ask(&hermit), for_hermit, "{what}");
    }
}
