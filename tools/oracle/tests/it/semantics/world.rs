//! Small clusters for the tests: what is not said has a believable default.

use serde_json::{Value, json};
use stowplan_oracle::{BOTH_PATHS, decision};

/// `base` with the fields of `extra` laid over it; lists are replaced.
fn merged(mut base: Value, extra: Value) -> Value {
    match (&mut base, extra) {
        (Value::Object(fields), Value::Object(extra)) => {
            for (key, value) in extra {
                let old = fields.remove(&key).unwrap_or(Value::Null);
                fields.insert(key, merged(old, value));
            }
            base
        }
        (_, extra) => extra,
    }
}

/// A node of 4 cpu, 8Gi and 110 pods.
pub(super) fn node(name: &str, extra: Value) -> Value {
    let base = json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    });
    merged(base, extra)
}

/// A pending pod without requests.
pub(super) fn pod(name: &str, extra: Value) -> Value {
    let base = json!({
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {
            "containers": [{"name": "c", "image": "example.com/app:v1"}],
            "schedulerName": "default-scheduler",
            "priority": 0,
        },
        "status": {"phase": "Pending"},
    });
    merged(base, extra)
}

/// A running pod.
pub(super) fn on(node: &str, name: &str, extra: Value) -> Value {
    let bound = json!({"spec": {"nodeName": node}, "status": {"phase": "Running"}});
    merged(pod(name, bound), extra)
}

/// One container with these requests.
pub(super) fn requests(requests: Value) -> Value {
    json!({"spec": {"containers": [
        {"name": "c", "image": "example.com/app:v1", "resources": {"requests": requests}},
    ]}})
}

/// A pod's spec and metadata from several parts.
pub(super) fn all(parts: impl IntoIterator<Item = Value>) -> Value {
    parts.into_iter().fold(json!({}), merged)
}

/// A cluster and the pod that is to be placed.
pub(super) struct World {
    case: Value,
}

impl World {
    pub(super) fn new(
        nodes: impl IntoIterator<Item = Value>,
        pods: impl IntoIterator<Item = Value>,
    ) -> Self {
        let nodes: Vec<_> = nodes.into_iter().collect();
        let pods: Vec<_> = pods.into_iter().collect();
        Self {
            case: json!({"profile": null, "objects": {"nodes": nodes, "pods": pods, "namespaces": []}}),
        }
    }

    /// Adds objects of other kinds, by the names of a case's lists.
    pub(super) fn with(mut self, list: &str, objects: Value) -> Self {
        self.case["objects"][list] = objects;
        self
    }

    /// Decides; the answer has the form of a case's `expect`. Both paths must come to it.
    pub(super) fn decide(&self, pod: Value) -> Value {
        let mut case = self.case.clone();
        case["pod"] = pod;
        let decision = decision::decide(&case).expect("the world can be loaded");
        case["expect"] = decision.clone();
        assert_eq!(decision::run_case(&case, BOTH_PATHS), [""; 0]);
        decision
    }
}

/// The names of the nodes that can be chosen.
pub(super) fn winners(decision: &Value) -> Vec<&str> {
    let mut names: Vec<_> = decision["winners"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    names.sort_unstable();
    names
}

/// `PLUGIN CODE: REASON, REASON` for one node, or `fits`.
pub(super) fn verdict(decision: &Value, node: &str) -> String {
    let status = &decision["filter"][node];
    if status.is_null() {
        return "fits".to_owned();
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reasons: Vec<_> = status["reasons"]
        .as_array()
        .into_iter()
        .flatten()
        .map(text)
        .collect();
    format!(
        "{} {}: {}",
        text(&status["plugin"]),
        text(&status["code"]),
        reasons.join(", ")
    )
}
