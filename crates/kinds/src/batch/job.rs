//! Jobs.

use super::{job_status, job_update, spec};
use crate::common::faults::Faults;
use crate::common::labels::{self, SelectorOptions};
use crate::common::status::{StatusStrategy, nothing_else};
use crate::common::{generation, kube_metadata, name_rules};
use crate::pod::{self, Options};
use crate::workloads::{
    Workload, matches_template, nothing_changed, path_mut, pod_name_warning, spec_changed,
    template_warnings,
};
use serde_json::{Map, Value, json};
use stowplan_apimachinery::field::{ErrorList, Path, Raw};
use stowplan_apimachinery::{Edit, View, meta, names};

const SPEC: Path<'static> = Path::new("spec");
const METADATA: Path<'static> = Path::new("metadata");

/// Labels of a job's pods: its name and its uid, each under the old and the new key.
const JOB_NAME: &str = "batch.kubernetes.io/job-name";
const OLD_JOB_NAME: &str = "job-name";
const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
const OLD_CONTROLLER_UID: &str = "controller-uid";

/// How jobs behave.
pub(crate) static JOB: Workload = Workload {
    template: &["spec", "template"],
    set_defaults,
    empty_status: || json!({}),
    prepare_for_create: |object| {
        let taken_over = labels_of(object) == template_labels(object);
        if !object.at("spec").flag("manualSelector") {
            generate_selector(object);
        }
        // Labels that the job took over from its template are one map with them in Go. (So would
        // be seen labels that were given to both and are equal: the object does not tell.)
        let labels = template_labels(object);
        if taken_over && !labels_of(object).is_null() && !labels.is_null() {
            let labels = labels.clone();
            object.at_mut("metadata").set("labels", labels);
        }
    },
    prepare_for_update: nothing_changed,
    changed: spec_changed,
    validate: |object| validate(object, true, false, &Options::default()),
    validate_update: |new, old| {
        let options = Options::for_template(old.path(&["spec", "template"]));
        let bad_values = options.bad_value_in_selector
            || labels::has_invalid_value(old.path(&["spec", "selector"]));
        let old_labels = old.path(&["spec", "template", "metadata", "labels"]);
        let prefixed = old_labels.has(JOB_NAME) && old_labels.has(CONTROLLER_UID);
        let mut errors = validate(new, prefixed, bad_values, &options);
        errors.extend(kube_metadata::validate_update(new, old));
        validate_spec(new.at("spec"), bad_values, &options, &mut errors);
        job_update::validate(new, old, &mut errors);
        errors
    },
    warnings: |new, old| match old {
        None => pod_name_warning(new)
            .chain(spec_warnings(new.at("spec"), &SPEC))
            .collect(),
        Some(old) if generation::raised(new, old) => spec_warnings(new.at("spec"), &SPEC),
        Some(_) => Vec::new(),
    },
    name_rule: name_rules::dns_subdomain,
    status: Some(&JOB_STATUS),
    orphans_by_default: true,
    returns_deleted_object: false,
    // The labels of the template may have been generated since.
    read_back: take_over_labels,
};

static JOB_STATUS: StatusStrategy = StatusStrategy {
    whole: &JOB,
    kept_metadata: &[],
    also: nothing_else,
    reset_fields: &[&["spec"]],
    validate_update: |new, old| {
        let mut errors = kube_metadata::validate_update(new, old);
        job_status::validate(new, old, &mut errors);
        errors
    },
};

fn labels_of(object: &Value) -> &Value {
    object.path(&["metadata", "labels"])
}

fn template_labels(object: &Value) -> &Value {
    object.path(&["spec", "template", "metadata", "labels"])
}

/// A job without labels takes over those of its template. Says whether it did.
fn take_over_labels(object: &mut Value) -> bool {
    let labels = template_labels(object);
    let labels = labels.as_object().filter(|l| !l.is_empty()).cloned();
    let unlabelled = labels_of(object).as_object().is_none_or(Map::is_empty);
    match (labels, unlabelled) {
        (Some(labels), true) => {
            object.at_mut("metadata").set("labels", labels);
            true
        }
        _ => false,
    }
}

fn set_defaults(object: &mut Value) {
    take_over_labels(object);
    let spec = object.at_mut("spec");
    if !spec.has("completions") && !spec.has("parallelism") {
        spec.set("completions", 1);
    }
    spec.default_to("parallelism", 1);
    let limit = match spec.has("backoffLimitPerIndex") {
        true => i32::MAX,
        false => 6,
    };
    spec.default_to("backoffLimit", limit);
    spec.default_to("completionMode", "NonIndexed");
    spec.default_to("suspend", false);
    let replaced = match spec.has("podFailurePolicy") {
        true => "Failed",
        false => "TerminatingOrFailed",
    };
    spec.default_to("podReplacementPolicy", replaced);
    spec.default_to("manualSelector", false);
    set_template_defaults(spec);
}

