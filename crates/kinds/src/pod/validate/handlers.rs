//! Probes and hooks: how a container is asked whether it lives, and told that it starts or stops.

use crate::common::NEGATIVE;
use crate::common::faults::Faults;
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{View, names};

/// Hooks and probes of a container that may have them.
pub(super) fn validate_all(
    container: &Value,
    spec: &Value,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let grace = spec.int("terminationGracePeriodSeconds");
    let lifecycle = container.at("lifecycle");
    let at = path.child("lifecycle");
    for hook in ["postStart", "preStop"] {
        if lifecycle.has(hook) {
            let own = lifecycle.at(hook);
            validate_handler(own, HOOKS, grace, &at.child(hook), errors);
        }
    }
    if lifecycle.has("stopSignal") {
        validate_stop_signal(lifecycle, spec, &at.child("stopSignal"), errors);
    }
    for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if !container.has(field) {
            continue;
        }
        let (probe, at) = (container.at(field), path.child(field));
        validate_probe(probe, grace, &at, errors);
        let successes = probe.int("successThreshold").unwrap_or_default();
        if field != "readinessProbe" && successes != 1 {
            errors.invalid(&at.child("successThreshold"), successes, "must be 1");
        }
        if field == "readinessProbe" && probe.has("terminationGracePeriodSeconds") {
            errors.invalid(
                &at.child("terminationGracePeriodSeconds"),
                probe.at("terminationGracePeriodSeconds"),
                "must not be set for readinessProbes",
            );
        }
    }
}

fn validate_probe(probe: &Value, grace: Option<i64>, path: &Path<'_>, errors: &mut ErrorList) {
    validate_handler(probe, PROBES, grace, path, errors);
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        let value = probe.int(field).unwrap_or_default();
        if value < 0 {
            errors.invalid(&path.child(field), value, NEGATIVE);
        }
    }
    let field = "terminationGracePeriodSeconds";
    if let Some(seconds) = probe.int(field).filter(|seconds| *seconds <= 0) {
        errors.invalid(&path.child(field), seconds, "must be greater than 0");
    }
}

const PROBES: &[&str] = &["exec", "httpGet", "tcpSocket", "grpc"];
const HOOKS: &[&str] = &["exec", "httpGet", "tcpSocket", "sleep"];

fn validate_handler(
    handler: &Value,
    kinds: &[&str],
    grace: Option<i64>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let mut found = false;
    for kind in kinds.iter().filter(|kind| handler.has(kind)) {
        let (own, at) = (handler.at(kind), path.child(kind));
        if found {
            errors.forbidden(&at, "may not specify more than 1 handler type");
            continue;
        }
        found = true;
        match *kind {
            "exec" if own.list("command").is_empty() => {
                errors.required(&at.child("command"), "");
            }
            "httpGet" => validate_http_get(own, &at, errors),
            "tcpSocket" | "grpc" => validate_port(own.at("port"), &at.child("port"), errors),
            "sleep" => validate_sleep(own, grace, &at, errors),
            _ => {}
        }
    }
    if !found {
        errors.required(path, "must specify a handler type");
    }
}

fn validate_http_get(get: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if get.text("path").is_empty() {
        errors.required(&path.child("path"), "");
    }
    validate_port(get.at("port"), &path.child("port"), errors);
    let scheme = get.text("scheme");
    if !matches!(scheme, "HTTP" | "HTTPS") {
        errors.not_supported(&path.child("scheme"), scheme, &["HTTP", "HTTPS"]);
    }
    for header in get.list("httpHeaders") {
        let name = header.text("name");
        let faults = names::http_header_name(name);
        errors.invalid_each(&path.child("httpHeaders"), name, faults);
    }
}

/// The number or the name of a port.
pub(super) fn validate_port(port: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    match port.as_str() {
        Some(name) => errors.invalid_each(path, name, names::port_name(name)),
        None => {
            let number = port.as_i64().unwrap_or_default();
            errors.invalid_each(path, number, names::port_number(number));
        }
    }
}

fn validate_sleep(sleep: &Value, grace: Option<i64>, path: &Path<'_>, errors: &mut ErrorList) {
    let seconds = sleep.int("seconds").unwrap_or_default();
    if let Some(grace) = grace.filter(|grace| seconds < 0 || seconds > *grace) {
        errors.invalid(
            path,
            seconds,
            format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})"),
        );
    }
}

/// Signals are behind a gate; those of stored objects are still checked.
fn validate_stop_signal(lifecycle: &Value, spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let signal = lifecycle.text("stopSignal");
    match spec.at("os").text("name") {
        _ if !spec.has("os") => errors.forbidden(
            path,
            "may not be set for containers with empty `spec.os.name`",
        ),
        "windows" if !matches!(signal, "SIGKILL" | "SIGTERM") => {
            errors.not_supported(path, signal, &["SIGKILL", "SIGTERM"]);
        }
        _ => {}
    }
}
