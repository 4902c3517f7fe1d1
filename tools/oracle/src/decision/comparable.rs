//! What of two recordings is compared.

use serde_json::{Map, Value, json};

/// What an attempt can tell of a recording that is made comparable: not the scores, verdicts only
/// if the pod fits nowhere, and of PostFilter the message.
pub(super) fn told_by_attempt(expected: &Value) -> Value {
    let mut told = expected.clone();
    let Value::Object(fields) = &mut told else {
        return told;
    };
    let placed = fields.contains_key("winners");
    fields.retain(|key, _| match key.as_str() {
        "preenqueue" | "error" | "winners" | "message" | "prefilter" | "preemption" => true,
        "filter" => !placed,
        _ => false,
    });
    if let Some(Value::Object(preemption)) = fields.get_mut("preemption") {
        preemption.remove("status");
    }
    told
}

/// Makes two recordings comparable: orders that mean nothing are sorted away, and errors count
/// as such, whatever their text.
pub(super) fn normalize(expect: &mut Value) {
    let Value::Object(fields) = expect else {
        return;
    };
    for key in ["error", "score_error"] {
        if let Some(error) = fields.get_mut(key) {
            *error = json!(true);
        }
    }
    // Nothing else is said of a gated pod, and an error ends the attempt wherever it happens.
    if fields.contains_key("preenqueue") {
        fields.retain(|key, _| key == "preenqueue");
    }
    if fields.contains_key("error") {
        fields.retain(|key, _| key == "error" || key == "score_error");
    }
    drop_empty(fields);
    for key in [
        "winners",
        "prefilter_nodes",
        "skipped_filter",
        "skipped_score",
    ] {
        if let Some(list) = fields.get_mut(key) {
            sort(list);
        }
    }
    sort_reasons(expect);
}

/// An absent field and an empty one say the same, on every level but that of single nodes.
fn drop_empty(fields: &mut Map<String, Value>) {
    if let Some(Value::Object(preemption)) = fields.get_mut("preemption") {
        drop_empty(preemption);
    }
    fields.retain(|_, value| !is_empty(value));
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn sort(list: &mut Value) {
    if let Value::Array(items) = list {
        items.sort_by_key(Value::to_string);
    }
}

/// Reasons compare as multisets: upstream lists scalar resources in map order.
fn sort_reasons(value: &mut Value) {
    let Value::Object(fields) = value else { return };
    for (key, child) in fields {
        if key == "reasons" || key == "nominated_ties" {
            sort(child);
        } else {
            sort_reasons(child);
        }
    }
}
