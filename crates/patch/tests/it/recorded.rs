//! Random inputs with what upstream's packages made of them: `k8s.io/apimachinery` v0.36.4
//! (`managedfields`, `strategicpatch`; Apache-2.0) over `sigs.k8s.io/structured-merge-diff/v6`
//! v6.3.3 (Apache-2.0), and `gopkg.in/evanphx/json-patch.v4` v4.13.0 (BSD-3-Clause). Inputs whose
//! outcome depends on the order of a Go map were left out.

use crate::thing::thing;
use serde_json::{Map, Value, json};
use std::io::Read;
use stowplan_apimachinery::{Edit, Status, View, go};
use stowplan_patch::managed::{self, Request, Unconvertible, Versions};
use stowplan_patch::{JsonPatch, merge_patch, strategic};
use stowplan_schema::{Type, type_of};

static CASES: &[u8] = include_bytes!("../upstream/recorded.jsonl.zst");

fn check(mode: &str, run: impl Fn(&Value) -> Value) {
    let mut text = String::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(CASES).expect("compressed cases");
    decoder.read_to_string(&mut text).expect("compressed cases");
    let mut count = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("one case per line");
        if case.text("mode") == mode {
            count += 1;
            assert_eq!(
                run(&case),
                *case.at("upstream"),
                "{mode} case {count}: {line}"
            );
        }
    }
    assert!(count > 50, "only {count} cases");
}

fn message(status: Status) -> Value {
    json!({"error": status.message})
}

#[test]
fn json_patches_do_as_upstreams() {
    check("json", |case| {
        let patch = JsonPatch::decode(case.text("patch").as_bytes(), false);
        match patch.and_then(|(patch, _)| patch.apply(case.at("object").clone())) {
            Ok(object) => json!({"object": object}),
            Err(_) => json!({"error": ""}),
        }
    });
}

#[test]
fn merge_patches_do_as_upstreams() {
    check(
        "merge",
        |case| json!({"object": merge_patch::apply(case.at("object").clone(), case.at("patch"))}),
    );
}

#[test]
fn strategic_patches_do_as_upstreams() {
    check("strategic", |case| {
        let ty = type_of(case.text("type")).expect("a built-in type");
        let mut patch = case.at("patch").clone();
        match strategic::apply(ty, case.at("object").clone(), &mut patch) {
            Ok(object) => json!({"object": object, "left": go::plain(&patch)}),
            Err(status) => message(status),
        }
    });
}

#[test]
fn owners_are_as_upstreams() {
    let thing = thing();
    check("managed", |case| {
        let ty = match case.text("type") {
            "Thing" => &thing,
            name => type_of(name).expect("a built-in type"),
        };
        play(case, ty)
    });
}

/// Versions as the recording had them: v9 is gone, v8 cannot be converted to, all others are alike.
struct Alike<'a>(&'a Type);

impl Versions for Alike<'_> {
    fn convert(&self, object: &Value, api_version: &str) -> Result<(Value, &Type), Unconvertible> {
        if api_version.ends_with("v9") {
            return Err(Unconvertible::Missing);
        }
        if api_version.ends_with("v8") {
            return Err(Unconvertible::Failed("cannot".to_owned()));
        }
        let mut object = object.clone();
        object.set("apiVersion", api_version);
        Ok((object, self.0))
    }
}

/// Several writes of one object, one after the other.
fn play(case: &Value, ty: &Type) -> Value {
    let empty = case.at("empty");
    let reset: Vec<Vec<&str>> = case
        .list("reset")
        .iter()
        .map(|path| {
            path.as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect()
        })
        .collect();
    let reset: Vec<&[&str]> = reset.iter().map(Vec::as_slice).collect();
    let mut live: Option<Value> = None;
    let mut outcomes = Vec::new();
    for step in case.list("ops") {
        let request = Request {
            ty,
            api_version: empty.text("apiVersion"),
            kind: empty.text("kind"),
            subresource: step.text("subresource"),
            manager: step.text("manager"),
            reset_fields: &reset,
            empty,
            versions: &Alike(ty),
            now: "2026-01-01T00:00:00Z",
        };
        let object = step.at("object");
        let outcome = match step.text("op") {
            "apply" => managed::apply(live.as_ref(), object, step.flag("force"), &request, Ok),
            _ => {
                let mut new = object.clone();
                managed::update(live.as_ref(), &mut new, &request);
                Ok(new)
            }
        };
        match outcome {
            Err(status) => outcomes.push(refusal(status)),
            Ok(mut new) => {
                outcomes.push(without_times(new.clone()));
                new.at_mut("metadata").set("uid", "u");
                live = Some(new);
            }
        }
    }
    Value::Array(outcomes)
}

fn refusal(status: Status) -> Value {
    let mut causes: Map<String, Value> = Map::new();
    for cause in status.details.iter().flat_map(|details| &details.causes) {
        let cause = format!("{} | {}", cause.field, cause.message);
        let count = causes.at(&cause).as_i64().unwrap_or_default();
        causes.set(&cause, count + 1);
    }
    match status.code {
        500 => message(status),
        code => json!({"error": status.message, "code": code, "causes": causes}),
    }
}

fn without_times(mut object: Value) -> Value {
    let entries = object.at_mut("metadata").unset("managedFields");
    let mut entries = entries.unwrap_or_default();
    for entry in entries.as_array_mut().into_iter().flatten() {
        entry.unset("time");
    }
    json!({"object": object, "managedFields": entries})
}
