//! The life of a pod, sentence by sentence.

mod ends;
mod starts;

use super::testing::Life;
use serde_json::{Value, json};

fn one(container: Value) -> Value {
    let mut container = container;
    container["name"] = json!("c");
    container["image"] = json!("nginx:1");
    json!({"containers": [container]})
}

fn with(spec: Value, field: &str, value: Value) -> Value {
    let mut spec = spec;
    spec[field] = value;
    spec
}

fn notes(pairs: &[(&str, &str)]) -> Value {
    let notes: serde_json::Map<_, _> = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), json!(value)))
        .collect();
    json!({"annotations": notes})
}

/// Lets a pod live and compares what is reported at each second.
#[track_caller]
fn check(mut life: Life, rows: &[(i64, &str)]) -> Life {
    for (second, expected) in rows {
        life.at(*second);
        assert_eq!(life.brief(), *expected, "after {second} s");
    }
    life
}
