//! How a service is reached from outside: addresses, load balancers, traffic policies.
//!
//! Upstream: `pkg/apis/core/validation/validation.go`.

use super::cluster_ips::texts;
use super::{SPEC, is_externally_accessible, needs_health_check};
use crate::common::faults::Faults;
use crate::common::{cidr, ip};
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{View, names};

const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const BALANCERS_ONLY: &str = "may only be used when `type` is 'LoadBalancer'";

/// External addresses; those that the stored service has may stay.
pub(super) fn validate_ips(spec: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let stored = old.map_or_else(Vec::new, |old| texts(old.at("spec"), "externalIPs"));
    let stored: BTreeSet<&str> = stored.into_iter().collect();
    let path = SPEC.child("externalIPs");
    for (i, address) in texts(spec, "externalIPs").into_iter().enumerate() {
        let path = path.index(i);
        let faults = ip::validate(&path, address, &stored);
        if faults.is_empty() {
            errors.extend(ip::validate_endpoint(address, &path));
        }
        errors.extend(faults);
    }
}

/// Who may come in through the load balancer: by field, or else by annotation.
pub(super) fn validate_source_ranges(service: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let spec = service.at("spec");
    let balanced = spec.text("type") == "LoadBalancer";
    let ranges = texts(spec, "loadBalancerSourceRanges");
    if !ranges.is_empty() {
        let path = SPEC.child("LoadBalancerSourceRanges");
        if !balanced {
            errors.forbidden(&path, BALANCERS_ONLY);
        }
        let stored = old.map_or_else(Vec::new, |old| {
            texts(old.at("spec"), "loadBalancerSourceRanges")
        });
        let stored: BTreeSet<&str> = stored.into_iter().map(str::trim).collect();
        for (i, range) in ranges.into_iter().enumerate() {
            errors.extend(cidr::validate(&path.index(i), range.trim(), &stored));
        }
        return;
    }
    let annotation = |service: &'_ Value| {
        let annotations = service.at("metadata").at("annotations");
        annotations.at(SOURCE_RANGES).as_str().map(str::to_owned)
    };
    let Some(ranges) = annotation(service) else {
        return;
    };
    let path = Path::new("metadata");
    let path = path.child("annotations");
    let path = path.key(SOURCE_RANGES);
    if !balanced {
        errors.forbidden(&path, BALANCERS_ONLY);
    }
    let unchanged = old.and_then(annotation).is_some_and(|old| old == ranges);
    if !unchanged && !ranges.trim().is_empty() {
        for range in ranges.trim().split(',') {
            errors.extend(cidr::validate_new(&path, range.trim()));
        }
    }
}

/// The class of load balancer, which only load balancers have.
pub(super) fn validate_class(spec: &Value, errors: &mut ErrorList) {
    let Some(class) = spec.at("loadBalancerClass").as_str() else {
        return;
    };
    let path = SPEC.child("loadBalancerClass");
    match spec.text("type") {
        "LoadBalancer" => errors.invalid_each(&path, class, names::label_key(class)),
        _ => errors.forbidden(&path, BALANCERS_ONLY),
    }
}

/// Where traffic from outside may go, and where its health is asked.
pub(super) fn validate_traffic_policy(service: &Value, errors: &mut ErrorList) {
    let spec = service.at("spec");
    let path = SPEC.child("externalTrafficPolicy");
    match (
        is_externally_accessible(service),
        spec.text("externalTrafficPolicy"),
    ) {
        (false, "") | (true, "Cluster" | "Local") => {}
        (false, policy) => {
            let fault = "may only be set for externally-accessible services";
            errors.invalid(&path, policy, fault);
        }
        (true, "") => errors.required(&path, ""),
        (true, policy) => errors.not_supported(&path, policy, &["Cluster", "Local"]),
    }
    let path = SPEC.child("healthCheckNodePort");
    let port = spec.int("healthCheckNodePort").unwrap_or_default();
    match (needs_health_check(service), port) {
        (false, 0) => {}
        (false, port) => {
            let fault = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.invalid(&path, port, fault);
        }
        (true, 0) => errors.required(&path, ""),
        (true, port) => errors.invalid_each(&path, port, names::port_number(port)),
    }
}

/// What a load balancer reports about itself.
pub(super) fn validate_load_balancer(new: &Value, old: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let ingress = |service: &'_ Value| -> Vec<Value> {
        let status = service.path(&["status", "loadBalancer"]);
        status.list("ingress").to_vec()
    };
    let path = Path::new("status");
    let path = path.child("loadBalancer");
    let path = path.child("ingress");
    let (points, stored) = (ingress(new), ingress(old));
    if new.at("spec").text("type") != "LoadBalancer" && !points.is_empty() {
        let fault = "may only be used when `spec.type` is 'LoadBalancer'";
        errors.forbidden(&path, fault);
        return errors;
    }
    let stored: BTreeSet<&str> = stored.iter().map(|i| i.text("ip")).collect();
    for (i, point) in points.iter().enumerate() {
        let path = path.index(i);
        let (address, mode) = (point.text("ip"), point.at("ipMode").as_str());
        if !address.is_empty() {
            errors.extend(ip::validate(&path.child("ip"), address, &stored));
        }
        let at = path.child("ipMode");
        match (address.is_empty(), mode) {
            (true, None) | (false, Some("VIP" | "Proxy")) => {}
            (false, None) => errors.required(&at, "must be specified when `ip` is set"),
            (true, Some(_)) => errors.forbidden(&at, "may not be specified when `ip` is not set"),
            (false, Some(mode)) => errors.not_supported(&at, mode, &["Proxy", "VIP"]),
        }
        validate_hostname(point.text("hostname"), &path, &mut errors);
    }
    errors
}

/// A host's name, and no address.
pub(crate) fn validate_hostname(hostname: &str, path: &Path<'_>, errors: &mut ErrorList) {
    if hostname.is_empty() {
        return;
    }
    let path = path.child("hostname");
    errors.invalid_each(&path, hostname, names::dns1123_subdomain(hostname));
    if ip::parse(hostname).is_some() {
        let fault = "must be a DNS name, not an IP address";
        errors.invalid(&path, hostname, fault);
    }
}
