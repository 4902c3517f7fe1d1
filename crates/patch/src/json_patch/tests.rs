use super::*;
use serde_json::json;

fn patched(object: Value, patch: Value) -> Option<Value> {
    let (patch, _) = JsonPatch::decode(patch.to_string().as_bytes(), true).ok()?;
    patch.apply(object).ok()
}

#[test]
fn operations_do_what_they_say() {
    let object = json!({"a": {"b": [1, 2, 3]}, "c/d": "x", "n": null});
    let cases = [
        (
            json!([{"op": "add", "path": "/a/b/1", "value": 9}]),
            json!({"a": {"b": [1, 9, 2, 3]}, "c/d": "x", "n": null}),
        ),
        (
            json!([{"op": "add", "path": "/a/b/-", "value": 9}]),
            json!({"a": {"b": [1, 2, 3, 9]}, "c/d": "x", "n": null}),
        ),
        (
            json!([{"op": "add", "path": "/a/b/-1", "value": 9}]),
            json!({"a": {"b": [1, 2, 3, 9]}, "c/d": "x", "n": null}),
        ),
        (
            json!([{"op": "remove", "path": "/c~1d"}]),
            json!({"a": {"b": [1, 2, 3]}, "n": null}),
        ),
        (
            json!([{"op": "replace", "path": "/a/new", "value": 1}]),
            json!({"a": {"b": [1, 2, 3], "new": 1}, "c/d": "x", "n": null}),
        ),
        (
            json!([{"op": "move", "from": "/a/b/0", "path": "/n"}]),
            json!({"a": {"b": [2, 3]}, "c/d": "x", "n": 1}),
        ),
        (
            json!([{"op": "copy", "from": "/nothing", "path": "/n"}]),
            json!({"a": {"b": [1, 2, 3]}, "c/d": "x", "n": null, }),
        ),
        (
            json!([{"op": "add", "path": "odd/n", "value": 1}]),
            json!({"a": {"b": [1, 2, 3]}, "c/d": "x", "n": 1}),
        ),
        (
            json!([{"op": "replace", "path": "", "value": {}}]),
            json!({}),
        ),
        (
            json!([{"op": "test", "path": "/nothing", "value": null}]),
            object.clone(),
        ),
        (
            json!([{"op": "test", "path": "/a", "value": {"b": [1, 2, 3]}}]),
            object.clone(),
        ),
    ];
    for (patch, expected) in cases {
        assert_eq!(
            patched(object.clone(), patch.clone()),
            Some(expected),
            "{patch}"
        );
    }
}

#[test]
fn what_cannot_be_done_fails_without_a_word() {
    let object = json!({"a": [1], "s": "x"});
    let cases = [
        json!([{"op": "add", "path": "/a/2", "value": 1}]),
        json!([{"op": "add", "path": "", "value": 1}]),
        json!([{"op": "remove", "path": "/nothing"}]),
        json!([{"op": "remove", "path": "/a/-"}]),
        json!([{"op": "replace", "path": "/a/1", "value": 1}]),
        json!([{"op": "add", "path": "/s/x", "value": 1}]),
        json!([{"op": "test", "path": "/a/0", "value": 1.0}]),
        json!([{"op": "test", "path": "/s"}]),
        json!([{"op": "move", "path": "/s"}]),
        json!([{"op": "frob", "path": "/s"}]),
        json!([{"path": "/s"}]),
    ];
    for patch in cases {
        assert_eq!(patched(object.clone(), patch.clone()), None, "{patch}");
    }
    let (patch, _) =
        JsonPatch::decode(br#"[{"op":"remove","path":"/x"}]"#, true).expect("a valid patch");
    let status = patch.apply(object).expect_err("there is no x");
    assert_eq!(
        status.to_json(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "the server rejected our request due to an error in our request",
            "reason": "Invalid", "details": {}, "code": 422,
        })
    );
}

