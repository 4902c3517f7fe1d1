//! Objects that kubectl applied on the client's side before: its annotation says what it applied.
//!
//! Upstream: `lastappliedmanager.go` and `lastappliedupdater.go` of
//! `apimachinery/pkg/util/managedfields/internal`.

use super::{Conflict, Request};
use crate::fields::{Set, value};
use crate::typed;
use serde_json::{Map, Value};
use std::collections::HashSet;
use stowplan_apimachinery::limits::ERRORS_TOLD_MAX;
use stowplan_apimachinery::{Edit, View};

/// The only manager that this is done for.
pub(super) const KUBECTL: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// All annotations of an object together may have so many bytes.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// The conflicts without those about fields that are as kubectl last applied them.
pub(super) fn remaining(
    conflicts: &[Conflict],
    live: &Value,
    request: &Request<'_>,
) -> Vec<Conflict> {
    // There may be others that nobody told.
    if conflicts.len() >= ERRORS_TOLD_MAX {
        return conflicts.to_vec();
    }
    let text = live.path(&["metadata", "annotations", ANNOTATION]).as_str();
    let applied = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let allowed: HashSet<String> = applied
        .filter(|applied| applied.has("kind") && applied.text("apiVersion") == request.api_version)
        .and_then(|applied| Some(unchanged(&applied, live, request)?.paths()))
        .unwrap_or_default()
        .into_iter()
        .collect();
    let disputed = |conflict: &&Conflict| !allowed.contains(&conflict.path);
    conflicts.iter().filter(disputed).cloned().collect()
}

/// The fields that kubectl applied and that are still the same.
fn unchanged<'a>(applied: &'a Value, live: &'a Value, request: &Request<'a>) -> Option<Set<'a>> {
    typed::validate(request.ty, live, false).ok()?;
    typed::validate(request.ty, applied, false).ok()?;
    let fields = typed::field_set(request.ty, applied).ok()?;
    let changes = typed::compare(request.ty, applied, live).ok()?;
    let fields = fields.difference(&changes.modified);
    let fields = fields.difference(&changes.added);
    Some(fields.difference(&changes.removed))
}

/// Keeps the annotation true, if the object has one.
pub(super) fn record(object: &mut Value, config: &Value) {
    let Some(Value::Object(annotations)) = object
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"))
    else {
        return;
    };
    if annotations.text(ANNOTATION).is_empty() {
        return;
    }
    annotations.set(ANNOTATION, text_of(config));
    let bytes: usize = annotations
        .iter()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    if bytes > MAX_ANNOTATION_BYTES {
        annotations.unset(ANNOTATION);
    }
}

/// The configuration as Go's encoder writes it, without the annotation itself.
fn text_of(config: &Value) -> String {
    let mut config = config.clone();
    if let Some(metadata) = config.get_mut("metadata").and_then(Value::as_object_mut) {
        match metadata.get_mut("annotations") {
            Some(Value::Object(annotations)) => {
                annotations.remove(ANNOTATION);
            }
            _ => {
                metadata.remove("annotations");
            }
        }
    } else {
        config.set("metadata", Map::new());
    }
    let mut text = String::new();
    value::write_json(&mut text, &config);
    text.push('\n');
    text
}
