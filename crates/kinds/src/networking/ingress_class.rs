//! IngressClass.

use super::validate_reference;
use crate::common::equality::same;
use crate::common::faults::Faults;
use crate::common::{IMMUTABLE, generation, kube_metadata, name_rules};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::field::{Error, ErrorList, Path};
use stowplan_apimachinery::{Edit, View, names};

pub(crate) struct IngressClass;

const CONTROLLER_BYTES_MAX: usize = 250;

impl CreateStrategy for IngressClass {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        generation::start(object);
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, false, &name_rules::dns_subdomain);
        let path = Path::new("spec");
        let spec = object.at("spec");
        let controller = spec.text("controller");
        let at = path.child("controller");
        if controller.len() > CONTROLLER_BYTES_MAX {
            errors.push(Error::too_long(&at, CONTROLLER_BYTES_MAX));
        }
        validate_domain_prefixed_path(controller, &at, &mut errors);
        if spec.has("parameters") {
            validate_parameters(
                spec.at("parameters"),
                &path.child("parameters"),
                &mut errors,
            );
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

impl UpdateStrategy for IngressClass {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        let changed = !same(new.at("spec"), old.at("spec"));
        generation::raise_if(new, old, changed);
    }

    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        let controller = new.at("spec").text("controller");
        if controller != old.at("spec").text("controller") {
            let path = Path::new("spec");
            errors.invalid(&path.child("controller"), controller, IMMUTABLE);
        }
        errors.extend(self.validate(new, cx));
        errors
    }
}

impl Strategy for IngressClass {
    fn set_defaults(&self, object: &mut Value) {
        if let Some(spec) = object.child_mut("spec")
            && let Some(parameters) = spec.child_mut("parameters")
        {
            parameters.default_to("scope", "Cluster");
        }
    }
}

fn validate_parameters(parameters: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    validate_reference(parameters, path, errors);
    let at = path.child("scope");
    let namespace = parameters.at("namespace").as_str();
    match (parameters.at("scope").as_str(), namespace) {
        (None, _) => errors.required(&at, ""),
        (Some("Namespace"), None) => {
            let fault = "`parameters.scope` is set to 'Namespace'";
            errors.required(&path.child("namespace"), fault);
        }
        (Some("Namespace"), Some(namespace)) => {
            let faults = names::dns1123_label(namespace);
            errors.invalid_each(&path.child("namespace"), namespace, faults);
        }
        (Some("Cluster"), Some(_)) => {
            let fault = "`parameters.scope` is set to 'Cluster'";
            errors.forbidden(&path.child("namespace"), fault);
        }
        (Some("Cluster"), None) => {}
        (Some(scope), _) => errors.not_supported(&at, scope, &["Cluster", "Namespace"]),
    }
}

/// `example.com/path` (`IsDomainPrefixedPath`).
fn validate_domain_prefixed_path(text: &str, path: &Path<'_>, errors: &mut ErrorList) {
    if text.is_empty() {
        return errors.required(path, "");
    }
    let Some((host, rest)) = text
        .split_once('/')
        .filter(|(h, r)| !h.is_empty() && !r.is_empty())
    else {
        let fault = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return errors.invalid(path, text, fault);
    };
    errors.invalid_each(path, host, names::dns1123_subdomain(host));
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);
    if !rest.bytes().all(allowed) {
        let fault = names::regex_error("Invalid path", "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+", &[]);
        errors.invalid(path, rest, fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{faults, update_faults};
    use serde_json::json;

    fn class(controller: &str, parameters: Value) -> Value {
        let mut object = json!({"metadata": {"name": "a", "resourceVersion": "1"},
            "spec": {"controller": controller, "parameters": parameters}});
        IngressClass.set_defaults(&mut object);
        object
    }

    #[test]
    fn controllers_have_a_domain() {
        let fault = |text: &str| faults(&IngressClass, &class(text, json!(null))).join(";");
        assert_eq!(fault("example.com/x"), "");
        assert_eq!(fault(""), "spec.controller: Required value");
        assert!(fault("x").contains("must be a domain-prefixed path"));
        assert!(fault("example.com/a b").contains("Invalid path (regex used for validation is"));
    }

    #[test]
    fn parameters_are_in_a_namespace_or_not() {
        let of = |more: Value| {
            let mut parameters = json!({"kind": "K", "name": "n"});
            parameters
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            faults(&IngressClass, &class("example.com/x", parameters)).join(";")
        };
        assert_eq!(of(json!({})), "");
        assert!(of(json!({"namespace": "x"})).contains("is set to 'Cluster'"));
        assert!(of(json!({"scope": "Namespace"})).contains("is set to 'Namespace'"));
        assert!(of(json!({"scope": "x"})).contains("Unsupported value"));
    }

    #[test]
    fn the_controller_stays() {
        let (old, new) = (class("a.io/x", json!(null)), class("a.io/y", json!(null)));
        assert_eq!(
            update_faults(&IngressClass, &new, &old),
            ["spec.controller: Invalid value: \"a.io/y\": field is immutable"]
        );
    }
}
