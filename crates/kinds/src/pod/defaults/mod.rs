//! What the API group fills in, and what a trip through upstream's internal version changes.
//!
//! Upstream: `pkg/apis/core/v1/{defaults,conversion}.go`.

mod containers;
mod resources;
mod volumes;

pub(crate) use resources::round_list;
pub(crate) use volumes::{claim_spec, of_vendors};

use serde_json::{Map, Value, json};
use stowplan_apimachinery::{Edit, View};

const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Fills in a text that is absent or empty.
fn default_text(object: &mut Value, field: &str, value: &str) {
    if object.text(field).is_empty() {
        object.set(field, value);
    }
}

/// Fills in a number that is absent or zero.
fn default_number(object: &mut Value, field: &str, value: i64) {
    if object.int(field).unwrap_or_default() == 0 {
        object.set(field, value);
    }
}

/// The defaults of a pod.
pub(crate) fn pod(object: &mut Value) {
    if let Some(metadata) = object.child_mut("metadata") {
        drop_old_annotations(metadata);
    }
    let spec = object.at_mut("spec");
    spec.fields();
    for list in ["containers", "initContainers"] {
        spec.each_mut(list)
            .for_each(resources::requests_from_limits);
    }
    resources::pod_level(spec);
    spec.default_to("enableServiceLinks", true);
    if spec.flag("hostNetwork") {
        for list in ["containers", "initContainers"] {
            spec.each_mut(list).for_each(containers::host_ports);
        }
    }
    pod_spec(spec);
    if spec
        .int("terminationGracePeriodSeconds")
        .is_some_and(|s| s < 0)
    {
        spec.set("terminationGracePeriodSeconds", 1);
    }
    if let Some(status) = object.child_mut("status") {
        pod_status(status);
    }
}

/// The defaults of a pod template: those of a pod that do not depend on its being one.
pub(crate) fn template(template: &mut Value) {
    if let Some(metadata) = template.child_mut("metadata") {
        drop_old_annotations(metadata);
    }
    pod_spec(template.at_mut("spec"));
}

fn pod_spec(spec: &mut Value) {
    default_text(spec, "dnsPolicy", "ClusterFirst");
    default_text(spec, "restartPolicy", "Always");
    default_text(spec, "schedulerName", "default-scheduler");
    spec.default_to("securityContext", Map::new());
    spec.default_to("terminationGracePeriodSeconds", 30);
    spec.each_mut("volumes").for_each(volumes::volume);
    for list in CONTAINER_LISTS {
        spec.each_mut(list).for_each(containers::container);
    }
    resources::round_list(spec, "overhead");
    if let Some(own) = spec.child_mut("resources") {
        resources::round(own);
    }
    // The old name of the service account follows the new one, which wins.
    default_text_from(spec, "serviceAccountName", "serviceAccount");
    mirror_service_account(spec);
}

fn default_text_from(object: &mut Value, field: &str, source: &str) {
    let value = object.text(source).to_owned();
    if !value.is_empty() {
        default_text(object, field, &value);
    }
}

/// Writes the service account under its old name too.
pub(crate) fn mirror_service_account(spec: &mut Value) {
    let name = spec.text("serviceAccountName").to_owned();
    match name.is_empty() {
        true => spec.unset("serviceAccount").is_some(),
        false => {
            spec.set("serviceAccount", name);
            true
        }
    };
}

fn pod_status(status: &mut Value) {
    for list in [
        "initContainerStatuses",
        "containerStatuses",
        "ephemeralContainerStatuses",
    ] {
        for container in status.each_mut(list) {
            resources::round_list(container, "allocatedResources");
            if let Some(own) = container.child_mut("resources") {
                resources::round(own);
            }
        }
    }
    resources::round_list(status, "allocatedResources");
    if let Some(own) = status.child_mut("resources") {
        resources::round(own);
    }
    // One address stands alone and first in the list; if they differ the single one wins.
    let single = status.text("podIP").to_owned();
    let first = status
        .list("podIPs")
        .first()
        .map(|ip| ip.text("ip").to_owned());
    match (single.is_empty(), first) {
        (true, Some(first)) if !first.is_empty() => status.set("podIP", first),
        (false, first) if first.as_ref() != Some(&single) => {
            status.set("podIPs", json!([{"ip": single}]));
        }
        _ => {}
    }
}

/// Annotations that once held init containers are dropped for the sake of old kubelets.
fn drop_old_annotations(metadata: &mut Value) {
    let Some(annotations) = metadata.child_mut("annotations") else {
        return;
    };
    for stage in ["alpha", "beta"] {
        for what in ["init-containers", "init-container-statuses"] {
            annotations.unset(&format!("pod.{stage}.kubernetes.io/{what}"));
        }
    }
    if annotations.as_object().is_some_and(Map::is_empty) {
        metadata.unset("annotations");
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