/// The defaults that a job's spec has in a CronJob too.
pub(super) fn set_template_defaults(spec: &mut Value) {
    if let Some(policy) = spec.child_mut("podFailurePolicy") {
        for rule in policy.each_mut("rules") {
            for pattern in rule.each_mut("onPodConditions") {
                if pattern.text("status").is_empty() {
                    pattern.set("status", "True");
                }
            }
        }
    }
    pod::set_template_defaults(spec.at_mut("template"));
}

/// Labels that only this job's pods have, and a selector for them.
fn generate_selector(object: &mut Value) {
    let name = meta::name(object).to_owned();
    let uid = meta::uid(object).to_owned();
    let labels = path_mut(object, &["spec", "template", "metadata", "labels"]);
    for (key, value) in [
        (OLD_JOB_NAME, &name),
        (JOB_NAME, &name),
        (OLD_CONTROLLER_UID, &uid),
        (CONTROLLER_UID, &uid),
    ] {
        labels.default_to(key, value.as_str());
    }
    let selected = path_mut(object, &["spec", "selector", "matchLabels"]);
    selected.default_to(CONTROLLER_UID, uid);
}

/// What to tell of a job's spec.
pub(super) fn spec_warnings(spec: &Value, path: &Path<'_>) -> Vec<String> {
    let mut out = Vec::new();
    let number = |field: &str| spec.int(field).unwrap_or_default();
    let many = number("completions") > 100_000 && number("parallelism") > 10_000;
    if spec.text("completionMode") == "Indexed" && many {
        out.push(format!("{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"));
    }
    out.extend(template_warnings(
        spec.at("template"),
        &path.child("template"),
    ));
    out
}

/// Faults of a job as it stands (`ValidateJob`).
fn validate(object: &Value, prefixed: bool, bad_values: bool, options: &Options) -> ErrorList {
    let mut errors = kube_metadata::validate(object, true, &name_rules::dns_subdomain);
    validate_generated_selector(object, prefixed, &mut errors);
    let spec = object.at("spec");
    validate_spec(spec, bad_values, options, &mut errors);
    let completions = spec.int("completions").unwrap_or_default();
    if spec.text("completionMode") == "Indexed" && completions > 0 {
        let name = meta::name(object);
        let last = format!("{name}-{}", completions - 1);
        if !names::dns1123_label(&last).is_empty() {
            errors.invalid(
                &METADATA.child("name"),
                name,
                format!("will not able to create pod with invalid DNS label: {last}"),
            );
        }
    }
    errors
}

fn validate_spec(spec: &Value, bad_values: bool, options: &Options, errors: &mut ErrorList) {
    spec::validate(spec, options, &SPEC, errors);
    let (selector, at) = (spec.at("selector"), SPEC.child("selector"));
    if selector.is_null() {
        errors.required(&at, "");
    } else {
        let options = SelectorOptions {
            allow_invalid_values: bad_values,
        };
        errors.extend(labels::validate_selector(selector, options, &at));
    }
    let labels = spec.path(&["template", "metadata", "labels"]);
    if matches_template(selector, labels) == Some(false) {
        let (template, metadata);
        template = SPEC.child("template");
        metadata = template.child("metadata");
        errors.invalid(
            &metadata.child("labels"),
            labels,
            "`selector` does not match template `labels`",
        );
    }
}

fn validate_generated_selector(object: &Value, prefixed: bool, errors: &mut ErrorList) {
    let spec = object.at("spec");
    let selector = spec.at("selector");
    if spec.flag("manualSelector") || selector.is_null() {
        return;
    }
    let (name, uid) = (meta::name(object), meta::uid(object));
    if uid.is_empty() {
        errors.required(&METADATA.child("uid"), "");
    }
    let mut expected = vec![(OLD_CONTROLLER_UID, uid), (OLD_JOB_NAME, name)];
    if prefixed {
        expected.extend([(CONTROLLER_UID, uid), (JOB_NAME, name)]);
    }
    let labels = spec.path(&["template", "metadata", "labels"]);
    let (template, metadata);
    template = SPEC.child("template");
    metadata = template.child("metadata");
    let at = metadata.child("labels");
    for (key, value) in &expected {
        let must = format!("must be '{value}'");
        match labels.get(key) {
            None => errors.required(&at.key(key), must),
            Some(actual) if actual != value => errors.invalid(&at.key(key), labels, must),
            Some(_) => {}
        }
    }
    let expected: Map<String, Value> = expected
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.into()))
        .collect();
    if matches_template(selector, &Value::Object(expected)) == Some(false) {
        errors.invalid(
            &SPEC.child("selector"),
            Raw(&labels::shown(selector)),
            "`selector` not auto-generated",
        );
    }
}
