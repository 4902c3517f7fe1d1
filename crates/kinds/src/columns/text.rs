//! Texts that several kinds show alike.

use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::labels::Selector;

/// The text, or what stands for its absence.
pub(super) fn or<'a>(text: &'a str, absent: &'a str) -> &'a str {
    match text.is_empty() {
        true => absent,
        false => text,
    }
}

/// A map as `a=b,c=d`.
pub(super) fn labels(map: &Value) -> String {
    or(&Selector::from_map(map).to_string(), "<none>").to_owned()
}

/// A `metav1.LabelSelector` as `a=b,c in (d)`; an absent one selects nothing and shows as nothing.
pub(super) fn selector(selector: &Value) -> String {
    let text = match Selector::from_object(selector) {
        Some(selector) => selector.to_string(),
        None if selector.is_null() => String::new(),
        None => "<error>".to_owned(),
    };
    or(&text, "<none>").to_owned()
}

/// The names and the images of containers.
pub(super) fn containers(pod_spec: &Value) -> (String, String) {
    let all = pod_spec.list("containers");
    let join = |key| {
        let each: Vec<&str> = all.iter().map(|c| c.text(key)).collect();
        each.join(",")
    };
    (join("name"), join("image"))
}

/// A number, 0 if it is absent.
pub(super) fn count(object: &Value, key: &str) -> i64 {
    object.int(key).unwrap_or_default()
}

/// A number or a text (`IntOrString`) as it is printed.
pub(super) fn int_or_string(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// At most three of many: `a,b,c + 2 more...`
pub(super) fn at_most_three(all: &[String], absent: &str) -> String {
    three_of(all, all.len(), absent)
}

/// The same of so many, of which the first are given.
pub(super) fn three_of(first: &[String], all: usize, absent: &str) -> String {
    let text = first.iter().take(3).cloned().collect::<Vec<_>>().join(",");
    match all {
        0..=3 => or(&text, absent).to_owned(),
        many => format!("{text} + {} more...", many - 3),
    }
}

/// Whether a condition of this type is there and true.
pub(super) fn condition(object: &Value, kind: &str) -> bool {
    let conditions = object.at("status").list("conditions");
    let found = conditions.iter().find(|c| c.text("type") == kind);
    found.is_some_and(|c| c.text("status") == "True")
}

/// Whether the object is being deleted.
pub(super) fn terminating(object: &Value) -> bool {
    object.at("metadata").has("deletionTimestamp")
}

/// The value of an annotation.
pub(super) fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    object.at("metadata").at("annotations").text(key)
}
