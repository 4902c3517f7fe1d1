//! Service.
//!
//! A write goes through `allocate` first (addresses and ports), then through the strategy, as in
//! `pkg/registry/core/service/storage/storage.go`.

pub mod allocate;
mod cluster_ips;
mod defaults;
mod external;
mod prepare;
mod update;
mod validate;
mod warnings;

pub(crate) use external::validate_hostname;
pub(crate) use warnings::of_load_balancer as load_balancer_warnings;

use crate::common::{kube_metadata, name_rules};
use crate::fields::{Fields, Refusal, by_path};
use crate::subresource::{inherit, keep};
use crate::{
    Context, CreateStrategy, DeleteStrategy, ReturnsDeletedObject, Strategy, UpdateStrategy,
};
use serde_json::{Value, json};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View};

pub(crate) struct Service;

pub(crate) static FIELDS: Fields = Fields {
    known: &[
        "metadata.namespace",
        "metadata.name",
        "spec.clusterIP",
        "spec.type",
    ],
    refusal: Refusal::NotSupported,
    value: by_path,
};

static SPEC: Path<'static> = Path::new("spec");

impl CreateStrategy for Service {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        object.set("status", json!({"loadBalancer": {}}));
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, true, &name_rules::dns_label);
        errors.extend(validate::service(object, None));
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_label(name, prefix)
    }
}

impl UpdateStrategy for Service {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "status");
        prepare::drop_fields_of_old_type(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        errors.extend(update::validate(new, old));
        errors.extend(validate::service(new, Some(old)));
        errors
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}

impl Strategy for Service {
    fn set_defaults(&self, object: &mut Value) {
        defaults::set(object);
    }

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        warnings::of_service(new)
    }

    /// Nobody ever reads the internal traffic policy of a name of elsewhere.
    fn canonicalize(&self, object: &mut Value) {
        if !needs_cluster_ip(object) {
            object.at_mut("spec").unset("internalTrafficPolicy");
        }
    }

    fn status(&self) -> Option<&'static dyn Strategy> {
        Some(&ServiceStatus)
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["status"]]
    }

    fn deletion(&self) -> &dyn DeleteStrategy {
        &ReturnsDeletedObject
    }
}

struct ServiceStatus;

impl CreateStrategy for ServiceStatus {
    inherit!(create: Service);

    fn prepare_for_create(&self, object: &mut Value, cx: &Context<'_>) {
        Service.prepare_for_create(object, cx);
    }
}

impl UpdateStrategy for ServiceStatus {
    inherit!(update: Service);

    /// Upstream's strategy of the status is that of the service in this, too.
    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        keep(new, old, "spec");
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate_update(new, old);
        errors.extend(external::validate_load_balancer(new, old));
        errors
    }
}

impl Strategy for ServiceStatus {
    inherit!(Service);

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        warnings::of_load_balancer(new)
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec"]]
    }
}

/// `None` as the only cluster IP: names are resolved to the endpoints themselves.
fn is_headless(service: &Value) -> bool {
    matches!(service.at("spec").list("clusterIPs"), [one] if one == "None")
}

/// Whether traffic comes in from outside (`ExternallyAccessible`).
fn is_externally_accessible(service: &Value) -> bool {
    let spec = service.at("spec");
    match spec.text("type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !spec.list("externalIPs").is_empty(),
        _ => false,
    }
}

/// Whether load balancers need a port to ask a node about its health.
fn needs_health_check(service: &Value) -> bool {
    let spec = service.at("spec");
    spec.text("type") == "LoadBalancer" && spec.text("externalTrafficPolicy") == "Local"
}

/// Whether it has an address of its own.
fn needs_cluster_ip(service: &Value) -> bool {
    service.at("spec").text("type") != "ExternalName"
}

fn node_port(port: &Value) -> i64 {
    port.int("nodePort").unwrap_or_default()
}
