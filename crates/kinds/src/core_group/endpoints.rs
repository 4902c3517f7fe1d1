//! Endpoints.
//!
//! Upstream: `ValidateEndpoints` of `pkg/apis/core/validation/validation.go`,
//! `pkg/registry/core/endpoint/strategy.go`.

use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::{ip, kube_metadata, name_rules};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View, names};

pub(crate) struct Endpoints;

pub(crate) const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

impl CreateStrategy for Endpoints {
    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        validate(object, None)
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for Endpoints {
    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        errors.extend(validate(new, Some(old)));
        errors
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}

impl Strategy for Endpoints {
    fn set_defaults(&self, object: &mut Value) {
        for subset in object.each_mut("subsets") {
            for port in subset.each_mut("ports") {
                if port.text("protocol").is_empty() {
                    port.set("protocol", "TCP");
                }
            }
        }
    }

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        let labels = new.at("metadata").at("labels");
        if labels.text("endpoints.kubernetes.io/managed-by") == "endpoint-controller" {
            return Vec::new();
        }
        let mut warnings = Vec::new();
        let path = Path::new("subsets");
        for (i, subset) in new.list("subsets").iter().enumerate() {
            let path = path.index(i);
            for key in ["addresses", "notReadyAddresses"] {
                let path = path.child(key);
                for (j, address) in subset.list(key).iter().enumerate() {
                    let path = path.index(j);
                    warnings.extend(ip::warnings(&path.child("ip"), address.text("ip")));
                }
            }
        }
        warnings
    }
}

fn validate(object: &Value, old: Option<&Value>) -> ErrorList {
    let mut errors = kube_metadata::validate(object, true, &name_rules::dns_subdomain);
    let subsets = validate_subsets(object.list("subsets"));
    // What was stored under older rules may stay as it is.
    let kept = old.is_some_and(|old| same(old.at("subsets"), object.at("subsets")));
    if !kept {
        errors.extend(subsets);
    }
    errors
}

fn validate_subsets(subsets: &[Value]) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = Path::new("subsets");
    for (i, subset) in subsets.iter().enumerate() {
        let path = path.index(i);
        let (ready, other) = (subset.list("addresses"), subset.list("notReadyAddresses"));
        if ready.is_empty() && other.is_empty() {
            errors.required(&path, "must specify `addresses` or `notReadyAddresses`");
        }
        for (key, addresses) in [("addresses", ready), ("notReadyAddresses", other)] {
            let path = path.child(key);
            for (j, address) in addresses.iter().enumerate() {
                errors.extend(validate_address(address, &path.index(j)));
            }
        }
        let ports = subset.list("ports");
        let path = path.child("ports");
        for (j, port) in ports.iter().enumerate() {
            errors.extend(validate_port(port, ports.len() > 1, &path.index(j)));
        }
    }
    errors
}

fn validate_address(address: &Value, path: &Path<'_>) -> ErrorList {
    let at = path.child("ip");
    let mut errors = ip::validate_new(&at, address.text("ip"));
    let hostname = address.text("hostname");
    if !hostname.is_empty() {
        let faults = names::dns1123_label(hostname);
        errors.invalid_each(&path.child("hostname"), hostname, faults);
    }
    if let Some(node) = address.at("nodeName").as_str() {
        let faults = name_rules::dns_subdomain(node, false);
        errors.invalid_each(&path.child("nodeName"), node, faults);
    }
    errors.extend(ip::validate_endpoint(address.text("ip"), &at));
    errors
}

fn validate_port(port: &Value, name_needed: bool, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let at = path.child("name");
    match port.text("name") {
        "" if name_needed => errors.required(&at, ""),
        "" => {}
        name => errors.invalid_each(&at, name, names::dns1123_label(name)),
    }
    let number = port.int("port").unwrap_or_default();
    errors.invalid_each(&path.child("port"), number, names::port_number(number));
    errors.extend(validate_protocol(
        port.text("protocol"),
        &path.child("protocol"),
    ));
    if let Some(protocol) = port.at("appProtocol").as_str() {
        let faults = names::label_key(protocol);
        errors.invalid_each(&path.child("appProtocol"), protocol, faults);
    }
    errors
}

/// Faults of a transport protocol, which has to be there.
pub(crate) fn validate_protocol(protocol: &str, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    if protocol.is_empty() {
        errors.required(path, "");
    } else if !PROTOCOLS.contains(&protocol) {
        errors.not_supported(path, protocol, PROTOCOLS);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};
    use serde_json::json;

    #[test]
    fn addresses_and_ports_are_checked() {
        let mut object = json!({"metadata": {"name": "a", "namespace": "n", "resourceVersion": "1"},
            "subsets": [{}, {"addresses": [{"ip": "x"}], "ports": [{"port": 0}, {"port": 1}]}]});
        Endpoints.set_defaults(&mut object);
        assert_eq!(object["subsets"][1]["ports"][0]["protocol"], "TCP");
        let found = faults(&Endpoints, &object);
        assert_eq!(
            found,
            [
                "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
                "subsets[1].addresses[0].ip: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
                "subsets[1].addresses[0].ip: Invalid value: \"x\": must be a valid IP address",
                "subsets[1].ports[0].name: Required value",
                "subsets[1].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "subsets[1].ports[1].name: Required value",
            ]
        );
        assert!(update_faults(&Endpoints, &object, &object).is_empty());
    }
}
