//! Checks that several workloads share.

use crate::common::NEGATIVE;
use crate::common::faults::Faults;
use crate::common::labels::{self, SelectorOptions};
use crate::pod::{self, Options};
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::{ErrorList, Path, Raw};
use stowplan_apimachinery::labels::Selector;

/// A number of zero or more, if it is given.
pub(crate) fn validate_non_negative(
    object: &Value,
    field: &str,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    if let Some(value) = object.int(field).filter(|value| *value < 0) {
        errors.invalid(&path.child(field), value, NEGATIVE);
    }
}

/// Whether the selector is one, and if so whether it selects these labels.
pub(crate) fn matches_template(selector: &Value, labels: &Value) -> Option<bool> {
    let strict = SelectorOptions::default();
    if !labels::validate_selector(selector, strict, &Path::ROOT).is_empty() {
        return None;
    }
    let labels = labels.as_object().cloned().unwrap_or_default();
    let selector = Selector::from_object(selector);
    Some(selector.is_some_and(|selector| selector.matches(&labels)))
}

pub(super) const NO_MATCH: &str = "`selector` does not match template `labels`";

/// A selector that has to be there and to say something; `kind` is how upstream calls the owner.
pub(super) fn validate_selector(spec: &Value, kind: &str, path: &Path<'_>, errors: &mut ErrorList) {
    let selector = spec.at("selector");
    let at = path.child("selector");
    if selector.is_null() {
        errors.required(&at, "");
        return;
    }
    let strict = SelectorOptions::default();
    errors.extend(labels::validate_selector(selector, strict, &at));
    if labels::is_empty(selector) {
        errors.invalid(
            &at,
            Raw(&labels::shown(selector)),
            format!("empty selector is invalid for {kind}"),
        );
    }
}

/// The labels of the template are selected, unless the selector selects everything.
pub(super) fn validate_match(
    selector: &Value,
    template: &Value,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let everything = !selector.is_null() && labels::is_empty(selector);
    let own = template.at("metadata").at("labels");
    if !everything && matches_template(selector, own) == Some(false) {
        let metadata = path.child("metadata");
        errors.invalid(&metadata.child("labels"), own, NO_MATCH);
    }
}

/// Pods of a workload run until they are replaced.
pub(super) fn validate_runs_on(
    template: &Value,
    kind: &str,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let spec = template.at("spec");
    let at = path.child("spec");
    let policy = spec.text("restartPolicy");
    if policy != "Always" {
        errors.not_supported(&at.child("restartPolicy"), policy, &["Always"]);
    }
    if spec.has("activeDeadlineSeconds") {
        errors.forbidden(
            &at.child("activeDeadlineSeconds"),
            format!("activeDeadlineSeconds in {kind} is not Supported"),
        );
    }
}

/// Selector and template of a Deployment or ReplicaSet.
pub(super) fn validate_replica_template(
    spec: &Value,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    // Upstream says "deployment" of both.
    validate_selector(spec, "deployment", path, errors);
    let (selector, template) = (spec.at("selector"), spec.at("template"));
    let strict = SelectorOptions::default();
    if !labels::validate_selector(selector, strict, &Path::ROOT).is_empty() {
        let shown = labels::shown(selector);
        errors.invalid(
            &path.child("selector"),
            Raw(&shown),
            "invalid label selector",
        );
        return;
    }
    let at = path.child("template");
    validate_match(selector, template, &at, errors);
    pod::validate_template(template, options, &at, errors);
    validate_runs_on(template, "ReplicaSet", &at, errors);
}

/// A selector stays as it is.
pub(super) fn validate_same_selector(new: &Value, old: &Value, errors: &mut ErrorList) {
    let (after, before) = (
        new.path(&["spec", "selector"]),
        old.path(&["spec", "selector"]),
    );
    if !crate::common::equality::same(after, before) {
        let spec = Path::new("spec");
        errors.invalid(
            &spec.child("selector"),
            Raw(&labels::shown(after)),
            crate::common::IMMUTABLE,
        );
    }
}

/// Numbers of a status, and which may not be greater than which.
pub(crate) struct Counts {
    /// All of them, in upstream's order.
    pub fields: &'static [&'static str],
    /// A number, one that it may not exceed, and how that one is called.
    pub at_most: &'static [(&'static str, &'static str, &'static str)],
}

/// What the numbers of a ReplicaSet or a ReplicationController may not exceed.
pub(super) const REPLICAS_AT_MOST: &[(&str, &str, &str)] = &[
    ("fullyLabeledReplicas", "replicas", "status.replicas"),
    ("readyReplicas", "replicas", "status.replicas"),
    ("availableReplicas", "replicas", "status.replicas"),
    ("availableReplicas", "readyReplicas", "readyReplicas"),
];

/// Faults of the numbers of a status.
pub(crate) fn validate_counts(status: &Value, counts: &Counts, errors: &mut ErrorList) {
    let path = Path::new("status");
    for field in counts.fields {
        validate_non_negative(status, field, &path, errors);
    }
    let number = |field: &str| status.int(field).unwrap_or_default();
    for (field, bound, called) in counts.at_most {
        if number(field) > number(bound) {
            errors.invalid(
                &path.child(field),
                number(field),
                format!("cannot be greater than {called}"),
            );
        }
    }
}

/// How often names collided only grows. Upstream: `IsDecremented`, to which nothing is less than any
/// number.
pub(super) fn validate_collisions(new: &Value, old: &Value, errors: &mut ErrorList) {
    let count = |object: &Value| object.at("status").int("collisionCount");
    if count(new) < count(old) {
        let status = Path::new("status");
        errors.invalid(
            &status.child("collisionCount"),
            count(new).unwrap_or_default(),
            "cannot be decremented",
        );
    }
}
