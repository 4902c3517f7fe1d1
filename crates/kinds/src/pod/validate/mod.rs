//! What makes a pod, or a template of one, invalid.
//!
//! Upstream: `pkg/apis/core/validation/validation.go`. The order of the checks is upstream's: it is
//! the order of the causes in the answer.

pub(super) mod affinity;
pub(super) mod annotations;
mod containers;
mod dns;
pub(super) mod env;
mod ephemeral;
mod handlers;
mod mounts;
mod resize;
mod resources;
mod scheduling;
pub(super) mod security;
pub(super) mod spread;
mod status;
mod update;
pub(super) mod volumes;
mod windows;

pub(super) use ephemeral::validate_ephemeral_containers;
pub(super) use resize::validate_resize;
pub(super) use status::validate_status_update;
pub(super) use update::validate_update;

use super::options::Options;
use crate::common::faults::Faults;
use crate::common::{kube_metadata, labels, metadata, name_rules, taints};
use containers::PodContext;
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{View, names};

const SPEC: Path<'static> = Path::new("spec");
const METADATA: Path<'static> = Path::new("metadata");

/// Visits the containers of all kinds, with their places.
fn each_container(spec: &Value, path: &Path<'_>, mut visit: impl FnMut(&Value, &Path<'_>)) {
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let at = path.child(list);
        for (i, container) in spec.list(list).iter().enumerate() {
            visit(container, &at.index(i));
        }
    }
}

/// Faults of a new pod (`ValidatePodCreate`).
pub(super) fn validate_create(pod: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    validate_metadata_and_spec(pod, &Options::for_pod(&Value::Null), &mut errors);
    let spec = pod.at("spec");
    if !spec.list("ephemeralContainers").is_empty() {
        errors.forbidden(
            &SPEC.child("ephemeralContainers"),
            "cannot be set on create",
        );
    }
    if !spec.text("nodeName").is_empty() && !spec.list("schedulingGates").is_empty() {
        errors.forbidden(
            &SPEC.child("nodeName"),
            "cannot be set until all schedulingGates have been cleared",
        );
    }
    annotations::validate_profiles_match(pod, &SPEC, &mut errors);
    errors
}

fn validate_metadata_and_spec(pod: &Value, options: &Options, errors: &mut ErrorList) {
    errors.extend(kube_metadata::validate(
        pod,
        true,
        &name_rules::dns_subdomain,
    ));
    let spec = pod.at("spec");
    annotations::validate(
        pod.at("metadata").at("annotations"),
        spec,
        options.bad_deletion_cost,
        &METADATA.child("annotations"),
        errors,
    );
    validate_spec(spec, Some(pod.at("metadata")), options, &SPEC, errors);
    if spec.text("serviceAccountName").is_empty() {
        validate_no_tokens(spec, errors);
    }
    for list in ["containers", "initContainers"] {
        let at = SPEC.child(list);
        for (i, container) in spec.list(list).iter().enumerate() {
            containers::validate_image_padding(container, &at.index(i), errors);
        }
    }
}

/// There is no token without an account.
fn validate_no_tokens(spec: &Value, errors: &mut ErrorList) {
    let volumes = SPEC.child("volumes");
    for (i, volume) in spec.list("volumes").iter().enumerate() {
        let volume_at = volumes.index(i);
        let projected = volume_at.child("projected");
        let sources = projected.child("sources");
        for (j, source) in volume.at("projected").list("sources").iter().enumerate() {
            if source.has("serviceAccountToken") {
                errors.forbidden(
                    &sources.index(j).child("serviceAccountToken"),
                    "must not be specified when serviceAccountName is not set",
                );
            }
        }
    }
}

