//! What is too deep or too much is refused, by whatever road it comes.

use serde_json::{Value, json};
use stowplan_apimachinery::json::is_deeper;
use stowplan_apimachinery::limits::{DEPTH_MAX, PROBLEM_BYTES_MAX};
use stowplan_schema::{Type, decode_json, from_unstructured, parse_json, protobuf, type_of};

const DEFINITION: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition";
const SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
const REVISION: &str = "io.k8s.api.apps.v1.ControllerRevision";
const POD: &str = "io.k8s.api.core.v1.Pod";
const CONFIG_MAP: &str = "io.k8s.api.core.v1.ConfigMap";

fn ty(name: &str) -> &'static Type {
    type_of(name).expect(name)
}

/// Reads a text, and says whether it was too deep; what was read must not be.
fn is_refused(name: &str, text: &str) -> bool {
    match decode_json(ty(name), text.as_bytes()) {
        Ok(decoded) => {
            assert!(!is_deeper(&decoded.object, DEPTH_MAX), "{name}");
            false
        }
        Err(error) => {
            assert_eq!(error.to_string(), "exceeded max depth");
            true
        }
    }
}

/// `open` and `close` around each other so many times.
fn nested(open: &str, inside: &str, close: &str, times: usize) -> String {
    [&open.repeat(times), inside, &close.repeat(times)].concat()
}

#[test]
fn no_json_is_too_deep() {
    for (name, open, close) in [
        (SCHEMA, r#"{"items":"#, "}"),
        (SCHEMA, r#"{"items":[{"not":"#, "}]}"),
        (SCHEMA, r#"{"properties":{"a":"#, "}}"),
        (SCHEMA, r#"{"additionalItems":"#, "}"),
        (SCHEMA, r#"{"dependencies":{"a":"#, "}}"),
        (SCHEMA, r#"{"default":[{"a":"#, "}]}"),
    ] {
        assert!(!is_refused(name, &nested(open, "{}", close, 20)), "{open}");
        assert!(is_refused(name, &nested(open, "{}", close, 301)), "{open}");
    }
    let data = |levels| format!(r#"{{"data":{}}}"#, nested("[", "1", "]", levels));
    assert!(!is_refused(REVISION, &data(DEPTH_MAX - 1)));
    assert!(is_refused(REVISION, &data(DEPTH_MAX)));
}

#[test]
fn what_is_in_a_default_counts_on() {
    let inside = format!(r#"{{"default":{}}}"#, nested("[", "1", "]", 200));
    let text = nested(r#"{"items":"#, &inside, "}", 200);
    assert!(is_refused(SCHEMA, &text));
}

/// A field of a message, of bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(bytes);
    out
}

/// A field of a message whose number does not fit into a byte.
fn far_field(number: u16, bytes: &[u8]) -> Vec<u8> {
    let tag = number << 3 | 2;
    let short = field(0, bytes);
    [&[(tag & 0x7f) as u8 | 0x80, (tag >> 7) as u8], &short[1..]].concat()
}

#[test]
fn no_protobuf_is_too_deep() {
    // `default` with raw JSON; `items` with a list of schemas.
    let with_default = |levels| field(8, &field(1, nested("[", "1", "]", levels).as_bytes()));
    let around = |mut schema: Vec<u8>, times| {
        for _ in 0..times {
            schema = far_field(24, &field(2, &schema));
        }
        schema
    };
    let read = |message: Vec<u8>| protobuf::decode(ty(SCHEMA), &message);
    let shallow = read(around(with_default(40), 40)).expect("shallow");
    assert!(is_deeper(&shallow, 100), "{shallow}");
    for (levels, times) in [(290, 40), (1, 160), (40, 140)] {
        let error = read(around(with_default(levels), times)).expect_err("deep");
        assert_eq!(error.to_string(), "exceeded max depth");
    }
}

#[test]
fn schemas_in_schemas_are_read_as_before() {
    let text = json!({
        "type": "array", "items": {"type": "object", "properties": {"a": {"items": [{"type": "string"}]}},
        "additionalProperties": {"not": {"type": "x"}}, "unknown": 1}
    });
    let read = decode_json(ty(SCHEMA), text.to_string().as_bytes()).expect("a schema");
    let mut expected = text.clone();
    expected["items"]
        .as_object_mut()
        .map(|map| map.remove("unknown"));
    assert_eq!(read.object, expected);
    assert!(
        read.problems.is_empty(),
        "a type that reads itself tells nothing"
    );
    let same = from_unstructured(ty(SCHEMA), text).expect("a schema");
    assert_eq!(same.object, expected);
    let error = |text: &str| match decode_json(ty(DEFINITION), text.as_bytes()) {
        Ok(read) => read.object.to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        error(r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"items":[{"type":1}]}}}]}}"#),
        "json: cannot unmarshal number into Go struct field \
         JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items.type of type string"
    );
}

#[test]
fn maps_given_twice_are_read_in_one_go() {
    let keys: String = (0..50_000).map(|i| format!("\"k{i}\":\"v\",")).collect();
    let map = format!("{{{keys}\"z\":\"v\"}}");
    let text = format!(r#"{{"data":{map},"data":{map}}}"#);
    let read = decode_json(ty(CONFIG_MAP), text.as_bytes()).expect("a map");
    assert_eq!(read.problems, [r#"duplicate field "data""#]);
}

#[test]
fn a_problem_is_not_told_for_ever() {
    // The same field over and over, below a long key: each is looked up by its whole path.
    let again = r#""x":1,"#.repeat(300_000);
    let text = format!(r#"{{"{}":{{{again}"y":1}}}}"#, "k".repeat(500_000));
    let read = parse_json(text.as_bytes()).expect("an object");
    assert_eq!(read.problems.len(), 1);
    assert!(read.problems[0].len() < PROBLEM_BYTES_MAX);
}

#[test]
fn no_body_becomes_too_much() {
    let full = "exceeded max memory of 167772160 bytes";
    let objects = |count| format!(r#"{{"a":[{}{{}}]}}"#, r#"{"":0},"#.repeat(count));
    assert!(parse_json(objects(157_000).as_bytes()).is_ok());
    let error = parse_json(objects(400_000).as_bytes()).expect_err("too much");
    assert_eq!(error.to_string(), full);
    let containers = format!(
        r#"{{"spec":{{"containers":[{}{{}}]}}}}"#,
        "{},".repeat(1_000_000)
    );
    let error = decode_json(ty(POD), containers.as_bytes()).expect_err("too much");
    assert_eq!(error.to_string(), full);
    let empty_containers = field(2, &field(2, &[]).repeat(1_000_000));
    let error = protobuf::decode(ty(POD), &empty_containers).expect_err("too much");
    assert_eq!(error.to_string(), full);
    let data: Value = (0..100_000)
        .map(|i| (format!("key-{i}"), json!("v")))
        .collect();
    let text = json!({"data": data}).to_string();
    assert!(decode_json(ty(CONFIG_MAP), text.as_bytes()).is_ok());
}
