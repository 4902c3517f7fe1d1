//! ReplicaSets.

use super::checks::{
    self, REPLICAS_AT_MOST, validate_non_negative, validate_replica_template,
    validate_same_selector,
};
use super::{
    Counts, Workload, nothing_added, nothing_changed, nothing_new, spec_changed,
    spec_template_warnings,
};
use crate::common::status::{StatusStrategy, nothing_else};
use crate::common::{kube_metadata, name_rules};
use crate::pod::{self, Options};
use serde_json::{Value, json};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View};

const SPEC: Path<'static> = Path::new("spec");

/// How replica sets behave.
pub(crate) static REPLICA_SET: Workload = Workload {
    template: &["spec", "template"],
    set_defaults: |object| {
        let spec = object.at_mut("spec");
        spec.default_to("replicas", 1);
        pod::set_template_defaults(spec.at_mut("template"));
    },
    empty_status: || json!({"replicas": 0}),
    prepare_for_create: nothing_new,
    prepare_for_update: nothing_changed,
    changed: spec_changed,
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
    status: Some(&REPLICA_SET_STATUS),
    orphans_by_default: false,
    returns_deleted_object: false,
    read_back: nothing_added,
};

static REPLICA_SET_STATUS: StatusStrategy = StatusStrategy {
    whole: &REPLICA_SET,
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
        "terminatingReplicas",
    ],
    at_most: REPLICAS_AT_MOST,
};

fn validate_spec(spec: &Value, options: &Options, errors: &mut ErrorList) {
    validate_non_negative(spec, "replicas", &SPEC, errors);
    validate_non_negative(spec, "minReadySeconds", &SPEC, errors);
    validate_replica_template(spec, options, &SPEC, errors);
}
