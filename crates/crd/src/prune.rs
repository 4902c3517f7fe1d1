//! Dropping what a schema does not know.
//!
//! Upstream: `pkg/apiserver/schema/pruning/algorithm.go`.

use serde_json::{Map, Value};
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::Path;
use stowplan_apimachinery::limits::PROBLEM_BYTES_MAX;

pub(crate) use stowplan_cel::schema::{additional, items};

/// Drops unknown fields from a custom resource and says which they were, as paths in sorted order
/// (`spec.x`, `spec.list[0].y`). `apiVersion`, `kind` and `metadata` are always known.
pub fn prune(object: &mut Value, schema: &Value) -> Vec<String> {
    let mut unknown = Unknown::default();
    value(object, Some(schema), true, &Path::ROOT, &mut unknown);
    unknown.paths.sort_unstable();
    unknown.paths
}

/// Whether a value, which need not be a whole object, has anything that its schema does not know.
pub(crate) fn is_unknown(part: &Value, schema: &Value) -> bool {
    let mut unknown = Unknown::default();
    let place = Path::ROOT;
    value(&mut part.clone(), Some(schema), false, &place, &mut unknown);
    !unknown.paths.is_empty()
}

/// The schema of a field by name.
pub(crate) fn property<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.at("properties").get(name)
}

fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

/// Fields that were dropped. They are named until that takes too many bytes.
#[derive(Default)]
struct Unknown {
    paths: Vec<String>,
    bytes: usize,
}

impl Unknown {
    fn push(&mut self, path: &Path<'_>) {
        if self.bytes <= PROBLEM_BYTES_MAX {
            let path = path.to_string();
            self.bytes += path.len();
            self.paths.push(path);
        }
    }
}

fn keeps(schema: Option<&Value>) -> bool {
    schema.is_some_and(|s| s.flag("x-kubernetes-preserve-unknown-fields"))
}

/// Prunes a value. What a schema keeps is looked into only as far as it is described, and what is in a
/// list that it keeps is kept as well.
fn value(
    here: &mut Value,
    schema: Option<&Value>,
    root: bool,
    path: &Path<'_>,
    unknown: &mut Unknown,
) {
    let keep = keeps(schema);
    visit(here, schema, (keep, root), path, unknown);
}

fn visit(
    here: &mut Value,
    schema: Option<&Value>,
    (keep, root): (bool, bool),
    path: &Path<'_>,
    unknown: &mut Unknown,
) {
    match here {
        Value::Object(map) => object(map, schema, (keep, root), path, unknown),
        Value::Array(list) => {
            let items = schema.and_then(items);
            if keep && items.is_none() {
                return;
            }
            for (i, element) in list.iter_mut().enumerate() {
                let keep = keep || keeps(items);
                visit(element, items, (keep, false), &path.index(i), unknown);
            }
        }
        _ => {}
    }
}

fn object(
    map: &mut Map<String, Value>,
    schema: Option<&Value>,
    (keep, root): (bool, bool),
    path: &Path<'_>,
    unknown: &mut Unknown,
) {
    let embedded = root || schema.is_some_and(|s| s.flag("x-kubernetes-embedded-resource"));
    map.retain(|name, here| {
        if embedded && is_meta(name) {
            return true;
        }
        let known = schema.and_then(|s| match property(s, name) {
            Some(property) => Some(Some(property)),
            None => additional(s),
        });
        match known {
            Some(schema) => {
                value(here, schema, false, &path.child(name), unknown);
                true
            }
            None if keep => true,
            None => {
                unknown.push(&path.child(name));
                false
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_fields_go_and_are_named() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                     "properties": {"known": {"type": "object"}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"n": {}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object"}},
            "pod": {"type": "object", "x-kubernetes-embedded-resource": true},
        }}}});
        let mut object = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "extra": 1,
            "spec": {"a": "b", "z": 1, "free": {"q": 1, "known": {"gone": 1}},
                "list": [{"n": 1, "m": 2}], "map": {"k": {"v": 1}},
                "pod": {"kind": "Pod", "x": 1}}});
        let unknown = prune(&mut object, &schema);
        assert_eq!(
            unknown,
            [
                "extra",
                "spec.free.known.gone",
                "spec.list[0].m",
                "spec.map.k.v",
                "spec.pod.x",
                "spec.z"
            ]
        );
        assert_eq!(
            object["spec"],
            json!({"a": "b", "free": {"q": 1, "known": {}}, "list": [{"n": 1}],
                "map": {"k": {}}, "pod": {"kind": "Pod"}})
        );
    }
}
