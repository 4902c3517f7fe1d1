//! Parts of an object as text in annotations, as Go's `encoding/json` writes and reads them: fields
//! in the order of the struct, and of any case when they are read.

use serde_json::{Map, Value, json};
use stowplan_apimachinery::{Edit, View};
use stowplan_schema::type_of;

/// A struct that is being written.
pub(super) struct Fields(String);

impl Default for Fields {
    fn default() -> Self {
        Self("{".to_owned())
    }
}

impl Fields {
    pub(super) fn raw(&mut self, name: &str, json: impl AsRef<str>) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
        self.0.push_str(json.as_ref());
    }

    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.value(name, &text.into());
    }

    /// A value in which no order matters: null, a number, a text, a list or a map of texts.
    pub(super) fn value(&mut self, name: &str, value: &Value) {
        self.raw(name, go_json(value));
    }

    /// The same, unless there is nothing in it.
    fn some(&mut self, name: &str, value: &Value) {
        let empty = match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(list) => list.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => false,
        };
        if !empty {
            self.value(name, value);
        }
    }

    pub(super) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Go escapes what HTML or JavaScript could take for something else.
fn go_json(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// `CrossVersionObjectReference`
pub(super) fn reference(value: &Value) -> String {
    let mut out = Fields::default();
    out.text("kind", value.text("kind"));
    out.text("name", value.text("name"));
    out.some("apiVersion", value.at("apiVersion"));
    out.end()
}

/// `LabelSelector`
pub(super) fn selector(value: &Value) -> String {
    let mut out = Fields::default();
    out.some("matchLabels", value.at("matchLabels"));
    // Their fields are in order.
    out.some("matchExpressions", value.at("matchExpressions"));
    out.end()
}

/// `HorizontalPodAutoscalerCondition`
pub(super) fn condition(value: &Value) -> String {
    let mut out = Fields::default();
    out.text("type", value.text("type"));
    out.text("status", value.text("status"));
    out.value("lastTransitionTime", value.at("lastTransitionTime"));
    out.some("reason", value.at("reason"));
    out.some("message", value.at("message"));
    out.end()
}

/// The internal `HorizontalPodAutoscalerBehavior`, whose fields have Go's names.
pub(super) fn behavior(value: &Value) -> String {
    let mut out = Fields::default();
    for (name, key) in [("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown")] {
        match value.has(key) {
            true => out.raw(name, rules(value.at(key))),
            false => out.raw(name, "null"),
        }
    }
    out.end()
}

fn rules(value: &Value) -> String {
    let mut out = Fields::default();
    let window = value.at("stabilizationWindowSeconds");
    out.value("StabilizationWindowSeconds", window);
    out.value("SelectPolicy", value.at("selectPolicy"));
    let policies: Vec<String> = value.list("policies").iter().map(policy).collect();
    match value.has("policies") {
        true => out.raw("Policies", format!("[{}]", policies.join(","))),
        false => out.raw("Policies", "null"),
    }
    out.value("Tolerance", value.at("tolerance"));
    out.end()
}

fn policy(value: &Value) -> String {
    let mut out = Fields::default();
    out.text("Type", value.text("type"));
    out.value("Value", &value.int("value").unwrap_or_default().into());
    let period = value.int("periodSeconds").unwrap_or_default();
    out.value("PeriodSeconds", &period.into());
    out.end()
}

/// What an annotation says, if it is there and says anything.
pub(super) fn parse(annotation: &Value) -> Option<Value> {
    serde_json::from_str(annotation.as_str()?).ok()
}

/// The elements of a list; null is an empty one.
pub(super) fn items(list: &Value) -> Option<&[Value]> {
    match list {
        Value::Null => Some(&[]),
        Value::Array(items) => Some(items),
        _ => None,
    }
}

/// An object with these fields only, of whatever case they are; null is an empty one.
pub(super) fn fold(value: &Value, names: &[&str]) -> Option<Map<String, Value>> {
    let mut out = Map::new();
    let fields = match value {
        Value::Null => return Some(out),
        Value::Object(fields) => fields,
        _ => return None,
    };
    for (key, value) in fields {
        let name = names.iter().find(|name| name.eq_ignore_ascii_case(key));
        if let Some(name) = name.filter(|_| !value.is_null()) {
            out.set(name, value.clone());
        }
    }
    Some(out)
}

/// Puts a value below an object, unless it is null.
pub(super) fn put(object: &mut Value, path: &[&str], value: &Value) {
    let mut at = object;
    for name in path {
        if value.is_null() {
            return;
        }
        at = at.at_mut(name);
    }
    *at = value.clone();
}

/// Conditions in the form of `autoscaling/v2`, which is the same.
pub(super) fn read_conditions(list: &Value) -> Option<Vec<Value>> {
    const FIELDS: [&str; 5] = ["type", "status", "lastTransitionTime", "reason", "message"];
    let ty = type_of("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerCondition")?;
    let read = |condition: &Value| {
        let condition = fold(condition, &FIELDS)?.into();
        Some(stowplan_schema::decode(ty, &condition).ok()?.object)
    };
    items(list)?.iter().map(read).collect()
}

/// Behavior in the form of `autoscaling/v2`; nothing if it says nothing.
pub(super) fn read_behavior(value: &Value) -> Option<Value> {
    const RULES: [&str; 4] = [
        "stabilizationWindowSeconds",
        "selectPolicy",
        "policies",
        "tolerance",
    ];
    let mut behavior = fold(value, &["scaleUp", "scaleDown"])?;
    for (_, rules) in &mut behavior {
        let mut folded = fold(rules, &RULES)?;
        if let Some(policies) = folded.get_mut("policies") {
            let fold = |policy| fold(policy, &["type", "value", "periodSeconds"]);
            let read = items(policies)?.iter().map(fold);
            let read = read.map(|policy| Some(Value::from(policy?)));
            *policies = read.collect::<Option<Vec<_>>>()?.into();
        }
        *rules = folded.into();
    }
    if behavior.is_empty() {
        return None;
    }
    let ty = type_of("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior")?;
    let read = stowplan_schema::decode(ty, &json!(behavior)).ok()?;
    Some(read.object)
}
