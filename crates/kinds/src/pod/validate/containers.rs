//! Containers: regular, init and ephemeral ones.

use super::volumes::Volumes;
use super::{env, handlers, mounts, resources, security};
use crate::common::faults::Faults;
use crate::pod::options::Options;
use crate::pod::resources::is_sidecar;
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{View, names};

/// What of the pod the checks of a container look at.
pub(super) struct PodContext<'a> {
    pub spec: &'a Value,
    pub volumes: Volumes<'a>,
    pub options: &'a Options,
}

/// The containers that make up the pod.
pub(super) fn validate_regular(context: &PodContext<'_>, path: &Path<'_>, errors: &mut ErrorList) {
    let containers = context.spec.list("containers");
    if containers.is_empty() {
        errors.required(path, "");
        return;
    }
    let mut taken = BTreeSet::new();
    for (i, container) in containers.iter().enumerate() {
        let path = path.index(i);
        validate_common(container, context, &path, errors);
        let name = container.text("name");
        if !taken.insert(name) {
            errors.duplicate(&path.child("name"), name);
        }
        handlers::validate_all(container, context.spec, &path, errors);
        validate_restarts(container, &path, errors);
    }
    validate_host_ports(containers, path, errors);
}

/// The containers that run before the others, and those that then keep running beside them.
pub(super) fn validate_init(context: &PodContext<'_>, path: &Path<'_>, errors: &mut ErrorList) {
    let regular = context.spec.list("containers").iter();
    let mut taken: BTreeSet<&str> = regular.map(|c| c.text("name")).collect();
    for (i, container) in context.spec.list("initContainers").iter().enumerate() {
        let at = path.index(i);
        validate_common(container, context, &at, errors);
        validate_init_restarts(container, &at, errors);
        let name = container.text("name");
        if taken.contains(name) {
            errors.duplicate(&at.child("name"), name);
        } else if !name.is_empty() {
            taken.insert(name);
        }
        // Init containers run one by one. Upstream looks at a list of one and so always says 0.
        validate_host_ports(std::slice::from_ref(container), path, errors);
        if is_sidecar(container) {
            handlers::validate_all(container, context.spec, &at, errors);
            continue;
        }
        for field in [
            "lifecycle",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
        ] {
            if container.has(field) {
                errors.forbidden(
                    &at.child(field),
                    "may not be set for init containers without restartPolicy=Always",
                );
            }
        }
        if !context.options.restarting_init_containers {
            validate_no_restart_on_resize(container, &at, errors);
        }
    }
}

fn validate_no_restart_on_resize(container: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let policies = path.child("resizePolicy");
    for (i, policy) in container.list("resizePolicy").iter().enumerate() {
        let word = policy.text("restartPolicy");
        if word == "RestartContainer" {
            errors.invalid(
                &policies.index(i).child("restartPolicy"),
                word,
                "must not be set to 'RestartContainer' for non-sidecar initContainers",
            );
        }
    }
}

/// Containers added to look into a running pod.
pub(super) fn validate_ephemeral(
    context: &PodContext<'_>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let lists = ["containers", "initContainers"];
    let others = lists.iter().flat_map(|list| context.spec.list(list));
    let others: BTreeSet<&str> = others.map(|c| c.text("name")).collect();
    let mut taken = others.clone();
    for (i, container) in context.spec.list("ephemeralContainers").iter().enumerate() {
        let at = path.index(i);
        validate_common(container, context, &at, errors);
        validate_image_padding(container, &at, errors);
        let name = container.text("name");
        if !taken.insert(name) {
            errors.duplicate(&at.child("name"), name);
        }
        let target = container.text("targetContainerName");
        if !target.is_empty() && !others.contains(target) {
            errors.not_found(&at.child("targetContainerName"), target);
        }
        validate_ephemeral_fields(container, &at, errors);
    }
}

fn validate_ephemeral_fields(container: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    const REFUSED: &str = "cannot be set for an Ephemeral Container";
    for field in [
        "ports",
        "resources",
        "resizePolicy",
        "restartPolicy",
        "restartPolicyRules",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ] {
        let set = match container.at(field) {
            Value::Null => false,
            Value::Object(fields) if field == "resources" => !fields.is_empty(),
            Value::Array(list) => !list.is_empty(),
            _ => true,
        };
        if set {
            errors.forbidden(&path.child(field), REFUSED);
        }
    }
    let mounts = path.child("volumeMounts");
    for (i, mount) in container.list("volumeMounts").iter().enumerate() {
        for field in ["subPath", "subPathExpr"] {
            if !mount.text(field).is_empty() {
                errors.forbidden(&mounts.index(i).child(field), REFUSED);
            }
        }
    }
}

/// An image of a pod has no blanks around its name; one of a template may.
pub(super) fn validate_image_padding(container: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let image = container.text("image");
    if image.trim() != image {
        errors.invalid(
            &path.child("image"),
            image,
            "must not have leading or trailing whitespace",
        );
    }
}

