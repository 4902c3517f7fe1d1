//! Random objects, right and wrong, become what upstream's decoders made of them.

use serde_json::Value;
use std::io::Read;
use stowplan_schema::{Decoded, decode_json, from_unstructured, parse_json, type_of};

fn fixtures() -> Vec<Value> {
    let compressed = include_bytes!("generated/objects.jsonl.zst");
    let mut text = String::new();
    ruzstd::decoding::StreamingDecoder::new(&compressed[..])
        .expect("zstd")
        .read_to_string(&mut text)
        .expect("text");
    let read = |line| serde_json::from_str(line).expect("JSON");
    text.lines().map(read).collect()
}

fn check<E: ToString>(text: &str, made: Result<Decoded, E>, expected: &Value) {
    let problems: Vec<&str> = expected["problems"]
        .as_array()
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    match (made, expected["error"].as_str()) {
        (Err(error), Some(expected)) => assert_eq!(error.to_string(), expected, "{text}"),
        (Err(error), None) => panic!("{text}\nis fine, but: {}", error.to_string()),
        (Ok(_), Some(error)) => panic!("{text}\nshould fail: {error}"),
        (Ok(decoded), None) => {
            let (made, expected) = (&decoded.object, &expected["object"]);
            assert!(made == expected, "{text}\nmade {made}\nnot  {expected}");
            assert_eq!(decoded.problems, problems, "{text}");
        }
    }
}

#[test]
fn json_is_read_as_upstream_reads_it() {
    for fixture in fixtures() {
        let text = fixture["text"].as_str().expect("a text");
        let name = fixture["type"].as_str().expect("a type");
        let ty = type_of(name).expect(name);
        check(text, decode_json(ty, text.as_bytes()), &fixture);
    }
}

#[test]
fn maps_are_converted_as_upstream_does_it() {
    for fixture in fixtures().iter().filter(|f| !f["map"].is_null()) {
        let text = fixture["text"].as_str().expect("a text");
        let name = fixture["type"].as_str().expect("a type");
        let ty = type_of(name).expect(name);
        let map = parse_json(text.as_bytes()).expect("JSON").object;
        check(text, from_unstructured(ty, map), &fixture["map"]);
    }
}

fn error(name: &str, json: &str) -> String {
    let ty = type_of(name).expect(name);
    let error = decode_json(ty, json.as_bytes()).expect_err(json);
    error.to_string()
}

#[test]
fn bad_json_is_told_before_anything_else() {
    let pod = "io.k8s.api.core.v1.Pod";
    let bad_end = "invalid character '}' looking for beginning of object key string";
    let quantity = r#"{"spec":{"overhead":{"cpu":"x"}},}"#;
    assert_eq!(error(pod, quantity), bad_end);
    assert_eq!(error(pod, r#"{"spec":5,}"#), bad_end);
    assert_eq!(error(pod, ""), "unexpected end of JSON input");
    let behind = "invalid character 'x' after top-level value";
    assert_eq!(error(pod, "{}x"), behind);
    let root = "json: cannot unmarshal array into Go value of type v1.Pod";
    assert_eq!(error(pod, "[]"), root);
}

#[test]
fn numbers_too_big_for_go_are_refused() {
    let crd = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
    assert_eq!(
        error(crd, r#"{"maximum": 1e400}"#),
        "json: cannot unmarshal number 1e400 into Go struct field JSONSchemaProps.maximum of type float64"
    );
}

#[test]
fn too_deep_is_refused() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let json = format!(r#"{{"data": {deep}}}"#);
    let ty = type_of("io.k8s.api.apps.v1.ControllerRevision").expect("known");
    assert!(decode_json(ty, json.as_bytes()).is_err());
    assert!(parse_json(json.as_bytes()).is_err());
}

#[test]
fn custom_resources_keep_everything() {
    let decoded = parse_json(br#"{"a": {"b": 1.0, "b": [1.5, 9]}, "c": null}"#).expect("JSON");
    assert_eq!(
        decoded.object.to_string(),
        r#"{"a":{"b":[1.5,9]},"c":null}"#
    );
    assert_eq!(decoded.problems, [r#"duplicate field "a.b""#]);
    let error = parse_json(b"[]").expect_err("no object").to_string();
    let expected = "json: cannot unmarshal array into Go value of type map[string]interface {}";
    assert_eq!(error, expected);
}
