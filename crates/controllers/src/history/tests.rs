use super::*;
use crate::testing::World;
use k8s_openapi::api::apps::v1::StatefulSet;

fn template(image: &str) -> PodTemplateSpec {
    let template = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": image}]},
    });
    serde_json::from_value(template).expect("a template")
}

/// What Go's `HashControllerRevision` says of these bytes (FNV-1, 32 bits).
#[test]
fn hashes_are_upstreams() {
    assert_eq!(
        go_json(&json!({"b": "<&>", "a": 1})),
        r#"{"a":1,"b":"\u003c\u0026\u003e"}"#
    );
    // FNV-1 of `null0`.
    let mut sum: u32 = 2_166_136_261;
    for byte in b"null0" {
        sum = sum.wrapping_mul(16_777_619) ^ u32::from(*byte);
    }
    let digits = sum.to_string();
    let letters: String = digits
        .bytes()
        .map(|d| char::from(b"bcdfghjklmnpqrstvwxz2456789"[usize::from(d) % 27]))
        .collect();
    assert_eq!(hash(&Value::Null, 0), letters);
    assert_ne!(hash(&Value::Null, 1), letters);
}

#[test]
fn a_revision_gives_the_template_back() {
    let mut world = World::default();
    let set = world.add_json::<StatefulSet>(json!({
        "metadata": {"name": "web", "namespace": "shop", "annotations": {"kubernetes.io/change-cause": "why"}},
        "spec": {"selector": {}, "template": template("one")},
    }));
    let revision = new_revision(&*set, &set.spec.as_ref().unwrap().template, 7, 0);
    let data = &revision.data.as_ref().unwrap().0;
    assert_eq!(data["spec"]["template"]["$patch"], "replace");
    let hash = hash(data, 0);
    assert_eq!(name(&revision), format!("web-{hash}"));
    assert_eq!(labels(&revision)[HASH_LABEL], hash);
    assert_eq!(labels(&revision)["app"], "web");
    assert_eq!(revision.metadata.annotations, set.metadata.annotations);
    assert_eq!(revision.revision, 7);
    assert!(matches(&revision, &template("one")));
    assert!(!matches(&revision, &template("two")));
    // What another writer wrote otherwise means the same.
    let mut other = revision.clone();
    let data = json!({"spec": {"template": {
        "$patch": "replace",
        "metadata": {"creationTimestamp": null, "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "one"}]},
    }}});
    other.data = Some(RawExtension(data));
    assert!(matches(&other, &template("one")));
}

#[test]
fn long_names_are_cut() {
    let long = "a".repeat(230);
    assert_eq!(revision_name(&long, "x").len(), 223 + 2);
    assert_eq!(revision_name("web", "x"), "web-x");
}

/// Upstream's `TestSortControllerRevisions`.
#[test]
fn revisions_are_sorted_by_number_then_age_then_name() {
    let revision = |name: &str, number: i64, created: &str| {
        let revision =
            json!({"metadata": {"name": name, "creationTimestamp": created}, "revision": number});
        Arc::new(serde_json::from_value::<ControllerRevision>(revision).expect("a revision"))
    };
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
    let mut all = vec![
        revision("e", 3, early),
        revision("d", 2, late),
        revision("c", 2, early),
        revision("b", 2, early),
        revision("a", 1, late),
    ];
    sort(&mut all);
    let names: Vec<&str> = all.iter().map(|revision| name(&**revision)).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
}
