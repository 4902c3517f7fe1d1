//! HorizontalPodAutoscaler in `autoscaling/v1`: it knows of one metric, and keeps what it has no
//! fields for in annotations.
//!
//! Upstream: `pkg/apis/autoscaling/v1/conversion.go` and `defaults.go`.

mod annotation;
mod metrics;

use super::{AutoscalerStatus, HorizontalPodAutoscaler, defaults};
use crate::conversion::{Converted, Forms};
use serde_json::{Value, json};
use stowplan_apimachinery::{Edit, View};

const KIND: &str = "HorizontalPodAutoscaler";
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
/// All annotations that stand for fields, some of them only in versions that are gone.
const ANNOTATIONS: [&str; 6] = [
    METRICS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
    CURRENT_METRICS,
    CONDITIONS,
];

/// Between `autoscaling/v1` and `autoscaling/v2`.
pub(crate) const FORMS: Forms = Forms {
    to_stored: to_v2,
    from_stored: from_v2,
};

pub(crate) static HORIZONTAL_POD_AUTOSCALER: Converted = Converted {
    main: &HorizontalPodAutoscaler,
    forms: FORMS,
    defaults: set_defaults,
    status: Some(&STATUS),
};

static STATUS: Converted = Converted {
    main: &AutoscalerStatus,
    forms: FORMS,
    defaults: set_defaults,
    status: None,
};

fn set_defaults(object: &mut Value) {
    object.at_mut("spec").default_to("minReplicas", 1);
}

/// Takes annotations away that stand for fields: nobody else may use their names.
pub(super) fn drop_annotations(object: &mut Value) {
    let Some(metadata) = object.child_mut("metadata") else {
        return;
    };
    let Some(annotations) = metadata.child_mut("annotations") else {
        return;
    };
    for name in ANNOTATIONS {
        annotations.unset(name);
    }
    if annotations
        .as_object()
        .is_some_and(serde_json::Map::is_empty)
    {
        metadata.unset("annotations");
    }
}

/// The object in the form of `autoscaling/v1`.
pub(crate) fn from_v2(object: &Value) -> Value {
    let (spec, status) = (object.at("spec"), object.at("status"));
    let mut out = begun("autoscaling/v1", object);
    copy(spec, out.at_mut("spec"), &SPEC);
    let wanted = spec.list("metrics").iter().find(|m| metrics::is_cpu(m));
    if let Some(metric) = wanted {
        let target = metric.at("resource").at("target");
        let percent = target.at("averageUtilization").clone();
        out.at_mut("spec")
            .set("targetCPUUtilizationPercentage", percent);
    }
    copy(status, out.at_mut("status"), &STATUS_FIELDS);
    let current = status.list("currentMetrics").iter();
    if let Some(percent) = current.rev().find_map(metrics::current_cpu) {
        out.at_mut("status")
            .set("currentCPUUtilizationPercentage", percent);
    }
    for (name, text) in annotations(spec, status) {
        out.at_mut("metadata").at_mut("annotations").set(name, text);
    }
    canonical("io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler", out)
}

/// What has no field of its own.
fn annotations(spec: &Value, status: &Value) -> Vec<(&'static str, String)> {
    let others = spec.list("metrics").iter().filter(|m| !metrics::is_cpu(m));
    let others: Vec<String> = others.map(metrics::SPECS.writer()).collect();
    let current = status.list("currentMetrics").iter();
    let current: Vec<String> = current.map(metrics::STATUSES.writer()).collect();
    let conditions = status.list("conditions").iter();
    let conditions: Vec<String> = conditions.map(annotation::condition).collect();
    let lists = [
        (METRICS, others),
        (CURRENT_METRICS, current),
        (CONDITIONS, conditions),
    ];
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let mut found: Vec<_> = lists
        .map(|(name, list)| (name, format!("[{}]", list.join(","))))
        .collect();
    if spec.has("behavior") {
        found.push((BEHAVIOR, annotation::behavior(spec.at("behavior"))));
    }
    found
}

/// The object in the form of `autoscaling/v2`. Annotations that cannot be read count for nothing.
pub(crate) fn to_v2(object: &Value) -> Value {
    let (spec, status) = (object.at("spec"), object.at("status"));
    let kept = object.at("metadata").at("annotations");
    let read = |name: &str| annotation::parse(kept.at(name));
    let mut out = begun("autoscaling/v2", object);

    let mut wanted = read(METRICS)
        .and_then(|list| metrics::SPECS.read(&list))
        .unwrap_or_default();
    let percent = spec.at("targetCPUUtilizationPercentage");
    if !percent.is_null() {
        wanted.push(defaults::cpu(percent.clone()));
    }
    if wanted.is_empty() {
        wanted.push(defaults::cpu(defaults::CPU_UTILIZATION.into()));
    }
    let into = out.at_mut("spec");
    copy(spec, into, &SPEC);
    into.set("metrics", wanted);
    if let Some(behavior) = read(BEHAVIOR).and_then(|read| annotation::read_behavior(&read)) {
        into.set("behavior", behavior);
    }

    let into = out.at_mut("status");
    copy(status, into, &STATUS_FIELDS);
    let percent = status.at("currentCPUUtilizationPercentage");
    if !percent.is_null() {
        let resource = json!({"name": "cpu", "current": {"averageUtilization": percent}});
        into.set(
            "currentMetrics",
            json!([{"type": "Resource", "resource": resource}]),
        );
    }
    // They say more than the field.
    if let Some(current) = read(CURRENT_METRICS).and_then(|list| metrics::STATUSES.read(&list)) {
        into.set("currentMetrics", current);
    }
    if let Some(conditions) = read(CONDITIONS).and_then(|list| annotation::read_conditions(&list)) {
        into.set("conditions", conditions);
    }
    canonical("io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler", out)
}

/// Fields that both versions have.
const SPEC: [&str; 3] = ["scaleTargetRef", "minReplicas", "maxReplicas"];
const STATUS_FIELDS: [&str; 4] = [
    "observedGeneration",
    "lastScaleTime",
    "currentReplicas",
    "desiredReplicas",
];

/// An object with the metadata of another one.
fn begun(api_version: &str, object: &Value) -> Value {
    let mut out = json!({"apiVersion": api_version, "kind": KIND});
    if object.has("metadata") {
        out.set("metadata", object.at("metadata").clone());
    }
    drop_annotations(&mut out);
    out
}

fn copy(from: &Value, to: &mut Value, fields: &[&str]) {
    for field in fields {
        if from.has(field) {
            to.set(field, from.at(field).clone());
        }
    }
}

/// Gives the object all fields that Go always writes. Metadata has them.
fn canonical(schema: &str, mut object: Value) -> Value {
    let metadata = object.unset("metadata");
    let ty = stowplan_schema::type_of(schema);
    let decoded = ty.and_then(|ty| stowplan_schema::decode(ty, &object).ok());
    let mut object = decoded.map_or(object, |decoded| decoded.object);
    if let Some(metadata) = metadata {
        object.set("metadata", metadata);
    }
    object
}

#[cfg(test)]
mod tests;
