//! Ingress.

use super::validate_reference;
use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::{generation, ip, kube_metadata, name_rules};
use crate::service;
use crate::subresource::{inherit, keep};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View, names};

pub(crate) struct Ingress;

const CLASS: &str = "kubernetes.io/ingress.class";
static SPEC: Path<'static> = Path::new("spec");

/// What a stored ingress is forgiven.
#[derive(Clone, Copy, Default)]
struct Forgiven {
    secret_names: bool,
    wildcard_rules: bool,
}

impl CreateStrategy for Ingress {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        object.set("status", json!({"loadBalancer": {}}));
        generation::start(object);
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = validate(object, Forgiven::default());
        let annotation = object.at("metadata").at("annotations").at(CLASS).as_str();
        let class = object.at("spec").at("ingressClassName").as_str();
        if let (Some(annotation), Some(class)) = (annotation, class)
            && annotation != class
        {
            let path = Path::new("annotations");
            let fault = "must match `ingressClassName` when both are specified";
            errors.invalid(&path.child(CLASS), annotation, fault);
        }
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl UpdateStrategy for Ingress {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "status");
        let changed = !same(new.at("spec"), old.at("spec"));
        generation::raise_if(new, old, changed);
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        let before = old.at("spec");
        let bad_secret = |tls: &Value| !secret_faults(tls.text("secretName")).is_empty();
        let bad_rule = |rule: &Value| {
            let mut faults = ErrorList::new();
            validate_http(rule, &SPEC, &mut faults);
            rule.text("host").contains('*') && !faults.is_empty()
        };
        let forgiven = Forgiven {
            secret_names: before.list("tls").iter().any(bad_secret),
            wildcard_rules: before.list("rules").iter().any(bad_rule),
        };
        errors.extend(validate(new, forgiven));
        errors
    }
}

impl Strategy for Ingress {
    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let annotated = new.at("metadata").at("annotations").has(CLASS);
        match annotated && old.is_none() && !new.at("spec").has("ingressClassName") {
            true => vec![format!(
                "annotation \"{CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"
            )],
            false => Vec::new(),
        }
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        Some(&IngressStatus)
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }
}

struct IngressStatus;

impl CreateStrategy for IngressStatus {
    inherit!(create: Ingress);
}

impl UpdateStrategy for IngressStatus {
    inherit!(update: Ingress);

    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "spec");
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        let points = |object: &'_ Value| {
            let status = object.path(&["status", "loadBalancer"]);
            status.list("ingress").to_vec()
        };
        let stored = points(old);
        let stored: BTreeSet<&str> = stored.iter().map(|point| point.text("ip")).collect();
        let path = Path::new("status");
        let path = path.child("loadBalancer");
        let path = path.child("ingress");
        for (i, point) in points(new).iter().enumerate() {
            let path = path.index(i);
            if !point.text("ip").is_empty() {
                errors.extend(ip::validate(&path.child("ip"), point.text("ip"), &stored));
            }
            service::validate_hostname(point.text("hostname"), &path, &mut errors);
        }
        errors
    }
}

impl Strategy for IngressStatus {
    inherit!(Ingress);

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        service::load_balancer_warnings(new)
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec"]]
    }
}

fn validate(ingress: &Value, forgiven: Forgiven) -> ErrorList {
    let mut errors = kube_metadata::validate(ingress, true, &name_rules::dns_subdomain);
    let spec = ingress.at("spec");
    let backend = spec.at("defaultBackend");
    if spec.list("rules").is_empty() && backend.is_null() {
        let fault = "either `defaultBackend` or `rules` must be specified";
        errors.invalid(&SPEC, spec.at("rules"), fault);
    }
    if !backend.is_null() {
        validate_backend(backend, &SPEC.child("defaultBackend"), &mut errors);
    }
    let path = SPEC.child("rules");
    for (i, rule) in spec.list("rules").iter().enumerate() {
        let path = path.index(i);
        let host = rule.text("host");
        validate_host(host, &path.child("host"), &mut errors);
        if !(forgiven.wildcard_rules && host.contains('*')) {
            validate_http(rule, &path, &mut errors);
        }
    }
    validate_tls(spec.list("tls"), forgiven, &mut errors);
    if let Some(class) = spec.at("ingressClassName").as_str() {
        let faults = name_rules::dns_subdomain(class, false);
        errors.invalid_each(&SPEC.child("ingressClassName"), class, faults);
    }
    errors
}

fn host_faults(host: &str) -> Vec<String> {
    match host.contains('*') {
        true => names::wildcard_dns1123_subdomain(host),
        false => names::dns1123_subdomain(host),
    }
}

fn validate_host(host: &str, path: &Path<'_>, errors: &mut ErrorList) {
    if host.is_empty() {
        return;
    }
    if ip::parse(host).is_some() {
        errors.invalid(path, host, "must be a DNS name, not an IP address");
    }
    errors.invalid_each(path, host, host_faults(host));
}

