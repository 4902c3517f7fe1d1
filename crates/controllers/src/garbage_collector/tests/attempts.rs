//! What becomes of objects when their owners go. Upstream: `garbagecollector_test.go` and the scenarios of
//! `test/e2e/apimachinery/garbage_collector.go`.

use super::super::*;
use super::world::World;

/// `create` as `Kind/ns/name: owner owner`, then a deletion; what is left, and what was done.
fn check(objects: &[(&str, &[&str])], delete: (&str, Policy), left: &str, log: &[&str]) {
    let mut world = World::default();
    for (name, owners) in objects {
        world.create(name, owners);
    }
    world.settle();
    world.take_log();
    world.server.delete(delete.0, delete.1);
    world.settle();
    assert_eq!(world.names(), left, "{objects:?} {delete:?}");
    assert_eq!(world.take_log(), log, "{objects:?} {delete:?}");
}

#[test]
fn dependents_go_after_their_owner() {
    let objects: &[(&str, &[&str])] = &[
        ("Deployment/n/d", &[]),
        ("ReplicaSet/n/rs", &["Deployment/d!"]),
        ("Pod/n/p1", &["ReplicaSet/rs!"]),
        ("Pod/n/p2", &["ReplicaSet/rs!"]),
        ("Pod/n/other", &[]),
    ];
    let log = [
        "delete rs Background",
        "delete p1 Background",
        "delete p2 Background",
    ];
    check(objects, ("d", Policy::Background), "other", &log);
    check(objects, ("rs", Policy::Background), "d other", &log[1..]);
}

#[test]
fn dependents_go_before_an_owner_that_waits() {
    check(
        &[
            ("Deployment/n/d", &[]),
            ("ReplicaSet/n/rs", &["Deployment/d!"]),
            ("Pod/n/p1", &["ReplicaSet/rs!"]),
            ("Pod/n/p2", &["ReplicaSet/rs"]),
        ],
        ("d", Policy::Foreground),
        "",
        &[
            "delete rs Foreground",
            "delete p1 Background",
            "delete p2 Background",
            "patch rs finalizers []",
            "patch d finalizers []",
        ],
    );
    // Who does not block is not waited for.
    check(
        &[("Deployment/n/d", &[]), ("Pod/n/p", &["Deployment/d"])],
        ("d", Policy::Foreground),
        "",
        &["delete p Background", "patch d finalizers []"],
    );
}

#[test]
fn dependents_of_an_orphaning_owner_forget_it_and_stay() {
    check(
        &[
            ("Deployment/n/d", &[]),
            ("ReplicaSet/n/rs", &["Deployment/d!"]),
            ("CustomThing/n/thing", &["Deployment/d!", "ReplicaSet/rs"]),
            ("Pod/n/p", &["ReplicaSet/rs!"]),
        ],
        ("d", Policy::Orphan),
        "thing p rs",
        &[
            "patch rs owners []",
            "patch thing owners [rs]",
            "patch d finalizers []",
        ],
    );
}

#[test]
fn one_owner_that_stays_is_enough() {
    for (policy, log) in [
        (Policy::Background, vec!["patch p owners [b!]"]),
        (
            Policy::Foreground,
            vec!["patch p owners [b!]", "patch a finalizers []"],
        ),
    ] {
        check(
            &[
                ("ReplicaSet/n/a", &[]),
                ("ReplicaSet/n/b", &[]),
                ("Pod/n/p", &["ReplicaSet/a!", "ReplicaSet/b!"]),
            ],
            ("a", policy),
            "p b",
            &log,
        );
    }
}

/// Upstream's e2e: "should not be blocked by dependency circle".
#[test]
fn circles_go_as_well() {
    for policy in [Policy::Background, Policy::Foreground] {
        let mut world = World::default();
        world.create("Pod/n/a", &["Pod/c!"]);
        world.create("Pod/n/b", &["Pod/a!"]);
        world.create("Pod/n/c", &["Pod/b!"]);
        world.settle();
        assert_eq!(world.names(), "a b c");
        world.server.delete("a", policy);
        world.settle();
        assert_eq!(world.names(), "", "{policy:?} {:?}", world.take_log());
    }
}

