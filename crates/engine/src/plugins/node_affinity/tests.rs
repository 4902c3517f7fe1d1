use super::*;
use crate::framework::Code;
use crate::model::{NodeSelector, Requirement};
use crate::testing::World;
use std::sync::Arc;

fn plugin() -> NodeAffinity {
    NodeAffinity::new(NodeAffinityArgs::default())
}

fn label(world: &mut World, key: &str, value: &str) -> NodeSelectorTerm {
    NodeSelectorTerm {
        expressions: [Requirement::equals(world.sym(key), world.sym(value))].into(),
        ..NodeSelectorTerm::default()
    }
}

/// A term that asks for each of these names at once.
fn named(world: &mut World, names: &[&str]) -> NodeSelectorTerm {
    let name = |name: &&str| Requirement::equals(sym::METADATA_NAME, world.sym(name));
    NodeSelectorTerm {
        fields: names.iter().map(name).collect(),
        ..NodeSelectorTerm::default()
    }
}

fn broken() -> NodeSelectorTerm {
    NodeSelectorTerm {
        error: Some("broken".into()),
        ..NodeSelectorTerm::default()
    }
}

fn requiring(world: &mut World, terms: Vec<NodeSelectorTerm>) -> Pod {
    let mut pod = world.pod("ns/p", &[]);
    pod.node_affinity.required = Some(NodeSelector {
        terms: terms.into(),
    });
    pod
}

fn preferring(world: &mut World, terms: Vec<(i32, NodeSelectorTerm)>) -> Pod {
    let mut pod = world.pod("ns/p", &[]);
    let preferred = |(weight, term)| PreferredNodeTerm { weight, term };
    pod.node_affinity.preferred = terms.into_iter().map(preferred).collect();
    pod
}

fn fits(world: &World, plugin: &NodeAffinity, pod: &Pod, node: &Node) -> Option<String> {
    let node = NodeInfo::new(Arc::new(node.clone()));
    let status = plugin.filter(world.cx(), &(), pod, &node).err()?;
    assert_eq!(status.code, Code::UnschedulableAndUnresolvable);
    Some(status.message(&world.snapshot))
}

/// Semantic 14 of the oracle.
#[test]
fn terms_that_name_nodes_narrow_the_search() {
    let mut world = World::default();
    let [a, ab, b, zone] = [
        named(&mut world, &["a"]),
        named(&mut world, &["a", "b"]),
        named(&mut world, &["b"]),
        label(&mut world, "zone", "z"),
    ];
    let empty = NodeSelectorTerm::default();
    let narrowed = |world: &mut World, terms: &[&NodeSelectorTerm]| {
        let pod = requiring(world, terms.iter().map(|t| (*t).clone()).collect());
        match plugin().pre_filter(world.cx(), &pod) {
            PreFilterResult::Narrowed((), nodes) => {
                let names = &world.snapshot.names;
                nodes.iter().map(|n| names.text(*n).to_owned()).collect()
            }
            PreFilterResult::Ready(()) => vec!["*".to_owned()],
            PreFilterResult::Rejected(status) => vec![status.message(&world.snapshot)],
            PreFilterResult::Skip => vec![],
        }
    };
    assert_eq!(narrowed(&mut world, &[&a, &b]), ["a", "b"]);
    assert_eq!(narrowed(&mut world, &[&a, &ab]), ["a"]);
    assert_eq!(
        narrowed(&mut world, &[&ab]),
        ["pod affinity terms conflict"]
    );
    assert_eq!(narrowed(&mut world, &[&a, &zone]), ["*"]);
    assert_eq!(narrowed(&mut world, &[&a, &empty]), ["*"]);
    assert_eq!(narrowed(&mut world, &[]), ["*"]);
}

#[test]
fn pods_without_a_wish_are_skipped_unless_the_profile_has_one() {
    let mut world = World::default();
    let mut pod = world.pod("ns/p", &[]);
    let skipped = |plugin: &NodeAffinity, pod: &Pod, world: &World| {
        matches!(plugin.pre_filter(world.cx(), pod), PreFilterResult::Skip)
    };
    assert!(skipped(&plugin(), &pod, &world));
    let mut args = NodeAffinityArgs::default();
    args.added_affinity.required = Some(NodeSelector::default());
    assert!(!skipped(&NodeAffinity::new(args), &pod, &world));
    pod.node_selector = world.labels(&[("zone", "a")]);
    assert!(!skipped(&plugin(), &pod, &world));
}

