//! What the API server would refuse, as far as scheduling reads it, in its own words.
//!
//! Upstream: `pkg/apis/*/validation`. Whatever the API server accepts must pass here.

mod affinity;
mod pod;
mod resources;
mod selector;
mod storage;
#[cfg(test)]
mod tests;
mod workload;

use crate::field::{FieldError, Path};
use crate::load::Object;
use crate::names;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use std::collections::BTreeSet;

type Errors = Vec<FieldError>;

/// What is wrong with an object that has been defaulted.
pub fn validate(object: &Object) -> Vec<FieldError> {
    let mut found = Errors::new();
    let errors = &mut found;
    metadata(object.metadata(), errors);
    match object {
        Object::Pod(pod) => match &pod.spec {
            Some(spec) => pod::spec(spec, &Path::new("spec"), errors),
            None => errors.push(Path::new("spec.containers").required("")),
        },
        Object::Node(given) => node(given, errors),
        Object::PodDisruptionBudget(given) => budget(given, errors),
        Object::PriorityClass(given) => priority_class(given, errors),
        Object::PersistentVolume(given) => storage::volume(given, errors),
        Object::PersistentVolumeClaim(given) => match &given.spec {
            Some(spec) => storage::claim_spec(spec, &Path::new("spec"), errors),
            None => errors.push(Path::new("spec").required("")),
        },
        Object::StorageClass(given) => storage::class(given, errors),
        Object::CSIStorageCapacity(given) => storage::capacity(given, errors),
        Object::ReplicationController(_)
        | Object::ReplicaSet(_)
        | Object::Deployment(_)
        | Object::StatefulSet(_)
        | Object::DaemonSet(_)
        | Object::Job(_) => controller(object, errors),
        Object::Namespace(_)
        | Object::CSIDriver(_)
        | Object::CSINode(_)
        | Object::VolumeAttachment(_)
        | Object::DeviceClass(_)
        | Object::ResourceClaim(_)
        | Object::ResourceSlice(_)
        | Object::Service(_) => {}
    }
    found
}

fn metadata(given: &ObjectMeta, errors: &mut Errors) {
    let path = Path::new("metadata");
    match given.name.as_deref().unwrap_or_default() {
        "" => errors.push(
            path.child("name")
                .required("name or generateName is required"),
        ),
        name => {
            for detail in names::dns1123_subdomain(name) {
                errors.push(path.child("name").invalid(name, detail));
            }
        }
    }
    selector::labels(given.labels.as_ref(), &path.child("labels"), errors);
}

fn node(given: &Node, errors: &mut Errors) {
    let path = Path::new("spec.taints");
    let mut seen = BTreeSet::new();
    let taints = given
        .spec
        .iter()
        .flat_map(|spec| spec.taints.iter().flatten());
    for (i, taint) in taints.enumerate() {
        let path = path.index(i);
        selector::label_key(&taint.key, &path.child("key"), errors);
        let value = taint.value.as_deref().unwrap_or_default();
        for detail in names::label_value(value) {
            errors.push(path.child("value").invalid(value, detail));
        }
        affinity::effect(&taint.effect, &path.child("effect"), errors);
        if !seen.insert((&taint.key, &taint.effect)) {
            let detail = "taints must be unique by key and effect pair";
            errors.push(path.error(format!(
                "Duplicate value: {:?}: {}",
                &format!("{}:{}", taint.key, taint.effect),
                detail
            )));
        }
    }
    if let Some(status) = &given.status {
        resources::amounts(
            status.capacity.as_ref(),
            &Path::new("status.capacity"),
            errors,
        );
        resources::amounts(
            status.allocatable.as_ref(),
            &Path::new("status.allocatable"),
            errors,
        );
    }
}

fn budget(given: &PodDisruptionBudget, errors: &mut Errors) {
    let Some(spec) = &given.spec else { return };
    let path = Path::new("spec");
    if spec.min_available.is_some() && spec.max_unavailable.is_some() {
        errors.push(path.error(format!(
            "Invalid value: {}",
            "minAvailable and maxUnavailable cannot be both set"
        )));
    }
    for (field, amount) in [
        ("minAvailable", &spec.min_available),
        ("maxUnavailable", &spec.max_unavailable),
    ] {
        if let Some(amount) = amount {
            int_or_percent(amount, &path.child(field), errors);
        }
    }
    selector::selector(spec.selector.as_ref(), &path.child("selector"), errors);
}

