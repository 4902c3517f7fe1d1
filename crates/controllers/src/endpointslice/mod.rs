//! EndpointSlices: which pods a Service leads to.
//!
//! Upstream: `pkg/controller/endpointslice` and `k8s.io/endpointslice`.

mod endpoints;
mod slices;
#[cfg(test)]
mod tests;

use crate::common::{Selector, TriggerTimes, is_deleting, labels, name, namespace};
use crate::{Cluster, Controller, Cx, Delta, Key, Keys, Plan, Watches};
pub(crate) use endpoints::{is_in_endpoints, pods_of, port_number, sets_hostname};
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;

/// The label that says which Service a slice belongs to.
const SERVICE: &str = "kubernetes.io/service-name";
/// The label that says who looks after a slice, and its value for ours.
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const MANAGER: &str = "endpointslice-controller.k8s.io";
/// The label of slices of Services without an address.
pub(crate) const HEADLESS: &str = "service.kubernetes.io/headless";

/// `endpointslice-controller`.
#[derive(Default)]
pub struct EndpointSlices(TriggerTimes);

impl Controller for EndpointSlices {
    fn watch(&self, watches: &mut Watches) {
        watches.on_each::<Service>();
        watches.index::<EndpointSlice>("service", |slice| {
            let service = labels(slice).get(SERVICE);
            let place = service.map(|service| format!("{}/{service}", namespace(slice)));
            place.into_iter().collect()
        });
        watches.on::<EndpointSlice>(|_, delta, keys| {
            let slice = delta.object();
            let is_ours = labels(&**slice)
                .get(MANAGED_BY)
                .is_some_and(|by| by == MANAGER);
            if let Some(service) = labels(&**slice).get(SERVICE).filter(|_| is_ours) {
                keys.add(Key::new(namespace(&**slice), service));
            }
        });
        watches.on::<Pod>(pod_changed);
        watches.reads::<Node>();
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let Some(service) = cx.cluster.get::<Service>(&key.namespace, &key.name) else {
            // The garbage collector deletes slices with their Service.
            self.0.forget(key);
            return Plan::nothing();
        };
        let spec = service.spec.as_ref();
        let is_external = spec.is_some_and(|spec| spec.type_.as_deref() == Some("ExternalName"));
        let selects =
            spec.is_some_and(|spec| spec.selector.as_ref().is_some_and(|s| !s.is_empty()));
        if is_external || !selects || is_deleting(&*service) {
            return Plan::nothing();
        }
        let changed_at = self.0.look(&service, &pods_of(cx.cluster, &service));
        slices::sync(cx, &service, changed_at)
    }

    fn component(&self) -> Option<&'static str> {
        Some("endpoint-slice-controller")
    }
}

/// Looks at the Services that select a pod whose endpoints change.
pub(crate) fn pod_changed(cluster: &Cluster, delta: &Delta<'_, Pod>, keys: &mut Keys) {
    let now = delta.object();
    if delta
        .before()
        .is_some_and(|before| endpoints::is_same(before, now))
    {
        return;
    }
    for service in cluster.namespace::<Service>(namespace(&**now)) {
        let wanted = service
            .spec
            .as_ref()
            .and_then(|spec| spec.selector.as_ref());
        let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
            continue;
        };
        let selector = Selector::of_labels(Some(wanted));
        let selects = |pod: &Pod| selector.matches(labels(pod));
        if selects(now) || delta.before().is_some_and(|before| selects(before)) {
            keys.add(Key::new(namespace(&**now), name(&*service)));
        }
    }
}
