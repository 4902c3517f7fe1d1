//! What the graph makes of what reflectors see.

use super::super::*;
use super::world::{identity, owner};
use std::sync::Arc;

fn observed(name: &str, owners: &[&str]) -> Observed {
    Observed {
        identity: identity(name),
        owners: owners.iter().map(|text| owner(text)).collect(),
        deleting: false,
        foreground: false,
        orphan: false,
    }
}

fn uids(uids: &[Arc<str>]) -> Vec<&str> {
    uids.iter().map(|uid| &**uid).collect()
}

#[test]
fn an_owner_that_nobody_has_seen_is_asked_for() {
    let mut graph = Graph::default();
    let effects = graph.observe(observed("Pod/n/p", &["ReplicaSet/rs"]));
    assert_eq!(uids(&effects.delete), ["rs"]);
    assert_eq!(graph.len(), 2);
    // The same again changes nothing.
    let effects = graph.observe(observed("Pod/n/p", &["ReplicaSet/rs"]));
    assert_eq!(effects, Effects::default());
    // It is seen as it was described.
    let effects = graph.observe(observed("ReplicaSet/n/rs", &[]));
    assert_eq!(effects, Effects::default());
    assert_eq!(graph.dependents("rs"), [identity("Pod/n/p")]);
    // It goes, and what depends on it is looked at.
    assert_eq!(uids(&graph.gone("rs").delete), ["p"]);
    assert!(graph.gone("p").delete.is_empty());
    assert!(graph.is_empty() && graph.dependents("rs").is_empty());
}

#[test]
fn the_beginning_of_a_deletion_is_told_once() {
    let mut graph = Graph::default();
    graph.observe(observed("Pod/n/p", &["ReplicaSet/rs"]));
    graph.observe(observed("ReplicaSet/n/rs", &[]));
    for (foreground, orphan, delete, orphans) in [
        (false, false, &[][..], &[][..]),
        (true, false, &["p", "rs"], &[]),
        (false, true, &[], &["rs"]),
        (true, true, &[], &["rs"]),
    ] {
        let mut rs = observed("ReplicaSet/n/rs", &[]);
        graph.observe(rs.clone());
        (rs.deleting, rs.foreground, rs.orphan) = (true, foreground, orphan);
        let effects = graph.observe(rs.clone());
        assert_eq!(uids(&effects.delete), delete);
        assert_eq!(uids(&effects.orphan), orphans);
        assert_eq!(graph.observe(rs), Effects::default());
    }
}

/// Upstream: the rows of `TestConflictingData` that are about virtual nodes.
#[test]
fn dependents_that_disagree_about_an_owner_are_heard_one_after_the_other() {
    let mut graph = Graph::default();
    let named = |kind: &str| Owner {
        uid: "o".into(),
        ..owner(&format!("{kind}/o"))
    };
    for (name, kind) in [
        ("Pod/n/a", "Bad"),
        ("Pod/n/b", "Good"),
        ("Pod/n/c", "Other"),
    ] {
        let mut object = observed(name, &[]);
        object.owners.push(named(kind));
        graph.observe(object);
    }
    let ns: Arc<str> = "n".into();
    let kind_of = |graph: &Graph| graph.identity("o").map(|o| o.gvk.kind.to_string());
    assert_eq!(kind_of(&graph).as_deref(), Some("Bad"));
    // That it is no Bad kills those that say so; the owner may be a Good.
    let effects = graph.absent(&named("Bad").identity_in(&ns));
    assert_eq!(uids(&effects.delete), ["a"]);
    assert_eq!(uids(&effects.delete_later), ["o"]);
    assert_eq!(kind_of(&graph).as_deref(), Some("Good"));
    // It is no Good either; the next one follows in order, and then the first comes again.
    let effects = graph.absent(&named("Good").identity_in(&ns));
    assert_eq!(uids(&effects.delete), ["b"]);
    assert_eq!(kind_of(&graph).as_deref(), Some("Other"));
    graph.gone("a");
    graph.absent(&named("Other").identity_in(&ns));
    assert_eq!(kind_of(&graph).as_deref(), Some("Good"));
    // A reflector sees it: what the server said of other descriptions does not matter.
    let mut good = observed("Good/n/o", &[]);
    good.identity.uid = "o".into();
    let effects = graph.observe(good);
    assert!(effects.delete.is_empty(), "it is as described");
    let effects = graph.absent(&named("Other").identity_in(&ns));
    assert_eq!(uids(&effects.delete), ["c"]);
    assert_eq!(kind_of(&graph).as_deref(), Some("Good"));
    let effects = graph.absent(&named("Good").identity_in(&ns));
    assert_eq!(uids(&effects.delete), ["b", "c"]);
    assert_eq!(kind_of(&graph), None);
}

#[test]
fn owners_and_kinds_are_in_memory_once() {
    let mut graph = Graph::default();
    graph.observe(observed("Pod/n/a", &["ReplicaSet/rs"]));
    graph.observe(observed("Pod/n/b", &["ReplicaSet/rs"]));
    let owners: Vec<&Owner> = ["a", "b"].map(|uid| &graph.nodes[uid].owners[0]).into();
    assert!(Arc::ptr_eq(&owners[0].uid, &owners[1].uid));
    assert!(Arc::ptr_eq(&owners[0].gvk, &owners[1].gvk));
}
