use super::{Element, Set};
use serde_json::json;

fn set(fields: &serde_json::Value) -> Set<'_> {
    Set::decode(fields).expect("valid fieldsV1")
}

#[test]
fn fields_are_read_and_written_alike() {
    let fields = json!({
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {
            "f:ports": {
                "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}},
                "k:{\"port\":8080,\"protocol\":\"TCP\"}": {"f:name": {}},
            },
            "f:finalizers": {"v:\"a\\u003cb\"": {}, "v:1": {}, "v:true": {}},
            "f:args": {"i:0": {}},
        },
    });
    assert_eq!(set(&fields).encode(), fields);
    let newer = json!({"f:a": {}, "x:later": {"f:b": {}}});
    assert_eq!(set(&newer).encode(), json!({"f:a": {}}));
}

#[test]
fn what_cannot_be_read_is_refused() {
    for bad in [
        json!({"f": {}}),
        json!({"fa:": {}}),
        json!({"k:[]": {}}),
        json!({"i:x": {}}),
    ] {
        assert!(Set::decode(&bad).is_err(), "{bad}");
    }
    assert!(Set::decode(&json!({"f:a": 1})).is_err());
}

#[test]
fn paths_end_where_they_can_first() {
    let fields = json!({
        "f:rules": {},
        "f:metadata": {"f:labels": {"f:l": {}}},
        "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {"f:name": {}}}},
        "f:set": {"v:\"x\"": {}},
        "f:list": {"i:3": {}},
    });
    assert_eq!(
        set(&fields).paths(),
        [
            ".rules",
            ".list[3]",
            ".metadata.labels.l",
            ".set[=\"x\"]",
            ".spec.ports[port=80,protocol=\"TCP\"].name",
        ]
    );
}

#[test]
fn sets_are_combined_field_by_field() {
    let a = json!({"f:a": {".": {}, "f:x": {}, "f:y": {}}, "f:b": {}});
    let b = json!({"f:a": {".": {}, "f:y": {}}, "f:c": {}});
    let (a, b) = (set(&a), set(&b));
    assert_eq!(
        a.clone().union(b.clone()).encode(),
        json!({"f:a": {".": {}, "f:x": {}, "f:y": {}}, "f:b": {}, "f:c": {}})
    );
    assert_eq!(
        a.intersection(&b).encode(),
        json!({"f:a": {".": {}, "f:y": {}}})
    );
    assert_eq!(
        a.clone().difference(&b).encode(),
        json!({"f:a": {"f:x": {}}, "f:b": {}})
    );
    assert_eq!(a.recursive_difference(&b).encode(), json!({"f:b": {}}));
}

#[test]
fn a_field_is_found_by_its_path() {
    let set = Set::of_paths(&[&["spec", "replicas"]]);
    assert!(set.has(&[Element::Field("spec"), Element::Field("replicas")]));
    assert!(!set.has(&[Element::Field("spec")]));
    assert!(!set.has(&[]));
}

#[test]
fn declared_fields_become_members_and_keys_of_maps_do_not() {
    let ty = stowplan_schema::type_of("io.k8s.api.core.v1.ConfigMap");
    let fields = json!({"f:metadata": {"f:labels": {"f:a": {}}}});
    assert_eq!(
        set(&fields).with_named_fields(ty).encode(),
        json!({"f:metadata": {".": {}, "f:labels": {".": {}, "f:a": {}}}})
    );
}

#[test]
fn numbers_in_paths_print_as_floats() {
    let fields = json!({"k:{\"port\":1000000}": {}});
    assert_eq!(set(&fields).paths(), ["[port=1e+06]"]);
    assert_eq!(set(&fields).encode(), fields);
}

#[test]
fn steps_come_in_any_order() {
    // As texts, numbers are in another order than as numbers.
    let fields: serde_json::Value = (0..200_000)
        .map(|i| (format!("v:{}", i * 7), json!({})))
        .collect();
    let all = set(&fields);
    assert!(all.entries().is_sorted_by(|a, b| a.element < b.element));
    assert_eq!(all.entries().len(), 200_000);
    let few = json!({"v:0": {}, "v:700000": {}, "v:1": {}});
    let few = set(&few);
    assert_eq!(few.intersection(&all).entries().len(), 2);
    assert_eq!(few.clone().difference(&all).entries().len(), 1);
    assert_eq!(all.difference(&few).entries().len(), 199_998);
}

#[test]
fn a_union_of_many_is_that_of_each() {
    let one = |i: usize| json!({"f:a": {format!("f:{i}"): {}}, "f:b": {}});
    let fields: Vec<_> = (0..9).map(one).collect();
    let sets: Vec<Set<'_>> = fields.iter().map(set).collect();
    let expected = sets.iter().cloned().reduce(Set::union).unwrap_or_default();
    assert_eq!(Set::union_of(sets), expected);
    assert_eq!(Set::union_of(Vec::new()), Set::new());
}

#[test]
fn paths_are_printed_until_they_are_too_long() {
    let inside: serde_json::Value = (0..1_000).map(|i| (format!("f:{i}"), json!({}))).collect();
    let fields = json!({format!("f:{}", "k".repeat(100_000)): inside});
    let bytes: usize = set(&fields).paths().iter().map(String::len).sum();
    assert!(bytes < 5_000_000, "{bytes}");
}
