//! Deployments.

use super::checks::{
    self, validate_collisions, validate_non_negative, validate_replica_template,
    validate_same_selector,
};
use super::int_or_percent::{amount, validate_at_most_all, validate_positive};
use super::{
    Counts, Workload, nothing_added, nothing_changed, nothing_new, path_mut, spec_template_warnings,
};
use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::status::StatusStrategy;
use crate::common::{kube_metadata, name_rules};
use crate::pod::{self, Options};
use serde_json::{Map, Value, json};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View};

const SPEC: Path<'static> = Path::new("spec");

/// The revision to go back to, from the days when that was a field.
pub(super) const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";

/// How deployments behave.
pub(crate) static DEPLOYMENT: Workload = Workload {
    template: &["spec", "template"],
    set_defaults,
    empty_status: || json!({}),
    prepare_for_create: nothing_new,
    prepare_for_update: nothing_changed,
    changed: |new, old| {
        let annotations = |object: &Value| object.path(&["metadata", "annotations"]).clone();
        super::spec_changed(new, old) || !same(&annotations(new), &annotations(old))
    },
    validate: |object| {
        let mut errors = kube_metadata::validate(object, true, &name_rules::dns_subdomain);
        validate_spec(object.at("spec"), &Options::default(), &mut errors);
        errors
    },
    validate_update: |new, old| {
        let mut errors = kube_metadata::validate_update(new, old);
        let options = Options::for_template(old.path(&["spec", "template"]));
        validate_spec(new.at("spec"), &options, &mut errors);
        validate_same_selector(new, old, &mut errors);
        errors
    },
    warnings: spec_template_warnings,
    name_rule: name_rules::dns_subdomain,
    status: Some(&DEPLOYMENT_STATUS),
    orphans_by_default: false,
    returns_deleted_object: false,
    read_back: nothing_added,
};

static DEPLOYMENT_STATUS: StatusStrategy = StatusStrategy {
    whole: &DEPLOYMENT,
    kept_metadata: &["labels"],
    also: |new, old| keep_annotation(new, old, ROLLBACK_TO),
    reset_fields: &[&["spec"], &["metadata", "labels"]],
    validate_update: |new, old| {
        let mut errors = kube_metadata::validate_update(new, old);
        checks::validate_counts(new.at("status"), &COUNTS, &mut errors);
        validate_collisions(new, old, &mut errors);
        errors
    },
};

const COUNTS: Counts = Counts {
    fields: &[
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ],
    at_most: &[
        ("updatedReplicas", "replicas", "status.replicas"),
        ("readyReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "readyReplicas", "readyReplicas"),
    ],
};

/// What upstream keeps in a field of the spec changes with the spec only.
pub(super) fn keep_annotation(new: &mut Value, old: &Value, key: &str) {
    match old.path(&["metadata", "annotations"]).at(key) {
        Value::Null => drop_annotation(new, key),
        value => path_mut(new, &["metadata", "annotations"]).set(key, value.clone()),
    }
}

fn drop_annotation(object: &mut Value, key: &str) {
    if !object.path(&["metadata", "annotations"]).has(key) {
        return;
    }
    let metadata = object.at_mut("metadata");
    let annotations = metadata.at_mut("annotations");
    annotations.unset(key);
    if annotations.as_object().is_some_and(Map::is_empty) {
        metadata.unset("annotations");
    }
}

fn set_defaults(object: &mut Value) {
    if object.path(&["metadata", "annotations"]).at(ROLLBACK_TO) == "" {
        drop_annotation(object, ROLLBACK_TO);
    }
    let spec = object.at_mut("spec");
    spec.default_to("replicas", 1);
    spec.default_to("revisionHistoryLimit", 10);
    spec.default_to("progressDeadlineSeconds", 600);
    let strategy = spec.at_mut("strategy");
    if strategy.text("type").is_empty() {
        strategy.set("type", "RollingUpdate");
    }
    let rolling = strategy.text("type") == "RollingUpdate";
    if rolling || strategy.has("rollingUpdate") {
        // Elsewhere the numbers are refused, and shown as zeros.
        let default = if rolling { json!("25%") } else { json!(0) };
        let update = strategy.at_mut("rollingUpdate");
        update.default_to("maxUnavailable", default.clone());
        update.default_to("maxSurge", default);
    }
    pod::set_template_defaults(spec.at_mut("template"));
}

fn validate_spec(spec: &Value, options: &Options, errors: &mut ErrorList) {
    validate_non_negative(spec, "replicas", &SPEC, errors);
    validate_replica_template(spec, options, &SPEC, errors);
    validate_strategy(spec.at("strategy"), &SPEC.child("strategy"), errors);
    validate_non_negative(spec, "minReadySeconds", &SPEC, errors);
    validate_non_negative(spec, "revisionHistoryLimit", &SPEC, errors);
    let Some(deadline) = spec.int("progressDeadlineSeconds") else {
        return;
    };
    validate_non_negative(spec, "progressDeadlineSeconds", &SPEC, errors);
    if deadline <= spec.int("minReadySeconds").unwrap_or_default() {
        errors.invalid(
            &SPEC.child("progressDeadlineSeconds"),
            deadline,
            "must be greater than minReadySeconds",
        );
    }
}

fn validate_strategy(strategy: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let at = path.child("rollingUpdate");
    match strategy.text("type") {
        "Recreate" if strategy.has("rollingUpdate") => errors.forbidden(
            &at,
            "may not be specified when strategy `type` is 'Recreate'",
        ),
        "Recreate" => {}
        "RollingUpdate" if !strategy.has("rollingUpdate") => {
            errors.required(&at, "this should be defaulted and never be nil");
        }
        "RollingUpdate" => validate_rolling_update(strategy.at("rollingUpdate"), &at, errors),
        _ => errors.not_supported(path, Internal(strategy), &["Recreate", "RollingUpdate"]),
    }
}

fn validate_rolling_update(update: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let (unavailable, surge) = (update.at("maxUnavailable"), update.at("maxSurge"));
    let at = path.child("maxUnavailable");
    validate_positive(unavailable, &at, errors);
    validate_positive(surge, &path.child("maxSurge"), errors);
    if amount(unavailable) == 0 && amount(surge) == 0 {
        errors.invalid(&at, unavailable, "may not be 0 when `maxSurge` is 0");
    }
    validate_at_most_all(unavailable, &at, errors);
}