fn secret_faults(name: &str) -> Vec<String> {
    match name.is_empty() {
        true => Vec::new(),
        false => name_rules::dns_subdomain(name, false),
    }
}

fn validate_tls(all: &[Value], forgiven: Forgiven, errors: &mut ErrorList) {
    let path = SPEC.child("tls");
    for (i, tls) in all.iter().enumerate() {
        let path = path.index(i);
        let at = path.child("hosts");
        for (j, host) in tls.list("hosts").iter().enumerate() {
            let host = host.as_str().unwrap_or_default();
            errors.invalid_each(&at.index(j), host, host_faults(host));
        }
        if !forgiven.secret_names {
            let name = tls.text("secretName");
            errors.invalid_each(&path.child("secretName"), name, secret_faults(name));
        }
    }
}

fn validate_http(rule: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    if !rule.has("http") {
        return;
    }
    let path = path.child("http");
    let path = path.child("paths");
    let paths = rule.at("http").list("paths");
    if paths.is_empty() {
        errors.required(&path, "");
    }
    for (i, one) in paths.iter().enumerate() {
        validate_path(one, &path.index(i), errors);
    }
}

fn validate_path(rule: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let target = rule.text("path");
    let at = path.child("path");
    let absolute = "must be an absolute path";
    match rule.at("pathType").as_str() {
        None => {
            let fault = "pathType must be specified";
            return errors.required(&path.child("pathType"), fault);
        }
        Some("Exact" | "Prefix") => {
            if !target.starts_with('/') {
                errors.invalid(&at, target, absolute);
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if target.contains(part) {
                    errors.invalid(&at, target, format!("must not contain '{part}'"));
                }
            }
            for end in ["/..", "/."] {
                if target.ends_with(end) {
                    errors.invalid(&at, target, format!("cannot end with '{end}'"));
                }
            }
        }
        Some("ImplementationSpecific") => {
            if !target.is_empty() && !target.starts_with('/') {
                errors.invalid(&at, target, absolute);
            }
        }
        Some(kind) => {
            let known = &["Exact", "ImplementationSpecific", "Prefix"];
            errors.not_supported(&path.child("pathType"), kind, known);
        }
    }
    validate_backend(rule.at("backend"), &path.child("backend"), errors);
}

fn validate_backend(backend: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let (resource, service) = (backend.at("resource"), backend.at("service"));
    match (resource.is_null(), service.is_null()) {
        (false, false) => errors.invalid(path, "", "cannot set both resource and service backends"),
        (false, true) => validate_reference(resource, &path.child("resource"), errors),
        (true, true) => errors.invalid(path, "", "resource or service backend is required"),
        (true, false) => {
            let at = path.child("service");
            match service.text("name") {
                "" => errors.required(&at.child("name"), ""),
                name => {
                    let faults = name_rules::dns_label(name, false);
                    errors.invalid_each(&at.child("name"), name, faults);
                }
            }
            let port = service.at("port");
            let number = port.int("number").unwrap_or_default();
            let at = at.child("port");
            match (port.text("name"), number) {
                ("", 0) => errors.required(path, "port name or number is required"),
                ("", number) => {
                    let faults = names::port_number(number);
                    errors.invalid_each(&at.child("number"), number, faults);
                }
                (name, 0) => errors.invalid_each(&at.child("name"), name, names::port_name(name)),
                _ => errors.invalid(path, "", "cannot set both port name & port number"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::faults;

    fn ingress(spec: Value) -> Value {
        json!({"metadata": {"name": "a", "namespace": "n"}, "spec": spec})
    }

    #[test]
    fn something_has_to_answer() {
        let found = faults(&Ingress, &ingress(json!({})));
        let fault =
            "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified";
        assert_eq!(found, [fault]);
        let backend = json!({"service": {"name": "a", "port": {"number": 80}}});
        assert!(faults(&Ingress, &ingress(json!({"defaultBackend": backend}))).is_empty());
    }

    #[test]
    fn rules_are_checked_in_order() {
        let rules = json!([
            {"host": "1.2.3.4", "http": {"paths": []}},
            {"host": "*.x", "http": {"paths": [
                {"backend": {}},
                {"pathType": "Exact", "path": "a//b", "backend": {}},
                {"pathType": "Odd", "backend": {"service": {"name": "a", "port": {}}}},
            ]}},
        ]);
        let found = faults(&Ingress, &ingress(json!({"rules": rules})));
        let fields: Vec<&str> = found.iter().filter_map(|f| f.split(": ").next()).collect();
        assert_eq!(
            fields,
            [
                "spec.rules[0].host",
                "spec.rules[0].http.paths",
                "spec.rules[1].http.paths[0].pathType",
                "spec.rules[1].http.paths[1].path",
                "spec.rules[1].http.paths[1].path",
                "spec.rules[1].http.paths[1].backend",
                "spec.rules[1].http.paths[2].pathType",
                "spec.rules[1].http.paths[2].backend",
            ]
        );
    }
}
