//! Workloads: how many pods, of which template.

use super::{affinity, pod};
use crate::field::{FieldErrors, Path};
use crate::selector;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// A number of pods.
pub(super) fn count(count: Option<i32>, field: &str, errors: &mut FieldErrors) {
    if let Some(count) = count
        && count < 0
    {
        errors.invalid_number(
            &Path::new(field),
            count,
            "must be greater than or equal to 0",
        );
    }
}

/// The template of a workload's pods.
pub(super) fn template(given: Option<&PodTemplateSpec>, errors: &mut FieldErrors) {
    let path = Path::new("spec.template");
    let Some(given) = given else {
        return errors.required(&path, "");
    };
    let labels = given
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.labels.as_ref());
    affinity::labels(labels, &path.child("metadata.labels"), errors);
    match &given.spec {
        Some(spec) => pod::spec(spec, &path.child("spec"), errors),
        None => errors.required(&path.child("spec.containers"), ""),
    }
}

/// The selector of a workload, which must select the pods of its own template.
pub(super) fn own_selector(
    given: &LabelSelector,
    template: Option<&PodTemplateSpec>,
    errors: &mut FieldErrors,
) {
    let path = Path::new("spec.selector");
    let before = errors.0.len();
    affinity::selector(Some(given), &path, errors);
    if errors.0.len() > before {
        return;
    }
    if selector::is_empty(given) {
        return errors.invalid_object(&path, "empty selector is invalid");
    }
    let labels = template.and_then(|template| template.metadata.as_ref()?.labels.as_ref());
    if !selector::matches(given, labels) {
        errors.invalid_object(
            &Path::new("spec.template.metadata.labels"),
            "`selector` does not match template `labels`",
        );
    }
}
