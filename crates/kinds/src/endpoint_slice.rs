//! EndpointSlice.
//!
//! Upstream: `pkg/apis/discovery/validation/validation.go`,
//! `pkg/registry/discovery/endpointslice/strategy.go`.

use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::{IMMUTABLE, generation, ip, kube_metadata, labels, name_rules};
use crate::core_group::endpoints::validate_protocol;
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{Error, ErrorKind, ErrorList, Path};
use stowplan_apimachinery::{Edit, View, names};

pub(crate) struct EndpointSlice;

const ENDPOINTS_MAX: usize = 1000;
const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20000;
const TOPOLOGY_LABELS_MAX: usize = 16;
const HINTS_MAX: usize = 8;
const HOSTNAME: &str = "kubernetes.io/hostname";

impl CreateStrategy for EndpointSlice {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        generation::start(object);
        drop_topology(object, None);
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        validate(object, None)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl UpdateStrategy for EndpointSlice {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        let changed = ["addressType", "endpoints", "ports"]
            .iter()
            .any(|field| !same(new.at(field), old.at(field)));
        let labels = |object: &'_ Value| object.at("metadata").at("labels").clone();
        let relabelled = labels(new) != labels(old);
        generation::raise_if(new, old, changed || relabelled);
        drop_topology(new, Some(old));
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = validate(new, Some(old));
        let kind = new.text("addressType");
        if kind != old.text("addressType") {
            errors.invalid(&Path::new("addressType"), kind, IMMUTABLE);
        }
        errors
    }
}

impl Strategy for EndpointSlice {
    fn set_defaults(&self, object: &mut Value) {
        for port in object.each_mut("ports") {
            port.default_to("name", "");
            port.default_to("protocol", "TCP");
        }
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        if old.is_none() && new.text("addressType") == "FQDN" {
            warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
        }
        let labels = new.at("metadata").at("labels");
        let manager = labels.text("endpointslice.kubernetes.io/managed-by");
        if matches!(
            manager,
            "endpointslice-controller.k8s.io" | "endpointslicemirroring-controller.k8s.io"
        ) {
            return warnings;
        }
        let path = Path::new("endpoints");
        for (i, endpoint) in new.list("endpoints").iter().enumerate() {
            let path = path.index(i);
            let path = path.child("addresses");
            for (j, address) in endpoint.list("addresses").iter().enumerate() {
                let address = address.as_str().unwrap_or_default();
                warnings.extend(ip::warnings(&path.index(j), address));
            }
        }
        warnings
    }
}

/// Topology labels of an older version are dropped; the host's name may become the node's.
fn drop_topology(new: &mut Value, old: Option<&Value>) {
    if old.is_some_and(|old| same(old.at("endpoints"), new.at("endpoints"))) {
        return;
    }
    let before = old.map_or(&[][..], |old| old.list("endpoints")).iter();
    let hosts: BTreeSet<String> = before
        .map(|endpoint| endpoint.at("deprecatedTopology").text(HOSTNAME).to_owned())
        .filter(|host| !host.is_empty())
        .collect();
    for endpoint in new.each_mut("endpoints") {
        let topology = endpoint.unset("deprecatedTopology").unwrap_or_default();
        let host = topology.text(HOSTNAME);
        let known = hosts.contains(host) && name_rules::dns_subdomain(host, false).is_empty();
        if known && !endpoint.has("nodeName") {
            endpoint.set("nodeName", host);
        }
    }
}

fn validate(slice: &Value, old: Option<&Value>) -> ErrorList {
    let mut errors = kube_metadata::validate(slice, true, &name_rules::dns_subdomain);
    let path = Path::new("addressType");
    match slice.text("addressType") {
        "" => errors.required(&path, ""),
        "IPv4" | "IPv6" | "FQDN" => {}
        kind => errors.not_supported(&path, kind, &["FQDN", "IPv4", "IPv6"]),
    }
    validate_ports(slice.list("ports"), &mut errors);
    let kept = old.is_some_and(|old| same(old.at("endpoints"), slice.at("endpoints")));
    if !kept {
        errors.extend(validate_endpoints(slice));
    }
    errors
}

