use super::{compare, field_set, merge, reconcile, remove, validate};
use crate::fields::Set;
use serde_json::{Value, json};
use stowplan_schema::{Field, List, ListKind, Object, Scalar, Type, TypeRef, type_of};

fn service() -> &'static Type {
    type_of("io.k8s.api.core.v1.Service").expect("a built-in type")
}

fn check_merge(ty: &Type, under: Value, over: Value, expected: Value) {
    assert_eq!(merge(ty, &under, &over), Ok(expected), "{under} and {over}");
}

#[test]
fn leaves_elements_and_keys_of_maps_are_fields() {
    let object = json!({
        "metadata": {"labels": {"a": "1"}, "finalizers": ["x"]},
        "spec": {"ports": [{"port": 80, "name": "web"}], "externalIPs": []},
    });
    assert_eq!(
        field_set(service(), &object).map(|set| set.encode()),
        Ok(json!({
            "f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {"v:\"x\"": {}}},
            "f:spec": {
                "f:ports": {
                    "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:name": {}},
                },
                "f:externalIPs": {},
            },
        }))
    );
}

#[test]
fn duplicates_are_one_field() {
    let object = json!({"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]}});
    assert_eq!(
        field_set(service(), &object).map(|set| set.encode()),
        Ok(json!({"f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {}}}}))
    );
}

#[test]
fn differences_are_told_apart() {
    let old = json!({
        "metadata": {"labels": {"a": "1", "b": "1"}},
        "spec": {"ports": [{"port": 80}, {"port": 81}], "externalIPs": ["1.1.1.1"]},
    });
    let new = json!({
        "metadata": {"labels": {"a": "2", "c": "1"}},
        "spec": {"ports": [{"port": 81, "name": "x"}, {"port": 82}], "externalIPs": ["2.2.2.2"]},
    });
    let changes = compare(service(), &old, &new).expect("valid objects");
    assert_eq!(
        changes.modified.encode(),
        json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:externalIPs": {}}})
    );
    assert_eq!(
        changes.removed.encode(),
        json!({
            "f:metadata": {"f:labels": {"f:b": {}}},
            "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}},
        })
    );
    assert_eq!(
        changes.added.encode(),
        json!({
            "f:metadata": {"f:labels": {"f:c": {}}},
            "f:spec": {"f:ports": {
                "k:{\"port\":81,\"protocol\":\"TCP\"}": {"f:name": {}},
                "k:{\"port\":82,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}},
            }},
        })
    );
}

#[test]
fn maps_and_keyed_lists_are_merged_and_the_rest_replaced() {
    check_merge(
        service(),
        json!({"spec": {"ports": [{"port": 80, "name": "a"}], "externalIPs": ["1.1.1.1"]}}),
        json!({"spec": {"ports": [{"port": 80, "targetPort": 1}], "externalIPs": ["2.2.2.2"]}}),
        json!({"spec": {
            "ports": [{"port": 80, "name": "a", "targetPort": 1}], "externalIPs": ["2.2.2.2"]
        }}),
    );
}

#[test]
fn merged_lists_take_the_order_of_what_is_laid_over() {
    let finalizers = |list: &[&str]| json!({"metadata": {"finalizers": list}});
    let cases: [(&[&str], &[&str], &[&str]); 5] = [
        (&["a", "b", "c"], &["c", "a"], &["b", "c", "a"]),
        (&["a", "b"], &["x", "a", "y"], &["x", "a", "b", "y"]),
        (&["a", "b"], &["z"], &["a", "b", "z"]),
        (&[], &["z", "y"], &["z", "y"]),
        (&["a"], &[], &["a"]),
    ];
    for (under, over, expected) in cases {
        check_merge(
            service(),
            finalizers(under),
            finalizers(over),
            finalizers(expected),
        );
    }
}

#[test]
fn what_loses_everything_becomes_null() {
    let object =
        json!({"metadata": {"labels": {"a": "1"}, "name": "x"}, "spec": {"ports": [{"port": 1}]}});
    let fields = json!({
        "f:metadata": {"f:labels": {"f:a": {}}},
        "f:spec": {"f:ports": {"k:{\"port\":1,\"protocol\":\"TCP\"}": {}}},
    });
    let fields = Set::decode(&fields).expect("valid fieldsV1");
    assert_eq!(
        remove(service(), &object, &fields),
        json!({"metadata": {"labels": null, "name": "x"}, "spec": {"ports": null}})
    );
}

#[test]
fn faults_are_named_as_upstream_names_them() {
    let cases = [
        (json!({"nope": 1}), ".nope: field not declared in schema"),
        (
            json!({"metadata": {"finalizers": ["a", "a"]}}),
            ".metadata.finalizers: duplicate entries for key [=\"a\"]",
        ),
        (
            json!({"spec": {"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]}}),
            ".spec.ports: duplicate entries for key [port=80,protocol=\"TCP\"]",
        ),
        (
            json!({"spec": {"ports": [{"name": 5}]}}),
            ".spec.ports[port=0,protocol=\"TCP\"].name: expected string, got &value.valueUnstructured{Value:5}",
        ),
        (
            json!({"spec": {"ports": {"a": "b"}}}),
            ".spec.ports: expected list, got &{map[a:b]}",
        ),
        (
            json!({"spec": {"ports": [{"port": "http"}]}}),
            ".spec.ports[port=\"http\",protocol=\"TCP\"].port: expected numeric (int or float), got string",
        ),
        (
            json!({"spec": {"publishNotReadyAddresses": 1, "selector": []}}),
            "errors:\n  .spec.publishNotReadyAddresses: expected boolean, got &{1}\n  .spec.selector: expected map, got &{[]}",
        ),
        (
            json!({"metadata": {"finalizers": [null]}}),
            ".metadata.finalizers: element 0: associative list without keys has an element that's an explicit null",
        ),
    ];
    for (object, message) in cases {
        assert_eq!(
            validate(service(), &object, false),
            Err(message.to_owned()),
            "{object}"
        );
    }
    let duplicates = json!({"metadata": {"finalizers": ["a", "a"]}});
    assert_eq!(validate(service(), &duplicates, true), Ok(()));
}

#[test]
fn an_element_without_any_key_is_a_fault() {
    let item = Type::new(
        None,
        None,
        Some(Object::of_fields(vec![
            Field::new("id", text()),
            Field::new("x", text()),
        ])),
    );
    let list = Type::new(
        None,
        Some(List {
            item: item.into(),
            kind: ListKind::Map(vec!["id".into()]),
        }),
        None,
    );
    assert_eq!(
        validate(&list, &json!([{"x": "1"}]), false),
        Err("element 0: associative list with keys has an element that omits all key fields [\"id\"] (and doesn't have default values for any key fields)".to_owned())
    );
}

fn text() -> TypeRef {
    Type::new(Some(Scalar::String), None, None).into()
}

#[test]
fn what_became_atomic_is_owned_as_a_whole() {
    let mut whole = Object::of_values(text());
    whole.atomic = true;
    let ty = Type::new(
        None,
        None,
        Some(Object::of_fields(vec![
            Field::new("map", Type::new(None, None, Some(whole))),
            Field::new("other", text()),
        ])),
    );
    let fields = json!({"f:map": {".": {}, "f:a": {}}, "f:other": {}});
    let fields = Set::decode(&fields).expect("valid fieldsV1");
    let reconciled = reconcile(&ty, &fields).map(|set| set.encode());
    assert_eq!(reconciled, Some(json!({"f:map": {}, "f:other": {}})));
    let fields = json!({"f:map": {}});
    assert!(reconcile(&ty, &Set::decode(&fields).expect("valid fieldsV1")).is_none());
}
