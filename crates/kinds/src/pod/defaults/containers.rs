//! Defaults of containers, their ports, variables, probes and hooks.

use super::{default_number, default_text, resources};
use crate::pod::image;
use serde_json::Value;
use stowplan_apimachinery::{Edit, View};

pub(super) fn container(container: &mut Value) {
    let policy = match image::is_latest(container.text("image")) {
        true => "Always",
        false => "IfNotPresent",
    };
    default_text(container, "imagePullPolicy", policy);
    default_text(container, "terminationMessagePath", "/dev/termination-log");
    default_text(container, "terminationMessagePolicy", "File");
    for port in container.each_mut("ports") {
        default_text(port, "protocol", "TCP");
    }
    for variable in container.each_mut("env") {
        if let Some(source) = variable.child_mut("valueFrom") {
            env_source(source);
        }
    }
    if let Some(own) = container.child_mut("resources") {
        resources::round(own);
    }
    for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(own) = container.child_mut(field) {
            probe(own);
        }
    }
    if let Some(lifecycle) = container.child_mut("lifecycle") {
        for hook in ["postStart", "preStop"] {
            if let Some(get) = lifecycle
                .child_mut(hook)
                .and_then(|h| h.child_mut("httpGet"))
            {
                http_get(get);
            }
        }
    }
}

fn env_source(source: &mut Value) {
    if let Some(field) = source.child_mut("fieldRef") {
        field_ref(field);
    }
    if let Some(file) = source.child_mut("fileKeyRef") {
        file.default_to("optional", false);
    }
}

pub(super) fn field_ref(selector: &mut Value) {
    default_text(selector, "apiVersion", "v1");
}

fn probe(probe: &mut Value) {
    default_number(probe, "timeoutSeconds", 1);
    default_number(probe, "periodSeconds", 10);
    default_number(probe, "successThreshold", 1);
    default_number(probe, "failureThreshold", 3);
    if let Some(get) = probe.child_mut("httpGet") {
        http_get(get);
    }
    if let Some(call) = probe.child_mut("grpc") {
        call.default_to("service", "");
    }
}

fn http_get(get: &mut Value) {
    default_text(get, "path", "/");
    default_text(get, "scheme", "HTTP");
}

/// On the host's network a port of the container is a port of the host.
pub(super) fn host_ports(container: &mut Value) {
    for port in container.each_mut("ports") {
        let number = port.int("containerPort").unwrap_or_default();
        if number != 0 {
            default_number(port, "hostPort", number);
        }
    }
}
