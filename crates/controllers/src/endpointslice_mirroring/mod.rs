//! `endpointslice-mirroring-controller`: EndpointSlices for Endpoints that users look after themselves.
//!
//! Upstream: `pkg/controller/endpointslicemirroring`.

mod mirror;
#[cfg(test)]
mod tests;

use crate::common::{annotations, labels, name, namespace};
use crate::{Cluster, Controller, Cx, Key, Plan, Watches, Write};
use k8s_openapi::api::core::v1::{Endpoints, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use std::sync::Arc;

/// The label that says which Service a slice belongs to.
const SERVICE: &str = "kubernetes.io/service-name";
/// The label that says who looks after a slice, and its value for ours.
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const MANAGER: &str = "endpointslicemirroring-controller.k8s.io";
/// The label of Endpoints that are not mirrored.
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
/// The annotation of Endpoints that serve as a lock.
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";

/// The index of mirrored slices by their Services.
const BY_SERVICE: &str = "mirrored-service";

/// `endpointslice-mirroring-controller`.
#[derive(Default)]
pub struct Mirroring;

impl Controller for Mirroring {
    fn watch(&self, watches: &mut Watches) {
        watches.index::<EndpointSlice>(BY_SERVICE, |slice| {
            let service = labels(slice).get(SERVICE).filter(|_| is_ours(slice));
            let place = service.map(|service| place(namespace(slice), service));
            place.into_iter().collect()
        });
        watches.on_each::<Endpoints>();
        watches.on_each::<Service>();
        watches.on::<EndpointSlice>(|_, delta, keys| {
            let slice = delta.object();
            let was_ours = delta.before().is_some_and(|before| is_ours(before));
            let service = labels(&**slice).get(SERVICE);
            if let Some(service) = service.filter(|_| is_ours(slice) || was_ours) {
                keys.add(Key::new(namespace(&**slice), service));
            }
        });
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let existing = mirrored(cx.cluster, key);
        let endpoints = cx.cluster.get::<Endpoints>(&key.namespace, &key.name);
        let service = cx.cluster.get::<Service>(&key.namespace, &key.name);
        let selects = |service: &Service| {
            let spec = service.spec.as_ref();
            spec.is_some_and(|spec| spec.selector.is_some())
        };
        let endpoints = endpoints
            .filter(|endpoints| is_to_be_mirrored(endpoints))
            .filter(|_| service.is_some_and(|service| !selects(&service)));
        match endpoints {
            Some(endpoints) => mirror::sync(&endpoints, existing),
            None => Plan::parallel(existing.iter().map(|one| Write::delete(&**one)).collect()),
        }
    }

    fn component(&self) -> Option<&'static str> {
        Some("endpoint-slice-mirroring-controller")
    }
}

fn place(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

fn is_ours(slice: &EndpointSlice) -> bool {
    labels(slice)
        .get(MANAGED_BY)
        .is_some_and(|by| by == MANAGER)
}

fn is_to_be_mirrored(endpoints: &Endpoints) -> bool {
    let skips = labels(endpoints)
        .get(SKIP)
        .is_some_and(|skip| skip == "true");
    !skips && !annotations(endpoints).contains_key(LEADER)
}

/// The slices that mirror Endpoints, by name.
fn mirrored(cluster: &Cluster, key: &Key) -> Vec<Arc<EndpointSlice>> {
    let slices = cluster.of::<EndpointSlice>();
    let mut all = slices.indexed(BY_SERVICE, &place(&key.namespace, &key.name));
    all.sort_by(|a, b| name(&**a).cmp(name(&**b)));
    all
}
