//! Placeholders: `{{ns}}`, `{{id}}`, `{{step3.metadata.uid}}`, and bodies made from earlier answers.

use crate::ordered::Json;
use regex::Regex;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What placeholders stand for: `ns`, `id`, `step1`, `setup1`…
pub(crate) type Known = BTreeMap<String, Value>;

static HOLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{\{([^{}]+)\}\}").expect("a fixed pattern"));

/// The value at a dotted path; `~` stands for a dot in a key.
pub(crate) fn lookup<'a>(value: &'a Value, path: &str) -> &'a Value {
    static NULL: Value = Value::Null;
    if path.is_empty() {
        return value;
    }
    path.split('.').fold(value, |value, part| match value {
        Value::Array(list) => part
            .parse::<usize>()
            .ok()
            .and_then(|index| list.get(index))
            .unwrap_or(&NULL),
        Value::Object(map) => map.get(&part.replace('~', ".")).unwrap_or(&NULL),
        _ => &NULL,
    })
}

/// Fills every string, keys too.
pub(crate) fn fill(value: &Value, known: &Known) -> Value {
    match value {
        Value::String(text) => match HOLE.captures(text) {
            Some(hole) if hole.get(0).is_some_and(|m| m.len() == text.len()) => {
                resolve(&hole[1], known)
            }
            _ => Value::String(fill_text(text, known)),
        },
        Value::Array(list) => list.iter().map(|v| fill(v, known)).collect(),
        Value::Object(map) => match map.get("$from") {
            Some(from) => {
                let changes = map.get("$set").map(|set| fill(set, known));
                changed(fill(from, known), &changes.unwrap_or_default())
            }
            None => {
                let filled = map
                    .iter()
                    .map(|(k, v)| (fill_text(k, known), fill(v, known)));
                Value::Object(filled.collect())
            }
        },
        other => other.clone(),
    }
}

/// Fills a body, which keeps its order unless it is made from an earlier answer.
pub(crate) fn fill_body(value: &Json, known: &Known) -> Json {
    match value {
        Json::String(text) => Json::from(&fill(&Value::String(text.clone()), known)),
        Json::Array(list) => Json::Array(list.iter().map(|v| fill_body(v, known)).collect()),
        Json::Object(_) if value.get("$from").is_some() => {
            let plain: Value = serde_json::from_str(&value.to_text()).unwrap_or_default();
            Json::from(&fill(&plain, known))
        }
        Json::Object(fields) => {
            let filled = fields
                .iter()
                .map(|(k, v)| (fill_text(k, known), fill_body(v, known)));
            Json::Object(filled.collect())
        }
        other => other.clone(),
    }
}

/// A text with its placeholders replaced by texts.
pub(crate) fn fill_text(text: &str, known: &Known) -> String {
    let replace = |hole: &regex::Captures<'_>| as_text(&resolve(&hole[1], known));
    HOLE.replace_all(text, replace).into_owned()
}

/// A path: what is not there must not turn an item's path into its collection's.
pub(crate) fn fill_path(text: &str, known: &Known) -> String {
    let replace = |hole: &regex::Captures<'_>| match as_text(&resolve(&hole[1], known)) {
        empty if empty.is_empty() => "absent".to_owned(),
        text => text,
    };
    HOLE.replace_all(text, replace).into_owned()
}

/// A text as it is, anything else as JSON.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn resolve(name: &str, known: &Known) -> Value {
    if let Some(value) = known.get(name) {
        return value.clone();
    }
    let (head, path) = name.split_once('.').unwrap_or((name, ""));
    match known.get(head).map(|value| lookup(value, path)) {
        Some(Value::Null) => Value::String(String::new()),
        Some(value) => value.clone(),
        None => Value::String(format!("{{{{{name}}}}}")),
    }
}

/// An earlier answer with values put at dotted paths; null removes.
fn changed(mut object: Value, changes: &Value) -> Value {
    for (path, value) in changes.as_object().into_iter().flatten() {
        let (parents, last) = path.rsplit_once('.').unwrap_or(("", path));
        let mut parents = parents.split('.').filter(|part| !part.is_empty());
        let at = parents.try_fold(&mut object, step_into);
        if let Some(at) = at {
            put(at, &last.replace('~', "."), value);
        }
    }
    object
}

fn step_into<'a>(at: &'a mut Value, part: &str) -> Option<&'a mut Value> {
    match at {
        Value::Array(list) => list.get_mut(part.parse::<usize>().ok()?),
        Value::Object(map) => {
            let entry = map.entry(part.replace('~', "."));
            Some(entry.or_insert_with(|| Value::Object(Map::new())))
        }
        _ => None,
    }
}

fn put(at: &mut Value, key: &str, value: &Value) {
    match at {
        Value::Array(list) => {
            let slot = key.parse::<usize>().ok().and_then(|i| list.get_mut(i));
            if let Some(slot) = slot {
                *slot = value.clone();
            }
        }
        Value::Object(map) if value.is_null() => drop(map.remove(key)),
        Value::Object(map) => drop(map.insert(key.to_owned(), value.clone())),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lone_placeholder_keeps_its_type() {
        let step = json!({"spec": {"replicas": 3}, "metadata": {"labels": {"a.b": "c"}}});
        let known = Known::from([("ns".to_owned(), json!("n")), ("step1".to_owned(), step)]);
        let filled = fill(
            &json!({"{{ns}}": "{{step1.spec.replicas}}", "b": "x{{step1.spec.replicas}}",
                "c": "{{step1.metadata.labels.a~b}}", "d": "{{step1.none}}"}),
            &known,
        );
        assert_eq!(filled, json!({"n": 3, "b": "x3", "c": "c", "d": ""}));
        let body = fill(
            &json!({"$from": "{{step1}}", "$set": {"spec.replicas": 4, "metadata": null, "x.y": 1}}),
            &known,
        );
        assert_eq!(body, json!({"spec": {"replicas": 4}, "x": {"y": 1}}));
        assert_eq!(fill_path("/a/{{step1.none}}", &known), "/a/absent");
    }
}
