//! Random objects, right and wrong, become what upstream's decoders made of them.

use serde_json::Value;
use std::io::Read;
use stowplan_schema::{
    Decoded, decode_json, from_unstructured, parse_json, protobuf, to_stored_form, type_of,
};

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

fn bytes(text: &str) -> Vec<u8> {
    stowplan_apimachinery::go::base64::decode(text.as_bytes()).expect("base64")
}

#[test]
fn protobuf_is_read_as_upstream_reads_it() {
    let mut read = 0;
    for fixture in fixtures() {
        let Some(message) = fixture["protobuf"].as_str().map(bytes) else {
            continue;
        };
        let name = fixture["type"].as_str().expect("a type");
        let ty = type_of(name).expect(name);
        let mut expected = fixture["object"].clone();
        if let Some(fields) = expected.as_object_mut() {
            fields.remove("kind");
            fields.remove("apiVersion");
        }
        if !fixture["restored"].is_null() {
            expected = fixture["restored"].clone();
        }
        let made = protobuf::decode(ty, &message).unwrap_or_else(|e| panic!("{fixture}\n{e}"));
        assert!(made == expected, "{name}\nmade {made}\nnot  {expected}");
        read += 1;
    }
    assert!(read > 400, "{read}");
}

#[test]
fn the_stored_form_is_what_comes_back_from_storage() {
    let mut changed = 0;
    for fixture in fixtures() {
        let name = fixture["type"].as_str().expect("a type");
        // Evictions are never stored; their options have a kind of their own.
        if fixture["restored"].is_null() || name == "io.k8s.api.policy.v1.Eviction" {
            continue;
        }
        let ty = type_of(name).expect(name);
        let mut made = fixture["object"].clone();
        if let Some(fields) = made.as_object_mut() {
            fields.remove("kind");
            fields.remove("apiVersion");
        }
        // Only the envelope has kinds, but conversion gives them back to claim templates.
        let templates = made.pointer_mut("/spec/volumeClaimTemplates");
        for template in templates
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Some(fields) = template.as_object_mut() {
                fields.remove("kind");
                fields.remove("apiVersion");
            }
        }
        to_stored_form(ty, &mut made);
        let expected = &fixture["restored"];
        assert!(made == *expected, "{name}\nmade {made}\nnot  {expected}");
        changed += 1;
    }
    assert!(changed > 50, "{changed}");
}

#[test]
fn the_stored_form_is_complete() {
    let ty = type_of("io.k8s.api.core.v1.Pod").expect("known");
    let mut pod = serde_json::json!({
        "metadata": {"labels": {}, "finalizers": [], "name": ""},
        "spec": {"containers": [{"image": "a", "args": [], "tty": false}], "x": 1, "hostPID": null},
    });
    to_stored_form(ty, &mut pod);
    let expected = serde_json::json!({
        "metadata": {},
        "spec": {"containers": [{"image": "a", "name": "", "resources": {}}]},
        "status": {},
    });
    assert_eq!(pod, expected);
}

#[test]
fn any_bytes_are_read_or_refused() {
    for fixture in fixtures() {
        let Some(message) = fixture["protobuf"].as_str().map(bytes) else {
            continue;
        };
        let ty = type_of(fixture["type"].as_str().expect("a type")).expect("known");
        for at in (0..message.len()).step_by(61) {
            let mut broken = message.clone();
            broken[at] ^= 1 << (at % 8);
            let _ = protobuf::decode(ty, &broken);
            let _ = protobuf::decode(ty, &broken[..at]);
        }
    }
}

#[test]
fn the_envelope_has_the_kind() {
    let bytes = b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x02hi\x1a\x00\x22\x00";
    let envelope = protobuf::envelope(bytes).expect("an envelope");
    assert_eq!(envelope.meta.api_version, "v1");
    assert_eq!(envelope.meta.kind, "Pod");
    assert_eq!(envelope.raw, b"hi");
    let problem = protobuf::envelope(b"{}").expect_err("JSON").to_string();
    assert!(problem.contains("does not appear to be a protobuf message"));
    assert!(protobuf::envelope(b"").is_err());
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
