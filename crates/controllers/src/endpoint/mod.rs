//! Endpoints: the older form of EndpointSlices, one object per Service.
//!
//! Upstream: `pkg/controller/endpoint`.

mod repack;
mod subsets;
#[cfg(test)]
mod tests;

use crate::common::{TriggerTimes, labels, name, namespace, set_trigger_time};
use crate::endpointslice::{HEADLESS, pod_changed, pods_of};
use crate::{Controller, Cx, Event, Key, Plan, Watches, Write};
use k8s_openapi::api::core::v1::{Endpoints, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
pub(crate) use repack::repack;
use subsets::subsets;

/// How many addresses an object holds at most.
const ADDRESSES_MAX: usize = 1_000;
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const MANAGER: &str = "endpoint-controller";

/// `endpoints-controller`.
#[derive(Default)]
pub struct EndpointsOfServices(TriggerTimes);

impl Controller for EndpointsOfServices {
    fn watch(&self, watches: &mut Watches) {
        watches.on_each::<Service>();
        watches.on_each::<Endpoints>();
        watches.on::<Pod>(pod_changed);
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let current = cx.cluster.get::<Endpoints>(&key.namespace, &key.name);
        let Some(service) = cx.cluster.get::<Service>(&key.namespace, &key.name) else {
            self.0.forget(key);
            // Those that others made by hand stay.
            let is_ours = |object: &Endpoints| labels(object).get(MANAGED_BY).is_some();
            return match current.filter(|current| is_ours(current)) {
                Some(current) => Plan::write(Write::delete(&*current)),
                None => Plan::nothing(),
            };
        };
        let spec = service.spec.as_ref();
        let is_external = spec.is_some_and(|spec| spec.type_.as_deref() == Some("ExternalName"));
        let selects =
            spec.is_some_and(|spec| spec.selector.as_ref().is_some_and(|s| !s.is_empty()));
        if is_external || !selects {
            return Plan::nothing();
        }
        let pods = pods_of(cx.cluster, &service);
        let changed_at = self.0.look(&service, &pods);
        let (subsets, is_cut) = subsets(&service, &pods);
        let mut wanted = current.as_deref().cloned().unwrap_or_else(|| Endpoints {
            metadata: ObjectMeta {
                namespace: Some(namespace(&*service).to_owned()),
                name: Some(name(&*service).to_owned()),
                ..ObjectMeta::default()
            },
            subsets: None,
        });
        let mut all = labels(&*service).clone();
        let address = spec.and_then(|spec| spec.cluster_ip.as_deref());
        if matches!(address, None | Some("" | "None")) {
            all.insert(HEADLESS.to_owned(), String::new());
        } else {
            all.remove(HEADLESS);
        }
        all.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
        wanted.metadata.labels = Some(all);
        let annotations = wanted.metadata.annotations.get_or_insert_default();
        match is_cut {
            true => drop(annotations.insert(OVER_CAPACITY.to_owned(), "truncated".to_owned())),
            false => drop(annotations.remove(OVER_CAPACITY)),
        }
        if annotations.is_empty() {
            wanted.metadata.annotations = None;
        }
        wanted.subsets = (!subsets.is_empty()).then_some(subsets);
        if current.as_deref() == Some(&wanted) {
            return Plan::nothing();
        }
        set_trigger_time(&mut wanted.metadata.annotations, changed_at);
        let of = format!("{}/{}", namespace(&*service), name(&*service));
        let (write, reason, what) = match current {
            None => (
                Write::create(&wanted).tolerating_terminating(),
                "FailedToCreateEndpoint",
                format!("Failed to create endpoint for service {of}"),
            ),
            Some(_) => (
                Write::update(&wanted),
                "FailedToUpdateEndpoint",
                format!("Failed to update endpoint {of}"),
            ),
        };
        Plan::write(write.telling(move |outcome| {
            let why = &outcome.failure()?.message;
            Some(Event::warning(&wanted, reason, format!("{what}: {why}")))
        }))
    }

    fn component(&self) -> Option<&'static str> {
        Some("endpoint-controller")
    }
}
