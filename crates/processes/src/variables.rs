//! The variables of a container. Upstream: `makeEnvironmentVariables` in `kubelet_pods.go`.

use crate::expand::{ALL_BYTES_MAX, TEXT_BYTES_MAX, expand};
use crate::fields::{Place, container_named, field, resource};
use crate::sources::Sources;
use k8s_openapi::api::core::v1::{Container, EnvVar, Pod, Service};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Variables by name, in the order in which they came.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Variables {
    all: Vec<(String, String)>,
    /// How long all names and values are.
    bytes: usize,
}

impl Variables {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let mut all = self.all.iter();
        all.find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The last who says something holds.
    pub(crate) fn set(&mut self, name: &str, value: String) {
        self.bytes += value.len();
        match self.all.iter_mut().find(|(key, _)| key == name) {
            Some((_, before)) => {
                self.bytes -= before.len();
                *before = value;
            }
            None => {
                self.bytes += name.len();
                self.all.push((name.to_owned(), value));
            }
        }
    }

    /// Sets what a pod's author says, or others for it; an error says that it is too long.
    fn add(&mut self, name: &str, value: String) -> Result<(), String> {
        if name.len() + value.len() > TEXT_BYTES_MAX {
            let name: String = name.chars().take(64).collect();
            return Err(format!("variable {name:?} is longer than 128 KiB"));
        }
        self.set(name, value);
        match self.bytes <= ALL_BYTES_MAX {
            true => Ok(()),
            false => Err("the variables of the container are longer than 1 MiB in all".to_owned()),
        }
    }

    pub(crate) fn set_if_missing(&mut self, name: &str, value: &str) {
        if self.get(name).is_none() {
            self.set(name, value.to_owned());
        }
    }

    pub(crate) fn into_vec(self) -> Vec<(String, String)> {
        self.all
    }
}

/// All variables that the pod sets for a container; or what is missing, in kubelet's words.
pub(crate) fn of_container(
    pod: &Pod,
    container: &Container,
    sources: &Sources,
    services: &Variables,
    place: &Place,
) -> Result<Variables, String> {
    let mut all = Variables::default();
    for from in container.env_from.iter().flatten() {
        let prefix = from.prefix.clone().unwrap_or_default();
        let found = match (&from.config_map_ref, &from.secret_ref) {
            (Some(one), _) => sources.config_map(&one.name, one.optional)?,
            (_, Some(one)) => sources.secret(&one.name, one.optional)?,
            _ => None,
        };
        for (key, value) in found.into_iter().flatten() {
            let value = String::from_utf8_lossy(value).into_owned();
            all.add(&format!("{prefix}{key}"), value)?;
        }
    }
    for variable in container.env.iter().flatten() {
        if let Some(value) = value_of(pod, container, variable, sources, &all, services, place)? {
            all.add(&variable.name, value)?;
        }
    }
    for (name, value) in &services.all {
        if all.get(name).is_none() {
            all.add(name, value.clone())?;
        }
    }
    Ok(all)
}

/// A value; `None` if it may be missing, and is.
fn value_of(
    pod: &Pod,
    container: &Container,
    variable: &EnvVar,
    sources: &Sources,
    known: &Variables,
    services: &Variables,
    place: &Place,
) -> Result<Option<String>, String> {
    let Some(from) = &variable.value_from else {
        let value = variable.value.as_deref().unwrap_or_default();
        let known = |name: &str| known.get(name).or(services.get(name)).map(str::to_owned);
        let expanded = expand(value, &known).map(Some);
        return expanded.map_err(|why| format!("variable {:?}: {why}", variable.name));
    };
    if let Some(one) = &from.field_ref {
        return field(pod, &one.field_path, place).map(Some);
    }
    if let Some(one) = &from.resource_field_ref {
        let other = one.container_name.as_deref();
        let other = other.and_then(|name| container_named(pod, name));
        return resource(other.unwrap_or(container), one, place).map(Some);
    }
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let (found, key, optional, what, name) = if let Some(one) = &from.config_map_key_ref {
        let found = sources.config_map(&one.name, one.optional)?;
        (found, &one.key, one.optional, "ConfigMap", &one.name)
    } else if let Some(one) = &from.secret_key_ref {
        let found = sources.secret(&one.name, one.optional)?;
        (found, &one.key, one.optional, "Secret", &one.name)
    } else {
        return Err(format!(
            "variable {:?} is of a kind that is not supported for processes",
            variable.name
        ));
    };
    match found.and_then(|all| all.get(key)) {
        Some(value) => Ok(Some(String::from_utf8_lossy(value).into_owned())),
        None if optional == Some(true) => Ok(None),
        None => Err(format!(
            "couldn't find key {key} in {what} {namespace}/{name}"
        )),
    }
}

/// The variables that tell of Services. Upstream: `envvars.FromServices`.
pub(crate) fn of_services(
    services: &[Arc<Service>],
    namespace: &str,
    has_links: bool,
    api: Option<(&str, u16)>,
) -> Variables {
    let mut all = Variables::default();
    let mut known: BTreeMap<&str, &Service> = BTreeMap::new();
    for service in services {
        let meta = &service.metadata;
        let name = meta.name.as_deref().unwrap_or_default();
        let own = meta.namespace.as_deref() == Some(namespace);
        let is_api = name == "kubernetes" && meta.namespace.as_deref() == Some("default");
        if (own && has_links) || (is_api && !known.contains_key(name)) {
            known.insert(name, service);
        }
    }
    for (name, service) in known {
        of_service(&mut all, name, service);
    }
    // Addresses of Services lead nowhere on the host: this one has to.
    if let Some((host, port)) = api {
        all.set("KUBERNETES_SERVICE_HOST", host.to_owned());
        all.set("KUBERNETES_SERVICE_PORT", port.to_string());
        all.set("KUBERNETES_SERVICE_PORT_HTTPS", port.to_string());
    }
    all
}

fn of_service(all: &mut Variables, name: &str, service: &Service) {
    let Some(spec) = &service.spec else { return };
    let ip = spec.cluster_ip.as_deref().unwrap_or_default();
    let ports = spec.ports.as_deref().unwrap_or_default();
    let Some(first) = ports.first() else { return };
    if ip.is_empty() || ip == "None" {
        return;
    }
    let word = |text: &str| text.to_uppercase().replace('-', "_");
    let prefix = word(name);
    all.set(&format!("{prefix}_SERVICE_HOST"), ip.to_owned());
    all.set(&format!("{prefix}_SERVICE_PORT"), first.port.to_string());
    for port in ports {
        if let Some(name) = port.name.as_deref().filter(|name| !name.is_empty()) {
            let name = format!("{prefix}_SERVICE_PORT_{}", word(name));
            all.set(&name, port.port.to_string());
        }
    }
    for (i, port) in ports.iter().enumerate() {
        let protocol = port.protocol.as_deref().unwrap_or("TCP");
        let number = port.port;
        let address = format!("{}://{ip}:{number}", protocol.to_lowercase());
        if i == 0 {
            all.set(&format!("{prefix}_PORT"), address.clone());
        }
        let one = format!("{prefix}_PORT_{number}_{}", protocol.to_uppercase());
        all.set(&one, address);
        all.set(&format!("{one}_PROTO"), protocol.to_lowercase());
        all.set(&format!("{one}_PORT"), number.to_string());
        all.set(&format!("{one}_ADDR"), ip.to_owned());
    }
}

#[cfg(test)]
mod tests;
