//! StatefulSets.

use super::checks::{
    self, validate_collisions, validate_match, validate_non_negative, validate_selector,
};
use super::int_or_percent::{amount, validate_at_most_all, validate_positive};
use super::{Counts, Workload, nothing_added, spec_changed, template_warnings};
use crate::common::claim_spec::{self, ClaimOptions};
use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::labels::{self, SelectorOptions};
use crate::common::status::{StatusStrategy, nothing_else};
use crate::common::{generation, kube_metadata, name_rules};
use crate::pod::{self, Options};
use crate::subresource::keep;
use serde_json::{Value, json};
use stowplan_apimachinery::field::{ErrorList, Path, Raw};
use stowplan_apimachinery::{Edit, View, names};

const SPEC: Path<'static> = Path::new("spec");

/// How stateful sets behave.
pub(crate) static STATEFUL_SET: Workload = Workload {
    template: &["spec", "template"],
    set_defaults,
    empty_status: || json!({"replicas": 0, "availableReplicas": 0}),
    prepare_for_create: |object| drop_max_unavailable(object, &Value::Null),
    prepare_for_update: drop_max_unavailable,
    changed: spec_changed,
    validate: |object| {
        let mut errors = kube_metadata::validate(object, true, &name_rules::dns_label);
        let skip = Skip::default();
        validate_spec(object.at("spec"), skip, &Options::default(), &mut errors);
        errors
    },
    validate_update,
    warnings,
    name_rule: name_rules::dns_label,
    status: Some(&STATEFUL_SET_STATUS),
    orphans_by_default: false,
    returns_deleted_object: false,
    read_back: nothing_added,
};

static STATEFUL_SET_STATUS: StatusStrategy = StatusStrategy {
    whole: &STATEFUL_SET,
    kept_metadata: &[],
    also: nothing_else,
    reset_fields: &[&["spec"]],
    validate_update: |new, old| {
        let mut errors = ErrorList::new();
        checks::validate_counts(new.at("status"), &COUNTS, &mut errors);
        errors.extend(kube_metadata::validate_update(new, old));
        validate_collisions(new, old, &mut errors);
        errors
    },
};

const COUNTS: Counts = Counts {
    fields: &[
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ],
    at_most: &[
        ("readyReplicas", "replicas", "status.replicas"),
        ("currentReplicas", "replicas", "status.replicas"),
        ("updatedReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "readyReplicas", "status.readyReplicas"),
    ],
};

fn set_defaults(object: &mut Value) {
    let spec = object.at_mut("spec");
    if spec.text("podManagementPolicy").is_empty() {
        spec.set("podManagementPolicy", "OrderedReady");
    }
    let strategy = spec.at_mut("updateStrategy");
    if strategy.text("type").is_empty() {
        strategy.set("type", "RollingUpdate");
        strategy.default_to("rollingUpdate", json!({}));
    }
    if let Some(update) = strategy.child_mut("rollingUpdate") {
        update.default_to("partition", 0);
    }
    let policy = spec.at_mut("persistentVolumeClaimRetentionPolicy");
    for field in ["whenDeleted", "whenScaled"] {
        if policy.text(field).is_empty() {
            policy.set(field, "Retain");
        }
    }
    spec.default_to("replicas", 1);
    spec.default_to("revisionHistoryLimit", 10);
    for claim in spec.each_mut("volumeClaimTemplates") {
        claim.set("apiVersion", "v1");
        claim.set("kind", "PersistentVolumeClaim");
        pod::set_claim_defaults(claim.at_mut("spec"));
        let status = claim.at_mut("status");
        if status.text("phase").is_empty() {
            status.set("phase", "Pending");
        }
        for list in ["capacity", "allocatedResources"] {
            pod::round_list(status, list);
        }
    }
    pod::set_template_defaults(spec.at_mut("template"));
}

/// How many may be away at once is behind a gate.
fn drop_max_unavailable(new: &mut Value, old: &Value) {
    let update = |object: &Value| {
        object
            .path(&["spec", "updateStrategy", "rollingUpdate"])
            .clone()
    };
    if !update(old).has("maxUnavailable") && update(new).has("maxUnavailable") {
        let update = super::path_mut(new, &["spec", "updateStrategy", "rollingUpdate"]);
        update.unset("maxUnavailable");
    }
}

fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let mut out = Vec::new();
    if old.is_none_or(|old| generation::raised(new, old)) {
        let template = new.path(&["spec", "template"]);
        out.extend(template_warnings(template, &SPEC.child("template")));
    }
    let list = SPEC.child("volumeClaimTemplates");
    for (i, claim) in new
        .at("spec")
        .list("volumeClaimTemplates")
        .iter()
        .enumerate()
    {
        let item = list.index(i);
        // Upstream places these differently for changes.
        let of_change = item.child("Spec");
        let at = if old.is_some() { &of_change } else { &item };
        out.extend(claim_spec::warnings(claim.at("spec"), at));
    }
    if new
        .at("spec")
        .int("revisionHistoryLimit")
        .is_some_and(|limit| limit < 0)
    {
        out.push("spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended".to_owned());
    }
    out
}

