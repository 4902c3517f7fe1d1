//! Rows of upstream's `deployment_util_test.go`.

use super::super::tests::{deployment, set};
use super::*;
use serde_json::{Value, json};

fn rolling(replicas: i32, surge: Value, unavailable: Value) -> Deployment {
    let limits = json!({"maxSurge": surge, "maxUnavailable": unavailable});
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": limits});
    deployment(json!({"replicas": replicas, "strategy": strategy}))
}

#[test]
fn fenceposts_are_numbers() {
    let text = |text: &str| IntOrString::String(text.to_owned());
    let rows = [
        (Some("0%"), Some("0%"), 0, Some((0, 1))),
        (Some("39%"), Some("39%"), 10, Some((4, 3))),
        (Some("oops"), Some("39%"), 10, None),
        (Some("55%"), Some("urg"), 10, None),
        (None, Some("39%"), 10, Some((0, 3))),
        (Some("39%"), None, 10, Some((4, 0))),
        (None, None, 10, Some((0, 1))),
        // The example in upstream's comment.
        (Some("0%"), Some("1%"), 2, Some((0, 1))),
        (Some("1%"), Some("25%"), 2, Some((1, 0))),
    ];
    for (surge, unavailable, desired, expected) in rows {
        let (one, two) = (surge.map(text), unavailable.map(text));
        let resolved = resolve_fenceposts(one.as_ref(), two.as_ref(), desired);
        assert_eq!(resolved, expected, "{surge:?} {unavailable:?} of {desired}");
    }
}

#[test]
fn no_more_pods_are_unavailable_than_there_are() {
    for (replicas, unavailable, expected) in [
        (10, json!(5), 5),
        (10, json!(10), 10),
        (5, json!(10), 5),
        (0, json!(10), 0),
        (10, json!("50%"), 5),
        (10, json!("100%"), 10),
        (5, json!("100%"), 5),
    ] {
        let deployment = rolling(replicas, json!(1), unavailable.clone());
        assert_eq!(
            max_unavailable(&deployment),
            expected,
            "{unavailable} of {replicas}"
        );
    }
    let recreate = deployment(json!({"replicas": 5, "strategy": {"type": "Recreate"}}));
    assert_eq!((max_unavailable(&recreate), max_surge(&recreate)), (0, 0));
}

#[test]
fn a_new_set_grows_as_far_as_surge_allows() {
    let other = [set("other", json!({"replicas": 5}))];
    for (wanted, present, surge, expected) in [(1, 5, 1, 5), (6, 2, 10, 6), (6, 0, 1, 2)] {
        let deployment = rolling(wanted, json!(surge), json!(1));
        assert_eq!(new_replicas(&deployment, &other, present), expected);
    }
    let recreate = deployment(json!({"replicas": 3, "strategy": {"type": "Recreate"}}));
    assert_eq!(new_replicas(&recreate, &other, 1), 3);
}

#[test]
fn sets_scale_with_their_deployment() {
    // Wanted, present, surge, size of the set, what it allowed before, and by how much it changes.
    for (wanted, present, surge, size, before, expected) in [
        (0, 0, 0, 10, None, -10),
        (10, 0, 0, 5, None, 0),
        (10, 0, 0, 5, Some("0"), 0),
        (120, 100, 0, 50, None, 10),
        (120, 100, 0, 50, Some("0"), 10),
        (120, 100, 0, 50, Some("-1"), 10),
        (120, 100, 0, 50, Some("99999999999"), 10),
        (120, 0, 0, 50, Some("100"), 10),
        (120, 0, 10, 50, Some("110"), 9),
        (10, 0, 0, 6, Some("12"), -1),
        (100, 0, 10, 50, Some("130"), -8),
    ] {
        let mut deployment = rolling(wanted, json!(surge), json!(1));
        deployment.status.get_or_insert_default().replicas = Some(present);
        let mut set = ReplicaSet::clone(&set("s", json!({"replicas": size})));
        if let Some(before) = before {
            let noted = set.metadata.annotations.get_or_insert_default();
            noted.insert(MAX_REPLICAS.to_owned(), before.to_owned());
        }
        assert_eq!(
            fraction(&set, &deployment),
            expected,
            "{size} of {before:?}"
        );
    }
}

#[test]
fn shares_stay_within_what_is_left() {
    let deployment = rolling(120, json!(0), json!(1));
    let mut of = ReplicaSet::clone(&set("s", json!({"replicas": 50})));
    of.metadata.annotations = Some([(MAX_REPLICAS.to_owned(), "100".to_owned())].into());
    assert_eq!(proportion(&of, &deployment, 20, 0), 10);
    assert_eq!(proportion(&of, &deployment, 20, 15), 5);
    assert_eq!(proportion(&of, &deployment, 20, 20), 0);
    assert_eq!(proportion(&of, &deployment, 0, 0), 0);
    let smaller = rolling(50, json!(0), json!(1));
    assert_eq!(proportion(&of, &smaller, -50, 0), -25);
    assert_eq!(proportion(&of, &smaller, -50, -40), -10);
}
