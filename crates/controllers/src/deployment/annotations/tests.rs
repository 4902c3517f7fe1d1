//! What upstream's `TestAnnotationUtils` checks, and the history.

use super::super::tests::deployment;
use super::*;
use serde_json::json;

fn of(pairs: &[(&str, &str)]) -> Annotations {
    let pairs = pairs.iter();
    pairs
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect()
}

#[test]
fn a_new_set_is_told_what_the_deployment_is() {
    let limits = json!({"maxSurge": 2});
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": limits});
    let mut deployment = deployment(json!({"replicas": 5, "strategy": strategy}));
    deployment.metadata.annotations = Some(of(&[
        ("note", "x"),
        (LAST_APPLIED, "{}"),
        (REVISION, "7"),
        (REVISION_HISTORY, "1"),
        (ROLLBACK_TO, "1"),
    ]));
    let mut noted = Annotations::new();
    assert!(set_for_new(&mut noted, &deployment, 3, false));
    let expected = [
        (REVISION, "3"),
        (DESIRED_REPLICAS, "5"),
        (MAX_REPLICAS, "7"),
        ("note", "x"),
    ];
    assert_eq!(noted, of(&expected));
    assert!(!set_for_new(&mut noted, &deployment, 3, false));
    // Old sets may be gone: a revision never becomes smaller.
    assert!(!set_for_new(&mut noted, &deployment, 2, true));
    // How many pods are wanted is for whoever scales.
    deployment.spec.get_or_insert_default().replicas = Some(6);
    assert!(!set_for_new(&mut noted, &deployment, 3, true));
}

#[test]
fn revisions_are_remembered() {
    let deployment = deployment(json!({"replicas": 1}));
    let mut noted = of(&[(REVISION, "1")]);
    for revision in [3, 5] {
        assert!(set_for_new(&mut noted, &deployment, revision, true));
    }
    assert_eq!(noted, of(&[(REVISION, "5"), (REVISION_HISTORY, "1,3")]));
    let mut odd = of(&[(REVISION, "first")]);
    assert!(!set_for_new(&mut odd, &deployment, 2, true));
    assert_eq!(odd, of(&[(REVISION, "first")]));
}

#[test]
fn the_history_forgets_what_is_too_long_ago() {
    let deployment = deployment(json!({"replicas": 1}));
    let entries: Vec<String> = (1000..1400).map(|entry| entry.to_string()).collect();
    let mut noted = of(&[(REVISION, "15000"), (REVISION_HISTORY, &entries.join(","))]);
    set_for_new(&mut noted, &deployment, 15001, true);
    let history = &noted[REVISION_HISTORY];
    assert!(history.len() <= HISTORY_MAX_CHARS);
    assert!(history.starts_with("1001,1002,"), "{}", &history[..20]);
    assert!(history.ends_with(",1399,15000"));
    // One that is too long by itself is not remembered.
    let long = format!("{}1", "0".repeat(2001));
    let mut noted = of(&[(REVISION, &long), (REVISION_HISTORY, "1,2")]);
    set_for_new(&mut noted, &deployment, 3, true);
    assert_eq!(noted[REVISION_HISTORY], "1,2");
}

#[test]
fn counts_are_plain_numbers() {
    for (text, expected) in [
        ("0", Some(0)),
        ("12", Some(12)),
        ("2147483647", Some(i32::MAX)),
        ("2147483648", None),
        ("-1", None),
        ("+1", None),
        ("", None),
        ("x", None),
    ] {
        let set = ReplicaSet {
            metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                annotations: Some(of(&[(MAX_REPLICAS, text)])),
                ..Default::default()
            },
            ..ReplicaSet::default()
        };
        assert_eq!(count_in(&set, MAX_REPLICAS), expected, "{text}");
        assert_eq!(count_in(&set, DESIRED_REPLICAS), None);
    }
}