/// What is not looked at in a change.
#[derive(Clone, Copy, Default)]
struct Skip {
    any_service_name: bool,
    skip_template: bool,
    skip_claims: bool,
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = kube_metadata::validate_update(new, old);
    let options = Options::for_template(old.path(&["spec", "template"]));
    let mut skip = Skip {
        any_service_name: true,
        skip_template: false,
        skip_claims: true,
    };
    // A stored object that would be refused now keeps its template.
    let mut before = ErrorList::new();
    validate_spec(old.at("spec"), skip, &options, &mut before);
    skip.skip_template = !before.is_empty();
    let (after, before) = (new.at("spec"), old.at("spec"));
    validate_spec(after, skip, &options, &mut errors);
    let mut munged = after.clone();
    for field in [
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ] {
        keep(&mut munged, before, field);
    }
    if !same(&munged, before) {
        errors.forbidden(
            &SPEC,
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        );
    }
    errors
}

fn validate_spec(spec: &Value, skip: Skip, options: &Options, errors: &mut ErrorList) {
    let at = SPEC.child("podManagementPolicy");
    match spec.text("podManagementPolicy") {
        "OrderedReady" | "Parallel" => {}
        "" => errors.required(&at, ""),
        other => errors.invalid(&at, other, "must be 'OrderedReady' or 'Parallel'"),
    }
    validate_strategy(
        spec.at("updateStrategy"),
        &SPEC.child("updateStrategy"),
        errors,
    );
    let field = "persistentVolumeClaimRetentionPolicy";
    validate_retention(spec.at(field), &SPEC.child(field), errors);
    if !skip.skip_claims {
        let list = SPEC.child("volumeClaimTemplates");
        for (i, claim) in spec.list("volumeClaimTemplates").iter().enumerate() {
            let at = list.index(i);
            let own = claim.at("spec");
            let options = ClaimOptions::default();
            errors.extend(claim_spec::validate(own, options, &at.child("spec")));
        }
    }
    validate_non_negative(spec, "replicas", &SPEC, errors);
    validate_non_negative(spec, "minReadySeconds", &SPEC, errors);
    let start = spec.at("ordinals").int("start").unwrap_or_default();
    if start < 0 {
        let at = SPEC.child("ordinals.start");
        errors.invalid(&at, start, crate::common::NEGATIVE);
    }
    let service = spec.text("serviceName");
    if !skip.any_service_name && !service.is_empty() {
        let faults = names::dns1123_label(service);
        errors.invalid_each(&SPEC.child("serviceName"), service, faults);
    }
    validate_selector(spec, "statefulset", &SPEC, errors);
    validate_template(spec, skip, options, errors);
    checks::validate_runs_on(
        spec.at("template"),
        "StatefulSet",
        &SPEC.child("template"),
        errors,
    );
}

fn validate_template(spec: &Value, skip: Skip, options: &Options, errors: &mut ErrorList) {
    let selector = spec.at("selector");
    let strict = SelectorOptions::default();
    if !labels::validate_selector(selector, strict, &Path::ROOT).is_empty() {
        let shown = labels::shown(selector);
        errors.invalid(&SPEC.child("selector"), Raw(&shown), "");
        return;
    }
    let template = with_claims(spec);
    let at = SPEC.child("template");
    validate_match(selector, &template, &at, errors);
    if !skip.skip_template {
        pod::validate_template(&template, options, &at, errors);
    }
    let own = template.at("metadata").at("labels");
    errors.extend(labels::validate(own, &at.child("labels")));
    pod::validate_template_annotations(&template, options, &at, errors);
}

/// The template as pods will have it: with a volume per claim, and names of their own.
fn with_claims(spec: &Value) -> Value {
    let mut template = spec.at("template").clone();
    let pod = template.at_mut("spec");
    for field in ["subdomain", "hostname"] {
        pod.unset(field);
    }
    let claims = spec.list("volumeClaimTemplates");
    if claims.is_empty() {
        return template;
    }
    let mut taken: Vec<&str> = claims
        .iter()
        .map(|c| c.at("metadata").text("name"))
        .collect();
    taken.sort_unstable();
    taken.dedup();
    let of_claims = taken.iter();
    let mut volumes: Vec<Value> = of_claims
        .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
        .collect();
    let others = pod.list("volumes").iter();
    let is_free = |volume: &&Value| taken.binary_search(&volume.text("name")).is_err();
    volumes.extend(others.filter(is_free).cloned());
    pod.set("volumes", volumes);
    template
}

fn validate_strategy(strategy: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let at = path.child("rollingUpdate");
    let update = strategy.at("rollingUpdate");
    match strategy.text("type") {
        "" => errors.required(path, ""),
        "OnDelete" if !update.is_null() => errors.invalid(
            &at,
            Internal(update),
            "only allowed for updateStrategy 'RollingUpdate'",
        ),
        "OnDelete" => {}
        "RollingUpdate" => {
            validate_non_negative(update, "partition", &at, errors);
            if !update.has("maxUnavailable") {
                return;
            }
            let (unavailable, at) = (update.at("maxUnavailable"), at.child("maxUnavailable"));
            validate_positive(unavailable, &at, errors);
            if amount(unavailable) == 0 {
                errors.invalid(&at, unavailable, "cannot be 0");
            }
            validate_at_most_all(unavailable, &at, errors);
        }
        _ => errors.invalid(
            path,
            Internal(strategy),
            "must be 'RollingUpdate' or 'OnDelete'",
        ),
    }
}

fn validate_retention(policy: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if policy.is_null() {
        return;
    }
    for field in ["whenDeleted", "whenScaled"] {
        let word = policy.text(field);
        if !matches!(word, "Retain" | "Delete") {
            errors.not_supported(&path.child(field), word, &["Retain", "Delete"]);
        }
    }
}
