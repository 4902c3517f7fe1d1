//! Workloads: how many pods, of which template.

use super::{Errors, pod, selector};
use crate::field::Path;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// A number of pods.
pub(super) fn count(count: Option<i32>, field: &str, errors: &mut Errors) {
    if let Some(count) = count
        && count < 0
    {
        errors.push(Path::new(field).invalid(count, "must be greater than or equal to 0"));
    }
}

/// The template of a workload's pods.
pub(super) fn template(given: Option<&PodTemplateSpec>, errors: &mut Errors) {
    let path = Path::new("spec.template");
    let Some(given) = given else {
        return errors.push(path.required(""));
    };
    let labels = given
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.labels.as_ref());
    selector::labels(labels, &path.child("metadata.labels"), errors);
    match &given.spec {
        Some(spec) => pod::spec(spec, &path.child("spec"), errors),
        None => errors.push(path.child("spec.containers").required("")),
    }
}

/// The selector of a workload, which must select the pods of its own template.
pub(super) fn own_selector(
    given: &LabelSelector,
    template: Option<&PodTemplateSpec>,
    errors: &mut Errors,
) {
    let path = Path::new("spec.selector");
    let before = errors.len();
    selector::selector(Some(given), &path, errors);
    if errors.len() > before {
        return;
    }
    if crate::selector::is_empty(given) {
        return errors.push(path.error(format!("Invalid value: {}", "empty selector is invalid")));
    }
    let labels = template.and_then(|template| template.metadata.as_ref()?.labels.as_ref());
    if !crate::selector::matches(given, labels) {
        errors.push(Path::new("spec.template.metadata.labels").error(format!(
            "Invalid value: {}",
            "`selector` does not match template `labels`"
        )));
    }
}
