//! Faults of a service. Upstream: `validateService` of `pkg/apis/core/validation/validation.go`.

use super::{SPEC, cluster_ips, external, is_headless, node_port};
use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::labels;
use crate::core_group::endpoints::validate_protocol;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{View, names};

const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";
const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const CLIENT_IP_TIMEOUT_S_MAX: i64 = 86400;

/// Faults of a service beyond its metadata; `old` is there for an update.
pub(super) fn service(service: &Value, old: Option<&Value>) -> ErrorList {
    let mut errors = ErrorList::new();
    let spec = service.at("spec");
    let kind = spec.text("type");
    validate_topology_annotations(service, &mut errors);
    let ports = spec.list("ports");
    if ports.is_empty() && !is_headless(service) && kind != "ExternalName" {
        errors.required(&SPEC.child("ports"), "");
    }
    validate_kind(service, &mut errors);
    validate_ports(ports, &mut errors);
    if spec.has("selector") {
        let path = SPEC.child("selector");
        errors.extend(labels::validate(spec.at("selector"), &path));
    }
    validate_affinity(spec, &mut errors);
    errors.extend(cluster_ips::validate(service, old));
    external::validate_ips(spec, old, &mut errors);
    if kind.is_empty() {
        errors.required(&SPEC.child("type"), "");
    } else if !TYPES.contains(&kind) {
        errors.not_supported(&SPEC.child("type"), kind, TYPES);
    }
    validate_port_numbers(spec, &mut errors);
    external::validate_source_ranges(service, old, &mut errors);
    let allocates = spec.at("allocateLoadBalancerNodePorts");
    let balanced = kind == "LoadBalancer";
    if !allocates.is_null() && !balanced {
        errors.forbidden(
            &SPEC.child("allocateLoadBalancerNodePorts"),
            "may only be used when `type` is 'LoadBalancer'",
        );
    }
    if allocates.is_null() && balanced {
        errors.required(&Path::new("allocateLoadBalancerNodePorts"), "");
    }
    external::validate_class(spec, &mut errors);
    external::validate_traffic_policy(service, &mut errors);
    validate_internal_traffic(spec, &mut errors);
    errors
}

fn validate_topology_annotations(service: &Value, errors: &mut ErrorList) {
    let annotations = service.at("metadata").at("annotations");
    let (hints, mode) = (
        annotations.at(HINTS).as_str(),
        annotations.at(MODE).as_str(),
    );
    if let (Some(hints), Some(mode)) = (hints, mode)
        && hints != mode
    {
        let path = Path::new("metadata");
        let path = path.child("annotations");
        let fault = format!("must match annotations[{HINTS}] when both are specified");
        errors.invalid(&path.key(MODE), mode, fault);
    }
}

/// What the type demands and rules out.
fn validate_kind(service: &Value, errors: &mut ErrorList) {
    let spec = service.at("spec");
    let kind = spec.text("type");
    let path = SPEC.child("clusterIPs");
    match kind {
        "LoadBalancer" | "NodePort" if is_headless(service) => {
            let fault = format!("may not be set to 'None' for {kind} services");
            errors.invalid(&path.index(0), "None", fault);
        }
        "ExternalName" => {
            let fault = "may not be set for ExternalName services";
            if !spec.list("clusterIPs").is_empty() {
                errors.forbidden(&path, fault);
            }
            if !spec.list("ipFamilies").is_empty() {
                errors.forbidden(&SPEC.child("ipFamilies"), fault);
            }
            if spec.has("ipFamilyPolicy") {
                errors.forbidden(&SPEC.child("ipFamilyPolicy"), fault);
            }
            let path = SPEC.child("externalName");
            let name = spec.text("externalName");
            // A dot at the end says that the name is complete.
            match name.strip_suffix('.').unwrap_or(name) {
                "" => errors.required(&path, ""),
                name => errors.invalid_each(&path, name, names::dns1123_subdomain(name)),
            }
        }
        _ => {}
    }
}

