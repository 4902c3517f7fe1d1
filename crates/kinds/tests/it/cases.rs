//! Reading the recorded cases, and filling in their placeholders.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// The cases of a family.
pub(crate) fn read(family: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/cases");
    let path = folder.join(format!("{family}.jsonl.zst"));
    let bytes = std::fs::read(&path).expect("the recorded cases are in the repository");
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(bytes.as_slice()).expect("zstd");
    let mut text = String::new();
    decoder.read_to_string(&mut text).expect("UTF-8");
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// What placeholders stand for. `{{ns}}` and `{{id}}` stand for themselves in answers, so they get
/// values here and there alike.
pub(crate) struct Known(BTreeMap<String, Value>);

impl Known {
    pub(crate) fn new() -> Self {
        let names = [("ns", "namespace1"), ("id", "cluster-id")];
        Self(names.map(|(k, v)| (k.to_owned(), Value::from(v))).into())
    }

    pub(crate) fn learn(&mut self, step: usize, answer: Value) {
        self.0.insert(format!("step{step}"), answer);
    }

    pub(crate) fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.fill_text(text),
            Value::Array(list) => list.iter().map(|v| self.fill(v)).collect(),
            Value::Object(map) => match map.get("$from") {
                Some(from) => {
                    let changes = map.get("$set").map(|set| self.fill(set));
                    changed(self.fill(from), &changes.unwrap_or_default())
                }
                None => {
                    let fields = map.iter().map(|(k, v)| (self.fill_key(k), self.fill(v)));
                    Value::Object(fields.collect())
                }
            },
            other => other.clone(),
        }
    }

    fn fill_key(&self, key: &str) -> String {
        match self.fill_text(key) {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    /// A text that is one placeholder takes the type of what it stands for.
    fn fill_text(&self, text: &str) -> Value {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((name, after)) = after.split_once("}}") else {
                break;
            };
            let value = self.resolve(name);
            if before.is_empty() && after.is_empty() && out.is_empty() {
                return value;
            }
            out.push_str(before);
            match value {
                Value::String(text) => out.push_str(&text),
                other => out.push_str(&other.to_string()),
            }
            rest = after;
        }
        out.push_str(rest);
        Value::String(out)
    }

    fn resolve(&self, name: &str) -> Value {
        let (head, path) = name.split_once('.').unwrap_or((name, ""));
        let Some(value) = self.0.get(head) else {
            return Value::String(format!("{{{{{name}}}}}"));
        };
        let parts = path.split('.').filter(|part| !part.is_empty());
        let found = parts.fold(value, |value, part| match part.parse::<usize>() {
            Ok(index) if value.is_array() => &value[index],
            _ => &value[part.replace('~', ".").as_str()],
        });
        match found {
            Value::Null => Value::from(""),
            found => found.clone(),
        }
    }
}

fn changed(mut object: Value, changes: &Value) -> Value {
    for (path, value) in changes.as_object().into_iter().flatten() {
        let keys: Vec<String> = path.split('.').map(|p| p.replace('~', ".")).collect();
        let (last, parents) = keys.split_last().expect("a path has parts");
        let mut at = &mut object;
        for key in parents {
            at = match (key.parse::<usize>(), at) {
                (Ok(index), Value::Array(list)) => &mut list[index],
                (_, at) => {
                    if !at.is_object() {
                        *at = Value::Object(Map::new());
                    }
                    &mut at[key.as_str()]
                }
            };
        }
        match (last.parse::<usize>(), at) {
            (Ok(index), Value::Array(list)) => list[index] = value.clone(),
            (_, Value::Object(map)) if value.is_null() => drop(map.remove(last)),
            (_, at) => {
                if !at.is_object() {
                    *at = Value::Object(Map::new());
                }
                at[last.as_str()] = value.clone();
            }
        }
    }
    object
}
