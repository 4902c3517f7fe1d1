//! PersistentVolumeClaim.
//!
//! Upstream: `pkg/apis/core/validation/validation.go`, `pkg/registry/core/persistentvolumeclaim`,
//! `pkg/api/persistentvolumeclaim/util.go`.

use super::{OLD_CLASS, claim_update};
use crate::common::claim_spec::{self, ClaimOptions};
use crate::common::faults::Faults;
use crate::common::resource_names::is_native;
use crate::common::{kube_metadata, name_rules, quantities};
use crate::subresource::{inherit, keep};
use crate::{
    Context, CreateStrategy, DeleteStrategy, ReturnsDeletedObject, Strategy, UpdateStrategy,
};
use serde_json::{Value, json};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::{Edit, View, names};

pub(crate) struct PersistentVolumeClaim;

static SPEC: Path<'static> = Path::new("spec");
static STATUS: Path<'static> = Path::new("status");

impl CreateStrategy for PersistentVolumeClaim {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        object.set("status", json!({}));
        prepare_sources(object.at_mut("spec"), &Value::Null);
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        validate(object, ClaimOptions::default())
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for PersistentVolumeClaim {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "status");
        prepare_sources(new.at_mut("spec"), old.at("spec"));
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut old = old.clone();
        agree_on_sources(old.at_mut("spec"));
        let mut errors = kube_metadata::validate_update(new, &old);
        errors.extend(validate(new, claim_update::forgiven(&old)));
        errors.extend(claim_update::validate(new, &old));
        errors
    }
}

impl Strategy for PersistentVolumeClaim {
    fn set_defaults(&self, object: &mut Value) {
        let status = object.at_mut("status");
        if status.text("phase").is_empty() {
            status.set("phase", "Pending");
        }
        quantities::round_up_list(status, "capacity");
        quantities::round_up_list(status, "allocatedResources");
        let spec = object.at_mut("spec");
        spec.default_to("volumeMode", "Filesystem");
        if let Some(resources) = spec.child_mut("resources") {
            quantities::round_up_list(resources, "limits");
            quantities::round_up_list(resources, "requests");
        }
    }

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        if new.at("metadata").at("annotations").has(OLD_CLASS) {
            warnings.push(format!(
                "metadata.annotations[{OLD_CLASS}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
            ));
        }
        warnings.extend(claim_spec::warnings(new.at("spec"), &SPEC));
        warnings
    }

    /// A new claim is stored without a phase, which its readers see as a default.
    fn read_back(&self, object: &mut Value) -> bool {
        let status = object.at_mut("status");
        let lacking = status.text("phase").is_empty();
        if lacking {
            status.set("phase", "Pending");
        }
        lacking
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        Some(&ClaimStatus)
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }

    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

struct ClaimStatus;

impl CreateStrategy for ClaimStatus {
    inherit!(create: PersistentVolumeClaim);
}

impl UpdateStrategy for ClaimStatus {
    inherit!(update: PersistentVolumeClaim);

    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "spec");
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        if new.at("metadata").text("resourceVersion").is_empty() {
            errors.required(&Path::new("resourceVersion"), "");
        }
        if new.at("spec").list("accessModes").is_empty() {
            errors.required(&Path::new("Spec").child("accessModes"), "");
        }
        validate_status(new.at("status"), &mut errors);
        errors
    }
}

impl Strategy for ClaimStatus {
    inherit!(PersistentVolumeClaim);

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec"]]
    }
}

fn validate(claim: &Value, options: ClaimOptions) -> ErrorList {
    let mut errors = kube_metadata::validate(claim, true, &name_rules::dns_subdomain);
    errors.extend(claim_spec::validate(claim.at("spec"), options, &SPEC));
    errors
}

/// Sources that may not be named, or not in this way, are dropped; the two fields say the same.
fn prepare_sources(spec: &mut Value, old: &Value) {
    let elsewhere = !spec.at("dataSourceRef").text("namespace").is_empty();
    if elsewhere && !old.has("dataSourceRef") {
        spec.unset("dataSourceRef");
    }
    let in_use = old.has("dataSource") || old.has("dataSourceRef");
    if !in_use && !spec.has("dataSourceRef") {
        let source = spec.at("dataSource");
        let known = matches!(
            (source.text("apiGroup"), source.text("kind")),
            ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
        );
        if !known {
            spec.unset("dataSource");
        }
    }
    agree_on_sources(spec);
}