fn validate_ports(ports: &[Value], errors: &mut ErrorList) {
    let mut all_names = BTreeSet::new();
    let path = SPEC.child("ports");
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        let at = path.child("name");
        match port.text("name") {
            "" if ports.len() > 1 => errors.required(&at, ""),
            "" => {}
            name => {
                errors.invalid_each(&at, name, names::dns1123_label(name));
                if !all_names.insert(name) {
                    errors.duplicate(&at, name);
                }
            }
        }
        let number = port.int("port").unwrap_or_default();
        errors.invalid_each(&path.child("port"), number, names::port_number(number));
        errors.extend(validate_protocol(
            port.text("protocol"),
            &path.child("protocol"),
        ));
        let at = path.child("targetPort");
        match port.at("targetPort") {
            Value::String(name) => errors.invalid_each(&at, name, names::port_name(name)),
            number => {
                let number = number.as_i64().unwrap_or_default();
                errors.invalid_each(&at, number, names::port_number(number));
            }
        }
        if let Some(protocol) = port.at("appProtocol").as_str() {
            let faults = names::label_key(protocol);
            errors.invalid_each(&path.child("appProtocol"), protocol, faults);
        }
    }
}

fn validate_affinity(spec: &Value, errors: &mut ErrorList) {
    let path = SPEC.child("sessionAffinity");
    let config = SPEC.child("sessionAffinityConfig");
    match spec.text("sessionAffinity") {
        "" => errors.required(&path, ""),
        "ClientIP" => validate_client_ip(spec.at("sessionAffinityConfig"), &config, errors),
        "None" => {
            if spec.has("sessionAffinityConfig") {
                errors.forbidden(&config, "must not be set when session affinity is None");
            }
        }
        other => errors.not_supported(&path, other, &["ClientIP", "None"]),
    }
}

fn validate_client_ip(config: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let fault = "when session affinity type is ClientIP";
    if config.is_null() {
        return errors.required(path, fault);
    }
    let path = path.child("clientIP");
    let client = config.at("clientIP");
    if client.is_null() {
        return errors.required(&path, fault);
    }
    let path = path.child("timeoutSeconds");
    match client.int("timeoutSeconds") {
        None => errors.required(&path, fault),
        Some(1..=CLIENT_IP_TIMEOUT_S_MAX) => {}
        Some(seconds) => {
            let fault = format!("must be greater than 0 and less than {CLIENT_IP_TIMEOUT_S_MAX}");
            errors.invalid(&path, seconds, fault);
        }
    }
}

/// Numbers that may not be there, or not twice.
fn validate_port_numbers(spec: &Value, errors: &mut ErrorList) {
    let path = SPEC.child("ports");
    let ports = spec.list("ports");
    if spec.text("type") == "ClusterIP" {
        for (i, _) in ports.iter().enumerate().filter(|(_, p)| node_port(p) != 0) {
            let fault = "may not be used when `type` is 'ClusterIP'";
            errors.forbidden(&path.index(i).child("nodePort"), fault);
        }
    }
    let mut seen = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        let number = node_port(port);
        if number != 0 && !seen.insert((port.text("protocol"), number)) {
            errors.duplicate(&path.index(i).child("nodePort"), number);
        }
    }
    let mut seen = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        let (protocol, number) = (port.text("protocol"), port.int("port"));
        if !seen.insert((protocol, number)) {
            let key = json!({"protocol": protocol, "port": number});
            errors.duplicate(&path.index(i), Internal(&key));
        }
    }
}

fn validate_internal_traffic(spec: &Value, errors: &mut ErrorList) {
    let path = SPEC.child("internalTrafficPolicy");
    match spec.at("internalTrafficPolicy").as_str() {
        None => {
            if matches!(spec.text("type"), "NodePort" | "LoadBalancer" | "ClusterIP") {
                errors.required(&path, "");
            }
        }
        Some("Cluster" | "Local") => {}
        Some(other) => errors.not_supported(&path, other, &["Cluster", "Local"]),
    }
    const DISTRIBUTIONS: &[&str] = &["PreferClose", "PreferSameZone", "PreferSameNode"];
    if let Some(word) = spec.at("trafficDistribution").as_str()
        && !DISTRIBUTIONS.contains(&word)
    {
        errors.not_supported(&SPEC.child("trafficDistribution"), word, DISTRIBUTIONS);
    }
}
