//! Rows of upstream's `TestDeploymentController_cleanupDeployment` and `…Order`.

use super::super::sets::REVISION;
use super::super::tests::{deployment, set};
use super::*;

/// A set by name, with its revision, how many pods it wants and how many it has.
fn sized(name: &str, revision: &str, size: i32, present: i32) -> Arc<ReplicaSet> {
    let mut set = ReplicaSet::clone(&set(name, json!({ "replicas": size })));
    set.status.get_or_insert_default().replicas = present;
    set.metadata.annotations = Some([(REVISION.to_owned(), revision.to_owned())].into());
    Arc::new(set)
}

fn cleaned(sets: &[Arc<ReplicaSet>], limit: Option<i32>) -> Vec<String> {
    let mut deployment = deployment(json!({"replicas": 1}));
    deployment
        .spec
        .get_or_insert_default()
        .revision_history_limit = limit;
    let writes = clean_up(&deployment, sets);
    writes
        .iter()
        .map(|write| write.key.name.to_string())
        .collect()
}

#[test]
fn what_is_beyond_the_limit_goes_unless_it_has_pods() {
    let idle = ["1", "2", "3"].map(|name| sized(name, name, 0, 0));
    assert_eq!(cleaned(&idle, Some(1)), ["1", "2"]);
    assert_eq!(cleaned(&idle, Some(0)), ["1", "2", "3"]);
    assert!(cleaned(&idle, Some(3)).is_empty());
    assert!(cleaned(&idle, Some(i32::MAX)).is_empty());
    assert!(cleaned(&idle, None).is_empty());
    let busy = [
        sized("1", "1", 0, 0),
        sized("2", "2", 0, 1),
        sized("3", "3", 1, 0),
        sized("4", "4", 1, 1),
    ];
    assert_eq!(cleaned(&busy, Some(0)), ["1"]);
    // Those that have pods take the place of those that might go.
    assert!(cleaned(&busy[1..], Some(2)).is_empty());
}

#[test]
fn what_is_going_or_not_looked_at_stays() {
    let mut going = ReplicaSet::clone(&sized("1", "1", 0, 0));
    let time = json!("2026-03-01T12:00:00Z");
    going.metadata.deletion_timestamp = serde_json::from_value(time).expect("a time");
    assert!(cleaned(&[Arc::new(going)], Some(0)).is_empty());
    let mut unseen = ReplicaSet::clone(&sized("1", "1", 0, 0));
    unseen.metadata.generation = Some(2);
    unseen.status.get_or_insert_default().observed_generation = Some(1);
    assert!(cleaned(&[Arc::new(unseen)], Some(0)).is_empty());
}

#[test]
fn the_lowest_revision_goes_first_then_the_oldest() {
    let aged = |name: &str, revision: &str, created: &str| {
        let mut set = ReplicaSet::clone(&sized(name, revision, 0, 0));
        set.metadata.creation_timestamp = serde_json::from_value(json!(created)).expect("a time");
        Arc::new(set)
    };
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z");
    // The older one was rolled back to: it has the higher revision.
    let sets = [aged("1", "3", early), aged("2", "2", late)];
    assert_eq!(cleaned(&sets, Some(1)), ["2"]);
    let sets = [aged("1", "x", late), aged("2", "2", early)];
    assert_eq!(cleaned(&sets, Some(1)), ["2"]);
    let sets = [aged("b", "2", early), aged("a", "2", early)];
    assert_eq!(cleaned(&sets, Some(1)), ["a"]);
    // Ten is more than nine.
    let sets = [aged("ten", "10", early), aged("nine", "9", late)];
    assert_eq!(cleaned(&sets, Some(1)), ["nine"]);
}