/// Semantics 13 and 14 of the oracle: empty and broken terms match nothing, others still may.
#[test]
fn one_term_is_enough() {
    let mut world = World::default();
    let node = world.node("a", &[("zone", "z")]);
    let zone = label(&mut world, "zone", "z");
    for (terms, fit) in [
        (vec![broken(), zone.clone()], true),
        (vec![NodeSelectorTerm::default()], false),
        (vec![broken()], false),
        (vec![], false),
    ] {
        let pod = requiring(&mut world, terms);
        let reason = fits(&world, &plugin(), &pod, &node);
        let expected = "node(s) didn't match Pod's node affinity/selector";
        assert_eq!(reason.as_deref(), (!fit).then_some(expected));
    }
}

#[test]
fn the_profiles_own_affinity_comes_first() {
    let mut world = World::default();
    let node = world.node("a", &[("zone", "z")]);
    let elsewhere = label(&mut world, "zone", "y");
    let mut args = NodeAffinityArgs::default();
    args.added_affinity.required = Some(NodeSelector {
        terms: [elsewhere].into(),
    });
    let pod = requiring(&mut world, vec![]);
    let reason = fits(&world, &NodeAffinity::new(args), &pod, &node);
    assert_eq!(
        reason.as_deref(),
        Some("node(s) didn't match scheduler-enforced node affinity")
    );
}

/// Semantic 13 of the oracle.
#[test]
fn a_broken_preferred_term_fails_unless_it_is_worth_nothing() {
    let mut world = World::default();
    for (terms, fails) in [
        (vec![(1, broken())], true),
        (vec![(0, broken())], false),
        (vec![(1, NodeSelectorTerm::default())], false),
    ] {
        let pod = preferring(&mut world, terms);
        let state = plugin().pre_score(world.cx(), &pod, &[]);
        assert_eq!(matches!(state, PreScoreResult::Failed(_)), fails);
        let unprepared = plugin().pre_score_disabled(world.cx(), &pod);
        assert_eq!(unprepared.is_err(), fails);
    }
    let plain = world.pod("ns/p", &[]);
    let state = plugin().pre_score(world.cx(), &plain, &[]);
    assert!(matches!(state, PreScoreResult::Skip));
}

#[test]
fn the_weights_of_matching_terms_add_up() {
    let mut world = World::default();
    let [zone, disk, other] = [
        label(&mut world, "zone", "z"),
        label(&mut world, "disk", "ssd"),
        label(&mut world, "zone", "y"),
    ];
    let mut args = NodeAffinityArgs::default();
    let added = PreferredNodeTerm {
        weight: 5,
        term: zone.clone(),
    };
    args.added_affinity.preferred = [added].into();
    let plugin = NodeAffinity::new(args);
    let pod = preferring(&mut world, vec![(10, zone), (20, disk), (40, other)]);
    let node = world.node("a", &[("zone", "z"), ("disk", "ssd")]);
    let node = NodeInfo::new(Arc::new(node));
    assert_eq!(plugin.score(world.cx(), &(), &pod, &node), Some(35));
    assert_eq!(plugin.normalize(&(), 35, Range { min: 0, max: 40 }), 87);
}

#[test]
fn a_node_helps_when_it_begins_to_match() {
    let mut world = World::default();
    let zone = label(&mut world, "zone", "z");
    let strict = requiring(&mut world, vec![zone.clone()]);
    let faulty = requiring(&mut world, vec![broken(), zone]);
    let [near, far] = ["z", "y"].map(|zone| {
        let node = world.node("a", &[("zone", zone)]);
        Object::Node(Arc::new(node))
    });
    let event = plugin().events()[0].event;
    let failed = Hint::Error("broken".to_owned());
    for (pod, old, new, expected) in [
        (&strict, None, &near, Hint::Queue),
        (&strict, None, &far, Hint::Skip),
        (&strict, Some(&far), &near, Hint::Queue),
        (&strict, Some(&near), &near, Hint::Skip),
        (&strict, Some(&near), &far, Hint::Skip),
        (&faulty, None, &near, Hint::Queue),
        (&faulty, None, &far, failed.clone()),
        (&faulty, Some(&far), &near, failed),
    ] {
        let hint = plugin().hint(world.cx(), &event, pod, old, Some(new));
        assert_eq!(hint, expected, "{old:?} {new:?}");
    }
}
