use super::{apply, decode};
use serde_json::{Value, json};
use stowplan_schema::type_of;

fn patched(object: &Value, mut patch: Value) -> Result<Value, String> {
    let ty = type_of("io.k8s.api.core.v1.Pod").expect("a built-in type");
    apply(ty, object.clone(), &mut patch).map_err(|s| format!("{} {}", s.code, s.message))
}

fn check(object: &Value, patch: Value, expected: Value) {
    assert_eq!(patched(object, patch.clone()), Ok(expected), "{patch}");
}

fn pod(containers: Value) -> Value {
    json!({"spec": {"containers": containers}})
}

fn names(names: &[&str]) -> Value {
    pod(names.iter().map(|name| json!({"name": name})).collect())
}

#[test]
fn elements_are_found_by_their_key() {
    let object = pod(json!([{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]));
    check(
        &object,
        pod(json!([{"name": "b", "image": "2"}, {"name": "a", "$patch": "delete"}])),
        pod(json!([{"name": "b", "image": "2"}])),
    );
    check(
        &object,
        pod(json!([{"name": "c"}, {"$patch": "replace"}])),
        names(&["c"]),
    );
}

#[test]
fn added_elements_come_before_those_that_are_not_mentioned() {
    let object = names(&["a", "b", "c"]);
    check(&object, names(&["new"]), names(&["new", "a", "b", "c"]));
    check(&object, names(&["c", "b"]), names(&["a", "c", "b"]));
}

#[test]
fn an_order_is_kept() {
    let object = names(&["a", "b", "c"]);
    let order = json!([{"name": "c"}, {"name": "new"}, {"name": "a"}]);
    check(
        &object,
        json!({"spec": {"containers": [{"name": "new"}], "$setElementOrder/containers": order}}),
        names(&["b", "c", "new", "a"]),
    );
    let refused = patched(
        &object,
        json!({"spec": {"containers": [{"name": "x"}], "$setElementOrder/containers": [{"name": "a"}]}}),
    );
    assert_eq!(
        refused,
        Err("500 The order in patch list:\n[map[name:x]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n".to_owned())
    );
}

#[test]
fn lists_of_scalars_are_sets_where_the_type_says_so() {
    let object = json!({"metadata": {"finalizers": ["a", "b"]}, "spec": {"containers": []}});
    let finalizers =
        |list: Value| json!({"metadata": {"finalizers": list}, "spec": {"containers": []}});
    check(
        &object,
        json!({"metadata": {"finalizers": ["c", "a"]}}),
        finalizers(json!(["c", "a", "b"])),
    );
    check(
        &object,
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "x"]}}),
        finalizers(json!(["b"])),
    );
}

#[test]
fn retained_keys_push_the_others_out() {
    let object = json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}});
    check(
        &object,
        json!({"spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]}}),
        json!({"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}}),
    );
    let refused = patched(
        &object,
        json!({"spec": {"volumes": [{"name": "v", "$retainKeys": ["name"], "hostPath": {}}]}}),
    );
    assert_eq!(
        refused,
        Err("400 invalid patch format of retainKeys".to_owned())
    );
}

#[test]
fn maps_take_directives_too() {
    let object = json!({"metadata": {"labels": {"a": "1", "b": "1"}}});
    let labels = |labels: Value| json!({"metadata": {"labels": labels}});
    check(
        &object,
        labels(json!({"a": null, "c": "1"})),
        labels(json!({"b": "1", "c": "1"})),
    );
    check(
        &object,
        labels(json!({"$patch": "replace", "c": "1"})),
        labels(json!({"c": "1"})),
    );
    check(
        &object,
        labels(json!({"$patch": "delete"})),
        labels(json!({})),
    );
    assert_eq!(
        patched(&object, labels(json!({"$patch": 5}))),
        Err("500 unknown patch type: %!s(int64=5) in map: map[$patch:5]".to_owned())
    );
    check(
        &json!({"metadata": {}}),
        labels(json!({"x": {"$patch": "delete"}, "y": null, "z": "1"})),
        labels(json!({"z": "1"})),
    );
}

#[test]
fn faults_read_as_upstreams() {
    let object = names(&["a"]);
    let cases = [
        (
            pod(json!([{"image": "x"}])),
            "500 map: map[image:x] does not contain declared merge key: name",
        ),
        (
            pod(json!([["x"]])),
            "500 list element types are not identical: [[map[name:a]] [[x]]]",
        ),
        (
            json!({"spec": {"$setElementOrder/nope": [{"name": "x"}], "nope": []}}),
            "500 unable to find api field in struct PodSpec for the json field \"nope\"",
        ),
        (
            json!({"spec": {"$setElementOrder/containers": "x"}}),
            "500 expected a []interface {}, but received a string",
        ),
        (
            json!({"spec": {"$deleteFromPrimitiveList": []}}),
            "400 invalid patch format of primitive list",
        ),
    ];
    for (patch, message) in cases {
        assert_eq!(
            patched(&object, patch.clone()),
            Err(message.to_owned()),
            "{patch}"
        );
    }
    let lists = json!({"metadata": {"finalizers": [["x"]]}});
    assert_eq!(
        patched(&lists, lists.clone()),
        Err("422 the server rejected our request due to an error in our request".to_owned())
    );
}

#[test]
fn what_was_used_is_taken_out_of_the_patch() {
    let ty = type_of("io.k8s.api.core.v1.Pod").expect("a built-in type");
    let mut patch = json!({
        "metadata": {"labels": {"$retainKeys": ["a"], "a": "1"}},
        "spec": {"containers": [{"name": "a"}], "$setElementOrder/containers": [{"name": "a"}]},
    });
    let object = json!({"metadata": {"labels": {}}, "spec": {"containers": [{"name": "a"}]}});
    assert!(apply(ty, object, &mut patch).is_ok());
    assert_eq!(
        patch,
        json!({"metadata": {"labels": {"a": "1"}}, "spec": {}})
    );
}

#[test]
fn only_maps_are_strategic_patches() {
    assert_eq!(
        decode(b"[]", true).map_err(|status| status.message),
        Err(
            "json: cannot unmarshal array into Go value of type map[string]interface {}".to_owned()
        )
    );
    assert_eq!(decode(b"null", true), Ok((json!({}), vec![])));
}