/// Faults of a template of pods (`ValidatePodTemplateSpec`).
pub(crate) fn validate_template(
    template: &Value,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let metadata = template.at("metadata");
    errors.extend(labels::validate(
        metadata.at("labels"),
        &path.child("labels"),
    ));
    validate_template_annotations(template, options, path, errors);
    let spec = template.at("spec");
    let at = path.child("spec");
    validate_spec(spec, None, options, &at, errors);
    annotations::validate_profiles_match(template, &at, errors);
    if !spec.list("ephemeralContainers").is_empty() {
        errors.forbidden(
            &at.child("ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
        );
    }
}

/// Faults of a template's annotations.
pub(crate) fn validate_template_annotations(
    template: &Value,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let own = template.at("metadata").at("annotations");
    let at = path.child("annotations");
    errors.extend(metadata::validate_annotations(own, &at));
    annotations::validate(
        own,
        template.at("spec"),
        options.bad_deletion_cost,
        &at,
        errors,
    );
}

/// Faults of a pod's spec; `metadata` is there if it is a pod's and not a template's.
fn validate_spec(
    spec: &Value,
    metadata: Option<&Value>,
    options: &Options,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    if !spec.has("terminationGracePeriodSeconds") {
        errors.required(&path.child("terminationGracePeriodSeconds"), "");
    }
    let pod = metadata
        .map(|m| m.text("name"))
        .filter(|name| !name.is_empty());
    let volumes = spec.list("volumes");
    let at = path.child("volumes");
    let context = PodContext {
        spec,
        volumes: volumes::validate(volumes, pod, options, &at, errors),
        options,
    };
    let mirror = metadata.is_some_and(annotations::is_mirror);
    scheduling::validate_resource_claims(spec, mirror, &path.child("resourceClaims"), errors);
    containers::validate_regular(&context, &path.child("containers"), errors);
    containers::validate_init(&context, &path.child("initContainers"), errors);
    containers::validate_ephemeral(&context, &path.child("ephemeralContainers"), errors);
    resources::validate_pod(spec, options, &path.child("resources"), errors);
    validate_host_network(spec, options, &path.child("containers"), errors);
    validate_words(spec, path, errors);
    errors.extend(labels::validate(
        spec.at("nodeSelector"),
        &path.child("nodeSelector"),
    ));
    security::validate_pod(spec, options, &path.child("securityContext"), errors);
    affinity::validate(
        spec.at("affinity"),
        options,
        &path.child("affinity"),
        errors,
    );
    dns::validate(spec, &path.child("dnsConfig"), errors);
    scheduling::validate_gates(spec, path, errors);
    let constraints = spec.list("topologySpreadConstraints");
    let at = path.child("topologySpreadConstraints");
    spread::validate(constraints, options, &at, errors);
    windows::validate_host_processes(spec, path, errors);
    security::validate_host_users(spec, options, path, errors);
    dns::validate_host_name(spec, path, errors);
    validate_names(spec, path, errors);
    if spec.has("overhead") {
        resources::validate_overhead(spec, options, &path.child("overhead"), errors);
    }
    windows::validate_os(spec, path, errors);
    scheduling::validate_group(spec, &path.child("schedulingGroup"), errors);
    env::validate_file_volumes(spec, path, errors);
}

/// On the host's network a port of the container is the same port of the host.
fn validate_host_network(spec: &Value, options: &Options, path: &Path<'_>, errors: &mut ErrorList) {
    if !spec.flag("hostNetwork") {
        return;
    }
    for (i, container) in spec.list("containers").iter().enumerate() {
        let container_at = path.index(i);
        let ports = container_at.child("ports");
        for (j, port) in container.list("ports").iter().enumerate() {
            let host = port.int("hostPort").unwrap_or_default();
            let own = port.int("containerPort").unwrap_or_default();
            // A template may leave it out: pods made from it get it.
            if (options.is_pod || host != 0) && host != own {
                errors.invalid(
                    &ports.index(j).child("hostPort"),
                    host,
                    "must match `containerPort` when `hostNetwork` is true",
                );
            }
        }
    }
}

fn validate_words(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let mut word = |field: &str, known: &[&str]| {
        let word = spec.text(field);
        if word.is_empty() {
            errors.required(&path.child(field), "");
        } else if !known.contains(&word) {
            errors.not_supported(&path.child(field), word, known);
        }
    };
    word("restartPolicy", &["Always", "OnFailure", "Never"]);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    word("dnsPolicy", &policies);
}

fn validate_pull_policy(policy: &str, path: &Path<'_>, errors: &mut ErrorList) {
    match policy {
        "Always" | "IfNotPresent" | "Never" => {}
        "" => errors.required(path, ""),
        other => errors.not_supported(path, other, &["Always", "IfNotPresent", "Never"]),
    }
}

/// Names of other objects, and what else stands alone in the spec.
fn validate_names(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let rule = |field: &str, faults: fn(&str) -> Vec<String>, errors: &mut ErrorList| {
        let name = spec.text(field);
        if !name.is_empty() {
            errors.invalid_each(&path.child(field), name, faults(name));
        }
    };
    let subdomain = |name: &str| name_rules::dns_subdomain(name, false);
    rule("serviceAccountName", subdomain, errors);
    rule("nodeName", subdomain, errors);
    if let Some(seconds) = spec.int("activeDeadlineSeconds") {
        let faults = names::in_range(seconds, 1, i64::from(i32::MAX));
        errors.invalid_each(&path.child("activeDeadlineSeconds"), seconds, faults);
    }
    rule("hostname", names::dns1123_label, errors);
    rule("subdomain", names::dns1123_label, errors);
    let tolerations = spec.list("tolerations");
    let at = path.child("tolerations");
    errors.extend(taints::validate_tolerations(tolerations, &at));
    dns::validate_host_aliases(spec, &path.child("hostAliases"), errors);
    rule("priorityClassName", subdomain, errors);
    if spec.has("runtimeClassName") {
        let name = spec.text("runtimeClassName");
        errors.invalid_each(&path.child("runtimeClassName"), name, subdomain(name));
    }
    if spec.has("preemptionPolicy") {
        let at = path.child("preemptionPolicy");
        match spec.text("preemptionPolicy") {
            "PreemptLowerPriority" | "Never" => {}
            "" => errors.required(&at, ""),
            other => errors.not_supported(&at, other, &["PreemptLowerPriority", "Never"]),
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