#[test]
fn finalizers_of_the_dependent_say_how_it_goes() {
    for (finalizer, expected) in [
        (ORPHAN, "delete p Orphan"),
        (FOREGROUND, "delete p Foreground"),
    ] {
        let mut world = World::default();
        world.create_with("Pod/n/p", &["ReplicaSet/gone"], &[finalizer]);
        world.create("Pod/n/q", &["Pod/p"]);
        world.settle();
        assert_eq!(world.take_log()[0], expected);
        assert_eq!(world.names(), if finalizer == ORPHAN { "q" } else { "" });
    }
}

#[test]
fn owners_that_never_were_are_dangling() {
    let mut world = World::default();
    // Another object has the name of the owner.
    world.create("ReplicaSet/n/rs", &[]);
    world.server.objects.values_mut().for_each(|object| {
        object.identity.uid = "another".into();
    });
    world.server.events.clear();
    world.create("Pod/n/p", &["ReplicaSet/rs"]);
    world.create("Pod/n/q", &["ReplicaSet/never", "ClusterThing/never2"]);
    world.settle();
    assert_eq!(world.names(), "rs");
    assert_eq!(world.graph.len(), 0, "virtual owners are forgotten");
}

/// Upstream's e2e: "should support cascading deletion of custom resources", and owners without namespace.
#[test]
fn custom_and_cluster_scoped_kinds_take_part() {
    check(
        &[
            ("ClusterThing//owner", &[]),
            ("CustomThing/n/child", &["ClusterThing/owner"]),
            ("Pod/m/grandchild", &["ClusterThing/owner"]),
            ("ClusterThing//sibling", &["ClusterThing/owner"]),
        ],
        ("owner", Policy::Background),
        "",
        &[
            "delete child Background",
            "delete grandchild Background",
            "delete sibling Background",
        ],
    );
    // An object without a namespace cannot have an owner with one; it stays.
    let mut world = World::default();
    world.create("ClusterThing//thing", &["Pod/p"]);
    world.settle();
    assert_eq!(world.names(), "thing");
}

#[test]
fn an_owner_in_another_namespace_is_no_owner() {
    for owner_first in [true, false] {
        let mut world = World::default();
        if owner_first {
            world.create("ReplicaSet/a/rs", &[]);
            world.settle();
        }
        world.create("Pod/b/bad", &["ReplicaSet/rs"]);
        while let Some(kind) = world.telling().first() {
            world.tell(kind);
        }
        if !owner_first {
            world.create("ReplicaSet/a/rs", &[]);
        }
        world.create("Pod/a/good", &["ReplicaSet/rs"]);
        world.settle();
        assert_eq!(world.names(), "good rs", "{owner_first}");
        let told = "ownerRef [v1/ReplicaSet, namespace: b, name: rs, uid: rs] does not exist in namespace \"b\"";
        assert_eq!(world.invalid, [told], "{owner_first}");
    }
}

#[test]
fn changes_that_have_nothing_to_do_with_owners_do_not_keep_an_object() {
    for (change_owners, left) in [(false, "rs2"), (true, "p rs2")] {
        let mut world = World::default();
        world.create("ReplicaSet/n/rs2", &[]);
        world.create("Pod/n/p", &["ReplicaSet/gone"]);
        while let Some(kind) = world.telling().first() {
            world.tell(kind);
        }
        while world.begin() {}
        // Each conversation goes on until the deletion is about to be sent.
        for _ in 0..2 {
            for number in (0..world.jobs()).rev() {
                world.step(number);
            }
            while world.begin() {}
        }
        let mut pod = world.server.by_uid("p").unwrap().clone();
        if change_owners {
            pod.owners.push(super::world::owner("ReplicaSet/rs2"));
        }
        world.server.store(pod);
        world.settle();
        assert_eq!(world.names(), left);
    }
}

#[test]
fn an_owner_that_does_not_have_to_wait_any_more_goes() {
    for change in [0, 1, 2] {
        let mut world = World::default();
        world.create("Deployment/n/d", &[]);
        world.create_with("Pod/n/p", &["Deployment/d!"], &["keep.me/here"]);
        world.settle();
        world.server.delete("d", Policy::Foreground);
        world.settle();
        assert_eq!(world.names(), "d p");
        let mut pod = world.server.by_uid("p").unwrap().clone();
        match change {
            0 => pod.owners.clear(),
            1 => pod.owners[0].block = Some(false),
            _ => pod.finalizers.clear(),
        }
        world.server.store(pod);
        world.settle();
        assert_eq!(world.names(), if change == 2 { "" } else { "p" });
    }
}
