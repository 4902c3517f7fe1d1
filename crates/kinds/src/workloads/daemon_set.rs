//! DaemonSets.

use super::checks::{
    self, NO_MATCH, matches_template, validate_collisions, validate_non_negative, validate_runs_on,
    validate_same_selector,
};
use super::deployment::keep_annotation;
use super::int_or_percent::{amount, validate_at_most_all, validate_positive};
use super::{Counts, Workload, nothing_added, path_mut, spec_changed, template_warnings};
use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::labels::{self, SelectorOptions};
use crate::common::status::StatusStrategy;
use crate::common::{kube_metadata, name_rules};
use crate::pod::{self, Options};
use serde_json::{Value, json};
use stowplan_apimachinery::field::{ErrorList, Path, Raw};
use stowplan_apimachinery::{Edit, View};

const SPEC: Path<'static> = Path::new("spec");

/// How often the template has changed: a field in upstream's internal version, an annotation here.
pub(super) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// How daemon sets behave.
pub(crate) static DAEMON_SET: Workload = Workload {
    template: &["spec", "template"],
    set_defaults,
    empty_status: || {
        json!({
            "currentNumberScheduled": 0, "desiredNumberScheduled": 0,
            "numberMisscheduled": 0, "numberReady": 0,
        })
    },
    prepare_for_create: |object| {
        let generation = template_generation(object).max(1);
        set_template_generation(object, generation);
    },
    prepare_for_update: |new, old| {
        let changed = !same(template(new), template(old));
        let generation = template_generation(old) + i64::from(changed);
        set_template_generation(new, generation);
    },
    changed: spec_changed,
    validate: |object| {
        let mut errors = kube_metadata::validate(object, true, &name_rules::dns_subdomain);
        let strict = SelectorOptions::default();
        validate_spec(object.at("spec"), strict, &Options::default(), &mut errors);
        errors
    },
    validate_update: |new, old| {
        let mut errors = kube_metadata::validate_update(new, old);
        validate_same_selector(new, old, &mut errors);
        let options = Options::for_template(template(old));
        let selectors = SelectorOptions {
            allow_invalid_values: options.bad_value_in_selector
                || labels::has_invalid_value(old.path(&["spec", "selector"])),
        };
        validate_spec(new.at("spec"), selectors, &options, &mut errors);
        errors
    },
    warnings: |new, old| {
        let at = SPEC.child("template");
        match old {
            Some(old) if template_generation(new) == template_generation(old) => Vec::new(),
            _ => template_warnings(template(new), &at),
        }
    },
    name_rule: name_rules::dns_subdomain,
    status: Some(&DAEMON_SET_STATUS),
    orphans_by_default: false,
    returns_deleted_object: false,
    read_back: nothing_added,
};

static DAEMON_SET_STATUS: StatusStrategy = StatusStrategy {
    whole: &DAEMON_SET,
    kept_metadata: &[],
    also: |new, old| keep_annotation(new, old, TEMPLATE_GENERATION),
    reset_fields: &[&["spec"]],
    validate_update: |new, old| {
        let mut errors = kube_metadata::validate_update(new, old);
        checks::validate_counts(new.at("status"), &COUNTS, &mut errors);
        validate_collisions(new, old, &mut errors);
        errors
    },
};

const COUNTS: Counts = Counts {
    fields: &[
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ],
    at_most: &[],
};

fn template(object: &Value) -> &Value {
    object.path(&["spec", "template"])
}

fn template_generation(object: &Value) -> i64 {
    let annotations = object.path(&["metadata", "annotations"]);
    let generation = annotations.text(TEMPLATE_GENERATION).parse();
    generation.unwrap_or_default()
}

fn set_template_generation(object: &mut Value, generation: i64) {
    let annotations = path_mut(object, &["metadata", "annotations"]);
    annotations.set(TEMPLATE_GENERATION, generation.to_string());
}

fn set_defaults(object: &mut Value) {
    let generation = template_generation(object);
    set_template_generation(object, generation);
    let spec = object.at_mut("spec");
    spec.default_to("revisionHistoryLimit", 10);
    let strategy = spec.at_mut("updateStrategy");
    if strategy.text("type").is_empty() {
        strategy.set("type", "RollingUpdate");
    }
    let rolling = strategy.text("type") == "RollingUpdate";
    if rolling || strategy.has("rollingUpdate") {
        let update = strategy.at_mut("rollingUpdate");
        update.default_to("maxUnavailable", i64::from(rolling));
        update.default_to("maxSurge", 0);
    }
    pod::set_template_defaults(spec.at_mut("template"));
}

fn validate_spec(
    spec: &Value,
    selectors: SelectorOptions,
    options: &Options,
    errors: &mut ErrorList,
) {
    let (selector, template) = (spec.at("selector"), spec.at("template"));
    let at = SPEC.child("selector");
    errors.extend(labels::validate_selector(selector, selectors, &at));
    let own = template.at("metadata").at("labels");
    let template_at = SPEC.child("template");
    if matches_template(selector, own) == Some(false) {
        let metadata = template_at.child("metadata");
        errors.invalid(&metadata.child("labels"), own, NO_MATCH);
    }
    if !selector.is_null() && labels::is_empty(selector) {
        let shown = labels::shown(selector);
        errors.invalid(&at, Raw(&shown), "empty selector is invalid for daemonset");
    }
    pod::validate_template(template, options, &template_at, errors);
    validate_runs_on(template, "DaemonSet", &template_at, errors);
    validate_non_negative(spec, "minReadySeconds", &SPEC, errors);
    validate_strategy(
        spec.at("updateStrategy"),
        &SPEC.child("updateStrategy"),
        errors,
    );
    validate_non_negative(spec, "revisionHistoryLimit", &SPEC, errors);
}

fn validate_strategy(strategy: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    match strategy.text("type") {
        "OnDelete" => {}
        "RollingUpdate" if !strategy.has("rollingUpdate") => {
            errors.required(&path.child("rollingUpdate"), "");
        }
        "RollingUpdate" => {
            let update = strategy.at("rollingUpdate");
            validate_rolling_update(update, &path.child("rollingUpdate"), errors);
        }
        _ => errors.not_supported(path, Internal(strategy), &["RollingUpdate", "OnDelete"]),
    }
}

fn validate_rolling_update(update: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let fields = ["maxUnavailable", "maxSurge"];
    for field in fields {
        validate_positive(update.at(field), &path.child(field), errors);
    }
    for field in fields {
        validate_at_most_all(update.at(field), &path.child(field), errors);
    }
    let [unavailable, surge] = fields.map(|field| amount(update.at(field)) != 0);
    if unavailable && surge {
        errors.invalid(
            &path.child("maxSurge"),
            update.at("maxSurge"),
            "may not be set when maxUnavailable is non-zero",
        );
    } else if !unavailable && !surge {
        errors.required(
            &path.child("maxUnavailable"),
            "cannot be 0 when maxSurge is 0",
        );
    }
}
