//! Upstream: `pkg/apis/autoscaling/v2/defaults.go`.

use serde_json::{Value, json};
use stowplan_apimachinery::{Edit, View};

pub(super) const CPU_UTILIZATION: i64 = 80;

pub(super) fn set(spec: &mut Value) {
    spec.default_to("minReplicas", 1);
    if spec.list("metrics").is_empty() {
        spec.set("metrics", json!([cpu(CPU_UTILIZATION.into())]));
    }
    if let Some(behavior) = spec.child_mut("behavior") {
        fill(behavior, "scaleUp", up());
        fill(behavior, "scaleDown", down());
    }
}

/// So much of the CPU that was asked for.
pub(super) fn cpu(percent: Value) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": percent});
    json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
}

fn fill(behavior: &mut Value, direction: &str, rules: Value) {
    let own = behavior.at_mut(direction);
    for (key, value) in rules.as_object().into_iter().flatten() {
        own.default_to(key, value.clone());
    }
}

fn up() -> Value {
    json!({"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ]})
}

fn down() -> Value {
    json!({"selectPolicy": "Max", "policies": [
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ]})
}