fn validate_ports(ports: &[Value], errors: &mut ErrorList) {
    let path = Path::new("ports");
    if ports.len() > PORTS_MAX {
        errors.push(Error::too_many(&path, ports.len(), PORTS_MAX));
        return;
    }
    let mut all_names = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        let name = port.text("name");
        if !name.is_empty() {
            errors.invalid_each(&path.child("name"), name, names::dns1123_label(name));
        }
        if !all_names.insert(name) {
            errors.duplicate(&path.child("name"), name);
        }
        let at = path.child("protocol");
        match port.at("protocol").as_str() {
            None => errors.required(&at, ""),
            Some("") => errors.not_supported(&at, "", crate::core_group::endpoints::PROTOCOLS),
            Some(protocol) => errors.extend(validate_protocol(protocol, &at)),
        }
        if let Some(protocol) = port.at("appProtocol").as_str() {
            let faults = names::label_key(protocol);
            errors.invalid_each(&path.child("appProtocol"), protocol, faults);
        }
    }
}

fn validate_endpoints(slice: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = Path::new("endpoints");
    let endpoints = slice.list("endpoints");
    if endpoints.len() > ENDPOINTS_MAX {
        errors.push(Error::too_many(&path, endpoints.len(), ENDPOINTS_MAX));
        return errors;
    }
    let kind = slice.text("addressType");
    for (i, endpoint) in endpoints.iter().enumerate() {
        let path = path.index(i);
        validate_addresses(endpoint, kind, &path.child("addresses"), &mut errors);
        if let Some(node) = endpoint.at("nodeName").as_str() {
            let faults = name_rules::dns_subdomain(node, false);
            errors.invalid_each(&path.child("nodeName"), node, faults);
        }
        validate_topology(endpoint, &path.child("deprecatedTopology"), &mut errors);
        if let Some(hostname) = endpoint.at("hostname").as_str() {
            let faults = names::dns1123_label(hostname);
            errors.invalid_each(&path.child("hostname"), hostname, faults);
        }
        validate_hints(endpoint.at("hints"), &path.child("hints"), &mut errors);
    }
    errors
}

fn validate_addresses(endpoint: &Value, kind: &str, path: &Path<'_>, errors: &mut ErrorList) {
    let addresses = endpoint.list("addresses");
    if addresses.is_empty() {
        errors.required(path, "must contain at least 1 address");
    } else if addresses.len() > ADDRESSES_MAX {
        errors.push(Error::too_many(path, addresses.len(), ADDRESSES_MAX));
    }
    for (i, address) in addresses.iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        let at = path.index(i);
        let (faults, of_family) = match kind {
            "IPv4" => (ip::validate_new(&at, address), ip::is_v4(address)),
            "IPv6" => (ip::validate_canonical(&at, address), ip::is_v6(address)),
            "FQDN" => {
                validate_fqdn(address, &at, errors);
                continue;
            }
            _ => continue,
        };
        if !faults.is_empty() {
            errors.extend(faults);
            continue;
        }
        if !of_family {
            errors.invalid(path, address, format!("must be an {kind} address"));
        }
        errors.extend(ip::validate_endpoint(address, &at));
    }
}

/// `IsFullyQualifiedDomainName` of `k8s.io/apimachinery/pkg/util/validation`.
fn validate_fqdn(name: &str, path: &Path<'_>, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.required(path, "");
        return;
    }
    // A dot at the end says that the name is complete.
    let name = name.strip_suffix('.').unwrap_or(name);
    let faults = names::dns1123_subdomain(name);
    if !faults.is_empty() {
        errors.invalid(path, name, faults.join(","));
        return;
    }
    if name.split('.').count() < 2 {
        let fault = "should be a domain with at least two segments separated by dots";
        errors.invalid(path, name, fault);
        return;
    }
    for label in name.split('.') {
        let faults = names::dns1123_label(label);
        if !faults.is_empty() {
            errors.invalid(path, label, faults.join(","));
            return;
        }
    }
}

