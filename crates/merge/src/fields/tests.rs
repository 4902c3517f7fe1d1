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
