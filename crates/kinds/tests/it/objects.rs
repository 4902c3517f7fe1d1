//! Creates and updates: what is stored, and what is refused with which causes.

use crate::cases::{Known, read};
use crate::play::{Outcome, Tally, comparable, create, own_warnings, target, update};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use stowplan_apimachinery::View;

/// Kinds that need nothing of admission to be as recorded.
const KINDS: &[&str] = &[
    "Namespace",
    "Node",
    "Service",
    "Endpoints",
    "EndpointSlice",
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "Event",
    "ResourceQuota",
    "LimitRange",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PriorityClass",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "VolumeAttachment",
    "Lease",
    "RuntimeClass",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
];

fn is_sent_by_hand(step: &Value) -> bool {
    let query = step.at("query");
    let plain = query.as_object().is_none_or(|q| {
        q.keys()
            .all(|key| matches!(key.as_str(), "fieldManager" | "dryRun"))
    });
    let headers = step.at("headers");
    plain && headers.is_null() && step.has("body") && !step.has("auth")
}

fn play(family: &str, tally: &mut Tally) {
    for case in read(family) {
        let mut known = Known::new();
        let mut stored: BTreeMap<String, Value> = BTreeMap::new();
        for (i, step) in case.list("steps").iter().enumerate() {
            let expect = known.fill(step.at("expect"));
            let path = known.fill(step.at("path"));
            let answer = expect.at("body").clone();
            let told = check(step, &known, &stored, tally);
            known.learn(i + 1, answer.clone());
            let good = expect.int("code").is_some_and(|code| code < 300);
            let dry = step.at("query").has("dryRun");
            if good && !dry && answer.has("metadata") && answer.text("kind") != "Status" {
                let path = path.as_str().unwrap_or_default();
                let key = object_path(path, answer.at("metadata").text("name"));
                stored.insert(key, answer);
            }
            if let Some(told) = told {
                let name = case.text("name");
                tally
                    .mismatches
                    .push(format!("{name} step {}: {told}", i + 1));
            }
        }
    }
}

/// The path of an object, from that of its collection or of one of its subresources.
fn object_path(path: &str, name: &str) -> String {
    match target(path) {
        Some(to) if to.name.is_empty() => format!("{path}/{name}"),
        Some(to) if !to.subresource.is_empty() => path
            .trim_end_matches(&format!("/{}", to.subresource))
            .to_owned(),
        _ => path.to_owned(),
    }
}

/// What is wrong with a step, if anything.
fn check(
    step: &Value,
    known: &Known,
    stored: &BTreeMap<String, Value>,
    tally: &mut Tally,
) -> Option<String> {
    let path = known.fill(step.at("path"));
    let path = path.as_str()?;
    let to = target(path).filter(|to| KINDS.contains(&to.kind.kind))?;
    let expect = known.fill(step.at("expect"));
    let code = expect.int("code")?;
    if !is_sent_by_hand(step) || !matches!(code, 200 | 201 | 422) {
        return None;
    }
    let body = known.fill(step.at("body"));
    let outcome = match step.text("method") {
        "POST" if to.name.is_empty() => create(&to, &body, step.at("query").has("dryRun"))?,
        "PUT" => update(&to, &body, stored.get(&object_path(path, &to.name))?)?,
        _ => return None,
    };
    let answer = expect.at("body");
    let causes = answer.path(&["details", "causes"]);
    // Faults of the request itself, and of what admission looks at.
    let about_request = |cause: &Value| {
        let field = cause.text("field");
        matches!(
            field,
            "dryRun" | "fieldManager" | "metadata.resourceVersion"
        ) || field.starts_with("metadata.labels[pod-security")
    };
    if causes
        .as_array()
        .is_some_and(|list| list.iter().any(about_request))
    {
        return None;
    }
    *tally.compared.entry(to.kind.kind.to_owned()).or_default() += 1;
    match (outcome, code) {
        (Outcome::Refused(_, found), 422) => {
            let (found, expected) = (hidden(&json!(found)), hidden(causes));
            (found != expected).then(|| format!("causes\n  {found}\n  {expected}"))
        }
        (Outcome::Refused(message, _), _) => Some(format!("refused: {message}")),
        (Outcome::Stored(..), 422) => Some(format!("accepted, not {}", answer.text("message"))),
        (Outcome::Stored(object, warnings), _) => {
            let expected_warnings = own_warnings(&expect);
            if warnings != expected_warnings {
                return Some(format!("warnings {warnings:?}, not {expected_warnings:?}"));
            }
            let (found, expected) = (comparable(&object), comparable(answer));
            (found != expected).then(|| format!("object\n  {found}\n  {expected}"))
        }
    }
}

/// Values of upstream's internal types and diffs, which the recorder has taken out.
fn hidden(causes: &Value) -> Value {
    let list = causes.as_array().into_iter().flatten().map(|cause| {
        let mut cause = cause.clone();
        let text = hide(cause.text("message"));
        cause["message"] = json!(text);
        cause
    });
    list.collect()
}

fn hide(message: &str) -> String {
    // An empty map and none are the same in the canonical form; Go's messages tell them apart.
    let message = message.replace("Unsupported value: {}:", "Unsupported value: null:");
    let message = message.as_str();
    if let Some((head, _)) = message.split_once('\n') {
        return format!("{head}\n<diff>");
    }
    for start in ["value: {", "value: ["] {
        let Some(at) = message.find(start).map(|at| at + start.len() - 1) else {
            continue;
        };
        let mut stream = serde_json::Deserializer::from_str(&message[at..]).into_iter::<Value>();
        let Some(Ok(value)) = stream.next() else {
            continue;
        };
        let end = at + stream.byte_offset();
        if has_capitals(&value) {
            return format!("{}<object>{}", &message[..at], &message[end..]);
        }
    }
    message.to_owned()
}

fn has_capitals(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| {
            key.starts_with(|c: char| c.is_ascii_uppercase()) || has_capitals(value)
        }),
        Value::Array(list) => list.iter().any(has_capitals),
        _ => false,
    }
}

#[test]
fn objects_are_stored_and_refused_as_recorded() {
    let mut tally = Tally::default();
    for family in ["defaults", "validation", "update", "subresources"] {
        play(family, &mut tally);
    }
    let compared: usize = tally.compared.values().sum();
    let shown = tally.mismatches.join("\n");
    assert!(
        tally.mismatches.is_empty(),
        "{} of {compared} steps differ:\n{shown}",
        tally.mismatches.len(),
    );
    assert!(compared > 500, "only {compared} steps were compared");
}
