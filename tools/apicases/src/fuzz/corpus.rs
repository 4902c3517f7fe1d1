//! The words of the recorded conversations, to make others from.

use super::pick;
use crate::case::{Case, Step};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use stowplan_base::Rng;

/// What was recorded.
pub(super) struct Corpus {
    pub(super) cases: Vec<Case>,
    /// Bodies that were sent.
    pub(super) bodies: Vec<Value>,
    /// Pieces of them: field names and texts.
    pub(super) words: Vec<String>,
    queries: Vec<(String, Value)>,
    headers: Vec<(String, Value)>,
}

impl Corpus {
    pub(super) fn new(cases: Vec<Case>) -> Self {
        let mut words = BTreeSet::new();
        let (mut bodies, mut seen) = (Vec::new(), BTreeSet::new());
        let (mut queries, mut headers) = (BTreeSet::new(), BTreeSet::new());
        for step in cases.iter().flat_map(|c| c.setup.iter().chain(&c.steps)) {
            if let Some(body) = step.fields.get("body")
                && seen.insert(body.to_string())
            {
                collect_words(body, &mut words);
                bodies.push(body.clone());
            }
            collect_pairs(step, "query", &mut queries);
            collect_pairs(step, "headers", &mut headers);
        }
        Self {
            cases,
            bodies,
            words: words.into_iter().collect(),
            queries: pairs(queries),
            headers: pairs(headers),
        }
    }

    pub(super) fn word(&self, rng: &mut Rng) -> String {
        pick(rng, &self.words).cloned().unwrap_or_default()
    }

    pub(super) fn body(&self, rng: &mut Rng) -> Value {
        pick(rng, &self.bodies).cloned().unwrap_or_default()
    }

    pub(super) fn query(&self, rng: &mut Rng) -> Option<(String, Value)> {
        pick(rng, &self.queries).cloned()
    }

    pub(super) fn header(&self, rng: &mut Rng) -> Option<(String, Value)> {
        pick(rng, &self.headers).cloned()
    }
}

fn collect_words(value: &Value, words: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => drop(words.insert(text.clone())),
        Value::Array(list) => list.iter().for_each(|v| collect_words(v, words)),
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            words.insert(key.clone());
            collect_words(value, words);
        }),
        _ => {}
    }
}

/// Pairs as texts, which can be ordered.
fn collect_pairs(step: &Step, field: &str, pairs: &mut BTreeSet<(String, String)>) {
    let map = step.fields.get(field).and_then(Value::as_object);
    for (name, value) in map.unwrap_or(&Map::new()) {
        pairs.insert((name.clone(), value.to_string()));
    }
}

fn pairs(texts: BTreeSet<(String, String)>) -> Vec<(String, Value)> {
    let parse = |text: String| serde_json::from_str(&text).unwrap_or_default();
    texts.into_iter().map(|(k, v)| (k, parse(v))).collect()
}
