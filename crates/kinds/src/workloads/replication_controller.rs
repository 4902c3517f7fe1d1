//! ReplicationControllers.

use super::checks::REPLICAS_AT_MOST;
use super::checks::{self, NO_MATCH, validate_non_negative, validate_runs_on};
use super::{
    Counts, Workload, nothing_added, nothing_changed, nothing_new, pod_name_warning, spec_changed,
    template_warnings,
};
use crate::common::faults::Faults;
use crate::common::status::{StatusStrategy, nothing_else};
use crate::common::{generation, kube_metadata, name_rules};
use crate::pod::{self, Options};
use serde_json::{Map, Value, json};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View, names};

const SPEC: Path<'static> = Path::new("spec");

/// How replication controllers behave.
pub(crate) static REPLICATION_CONTROLLER: Workload = Workload {
    template: &["spec", "template"],
    set_defaults,
    empty_status: || json!({"replicas": 0}),
    prepare_for_create: nothing_new,
    prepare_for_update: nothing_changed,
    changed: spec_changed,
    validate: |object| {
        let mut errors = kube_metadata::validate(object, true, &long_name);
        validate_spec(object.at("spec"), &Options::default(), &mut errors);
        errors
    },
    validate_update: |new, old| {
        let mut errors = kube_metadata::validate_update(new, old);
        let options = Options::for_template(old.path(&["spec", "template"]));
        validate_spec(new.at("spec"), &options, &mut errors);
        errors
    },
    warnings: |new, old| {
        let at = SPEC.child("template");
        let of_template =
            |object: &Value| template_warnings(object.path(&["spec", "template"]), &at);
        match old {
            None => pod_name_warning(new).chain(of_template(new)).collect(),
            // By a slip of upstream's a change is warned of what was there before.
            Some(old) if generation::raised(new, old) => of_template(old),
            Some(_) => Vec::new(),
        }
    },
    name_rule: name_rules::dns_subdomain,
    status: Some(&REPLICATION_CONTROLLER_STATUS),
    orphans_by_default: true,
    returns_deleted_object: false,
    read_back: nothing_added,
};

static REPLICATION_CONTROLLER_STATUS: StatusStrategy = StatusStrategy {
    whole: &REPLICATION_CONTROLLER,
    kept_metadata: &[],
    also: nothing_else,
    reset_fields: &[&["spec"]],
    validate_update: |new, old| {
        let mut errors = kube_metadata::validate_update(new, old);
        checks::validate_counts(new.at("status"), &COUNTS, &mut errors);
        errors
    },
};

const COUNTS: Counts = Counts {
    fields: &[
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
    ],
    at_most: REPLICAS_AT_MOST,
};

/// This kind is checked by a newer rule, which counts bytes and leaves prefixes alone.
fn long_name(name: &str, prefix: bool) -> Vec<String> {
    let faults = match prefix {
        true => Vec::new(),
        false => names::dns1123_subdomain(name),
    };
    let in_bytes = |fault: String| match fault == names::max_len_error(253) {
        true => names::max_bytes_error(253),
        false => fault,
    };
    faults.into_iter().map(in_bytes).collect()
}

fn set_defaults(object: &mut Value) {
    let labels = object
        .path(&["spec", "template", "metadata", "labels"])
        .as_object()
        .filter(|labels| !labels.is_empty())
        .cloned();
    if let Some(labels) = labels {
        let empty = |value: &Value| value.as_object().is_none_or(Map::is_empty);
        if empty(object.path(&["spec", "selector"])) {
            object.at_mut("spec").set("selector", labels.clone());
        }
        if empty(object.path(&["metadata", "labels"])) {
            object.at_mut("metadata").set("labels", labels);
        }
    }
    let spec = object.at_mut("spec");
    spec.default_to("replicas", 1);
    if let Some(template) = spec.child_mut("template") {
        pod::set_template_defaults(template);
    }
}

fn validate_spec(spec: &Value, options: &Options, errors: &mut ErrorList) {
    validate_non_negative(spec, "minReadySeconds", &SPEC, errors);
    let selector = spec.at("selector");
    let empty = spec.entries("selector").next().is_none();
    if empty {
        errors.required(&SPEC.child("selector"), "");
    }
    validate_non_negative(spec, "replicas", &SPEC, errors);
    let (template, at) = (spec.at("template"), SPEC.child("template"));
    if template.is_null() {
        errors.required(&at, "");
        return;
    }
    let labels = template.at("metadata").at("labels");
    let mut wanted = selector.as_object().into_iter().flatten();
    if !wanted.all(|(key, value)| labels.get(key) == Some(value)) {
        let metadata = at.child("metadata");
        errors.invalid(&metadata.child("labels"), labels, NO_MATCH);
    }
    pod::validate_template(template, options, &at, errors);
    validate_runs_on(template, "ReplicationController", &at, errors);
}
