//! HorizontalPodAutoscaler, kept as `autoscaling/v2`.
//!
//! Upstream: `pkg/apis/autoscaling/v2/defaults.go`, `pkg/apis/autoscaling/validation/validation.go`,
//! `pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go`.

mod defaults;
mod metrics;
pub(crate) mod v1;
mod validate;

use crate::common::faults::Faults;
use crate::common::{NEGATIVE, kube_metadata, name_rules};
use crate::subresource::{inherit, keep};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::{Value, json};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View};

pub(crate) struct HorizontalPodAutoscaler;

impl CreateStrategy for HorizontalPodAutoscaler {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        object.set(
            "status",
            json!({"desiredReplicas": 0, "currentMetrics": null}),
        );
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, true, &name_rules::dns_subdomain);
        errors.extend(validate::spec(object.at("spec"), None));
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for HorizontalPodAutoscaler {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        errors.extend(validate::spec(new.at("spec"), Some(old.at("spec"))));
        errors
    }
}

impl Strategy for HorizontalPodAutoscaler {
    fn set_defaults(&self, object: &mut Value) {
        v1::drop_annotations(object);
        defaults::set(object.at_mut("spec"));
    }

    /// `autoscaling/v1` has fewer defaults.
    fn read_back(&self, object: &mut Value) -> bool {
        let before = object.at("spec").clone();
        self.set_defaults(object);
        *object.at("spec") != before
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        Some(&AutoscalerStatus)
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }
}

struct AutoscalerStatus;

impl CreateStrategy for AutoscalerStatus {
    inherit!(create: HorizontalPodAutoscaler);
}

impl UpdateStrategy for AutoscalerStatus {
    inherit!(update: HorizontalPodAutoscaler);

    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "spec");
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        let path = Path::new("status");
        for field in ["currentReplicas", "desiredReplicas"] {
            if let Some(count @ ..0) = new.at("status").int(field) {
                errors.invalid(&path.child(field), count, NEGATIVE);
            }
        }
        errors
    }
}

impl Strategy for AutoscalerStatus {
    inherit!(HorizontalPodAutoscaler);

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec"]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::faults;

    fn autoscaler(spec: Value) -> Value {
        let mut object = json!({"metadata": {"name": "a", "namespace": "n"}, "spec": spec});
        HorizontalPodAutoscaler.set_defaults(&mut object);
        object
    }

    #[test]
    fn cpu_is_scaled_by_unless_told_otherwise() {
        let object = autoscaler(json!({"maxReplicas": 3, "behavior": {"scaleDown": {
            "stabilizationWindowSeconds": 5}}}));
        let spec = &object["spec"];
        assert_eq!(spec["minReplicas"], 1);
        assert_eq!(
            spec["metrics"][0]["resource"]["target"]["averageUtilization"],
            80
        );
        let down = &spec["behavior"]["scaleDown"];
        assert_eq!(down["stabilizationWindowSeconds"], 5);
        assert_eq!(down["policies"].as_array().map(Vec::len), Some(1));
        assert_eq!(
            spec["behavior"]["scaleUp"]["policies"]
                .as_array()
                .map(Vec::len),
            Some(2)
        );
    }

    #[test]
    fn targets_and_metrics_are_checked() {
        let target = json!({"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"});
        let object = autoscaler(json!({"maxReplicas": 3, "scaleTargetRef": target}));
        assert!(faults(&HorizontalPodAutoscaler, &object).is_empty());
        let object = autoscaler(json!({"minReplicas": 0, "scaleTargetRef": {"kind": "x"},
            "metrics": [{"type": "Pods", "resource": {"name": "cpu", "target": {"type": "?"}}}]}));
        let found = faults(&HorizontalPodAutoscaler, &object);
        let fields: Vec<&str> = found.iter().filter_map(|f| f.split(": ").next()).collect();
        assert_eq!(
            fields,
            [
                "spec.minReplicas",
                "spec.maxReplicas",
                "spec.scaleTargetRef.name",
                "spec.scaleTargetRef.apiVersion",
                "spec.metrics[0].resource.target.type",
                "spec.metrics[0].resource.target.averageUtilization",
                "spec.metrics[0].pods",
                "spec.metrics",
            ]
        );
    }
}
