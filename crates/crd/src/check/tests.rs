use super::*;
use serde_json::json;

fn base() -> Value {
    json!({"metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget",
                "listKind": "WidgetList"},
            "conversion": {"strategy": "None"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema":
                {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"x": {"type": "integer"}}}}}}}]},
        "status": {"acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}})
}

/// Faults after a value is put at a path of keys and indices.
fn faults(pointer: &str, value: Value) -> Vec<String> {
    let mut object = base();
    let (holder, key) = pointer.rsplit_once('/').expect("a path");
    object
        .pointer_mut(holder)
        .expect("is there")
        .set(key, value);
    definition(&object)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn names_groups_and_versions_are_checked() {
    assert_eq!(definition(&base()), ErrorList::new());
    for (pointer, value, wanted) in [
        (
            "/spec/scope",
            json!("Odd"),
            r#"spec.scope: Unsupported value: "Odd": supported values: "Cluster", "Namespaced""#,
        ),
        (
            "/spec/names/listKind",
            json!("Widget"),
            r#"spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same"#,
        ),
        (
            "/spec/preserveUnknownFields",
            json!(true),
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ),
        (
            "/metadata/name",
            json!("x.example.com"),
            r#"metadata.name: Invalid value: "x.example.com": must be spec.names.plural+"."+spec.group"#,
        ),
        (
            "/spec/versions/0/schema",
            json!(null),
            "spec.versions[0].schema.openAPIV3Schema: Required value",
        ),
        (
            "/spec/versions/0/selectableFields",
            json!([{"jsonPath": ".spec.no"}]),
            r#"spec.selectableFields[0].jsonPath: Invalid value: ".spec.no": is an invalid path: does not refer to a valid field"#,
        ),
        (
            "/spec/versions/0/selectableFields",
            json!([{"jsonPath": ".spec.x"}, {"jsonPath": ".spec.x"}]),
            r#"spec.selectableFields[1].jsonPath: Duplicate value: ".spec.x""#,
        ),
        (
            "/spec/versions/0/additionalPrinterColumns",
            json!([{"name": "X", "type": "odd", "jsonPath": ".x"}]),
            r#"spec.additionalPrinterColumns[0].type: Invalid value: "odd": must be one of boolean,date,integer,number,string"#,
        ),
        (
            "/spec/versions/0/subresources",
            json!({"scale": {"specReplicasPath": "spec.x", "statusReplicasPath": ".status.y"}}),
            r#"spec.subresources.scale.specReplicasPath: Invalid value: "spec.x": must be a simple json path starting with ."#,
        ),
    ] {
        assert_eq!(faults(pointer, value), [wanted], "{pointer}");
    }
    let webhook = faults("/spec/conversion", json!({"strategy": "Webhook"}));
    assert_eq!(webhook.len(), 2);
}

#[test]
fn schemas_have_to_be_structural() {
    let at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    let place = "spec.validation.openAPIV3Schema.properties[spec]";
    for (schema, wanted) in [
        (
            json!({}),
            ".type: Required value: must not be empty for specified object fields",
        ),
        (
            json!({"type": "odd"}),
            r#".type: Unsupported value: "odd": supported values: "array", "boolean", "integer", "number", "object", "string""#,
        ),
        (
            json!({"type": "array"}),
            ".items: Required value: must be specified",
        ),
        (
            json!({"type": "string", "pattern": "("}),
            ".pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "default": 5}}}),
            r#".properties[a].default: Invalid value: "integer":  in body must be of type string: "integer""#,
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map"}),
            ".x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            json!({"type": "string", "x-kubernetes-validations": [{"rule": ""}]}),
            ".x-kubernetes-validations[0].rule: Required value: rule is not specified",
        ),
    ] {
        let found = faults(at, schema);
        let wanted = format!("{place}{wanted}");
        assert!(
            found.iter().any(|f| f.starts_with(&wanted)),
            "{wanted}: {found:?}"
        );
    }
    let at = "/spec/versions/0/schema/openAPIV3Schema";
    let root = faults(at, json!({"type": "object", "nullable": true}));
    let wanted =
        "spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root";
    assert_eq!(root, [wanted]);
}

#[test]
fn groups_of_the_community_need_approval() {
    let mut object = base();
    object["metadata"]["name"] = json!("widgets.x.k8s.io");
    object["spec"]["group"] = json!("x.k8s.io");
    let found: Vec<String> = definition(&object)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("metadata.annotations[api-approved.kubernetes.io]: Required value")
    );
    for (approval, good) in [
        ("unapproved, soon", true),
        ("https://example.com/1", true),
        ("yes", false),
    ] {
        object["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": approval});
        assert_eq!(definition(&object).is_empty(), good, "{approval}");
    }
}

#[test]
fn some_things_stay_as_they_are() {
    let old = base();
    let mut new = base();
    for object in [&old, &new] {
        assert!(object["metadata"]["resourceVersion"].is_null());
    }
    new["metadata"]["resourceVersion"] = json!("1");
    new["spec"]["names"]["plural"] = json!("others");
    let found: Vec<String> = definition_update(&new, &old)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        found,
        [r#"spec.names.plural: Invalid value: "others": field is immutable"#]
    );
}

#[test]
fn unknown_formats_are_told_once() {
    let mut object = base();
    let at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    let spec = object.pointer_mut(at).expect("is there");
    *spec = json!({"type": "string", "format": "odd"});
    assert_eq!(
        format_warnings(&object, None),
        [r#"unrecognized format "odd""#]
    );
    assert!(format_warnings(&object, Some(&object)).is_empty());
}
