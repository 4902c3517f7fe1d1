//! Horizontal pod autoscalers, and the scale of workloads.

use super::text::count;
use super::{Columns, age};
use crate::autoscaler::v1;
use serde_json::{Value, json};
use stowplan_apimachinery::{View, meta};

/// For the `scale` subresource of any workload.
pub static SCALES: Columns = Columns::new("scales", |object, now_s| {
    vec![
        json!(meta::name(object)),
        json!(count(object.at("spec"), "replicas")),
        json!(count(object.at("status"), "replicas")),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static HORIZONTAL_POD_AUTOSCALERS: Columns =
    Columns::new("horizontalpodautoscalers", |object, now_s| {
        let (spec, status) = (object.at("spec"), object.at("status"));
        let target = spec.at("scaleTargetRef");
        let least = match spec.int("minReplicas") {
            Some(number) => number.to_string(),
            None => "<unset>".to_owned(),
        };
        vec![
            json!(meta::name(object)),
            json!(format!("{}/{}", target.text("kind"), target.text("name"))),
            json!(metrics(spec.list("metrics"), status.list("currentMetrics"))),
            json!(least),
            json!(count(spec, "maxReplicas")),
            json!(count(status, "currentReplicas")),
            json!(age::of(object, now_s)),
        ]
    });

/// The older version is shown as the newer one is.
pub(crate) static HORIZONTAL_POD_AUTOSCALERS_V1: Columns =
    Columns::new("horizontalpodautoscalers", |object, now_s| {
        (HORIZONTAL_POD_AUTOSCALERS.row)(&v1::to_v2(object), now_s)
    });

/// At most two targets, each with its current value.
fn metrics(specs: &[Value], statuses: &[Value]) -> String {
    if specs.is_empty() {
        return "<none>".to_owned();
    }
    let each = specs.iter().enumerate().take(2).map(|(i, spec)| {
        let status = statuses.get(i).unwrap_or(&Value::Null);
        metric(spec, status)
    });
    let text = each.collect::<Vec<_>>().join(", ");
    match specs.len() {
        0..=2 => text,
        many => format!("{text} + {} more...", many - 2),
    }
}

fn metric(spec: &Value, status: &Value) -> String {
    let (source, named) = match spec.text("type") {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let target = spec.at(source).at("target");
    let current = status.at(source).at("current");
    // A status of this type without the value prints Go's nil pointer.
    let known = |key: &str| match (status.has(source), current.at(key)) {
        (false, _) => "<unknown>".to_owned(),
        (true, Value::String(text)) => text.clone(),
        (true, _) => "<nil>".to_owned(),
    };
    let average = target.has("averageValue");
    match (source, average) {
        ("external" | "object", true) => {
            let now = current.at("averageValue").as_str().unwrap_or("<unknown>");
            format!("{now}/{} (avg)", target.text("averageValue"))
        }
        ("external" | "object", false) => format!("{}/{}", known("value"), target.text("value")),
        ("pods", _) => format!("{}/{}", known("averageValue"), target.text("averageValue")),
        _ => {
            let name = if named {
                spec.at(source).text("name")
            } else {
                ""
            };
            if average {
                let now = known("averageValue");
                return format!("{name}: {now}/{}", target.text("averageValue"));
            }
            let percent = |value: &Value, absent: &str| match value.int("averageUtilization") {
                Some(number) => format!("{number}%"),
                None => absent.to_owned(),
            };
            let (now, goal) = (percent(current, "<unknown>"), percent(target, "<auto>"));
            format!("{name}: {now}/{goal}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_shown_with_their_current_value() {
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {
            "type": "Utilization", "averageUtilization": 80}}});
        let now = json!({"type": "Resource", "resource": {"current": {"averageUtilization": 50}}});
        assert_eq!(metrics(&[], &[]), "<none>");
        assert_eq!(metrics(std::slice::from_ref(&cpu), &[now]), "cpu: 50%/80%");
        let pods = json!({"type": "Pods", "pods": {"target": {"averageValue": "10"}}});
        let external = json!({"type": "External", "external": {"target": {"averageValue": "3"}}});
        assert_eq!(
            metrics(&[pods, external, cpu], &[]),
            "<unknown>/10, <unknown>/3 (avg) + 1 more..."
        );
    }
}