fn validate_topology(endpoint: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let topology = endpoint.at("deprecatedTopology");
    let count = endpoint.entries("deprecatedTopology").count();
    if count > TOPOLOGY_LABELS_MAX {
        errors.push(Error::too_many(path, count, TOPOLOGY_LABELS_MAX));
    }
    errors.extend(labels::validate(topology, path));
    let zone = "topology.kubernetes.io/zone";
    if topology.has(zone) {
        let fault = "reserved key was not removed in conversion";
        let path = path.key(zone);
        errors.push(Error::other(ErrorKind::Internal, &path, None, fault));
    }
}

fn validate_hints(hints: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    type Rule = fn(&str) -> Vec<String>;
    let rules: [(&str, Rule); 2] = [
        ("forZones", names::label_value),
        ("forNodes", |name| name_rules::dns_subdomain(name, false)),
    ];
    for (field, rule) in rules {
        let path = path.child(field);
        let all = hints.list(field);
        if all.len() > HINTS_MAX {
            errors.push(Error::too_many(&path, all.len(), HINTS_MAX));
            return;
        }
        let mut seen = BTreeSet::new();
        for (i, hint) in all.iter().enumerate() {
            let name = hint.text("name");
            let path = path.index(i);
            let path = path.child("name");
            if !seen.insert(name) {
                errors.duplicate(&path, name);
            }
            errors.invalid_each(&path, name, rule(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ALONE, faults, update_faults};
    use serde_json::json;

    fn slice(kind: &str, endpoints: Value) -> Value {
        json!({"metadata": {"name": "a", "namespace": "n", "resourceVersion": "1", "generation": 1},
            "addressType": kind, "endpoints": endpoints, "ports": []})
    }

    #[test]
    fn addresses_are_of_one_family() {
        let of = |kind: &str, address: &str| {
            faults(
                &EndpointSlice,
                &slice(kind, json!([{"addresses": [address]}])),
            )
            .join(";")
        };
        assert_eq!(of("IPv4", "10.0.0.1"), "");
        assert!(
            of("IPv4", "::1").contains(
                "endpoints[0].addresses: Invalid value: \"::1\": must be an IPv4 address"
            )
        );
        assert!(of("IPv6", "2001:DB8::1").contains("must be in canonical form"));
        assert_eq!(of("FQDN", "a.example.com."), "");
        assert!(of("FQDN", "a").contains("at least two segments"));
        assert!(of("", "x").starts_with("addressType: Required value"));
    }

    #[test]
    fn what_is_stored_may_stay() {
        let old = slice("IPv4", json!([{"addresses": []}]));
        assert!(update_faults(&EndpointSlice, &old, &old).is_empty());
        let mut new = slice("IPv6", json!([{"addresses": []}]));
        assert_eq!(
            update_faults(&EndpointSlice, &new, &old),
            ["addressType: Invalid value: \"IPv6\": field is immutable"]
        );
        EndpointSlice.prepare_for_update(&mut new, &old, &ALONE);
        assert_eq!(new["metadata"]["generation"], 2);
    }

    #[test]
    fn topology_of_older_versions_is_dropped() {
        let topology = json!({HOSTNAME: "node-1"});
        let endpoint = json!({"addresses": ["10.0.0.1"], "deprecatedTopology": topology});
        let mut object = slice("IPv4", json!([endpoint]));
        let old = object.clone();
        crate::tests::create(&EndpointSlice, &mut object);
        assert_eq!(object["endpoints"], json!([{"addresses": ["10.0.0.1"]}]));
        let mut new = old.clone();
        new["endpoints"][0]["addresses"] = json!(["10.0.0.2"]);
        EndpointSlice.prepare_for_update(&mut new, &old, &ALONE);
        assert_eq!(new["endpoints"][0]["nodeName"], "node-1");
    }
}
