use super::*;
use serde_json::json;

fn check_spec(schema: Value, spec: Value) -> Vec<String> {
    let schema = json!({"type": "object", "properties": {"spec": schema}, "required": ["spec"]});
    let errors = validate(&Path::ROOT, &schema, &json!({"spec": spec}));
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn types_are_named_with_what_was_found() {
    assert_eq!(
        check_spec(json!({"type": "string"}), json!(5)),
        [r#"spec: Invalid value: "integer": spec in body must be of type string: "integer""#]
    );
    assert_eq!(
        check_spec(json!({"x-kubernetes-int-or-string": true}), json!(true)),
        [
            r#"spec: Invalid value: "boolean": spec in body must be of type integer,string: "boolean""#
        ]
    );
    assert!(check_spec(json!({"type": "integer"}), json!(5.0)).is_empty());
    assert!(check_spec(json!({"type": "number"}), json!(5)).is_empty());
    assert!(check_spec(json!({"type": "string", "nullable": true}), json!(null)).is_empty());
    let missing = validate(&Path::ROOT, &json!({"required": ["spec"]}), &json!({}));
    assert_eq!(missing[0].to_string(), "spec: Required value");
}

#[test]
fn numbers_and_texts_have_bounds() {
    assert_eq!(
        check_spec(json!({"type": "integer", "maximum": 10.0}), json!(70000)),
        ["spec: Invalid value: 70000: spec in body should be less than or equal to 10"]
    );
    assert_eq!(
        check_spec(json!({"type": "integer", "multipleOf": 5.0}), json!(101)),
        ["spec: Invalid value: 101: spec in body should be a multiple of 5"]
    );
    assert_eq!(
        check_spec(json!({"type": "string", "maxLength": 2}), json!("abc")),
        ["spec: Too long: may not be more than 2 bytes"]
    );
    assert_eq!(
        check_spec(json!({"type": "string", "pattern": "^a$"}), json!("b")),
        [r#"spec: Invalid value: "b": spec in body should match '^a$'"#]
    );
    assert_eq!(
        check_spec(json!({"type": "string", "enum": ["a", "b"]}), json!("c")),
        [r#"spec: Unsupported value: "c": supported values: "a", "b""#]
    );
    assert_eq!(
        check_spec(json!({"type": "string", "format": "ipv4"}), json!("x")),
        [r#"spec: Invalid value: "x": spec in body must be of type ipv4: "x""#]
    );
}

#[test]
fn combinations_say_how_many_branches_hold() {
    let schema = json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert!(check_spec(schema.clone(), json!({"a": 1})).is_empty());
    assert_eq!(
        check_spec(schema.clone(), json!({"a": 1, "b": 2})),
        [
            "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). \
             Found 2 valid alternatives"
        ]
    );
    assert_eq!(
        check_spec(schema, json!({})),
        [
            "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). \
             Found none valid",
            "spec.a: Required value"
        ]
    );
    assert_eq!(
        check_spec(json!({"anyOf": [{"type": "string"}]}), json!(1)),
        [
            "<nil>: Invalid value: \"\": \"spec\" must validate at least one schema (anyOf)",
            "spec: Invalid value: \"integer\": spec in body must be of type string: \"integer\""
        ]
    );
}

#[test]
fn many_faults_below_a_long_key_are_few() {
    let schema = json!({"additionalProperties": {"additionalProperties": {"type": "string"}}});
    let inside: Value = (0..20_000).map(|i| (i.to_string(), json!(i))).collect();
    let key = "k".repeat(500_000);
    let value = json!({&key: inside});
    let errors = validate(&Path::ROOT, &schema, &value);
    let bytes: usize = errors.iter().map(|e| e.to_string().len()).sum();
    assert!(!errors.is_empty() && bytes < 16 * 1024 * 1024, "{bytes}");
    let right: Value = (0..20_000).map(|i| (i.to_string(), json!("x"))).collect();
    assert!(validate(&Path::ROOT, &schema, &json!({key: right})).is_empty());
}

#[test]
fn long_lists_are_compared_in_one_pass() {
    let schema = json!({"type": "array", "uniqueItems": true, "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"], "items": {"properties": {"v": {"type": "string"}}}});
    let list = |v: Value| -> Value { (0..60_000).map(|i| json!({"k": i, "v": v})).collect() };
    let wrong = list(json!(1));
    assert!(validate_change(&Path::ROOT, &schema, &wrong, &wrong).is_empty());
    let errors = validate_change(&Path::ROOT, &schema, &wrong, &list(json!(2)));
    assert_eq!(errors.len(), 1_000);
    assert_eq!(
        errors[7].to_string(),
        "[7].v: Invalid value: \"integer\": [7].v in body must be of type string: \"integer\""
    );
}
