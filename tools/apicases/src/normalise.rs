//! Replaces what a server makes up by labels, numbered by first appearance within one case.

use regex::{Captures, Regex};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

macro_rules! patterns {
    ($($name:ident = $pattern:expr;)*) => {$(
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($pattern).expect("a fixed pattern"));
    )*};
}

patterns! {
    TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)";
    UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
    WHOLE_UUID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
    WHOLE_SUFFIX = r"^[bcdfghjklmnpqrstvwxz2456789]{5}$";
    AGE = r"^(\d+(ms|[smhdy]))+$";
    AGO = r"\((\d+(ms|[smhdy]))+ ago\)";
    CELL_PORT = r":(\d{5})/";
    REVISION = r"(ResourceVersion in [a-z ]+(?:: |\())(\d+)";
    YAML_REVISION = r#"(\bresourceVersion: )"(\d+)""#;
    YAML_UID = r"(\buid: )(\S+)";
    CAPITAL_KEY = r#""[A-Z]\w*":"#;
    LIMITS = r"is forbidden: \[(.*)\]$";
    LIMIT_START = r"^(?:maximum|minimum|\S+ max limit) ";
}

/// Texts that differ from run to run, and what is shown instead.
static FIXED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (
            "kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}",
            "kube-api-access-<rand>",
        ),
        (r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "<jwt>"),
        (
            r"(Too large resource version: \d+, current: )\d+",
            "${1}<rv>",
        ),
        (r"(too old resource version: \d+ )\(\d+\)", "${1}(<rv>)"),
        (
            r"(?s)(may not (?:change|add or change|update) fields other than[^\n]*)\n.*",
            "${1}\n<diff>",
        ),
        (
            r"(?s)(is immutable after creation(?: except[^\n]*)?)\n.*",
            "${1}\n<diff>",
        ),
        (
            r"(?s)(only cpu and memory resources are mutable)\n.*",
            "${1}\n<diff>",
        ),
        (
            r"(?s)(existing ephemeral containers[^\n]*may not be changed)\n.*",
            "${1}\n<diff>",
        ),
        ("\u{a0}", " "),
        (
            r#"Invalid value: "\{(?:[^"\\]|\\.)*\}""#,
            "Invalid value: \"<patched object>\"",
        ),
    ];
    let compile = |(pattern, new)| (Regex::new(pattern).expect("a fixed pattern"), new);
    patterns.into_iter().map(compile).collect()
});