fn agree_on_sources(spec: &mut Value) {
    let (from, to) = match (spec.has("dataSource"), spec.has("dataSourceRef")) {
        (true, false) => ("dataSource", "dataSourceRef"),
        (false, true) => ("dataSourceRef", "dataSource"),
        _ => return,
    };
    let mut source = spec.at(from).clone();
    if from == "dataSourceRef" && !source.text("namespace").is_empty() {
        return;
    }
    source.unset("namespace");
    if source.at("apiGroup").is_null() {
        // The field has no default and is written even if there is no group.
        source.set("apiGroup", Value::Null);
    }
    spec.set(to, source);
}

const RESIZE_STATES: &[&str] = &[
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

fn validate_status(status: &Value, errors: &mut ErrorList) {
    let path = STATUS.child("capacity");
    for (resource, amount) in status.entries("capacity") {
        basic(&Quantity::of(amount), &path.key(resource), errors);
    }
    let path = STATUS.child("allocatedResourceStatuses");
    for (resource, state) in status.entries("allocatedResourceStatuses") {
        validate_key(resource, &path, errors);
        if !RESIZE_STATES.contains(&state.as_str().unwrap_or_default()) {
            errors.not_supported(&path, resource, RESIZE_STATES);
        }
    }
    let path = STATUS.child("allocatedResources");
    for (resource, amount) in status.entries("allocatedResources") {
        if validate_key(resource, &path, errors) {
            continue;
        }
        let at = path.key(resource);
        let amount = Quantity::of(amount);
        if !basic(&amount, &at, errors) {
            quantities::non_negative(&amount, &at, errors);
        }
    }
}

/// Says whether the amount is faulty.
fn basic(amount: &Quantity, path: &Path<'_>, errors: &mut ErrorList) -> bool {
    let negative = amount.value() < 0;
    if negative {
        errors.invalid(path, amount.value(), "must be a valid resource quantity");
    }
    negative
}

/// Says whether the name of the resource is faulty.
fn validate_key(resource: &str, path: &Path<'_>, errors: &mut ErrorList) -> bool {
    let faults = names::label_key(resource);
    if !faults.is_empty() {
        errors.invalid_each(path, resource, faults);
        return true;
    }
    let unknown = is_native(resource) && resource != "storage";
    if unknown {
        errors.not_supported(path, resource, &["storage"]);
    }
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{create, update_faults};

    #[test]
    fn the_two_source_fields_agree() {
        let source = json!({"kind": "PersistentVolumeClaim", "name": "x"});
        let mut claim = json!({"spec": {"dataSource": source}});
        create(&PersistentVolumeClaim, &mut claim);
        assert_eq!(claim["spec"]["dataSourceRef"]["name"], "x");
        let mut claim = json!({"spec": {"dataSource": {"kind": "Odd", "name": "x"}}});
        create(&PersistentVolumeClaim, &mut claim);
        assert_eq!(claim["spec"], json!({}));
        let far = json!({"kind": "PersistentVolumeClaim", "name": "x", "namespace": "m"});
        let mut claim = json!({"spec": {"dataSourceRef": far}});
        create(&PersistentVolumeClaim, &mut claim);
        assert_eq!(claim["spec"], json!({}));
    }

    #[test]
    fn a_status_is_checked() {
        let metadata = json!({"name": "a", "namespace": "n", "resourceVersion": "1"});
        let old = json!({"metadata": metadata, "spec": {"accessModes": ["ReadWriteOnce"]}});
        let mut new = old.clone();
        new["status"] = json!({"capacity": {"storage": "-1"},
            "allocatedResourceStatuses": {"cpu": "x"}, "allocatedResources": {"storage": "-1"}});
        let found = update_faults(&ClaimStatus, &new, &old);
        let fields: Vec<&str> = found.iter().filter_map(|f| f.split(": ").next()).collect();
        assert_eq!(
            fields,
            [
                "status.capacity[storage]",
                "status.allocatedResourceStatuses",
                "status.allocatedResourceStatuses",
                "status.allocatedResources[storage]",
            ]
        );
    }
}
