//! Rows of upstream's `rolling_test.go`.

use super::super::tests::{deployment, set, sizes};
use super::*;
use serde_json::json;

fn rolling(replicas: i32, surge: i32, unavailable: i32) -> Arc<Deployment> {
    let limits = json!({"maxSurge": surge, "maxUnavailable": unavailable});
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": limits});
    Arc::new(deployment(
        json!({"replicas": replicas, "strategy": strategy}),
    ))
}

fn sized(name: &str, size: i32, available: i32) -> Arc<ReplicaSet> {
    let mut set = ReplicaSet::clone(&set(name, json!({"replicas": size})));
    let status = set.status.get_or_insert_default();
    status.available_replicas = Some(available);
    Arc::new(set)
}

#[test]
fn the_new_set_grows_as_far_as_it_may() {
    for (wanted, surge, old, new, expected) in [
        (10, 0, 10, 0, None),
        (10, 2, 10, 0, Some(2)),
        (10, 2, 5, 0, Some(7)),
        (10, 2, 10, 2, None),
        (10, 2, 2, 11, Some(10)),
    ] {
        let sets = Sets {
            old: vec![sized("old", old, 0)],
            new: Some(sized("new", new, 0)),
        };
        let new = sets.new.as_ref().expect("a set");
        let write = reconcile_new(&rolling(wanted, surge, 0), &sets, new);
        let changed = sizes(&write.into_iter().collect::<Vec<_>>());
        assert_eq!(changed.get("new").copied(), expected);
    }
}

#[test]
fn old_sets_shrink_as_far_as_they_may() {
    // Wanted, unavailable, the old set and how many are available, the new one likewise.
    for (wanted, unavailable, (old, old_available), (new, new_available), expected) in [
        // Both limits are 0, so that one pod may be unavailable.
        (10, 0, (10, 10), (0, 0), Some(9)),
        (10, 2, (10, 10), (0, 0), Some(8)),
        (10, 2, (10, 8), (0, 0), Some(8)),
        (10, 2, (10, 9), (0, 0), Some(8)),
        // New pods that are not available take nobody down.
        (10, 2, (8, 8), (2, 0), None),
        (10, 2, (10, 1), (0, 0), Some(8)),
        (10, 2, (0, 0), (10, 10), None),
        (10, 2, (8, 8), (2, 2), Some(6)),
        // It has just been scaled and still has pods that have to go: wait.
        (10, 2, (9, 10), (0, 0), None),
        // Rolled over: the pods of the broken set go first (13 pods, 8 have to be available).
        (10, 2, (13, 8), (0, 0), Some(8)),
    ] {
        let sets = Sets {
            old: vec![sized("old", old, old_available)],
            new: Some(sized("new", new, new_available)),
        };
        let deployment = rolling(wanted, 0, unavailable);
        let new = sets.new.as_ref().expect("a set");
        let row = (old, old_available, new_available);
        let Some(writes) = unhealthy(&deployment, &sets, new) else {
            assert_eq!(None, expected, "{row:?}");
            continue;
        };
        let left = sizes(&writes).get("old").copied();
        let sets = Sets {
            old: vec![sized("old", left.unwrap_or(old), old_available)],
            new: sets.new.clone(),
        };
        let further = sizes(&surplus(&deployment, &sets, new));
        let changed = further.get("old").copied().or(left);
        assert_eq!(changed, expected, "{row:?}");
    }
}

#[test]
fn pods_that_are_not_available_go_first() {
    for (available, allowed, gone) in [(8, 1, 1), (8, 3, 2), (8, 0, 0), (10, 3, 0)] {
        let set = sized("old", 10, available);
        let mut old = [Shrinking::new(&set)];
        assert!(clean_up_unhealthy(&mut old, allowed));
        assert_eq!(old[0].size, 10 - gone);
    }
    // From the oldest set on; what is allowed is for all of them.
    let (one, two, three) = (sized("1", 4, 1), sized("2", 4, 1), sized("3", 4, 1));
    let mut old = [&one, &two, &three].map(Shrinking::new);
    assert!(clean_up_unhealthy(&mut old, 4));
    assert_eq!([old[0].size, old[1].size, old[2].size], [1, 3, 4]);
    scale_down(&mut old, 5);
    assert_eq!([old[0].size, old[1].size, old[2].size], [0, 0, 3]);
    scale_down(&mut old, -5);
    assert_eq!([old[0].size, old[1].size, old[2].size], [0, 0, 3]);
}
