//! One event in the words of two groups: `v1` and `events.k8s.io/v1`.
//!
//! Events are stored once, in the form of the core group. Upstream:
//! `pkg/apis/events/v1/conversion.go`.

use serde_json::{Map, Value, json};
use stowplan_apimachinery::{Edit, View};

/// Fields of other names: in the core group, and in `events.k8s.io`.
const NAMES: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// Fields of the same name and meaning.
const SHARED: &[&str] = &[
    "metadata",
    "eventTime",
    "series",
    "reportingInstance",
    "action",
    "reason",
    "related",
    "type",
];

/// The event in the form of the core group.
pub fn to_core(event: &Value) -> Value {
    let mut out = Value::Object(Map::new());
    out.set("apiVersion", "v1");
    out.set("kind", "Event");
    copy(
        event,
        &mut out,
        NAMES.iter().map(|(core, new)| (*new, *core)),
    );
    for key in ["involvedObject", "source", "metadata"] {
        out.default_to(key, json!({}));
    }
    for key in ["firstTimestamp", "lastTimestamp", "eventTime"] {
        out.at_mut(key);
    }
    for key in ["reportingComponent", "reportingInstance"] {
        out.default_to(key, "");
    }
    if let Some(series) = out.child_mut("series")
        && series.int("count") == Some(0)
    {
        series.unset("count");
    }
    out
}

/// The event in the form of `events.k8s.io/v1`.
pub fn from_core(event: &Value) -> Value {
    let mut out = Value::Object(Map::new());
    out.set("apiVersion", "events.k8s.io/v1");
    out.set("kind", "Event");
    copy(event, &mut out, NAMES.iter().copied());
    for key in ["regarding", "deprecatedSource", "metadata"] {
        out.default_to(key, json!({}));
    }
    for key in [
        "deprecatedFirstTimestamp",
        "deprecatedLastTimestamp",
        "eventTime",
    ] {
        out.at_mut(key);
    }
    for key in ["reportingController", "reportingInstance"] {
        if out.text(key).is_empty() {
            out.unset(key);
        }
    }
    if let Some(series) = out.child_mut("series") {
        series.default_to("count", 0);
        series.at_mut("lastObservedTime");
    }
    out
}

fn copy<'a>(from: &Value, to: &mut Value, renamed: impl Iterator<Item = (&'a str, &'a str)>) {
    let same = SHARED.iter().map(|key| (*key, *key));
    for (old, new) in renamed.chain(same) {
        if from.has(old) {
            to.set(new, from.at(old).clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_again() {
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"},
            "involvedObject": {"kind": "Pod"}, "message": "m", "reason": "R", "count": 3,
            "source": {"component": "c"}, "firstTimestamp": "2024-01-02T03:04:05Z",
            "lastTimestamp": null, "eventTime": null, "type": "Normal",
            "reportingComponent": "", "reportingInstance": "",
            "series": {"lastObservedTime": null},
        });
        let new = from_core(&core);
        assert_eq!(
            new,
            json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "a"},
                "regarding": {"kind": "Pod"}, "note": "m", "reason": "R", "deprecatedCount": 3,
                "deprecatedSource": {"component": "c"}, "eventTime": null, "type": "Normal",
                "deprecatedFirstTimestamp": "2024-01-02T03:04:05Z",
                "deprecatedLastTimestamp": null,
                "series": {"count": 0, "lastObservedTime": null},
            })
        );
        assert_eq!(to_core(&new), core);
    }
}