fn validate_common(
    container: &Value,
    context: &PodContext<'_>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let name = container.text("name");
    if name.is_empty() {
        errors.required(&path.child("name"), "");
    } else {
        errors.invalid_each(&path.child("name"), name, names::dns1123_label(name));
    }
    if container.text("image").is_empty() {
        errors.required(&path.child("image"), "");
    }
    let at = path.child("terminationMessagePolicy");
    match container.text("terminationMessagePolicy") {
        "File" | "FallbackToLogsOnError" => {}
        "" => errors.required(&at, ""),
        other => errors.not_supported(&at, other, &["File", "FallbackToLogsOnError"]),
    }
    validate_ports(container.list("ports"), &path.child("ports"), errors);
    env::validate(container.list("env"), &path.child("env"), errors);
    env::validate_maps(container.list("envFrom"), &path.child("envFrom"), errors);
    let volumes = &context.volumes;
    mounts::validate_mounts(container, volumes, &path.child("volumeMounts"), errors);
    mounts::validate_devices(container, volumes, &path.child("volumeDevices"), errors);
    super::validate_pull_policy(
        container.text("imagePullPolicy"),
        &path.child("imagePullPolicy"),
        errors,
    );
    resources::validate_container(
        container.at("resources"),
        context.spec,
        context.options,
        &path.child("resources"),
        errors,
    );
    let pod_restarts = context.spec.text("restartPolicy");
    validate_resize_policy(container, pod_restarts, &path.child("resizePolicy"), errors);
    let host_users = context.spec.at("hostUsers") != &Value::Bool(false);
    security::validate_container(
        container.at("securityContext"),
        host_users,
        &path.child("securityContext"),
        errors,
    );
}

fn validate_ports(ports: &[Value], path: &Path<'_>, errors: &mut ErrorList) {
    let mut taken = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        let at = path.index(i);
        let name = port.text("name");
        if !name.is_empty() {
            let faults = names::port_name(name);
            if !faults.is_empty() {
                errors.invalid_each(&at.child("name"), name, faults);
            } else if !taken.insert(name) {
                errors.duplicate(&at.child("name"), name);
            }
        }
        let number = port.int("containerPort").unwrap_or_default();
        if number == 0 {
            errors.required(&at.child("containerPort"), "");
        } else {
            let faults = names::port_number(number);
            errors.invalid_each(&at.child("containerPort"), number, faults);
        }
        let number = port.int("hostPort").unwrap_or_default();
        if number != 0 {
            errors.invalid_each(&at.child("hostPort"), number, names::port_number(number));
        }
        match port.text("protocol") {
            "SCTP" | "TCP" | "UDP" => {}
            "" => errors.required(&at.child("protocol"), ""),
            other => {
                errors.not_supported(&at.child("protocol"), other, &["SCTP", "TCP", "UDP"]);
            }
        }
    }
}

fn validate_host_ports(containers: &[Value], path: &Path<'_>, errors: &mut ErrorList) {
    let mut taken = BTreeSet::new();
    for (i, container) in containers.iter().enumerate() {
        let container_at = path.index(i);
        let ports = container_at.child("ports");
        for (j, port) in container.list("ports").iter().enumerate() {
            let number = port.int("hostPort").unwrap_or_default();
            if number == 0 {
                continue;
            }
            let key = format!("{}/{}/{number}", port.text("protocol"), port.text("hostIP"));
            if taken.contains(&key) {
                errors.duplicate(&ports.index(j).child("hostPort"), &key);
            }
            taken.insert(key);
        }
    }
}

fn validate_resize_policy(
    container: &Value,
    pod_restarts: &str,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let mut taken = BTreeSet::new();
    for (i, policy) in container.list("resizePolicy").iter().enumerate() {
        let resource = policy.text("resourceName");
        if !taken.insert(resource) {
            errors.duplicate(&path.index(i), resource);
        }
        match resource {
            "cpu" | "memory" => {}
            "" => errors.required(path, ""),
            other => errors.not_supported(path, other, &["cpu", "memory"]),
        }
        let restarts = policy.text("restartPolicy");
        match restarts {
            "NotRequired" | "RestartContainer" => {}
            "" => errors.required(path, ""),
            other => errors.not_supported(path, other, &["NotRequired", "RestartContainer"]),
        }
        if pod_restarts == "Never" && restarts != "NotRequired" {
            errors.invalid(
                path,
                restarts,
                "must be 'NotRequired' when pod `restartPolicy` is 'Never'",
            );
        }
    }
}

const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;

/// When an init container is started again. Upstream: `validateInitContainerRestartPolicy`, which looks
/// no further where no policy is given.
fn validate_init_restarts(container: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if container.has("restartPolicy") {
        validate_restarts(container, path, errors);
    } else if !container.list("restartPolicyRules").is_empty() {
        errors.required(&path.child("restartPolicy"), POLICY_MISSING);
    }
}

const POLICY_MISSING: &str = "must specify restartPolicy when restart rules are used";

/// When the container is started again, whatever the pod says.
fn validate_restarts(container: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let rules = container.list("restartPolicyRules");
    let at = path.child("restartPolicy");
    if !container.has("restartPolicy") {
        if rules.is_empty() {
            return;
        }
        errors.required(&at, POLICY_MISSING);
    } else {
        match container.text("restartPolicy") {
            "Always" | "Never" | "OnFailure" => {}
            other => errors.not_supported(&at, other, &["Always", "Never", "OnFailure"]),
        }
    }
    let list = path.child("restartPolicyRules");
    if rules.len() > RULES_MAX {
        errors.push(Error::too_many(&list, rules.len(), RULES_MAX));
    }
    for (i, rule) in rules.iter().enumerate() {
        let at = list.index(i);
        match rule.text("action") {
            "Restart" | "RestartAllContainers" => {}
            other => {
                let known = ["Restart", "RestartAllContainers"];
                errors.not_supported(&at.child("action"), other, &known);
            }
        }
        let codes_at = at.child("exitCodes");
        if !rule.has("exitCodes") {
            errors.required(&codes_at, "must be specified");
            continue;
        }
        let codes = rule.at("exitCodes");
        match codes.text("operator") {
            "In" | "NotIn" => {}
            other => errors.not_supported(&codes_at.child("operator"), other, &["In", "NotIn"]),
        }
        let values = codes.list("values").len();
        if values > EXIT_CODES_MAX {
            let at = codes_at.child("values");
            errors.push(Error::too_many(&at, values, EXIT_CODES_MAX));
        }
    }
}
