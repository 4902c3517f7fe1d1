//! Names and addresses inside a pod.

use crate::common::faults::Faults;
use crate::common::ip;
use serde_json::Value;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{View, names};

const SERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCHES_BYTES_MAX: usize = 2048;
const HOST_NAME_BYTES_MAX: usize = 64;

pub(super) fn validate(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let config = spec.at("dnsConfig");
    let servers = config.list("nameservers");
    if spec.text("dnsPolicy") == "None" {
        if config.is_null() {
            errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        }
        if servers.is_empty() {
            errors.required(
                &path.child("nameservers"),
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
            );
            return;
        }
    }
    let at = path.child("nameservers");
    if servers.len() > SERVERS_MAX {
        let detail = format!("must not have more than {SERVERS_MAX} nameservers");
        errors.invalid(&at, config.at("nameservers"), detail);
    }
    for (i, server) in servers.iter().enumerate() {
        let server = server.as_str().unwrap_or_default();
        errors.extend(ip::validate_new(&at.index(i), server));
    }
    validate_searches(config, &path.child("searches"), errors);
    let at = path.child("options");
    for (i, option) in config.list("options").iter().enumerate() {
        if option.text("name").is_empty() {
            errors.required(&at.index(i), "must not be empty");
        }
    }
}

fn validate_searches(config: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let searches: Vec<&str> = config
        .list("searches")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if searches.len() > SEARCHES_MAX {
        let detail = format!("must not have more than {SEARCHES_MAX} search paths");
        errors.invalid(path, config.at("searches"), detail);
    }
    if searches.join(" ").len() > SEARCHES_BYTES_MAX {
        let detail = format!(
            "must not have more than {SEARCHES_BYTES_MAX} characters (including spaces) in the search list"
        );
        errors.invalid(path, config.at("searches"), detail);
    }
    for (i, search) in searches.into_iter().enumerate() {
        if search != "." {
            let search = search.strip_suffix('.').unwrap_or(search);
            let faults = names::dns1123_subdomain_with_underscore(search);
            errors.invalid_each(&path.index(i), search, faults);
        }
    }
}

/// A host name that overrides the pod's own.
pub(super) fn validate_host_name(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if !spec.has("hostnameOverride") {
        return;
    }
    let (name, at) = (
        spec.text("hostnameOverride"),
        path.child("hostnameOverride"),
    );
    if spec.flag("setHostnameAsFQDN") {
        errors.forbidden(&at, "may not be specified when setHostnameAsFQDN is true");
    }
    if spec.flag("hostNetwork") {
        errors.forbidden(&at, "may not be specified when hostNetwork is true");
    }
    if name.len() > HOST_NAME_BYTES_MAX {
        errors.push(Error::too_long(&at, HOST_NAME_BYTES_MAX));
    }
    errors.invalid_each(&at, name, names::dns1123_subdomain(name));
}

/// Lines for the pod's hosts file.
pub(super) fn validate_host_aliases(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    for (i, alias) in spec.list("hostAliases").iter().enumerate() {
        let at = path.index(i);
        errors.extend(ip::validate_new(&at.child("ip"), alias.text("ip")));
        let list = at.child("hostnames");
        for (j, name) in alias.list("hostnames").iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            let faults = names::dns1123_subdomain(name);
            errors.invalid_each(&list.index(j), name, faults);
        }
    }
}