fn int_or_percent(given: &IntOrString, path: &Path, errors: &mut Errors) {
    match given {
        IntOrString::Int(number) if *number < 0 => {
            errors.push(path.invalid(*number, "must be greater than or equal to 0"));
        }
        IntOrString::Int(_) => {}
        IntOrString::String(text) => {
            let digits = text.strip_suffix('%').unwrap_or_default();
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                errors.push(path.invalid(text, "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"));
            } else if !digits.parse::<u32>().is_ok_and(|percent| percent <= 100) {
                errors.push(path.invalid(text, "must not be greater than 100%"));
            }
        }
    }
}

fn priority_class(given: &PriorityClass, errors: &mut Errors) {
    const HIGHEST_USER_DEFINABLE: i32 = 1_000_000_000;
    let name = given.metadata.name.as_deref().unwrap_or_default();
    let value = given.value.unwrap_or(0);
    if name.starts_with("system-") {
        if let Err(detail) = known_system_class(name, value, given.global_default == Some(true)) {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {detail}"
            );
            errors.push(Path::new("metadata.name").forbidden(detail));
        }
    } else if value > HIGHEST_USER_DEFINABLE {
        let detail =
            format!("maximum allowed value of a user defined priority is {HIGHEST_USER_DEFINABLE}");
        errors.push(Path::new("value").forbidden(detail));
    }
    if let Some(policy) = given.preemption_policy.as_deref() {
        pod::preemption_policy(policy, &Path::new("preemptionPolicy"), errors);
    }
}

fn known_system_class(name: &str, value: i32, global_default: bool) -> Result<(), String> {
    let Some((_, expected)) = crate::defaults::SYSTEM_PRIORITY_CLASSES
        .iter()
        .find(|(known, _)| *known == name)
    else {
        return Err(format!("{name} is not a known system priority class"));
    };
    if value != *expected {
        return Err(format!("value of {name} PriorityClass must be {expected}"));
    }
    if global_default {
        return Err(format!(
            "globalDefault of {name} PriorityClass must be false"
        ));
    }
    Ok(())
}

fn controller(object: &Object, errors: &mut Errors) {
    match object {
        Object::ReplicationController(given) => {
            let Some(spec) = &given.spec else {
                return errors.push(Path::new("spec").required(""));
            };
            workload::count(spec.replicas, "spec.replicas", errors);
            workload::template(spec.template.as_ref(), errors);
        }
        Object::ReplicaSet(given) => {
            let Some(spec) = &given.spec else {
                return errors.push(Path::new("spec").required(""));
            };
            workload::count(spec.replicas, "spec.replicas", errors);
            workload::own_selector(&spec.selector, spec.template.as_ref(), errors);
            workload::template(spec.template.as_ref(), errors);
        }
        Object::Deployment(given) => {
            let Some(spec) = &given.spec else {
                return errors.push(Path::new("spec").required(""));
            };
            workload::count(spec.replicas, "spec.replicas", errors);
            workload::own_selector(&spec.selector, Some(&spec.template), errors);
            workload::template(Some(&spec.template), errors);
        }
        Object::StatefulSet(given) => {
            let Some(spec) = &given.spec else {
                return errors.push(Path::new("spec").required(""));
            };
            workload::count(spec.replicas, "spec.replicas", errors);
            workload::own_selector(&spec.selector, Some(&spec.template), errors);
            workload::template(Some(&spec.template), errors);
            let path = Path::new("spec.volumeClaimTemplates");
            for (i, claim) in spec.volume_claim_templates.iter().flatten().enumerate() {
                let path = path.index(i);
                match &claim.spec {
                    Some(spec) => storage::claim_spec(spec, &path.child("spec"), errors),
                    None => errors.push(path.child("spec").required("")),
                }
            }
        }
        Object::DaemonSet(given) => {
            let Some(spec) = &given.spec else {
                return errors.push(Path::new("spec").required(""));
            };
            workload::own_selector(&spec.selector, Some(&spec.template), errors);
            workload::template(Some(&spec.template), errors);
        }
        Object::Job(given) => {
            let Some(spec) = &given.spec else {
                return errors.push(Path::new("spec").required(""));
            };
            workload::count(spec.parallelism, "spec.parallelism", errors);
            workload::count(spec.completions, "spec.completions", errors);
            workload::template(Some(&spec.template), errors);
        }
        _ => {}
    }
}
