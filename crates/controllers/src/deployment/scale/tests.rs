//! Rows of upstream's `TestScale`.

use super::super::annotations::MAX_REPLICAS;
use super::super::tests::{deployment, set, sizes};
use super::*;
use serde_json::json;

/// A size of the Deployment, and the sizes of its sets: old ones, oldest first, and the new one.
type Sizes<'a> = (i32, &'a [i32], Option<i32>);

fn rolling(replicas: i32, surge: i32) -> Arc<Deployment> {
    let limits = json!({"maxSurge": surge, "maxUnavailable": 0});
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": limits});
    Arc::new(deployment(
        json!({"replicas": replicas, "strategy": strategy}),
    ))
}

fn noting(set: &Arc<ReplicaSet>, desired: i32, max: i32) -> Arc<ReplicaSet> {
    let mut set = ReplicaSet::clone(set);
    let noted = set.metadata.annotations.get_or_insert_default();
    noted.insert(DESIRED_REPLICAS.to_owned(), desired.to_string());
    noted.insert(MAX_REPLICAS.to_owned(), max.to_string());
    Arc::new(set)
}

/// Scales a Deployment with some surge before and after, and compares the sizes of its sets.
fn check(before: Sizes<'_>, surge: i32, after: Sizes<'_>, new_surge: i32) {
    let noted = |name: &str, size: i32| {
        noting(
            &set(name, json!({"replicas": size})),
            before.0,
            before.0 + surge,
        )
    };
    let names = ["v1", "v2", "v3"];
    let old = names.iter().zip(before.1);
    let sets = Sets {
        old: old.map(|(name, size)| noted(name, *size)).collect(),
        new: before.2.map(|size| noted("v9", size)),
    };
    let writes = scale(&rolling(after.0, new_surge), &sets);
    let changed = sizes(&writes);
    let size = |set: &Arc<ReplicaSet>| changed.get(name(&**set)).copied().unwrap_or(replicas(set));
    let old: Vec<i32> = sets.old.iter().map(size).collect();
    let new = sets.new.as_ref().map(size);
    assert_eq!((old.as_slice(), new), (after.1, after.2), "{before:?}");
}

#[test]
fn sets_are_scaled_in_proportion() {
    check((10, &[], Some(10)), 0, (12, &[], Some(12)), 0);
    check((10, &[], Some(10)), 0, (5, &[], Some(5)), 0);
    check((5, &[3], Some(2)), 0, (10, &[6], Some(4)), 0);
    check((5, &[3], Some(2)), 0, (3, &[2], Some(1)), 0);
    check((9, &[1], Some(8)), 0, (4, &[0], Some(4)), 0);
    check((7, &[2, 3], Some(2)), 0, (10, &[3, 4], Some(3)), 0);
    check((13, &[3, 8], Some(2)), 0, (8, &[2, 5], Some(1)), 0);
    // What is left over makes the newest larger, or the oldest smaller.
    check((3, &[1, 1], Some(1)), 0, (4, &[1, 1], Some(2)), 0);
    check((3, &[1, 1], Some(1)), 0, (2, &[0, 1], Some(1)), 0);
    check((4, &[2, 2], None), 0, (5, &[2, 3], None), 0);
    check((6, &[1, 2], Some(3)), 0, (0, &[0, 0], Some(0)), 0);
    // Nobody has pods: the new one gets all.
    check((6, &[0, 0], Some(0)), 0, (6, &[0, 0], Some(6)), 0);
    check((6, &[0, 0], None), 0, (6, &[0, 6], None), 0);
    // With surge, and when surge changes as well.
    check((10, &[6], Some(6)), 2, (20, &[11], Some(11)), 2);
    check((10, &[8], Some(5)), 3, (50, &[34], Some(22)), 6);
    check((10, &[3, 7], None), 0, (14, &[4, 10], None), 0);
    // The new set has all its pods, but they do not work: old ones stay.
    check((2, &[1], Some(2)), 1, (2, &[1], Some(2)), 1);
    check((3, &[], None), 0, (5, &[], None), 0);
}

/// The others have been scaled before; one failed then.
#[test]
fn a_set_that_could_not_be_scaled_is_scaled_again() {
    let of =
        |name: &str, size, desired| noting(&set(name, json!({"replicas": size})), desired, desired);
    let sets = Sets {
        old: vec![of("v1", 1, 5), of("v2", 1, 3)],
        new: Some(of("v9", 2, 5)),
    };
    let deployment = rolling(5, 0);
    assert!(is_scaling_event(&deployment, &sets));
    let changed = sizes(&scale(&deployment, &sets));
    assert_eq!(changed, [("v2".to_owned(), 2)].into());
}

#[test]
fn old_sets_go_when_the_new_one_is_saturated() {
    let of = |name: &str, size: i32, available: i32| {
        let status = json!({"replicas": size, "availableReplicas": available});
        let set = set(name, json!({"replicas": size}));
        let set = ReplicaSet {
            status: serde_json::from_value(status).expect("a status"),
            ..ReplicaSet::clone(&set)
        };
        noting(&Arc::new(set), 3, 4)
    };
    let sets = |available| Sets {
        old: vec![of("v1", 2, 2)],
        new: Some(of("v9", 3, available)),
    };
    let deployment = rolling(3, 1);
    assert_eq!(
        sizes(&scale(&deployment, &sets(3))),
        [("v1".to_owned(), 0)].into()
    );
    // Otherwise one pod too many is taken from the largest.
    assert_eq!(
        sizes(&scale(&deployment, &sets(2))),
        [("v9".to_owned(), 2)].into()
    );
}

#[test]
fn deployments_that_recreate_do_not_scale_in_proportion() {
    let of = |name: &str| noting(&set(name, json!({"replicas": 2})), 2, 2);
    let sets = Sets {
        old: vec![of("v1")],
        new: Some(of("v9")),
    };
    let recreate = json!({"replicas": 4, "strategy": {"type": "Recreate"}});
    let recreate = Arc::new(deployment(recreate));
    assert!(scale(&recreate, &sets).is_empty());
}

#[test]
fn only_sets_with_pods_tell_of_scaling() {
    let sets = |old: i32| Sets {
        old: vec![noting(&set("v1", json!({"replicas": old})), 7, 7)],
        new: Some(noting(&set("v9", json!({"replicas": 3})), 3, 3)),
    };
    assert!(is_scaling_event(&rolling(3, 0), &sets(1)));
    assert!(!is_scaling_event(&rolling(3, 0), &sets(0)));
    assert!(is_scaling_event(&rolling(4, 0), &sets(0)));
}