/// The labels of one case.
pub(crate) struct Normaliser {
    /// Seconds since the epoch.
    started_s: i64,
    /// The case's own names and their placeholders.
    names: [(String, &'static str); 2],
    /// (word, value) pairs that a server made up.
    known: BTreeSet<(&'static str, String)>,
    labels: BTreeMap<&'static str, BTreeMap<String, String>>,
    /// Generated names in the order in which they were seen, and what is shown instead.
    generated: Vec<(String, String)>,
    /// `generateName` values that were sent, as far as they are used.
    pub(crate) stems: Vec<String>,
}

impl Normaliser {
    pub(crate) fn new(ns: &str, id: &str, started_s: i64) -> Self {
        Self {
            started_s,
            names: [(ns.to_owned(), "{{ns}}"), (id.to_owned(), "{{id}}")],
            known: BTreeSet::new(),
            labels: BTreeMap::new(),
            generated: Vec::new(),
            stems: Vec::new(),
        }
    }

    /// The label of a value that the server made up, numbered when it is first shown.
    fn label(&mut self, word: &'static str, value: &str) -> Option<String> {
        if !self.known.contains(&(word, value.to_owned())) {
            return None;
        }
        let table = self.labels.entry(word).or_default();
        let next = table.len() + 1;
        let label = table
            .entry(value.to_owned())
            .or_insert_with(|| format!("<{word}:{next}>"));
        Some(label.clone())
    }

    fn label_or(&mut self, word: &'static str, value: &str) -> String {
        self.label(word, value).unwrap_or_else(|| value.to_owned())
    }

    fn generated(&mut self, name: &str, stem: &str) {
        if !self.generated.iter().any(|(known, _)| known == name) {
            let shown = format!("{stem}<gen:{}>", self.generated.len() + 1);
            self.generated.push((name.to_owned(), shown));
        }
    }

    /// Notes what the server made up in an answer.
    pub(crate) fn learn(&mut self, value: &Value) {
        self.learn_in(value, false);
    }

    fn learn_in(&mut self, value: &Value, bookmark: bool) {
        match value {
            Value::Array(list) => list.iter().for_each(|v| self.learn(v)),
            Value::Object(map) => {
                if map.get("type").is_some_and(|t| t == "BOOKMARK")
                    && let Some(object) = map.get("object")
                {
                    self.learn_in(object, true);
                    return;
                }
                self.learn_object(map, bookmark);
                map.values().for_each(|v| self.learn(v));
            }
            _ => {}
        }
    }

    fn learn_object(&mut self, map: &Map<String, Value>, bookmark: bool) {
        if let (Some(Value::Object(metadata)), false) = (map.get("metadata"), is_list(map)) {
            let text = |key: &str| {
                metadata
                    .get(key)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            };
            if WHOLE_UUID.is_match(text("uid")) {
                self.known.insert(("uid", text("uid").to_owned()));
            }
            if !text("resourceVersion").is_empty() && !bookmark {
                self.known
                    .insert(("rv", text("resourceVersion").to_owned()));
            }
            let (prefix, name) = (text("generateName"), text("name"));
            let split = name
                .len()
                .checked_sub(5)
                .filter(|at| name.is_char_boundary(*at));
            if let (false, Some(at)) = (prefix.is_empty(), split) {
                let (stem, suffix) = name.split_at(at);
                if WHOLE_SUFFIX.is_match(suffix) && prefix.starts_with(stem) {
                    self.generated(name, stem);
                }
            }
        }
        let uid = map
            .get("details")
            .map(|d| d["uid"].as_str().unwrap_or_default());
        if let (Some("Status"), Some(uid)) = (map.get("kind").and_then(Value::as_str), uid)
            && WHOLE_UUID.is_match(uid)
        {
            self.known.insert(("uid", uid.to_owned()));
        }
        if let Some(Value::Object(spec)) = map.get("spec") {
            self.learn_addresses(spec);
        }
    }

    fn learn_addresses(&mut self, spec: &Map<String, Value>) {
        let list = |key: &str| {
            spec.get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        for ip in spec.get("clusterIP").into_iter().chain(list("clusterIPs")) {
            match ip.as_str() {
                None | Some("" | "None") => {}
                Some(ip) => drop(self.known.insert(("clusterIP", ip.to_owned()))),
            }
        }
        let ports = list("ports").filter_map(|port| port.get("nodePort"));
        for port in ports.chain(spec.get("healthCheckNodePort")) {
            if port.as_i64().is_some_and(|port| port != 0) {
                self.known.insert(("nodePort", port.to_string()));
            }
        }
    }

    /// A text with everything that was made up replaced.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let mut out = text.to_owned();
        for stem in self.stems.clone() {
            let pattern = format!("{}[bcdfghjklmnpqrstvwxz2456789]{{5}}", regex::escape(&stem));
            let Ok(pattern) = Regex::new(&pattern) else {
                continue;
            };
            let found: Vec<String> = pattern
                .find_iter(&out)
                .map(|m| m.as_str().to_owned())
                .collect();
            for name in found {
                self.generated(&name, &stem);
            }
        }
        for (name, shown) in &self.generated {
            out = out.replace(name, shown);
        }
        for (name, shown) in &self.names {
            out = out.replace(name, shown);
        }
        out = self.addresses(out);
        out = replace(&UUID, &out, |m| self.label_or("uid", &m[0]));
        let started_s = self.started_s;
        out = replace(&TIME, &out, |m| time(m, started_s));
        out = replace(&REVISION, &out, |m| {
            format!("{}{}", &m[1], self.label_or("rv", &m[2]))
        });
        for (pattern, new) in FIXED.iter() {
            out = pattern.replace_all(&out, *new).into_owned();
        }
        sort_limits(&hide_internal(&out))
    }

    fn addresses(&mut self, mut text: String) -> String {
        let known: Vec<String> = self
            .known
            .iter()
            .filter(|(word, value)| *word == "clusterIP" && text.contains(value.as_str()))
            .map(|(_, value)| value.clone())
            .collect();
        for ip in known {
            let mut out = String::new();
            let mut rest = text.as_str();
            while let Some(at) = rest.find(&ip) {
                let (before, after) = (&rest[..at], &rest[at + ip.len()..]);
                out.push_str(before);
                match after.starts_with(|c: char| c.is_ascii_digit()) {
                    true => out.push_str(&ip),
                    false => out.push_str(&self.label_or("clusterIP", &ip)),
                }
                rest = after;
            }
            out.push_str(rest);
            text = out;
        }
        text
    }

    /// An answer with everything that was made up replaced.
    pub(crate) fn body(&mut self, value: &Value) -> Value {
        self.learn(value);
        self.replace(value, "", false)
    }

    fn replace(&mut self, value: &Value, key: &str, bookmark: bool) -> Value {
        match value {
            Value::String(text) if key == "resourceVersion" => match bookmark {
                true => "<rv>".into(),
                false => self.label_or("rv", text).into(),
            },
            Value::String(text) => self
                .label("clusterIP", text)
                .unwrap_or_else(|| self.text(text))
                .into(),
            Value::Array(list) => list.iter().map(|v| self.replace(v, key, false)).collect(),
            Value::Object(map) => self.replace_object(map, bookmark),
            other => other.clone(),
        }
    }

    fn replace_object(&mut self, map: &Map<String, Value>, bookmark: bool) -> Value {
        if map.get("type").is_some_and(|t| t == "BOOKMARK")
            && let Some(Value::Object(object)) = map.get("object")
        {
            return self.replace_bookmark(object);
        }
        let mut out = Map::new();
        for (key, value) in map {
            let (key, value) = match (key.as_str(), value) {
                ("metadata", Value::Object(metadata)) if bookmark || is_list(map) => {
                    let mut metadata = metadata.clone();
                    for (word, shown) in [("resourceVersion", "<rv>"), ("continue", "<continue>")] {
                        match metadata.get_mut(word) {
                            Some(value) if value.as_str().is_some_and(|v| !v.is_empty()) => {
                                *value = shown.into();
                            }
                            _ => {}
                        }
                    }
                    (
                        key.clone(),
                        self.replace(&Value::Object(metadata), "meta", false),
                    )
                }
                ("storageVersionHash", _) => (key.clone(), "<hash>".into()),
                ("nodePort" | "healthCheckNodePort", Value::Number(port)) => {
                    let label = self.label("nodePort", &port.to_string());
                    (
                        key.clone(),
                        label.map_or_else(|| value.clone(), Value::from),
                    )
                }
                ("managedFields" | "resourceRules" | "nonResourceRules", Value::Array(list)) => {
                    (key.clone(), self.sorted(list))
                }
                ("causes", Value::Array(list))
                    if list.iter().any(|c| c["reason"] == "FieldManagerConflict") =>
                {
                    (key.clone(), self.sorted(list))
                }
                ("rows", Value::Array(rows)) if map.get("kind").is_some_and(|k| k == "Table") => {
                    (key.clone(), rows.iter().map(|row| self.row(row)).collect())
                }
                _ => (self.text(key), self.replace(value, key, false)),
            };
            out.insert(key, value);
        }
        Value::Object(out)
    }

    /// Of a bookmark's object only the metadata counts; the rest is whatever zeros its kind has.
    fn replace_bookmark(&mut self, object: &Map<String, Value>) -> Value {
        let table = object.get("kind").is_some_and(|k| k == "Table");
        let kept = |key: &str| table || matches!(key, "apiVersion" | "kind" | "metadata");
        let object: Map<String, Value> = object
            .iter()
            .filter(|(key, _)| kept(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let object = self.replace(&Value::Object(object), "", true);
        serde_json::json!({"type": "BOOKMARK", "object": object})
    }

    /// Lists whose order means nothing.
    fn sorted(&mut self, list: &[Value]) -> Value {
        let mut out: Vec<Value> = list.iter().map(|v| self.replace(v, "", false)).collect();
        out.sort_by_cached_key(Value::to_string);
        Value::Array(out)
    }

    fn row(&mut self, row: &Value) -> Value {
        let mut rest = row.as_object().cloned().unwrap_or_default();
        let cells = rest.remove("cells").unwrap_or_default();
        let mut out = self.replace(&Value::Object(rest), "", false);
        let cells = cells.as_array().into_iter().flatten();
        let cells: Vec<Value> = cells.map(|cell| self.cell(cell)).collect();
        out["cells"] = cells.into();
        out
    }

    fn cell(&mut self, cell: &Value) -> Value {
        let Some(text) = cell.as_str() else {
            return cell.clone();
        };
        if AGE.is_match(text) {
            return "<age>".into();
        }
        let text = AGO.replace_all(text, "(<age> ago)").into_owned();
        let text = replace(&CELL_PORT, &text, |m| {
            format!(":{}/", self.label_or("nodePort", &m[1]))
        });
        self.label("clusterIP", &text)
            .unwrap_or_else(|| self.text(&text))
            .into()
    }

    /// YAML answers are compared as text, with the same words hidden.
    pub(crate) fn yaml(&mut self, text: &str) -> String {
        let text = replace(&YAML_REVISION, text, |m| {
            format!("{}\"{}\"", &m[1], self.label_or("rv", &m[2]))
        });
        let text = replace(&YAML_UID, &text, |m| {
            let label = self.label("uid", &m[2]);
            format!("{}{}", &m[1], label.unwrap_or_else(|| "<uid>".to_owned()))
        });
        self.text(&text)
    }
}

fn replace(pattern: &Regex, text: &str, mut new: impl FnMut(&Captures<'_>) -> String) -> String {
    pattern
        .replace_all(text, |m: &Captures<'_>| new(m))
        .into_owned()
}

/// Times not before the case started.
fn time(found: &Captures<'_>, started_s: i64) -> String {
    let text = &found[0];
    match seconds(text) {
        Some(at) if at >= started_s - 120 => match found.get(1) {
            Some(_) => "<microtime>".to_owned(),
            None => "<time>".to_owned(),
        },
        _ => text.to_owned(),
    }
}

/// The seconds since the epoch of `2006-01-02T15:04:05…`, if it is a date.
fn seconds(text: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let lengths = [
        31,
        28 + i64::from(leap),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let month_index = usize::try_from(month).ok()?.checked_sub(1)?;
    let length = *lengths.get(month_index)?;
    if !(1..=length).contains(&day) || hour > 23 || minute > 59 || second > 61 {
        return None;
    }
    let years = year - 1;
    let days = years * 365 + years / 4 - years / 100 + years / 400;
    let days = days + lengths[..month_index].iter().sum::<i64>() + day - 1;
    Some((days - 719_162) * 86_400 + hour * 3_600 + minute * 60 + second)
}

fn is_list(map: &Map<String, Value>) -> bool {
    let kind = map.get("kind").and_then(Value::as_str).unwrap_or_default();
    map.get("items").is_some_and(Value::is_array) || kind == "Table" || kind.ends_with("List")
}

/// Messages that print a Go struct of the server's internal types (capitalised keys) show
/// `<object>` instead.
fn hide_internal(text: &str) -> String {
    let mut text = text.to_owned();
    let mut from = 0;
    loop {
        let found = ["value: {", "value: ["]
            .iter()
            .filter_map(|start| text.get(from..)?.find(start))
            .min();
        let Some(found) = found else {
            return text;
        };
        let start = from + found + "value: ".len();
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let Some(Ok(_)) = values.next() else {
            return text;
        };
        let end = start + values.byte_offset();
        if CAPITAL_KEY.is_match(&text[start..end]) {
            text.replace_range(start..end, "<object>");
        }
        from = start + 1;
    }
}

/// A LimitRange's complaints come in random order.
fn sort_limits(text: &str) -> String {
    if !text.contains(" usage per ") && !text.contains("ratio per ") {
        return text.to_owned();
    }
    let Some(list) = LIMITS.captures(text).and_then(|m| m.get(1)) else {
        return text.to_owned();
    };
    let mut parts: Vec<String> = Vec::new();
    for piece in list.as_str().split(", ") {
        match parts.last_mut() {
            Some(last) if !LIMIT_START.is_match(piece) => {
                last.push_str(", ");
                last.push_str(piece);
            }
            _ => parts.push(piece.to_owned()),
        }
    }
    parts.sort();
    format!("{}{}]", &text[..list.start()], parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const UID: &str = "11111111-2222-4333-8444-555555555555";

    #[test]
    fn equal_values_keep_equal_labels() {
        let mut norm = Normaliser::new("nsx", "idx", 1_700_000_000);
        let object = json!({
            "kind": "Pod", "metadata": {
                "uid": UID, "resourceVersion": "7", "namespace": "nsx", "generateName": "web-",
                "name": "web-bcdfg", "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"made": "2001-01-01T00:00:00Z"}
            }
        });
        let shown = norm.body(&object);
        assert_eq!(
            shown["metadata"],
            json!({
                "uid": "<uid:1>", "resourceVersion": "<rv:1>", "namespace": "{{ns}}",
                "generateName": "web-", "name": "web-<gen:1>", "creationTimestamp": "<time>",
                "labels": {"made": "2001-01-01T00:00:00Z"}
            })
        );
        assert_eq!(
            norm.text(&format!("web-bcdfg {UID}")),
            "web-<gen:1> <uid:1>"
        );
        assert_eq!(norm.yaml("uid: other\n"), "uid: <uid>\n");
    }

    #[test]
    fn lists_hide_their_revision_and_bookmarks_all_but_metadata() {
        let mut norm = Normaliser::new("nsx", "idx", 0);
        let list = json!({"items": [], "metadata": {"resourceVersion": "9", "continue": "abc"}});
        let metadata = json!({"resourceVersion": "<rv>", "continue": "<continue>"});
        assert_eq!(norm.body(&list)["metadata"], metadata);
        let bookmark = json!({"type": "BOOKMARK", "object": {
            "kind": "Pod", "spec": {}, "metadata": {"resourceVersion": "9"}}});
        let shown = norm.body(&bookmark);
        assert_eq!(
            shown["object"],
            json!({"kind": "Pod", "metadata": {"resourceVersion": "<rv>"}})
        );
    }

    #[test]
    fn internal_objects_and_random_orders_are_hidden() {
        assert_eq!(
            hide_internal(r#"Invalid value: {"Name":"a"}: no, value: {"name":"a"}"#),
            r#"Invalid value: <object>: no, value: {"name":"a"}"#
        );
        assert_eq!(
            sort_limits("is forbidden: [minimum b usage per C is 1, but 2, maximum a usage per C]"),
            "is forbidden: [maximum a usage per C, minimum b usage per C is 1, but 2]"
        );
    }

    #[test]
    fn dates_are_counted_from_the_epoch() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2026-01-02T03:04:05Z"), Some(1_767_323_045));
        assert_eq!(seconds("2026-13-02T03:04:05Z"), None);
    }
}