#[test]
fn tests_compare_texts() {
    let object = json!({"s": "a<b", "g": "grün"});
    let test = |path: &str, value: &str| {
        let body = format!(r#"[{{"op":"test","path":"{path}","value":{value}}}]"#);
        let (patch, _) = JsonPatch::decode(body.as_bytes(), true).expect("a valid patch");
        patch.apply(object.clone()).is_ok()
    };
    assert!(!test("/s", "\"a<b\""));
    assert!(test("/s", "\"a\\u003cb\""));
    assert!(test("/g", "\"grün\""));
    assert!(!test("/g", "\"gr\\u00fcn\""));
}

#[test]
fn bodies_that_are_no_patches_are_refused() {
    let message = |body: &str, validated| {
        let refused = JsonPatch::decode(body.as_bytes(), validated);
        refused
            .map(|(_, problems)| problems)
            .map_err(|s| (s.code, s.message))
    };
    let refused = |text: &str| Err((400, text.to_owned()));
    assert_eq!(
        message("{}", true),
        refused(
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
        )
    );
    assert_eq!(
        message("{}", false),
        refused("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    );
    assert_eq!(
        message("[5]", true),
        refused(
            "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"
        )
    );
    assert_eq!(
        message("[{\"op\": 5}]", true),
        refused(
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"
        )
    );
    assert_eq!(
        message("[{\"op\": \"add\", \"odd\": 1}]", true),
        Ok(vec!["json patch unknown field \"[0].odd\"".to_owned()])
    );
    assert_eq!(message("[{\"odd\": 1}]", false), Ok(vec![]));
    assert_eq!(message("null", true), Ok(vec![]));
    let body = r#"[{"op":"add","odd":1,"op":"x","value":{"a":1,"a":2},"zzz":{"q":1,"q":2}},{"b":1,"a":1,"b":2}]"#;
    let problems = [
        r#"unknown field "[0].odd""#,
        r#"duplicate field "[0].op""#,
        r#"duplicate field "[0].value.a""#,
        r#"unknown field "[0].zzz""#,
        r#"unknown field "[1].b""#,
        r#"unknown field "[1].a""#,
    ];
    let problems: Vec<String> = problems.map(|p| format!("json patch {p}")).to_vec();
    assert_eq!(message(body, true), Ok(problems));
    assert_eq!(
        message("[{]", true),
        refused(
            "error decoding patch: invalid character ']' looking for beginning of object key string"
        )
    );
    let many = format!("[{}]", vec!["{}"; 10_001].join(","));
    assert_eq!(message(&many, true).map_err(|refused| refused.0), Err(413));
}

#[test]
fn copies_and_nesting_have_bounds() {
    let doubling = json!({"op": "copy", "from": "/a", "path": "/a/b"});
    let start = json!({"a": {"x": "0123456789"}});
    let patch = |times| Value::Array(vec![doubling.clone(); times]);
    assert!(patched(start.clone(), patch(10)).is_some());
    assert!(patched(start, patch(300)).is_none());
    let big = json!({"a": "x".repeat(1_000_000), "b": {}});
    let copies = |n| (0..n).map(|i| json!({"op": "copy", "from": "/a", "path": format!("/b/{i}")}));
    assert!(patched(big.clone(), copies(3).collect()).is_some());
    assert!(patched(big, copies(4).collect()).is_none());
    let deep = |n: usize| json!([{"op": "add", "path": "/a".repeat(n), "value": {}}]);
    let nested = (0..299).fold(json!({}), |inner, _| json!({"a": inner}));
    assert!(patched(nested.clone(), deep(299)).is_some());
    assert!(patched(nested, deep(300)).is_none());
}

/// A value of so many levels.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inside, _| json!({"a": inside}))
}

#[test]
fn no_operation_makes_an_object_too_deep() {
    let below = "/a".repeat(250);
    let object = json!({"x": nested(280), "y": {"z": nested(100)}});
    let at = format!("/x{below}");
    let cases = [
        json!([{"op": "add", "path": at, "value": nested(280)}]),
        json!([{"op": "replace", "path": at, "value": nested(280)}]),
        json!([{"op": "copy", "from": "/y/z", "path": at}]),
        json!([{"op": "move", "from": "/y/z", "path": at}]),
    ];
    for patch in cases {
        assert_eq!(patched(object.clone(), patch.clone()), None, "{patch}");
    }
    let shallow = json!([{"op": "replace", "path": at, "value": nested(49)}]);
    assert!(patched(object.clone(), shallow).is_some());
    let whole = json!([{"op": "replace", "path": "", "value": nested(298)}]);
    assert!(patched(object, whole).is_some());
}

#[test]
fn a_chain_of_replacements_does_not_nest_without_end() {
    let mut at = "/x".to_owned();
    let mut operations = Vec::new();
    for _ in 0..90 {
        operations.push(json!({"op": "replace", "path": at, "value": nested(280)}));
        at.push_str(&"/a".repeat(279));
    }
    assert_eq!(patched(json!({}), Value::Array(operations)), None);
}

#[test]
fn the_work_of_a_patch_is_bounded() {
    let refused = |object: Value, patch: String| {
        let (patch, _) = JsonPatch::decode(patch.as_bytes(), true).expect("a patch");
        patch.apply(object).map_err(|status| status.code).err()
    };
    let many = |operation: Value| Value::Array(vec![operation; 10_000]).to_string();
    let long = json!({"list": vec![0; 100_000]});
    let add = json!({"op": "add", "path": "/list/0", "value": 0});
    assert_eq!(refused(long.clone(), many(add)), Some(413));
    let remove = json!({"op": "remove", "path": "/list/0"});
    assert_eq!(refused(long.clone(), many(remove)), Some(413));
    let there = json!({"op": "move", "from": "/list", "path": "/a/list"});
    let back = json!({"op": "move", "from": "/a/list", "path": "/list"});
    let moves: Vec<_> = (0..5_000).flat_map(|_| [&there, &back]).collect();
    let object = json!({"a": {}, "list": vec![0; 100_000]});
    assert_eq!(refused(object, json!(moves).to_string()), Some(413));
    let deep = (0..290).fold(json!("x".repeat(2_000_000)), |inside, _| json!([inside]));
    let test = json!([{"op": "test", "path": "/deep", "value": deep}]).to_string();
    assert_eq!(refused(json!({"deep": deep}), test), Some(413));
    let test = json!({"op": "test", "path": "/list", "value": vec![0; 20]});
    assert_eq!(refused(json!({"list": vec![0; 20]}), many(test)), None);
}

#[test]
fn unknown_members_are_told_up_to_a_hundred() {
    let members: String = (0..100_000).map(|i| format!("\"m{i}\":1,")).collect();
    let patch = format!("[{{{members}\"op\":\"remove\",\"path\":\"/a\"}}]");
    let (_, problems) = JsonPatch::decode(patch.as_bytes(), true).expect("a patch");
    assert_eq!(problems.len(), 100);
    assert_eq!(problems[0], "json patch unknown field \"[0].m0\"");
}
