use super::*;
use serde_json::json;

fn texts(errors: &ErrorList) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn created(metadata: Value) -> Vec<String> {
    texts(&validate(
        &metadata,
        true,
        &names::path_segment,
        &Path::new("metadata"),
    ))
}

fn updated(new: Value, old: Value) -> Vec<String> {
    texts(&validate_update(&new, &old, &Path::new("metadata")))
}

#[test]
fn a_name_is_needed_and_has_to_fit_into_a_path() {
    let faults = |name: &str| created(json!({"namespace": "n", "name": name}));
    assert_eq!(
        faults(""),
        ["metadata.name: Required value: name or generateName is required"]
    );
    assert_eq!(
        faults(".."),
        [r#"metadata.name: Invalid value: "..": may not be '..'"#]
    );
    assert_eq!(
        faults("a/b"),
        [r#"metadata.name: Invalid value: "a/b": may not contain '/'"#]
    );
    assert_eq!(faults("a.."), [""; 0]);
}

#[test]
fn namespaces_belong_to_namespaced_kinds_only() {
    assert_eq!(
        created(json!({"name": "a"})),
        ["metadata.namespace: Required value"]
    );
    let metadata = json!({"name": "a", "namespace": "n"});
    let faults = validate(
        &metadata,
        false,
        &names::path_segment,
        &Path::new("metadata"),
    );
    assert_eq!(
        texts(&faults),
        ["metadata.namespace: Forbidden: not allowed on this type"]
    );
}

#[test]
fn owners_are_complete_and_one_is_the_controller() {
    let owner = |kind: &str, name: &str| json!({"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": true});
    let faults =
        |owners: Value| created(json!({"name": "a", "namespace": "n", "ownerReferences": owners}));
    assert_eq!(
        faults(json!([{"apiVersion": "a/b/c", "kind": "", "name": "x", "uid": ""}])),
        [
            r#"metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty"#,
            r#"metadata.ownerReferences.kind: Invalid value: "": must not be empty"#,
            r#"metadata.ownerReferences.uid: Invalid value: "": must not be empty"#,
        ]
    );
    let two = faults(json!([owner("ReplicaSet", "x"), owner("Job", "y")]));
    assert_eq!(two.len(), 1);
    assert!(two[0].starts_with(r#"metadata.ownerReferences: Invalid value: [{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"x","uid":"u","controller":true},{"#));
    assert!(two[0].ends_with(r#"Found "true" in references for ReplicaSet/x and Job/y"#));
    assert_eq!(
        faults(json!([{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}])),
        [
            r#"metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"u"}: /v1, Kind=Event is disallowed from being an owner"#
        ]
    );
}

#[test]
fn finalizers_may_leave_but_not_join_a_dying_object() {
    let old = json!({"name": "a", "deletionTimestamp": "t", "finalizers": ["x.io/a"], "resourceVersion": "1"});
    let mut new = old.clone();
    new["finalizers"] = json!(["x.io/c", "x.io/a", "x.io/b"]);
    assert_eq!(
        updated(new, old.clone()),
        [
            r#"metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.io/b", "x.io/c"}"#
        ]
    );
    let mut new = old.clone();
    new["finalizers"] = json!([]);
    assert_eq!(updated(new, old), [""; 0]);
}

#[test]
fn identity_and_times_stay() {
    let old = json!({"name": "a", "uid": "u", "generation": 2, "creationTimestamp": "t"});
    let new = json!({"name": "b", "uid": "u", "generation": 1, "creationTimestamp": "t", "deletionGracePeriodSeconds": 3});
    assert_eq!(
        updated(new, old),
        [
            r#"metadata.resourceVersion: Invalid value: "": must be specified for an update"#,
            "metadata.generation: Invalid value: 1: must not be decremented",
            r#"metadata.name: Invalid value: "b": field is immutable"#,
            "metadata.deletionGracePeriodSeconds: Invalid value: 3: field is immutable",
        ]
    );
}

#[test]
fn annotations_have_a_size() {
    let metadata =
        json!({"name": "a", "namespace": "n", "annotations": {"UPPER": "x".repeat(300_000)}});
    assert_eq!(
        created(metadata),
        ["metadata.annotations: Too long: may not be more than 262144 bytes"]
    );
}

#[test]
fn managers_are_short_and_printable() {
    let path = Path::new("fieldManager");
    let faults = texts(&validate_field_manager("a\n", &path));
    assert_eq!(
        faults,
        ["fieldManager: Invalid value: \"a\\n\": invalid character U+000A (at position 1)"]
    );
    assert_eq!(validate_field_manager(&"x".repeat(129), &path).len(), 1);
}
