//! EndpointSlices: which pods a Service leads to.
//!
//! Upstream: `pkg/controller/endpointslice` and `k8s.io/endpointslice`.

mod endpoints;
mod fill;
mod hints;
mod slices;
#[cfg(test)]
mod tests;
mod topology;

use crate::common::{Selector, TriggerTimes, labels, name, namespace};
use crate::{Cluster, Controller, Cx, Delta, Event, Key, Keys, Method, Plan, Watches, Write};
pub(crate) use endpoints::{is_in_endpoints, pods_of, port_number, sets_hostname};
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use slices::Round;
pub(crate) use slices::{hashed, port_key};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use topology::Topology;

/// How many endpoints a slice has at most. Upstream's `--max-endpoints-per-slice`.
const ENDPOINTS_MAX: usize = 100;

/// The label that says which Service a slice belongs to.
const SERVICE: &str = "kubernetes.io/service-name";
/// The label that says who looks after a slice, and its value for ours.
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const MANAGER: &str = "endpointslice-controller.k8s.io";
/// The label of slices of Services without an address.
pub(crate) const HEADLESS: &str = "service.kubernetes.io/headless";

/// Labels that slices do not take over from their Services.
fn is_reserved(label: &str) -> bool {
    [SERVICE, MANAGED_BY, HEADLESS].contains(&label)
}

/// `endpointslice-controller`.
#[derive(Default)]
pub struct EndpointSlices {
    times: TriggerTimes,
    topology: Arc<Mutex<Topology>>,
}

fn locked(topology: &Mutex<Topology>) -> MutexGuard<'_, Topology> {
    topology.lock().unwrap_or_else(PoisonError::into_inner)
}

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
        let topology = self.topology.clone();
        watches.on::<Node>(move |cluster, delta, keys| {
            if topology::matters(delta) {
                let concerned = locked(&topology).nodes_changed(cluster);
                concerned.into_iter().for_each(|key| keys.add(key));
            }
        });
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let Some(service) = cx.cluster.get::<Service>(&key.namespace, &key.name) else {
            // The garbage collector deletes slices with their Service.
            self.times.forget(key);
            locked(&self.topology).forget(key);
            return Plan::nothing();
        };
        let spec = service.spec.as_ref();
        let is_external = spec.is_some_and(|spec| spec.type_.as_deref() == Some("ExternalName"));
        let selects =
            spec.is_some_and(|spec| spec.selector.as_ref().is_some_and(|s| !s.is_empty()));
        if is_external || !selects {
            return Plan::nothing();
        }
        let pods = pods_of(cx.cluster, &service);
        let round = Round {
            cx,
            service: &service,
            pods: &pods,
            changed_at: self.times.look(&service, &pods),
        };
        let plan = slices::sync(&round, &mut locked(&self.topology));
        told(&service, plan, lost(cx.cluster, &service))
    }

    fn component(&self) -> Option<&'static str> {
        Some("endpoint-slice-controller")
    }

    /// Upstream's `defaultSyncBackOff` and `maxSyncBackOff`.
    fn pauses(&self) -> Option<(Duration, Duration)> {
        Some((Duration::from_secs(1), Duration::from_secs(1_000)))
    }
}

/// Pods that are left out because nothing is known of their nodes. They are looked at again.
fn lost(cluster: &Cluster, service: &Service) -> Vec<String> {
    if endpoints::publishes_unready(service) {
        return Vec::new();
    }
    let node_of = |pod: &Pod| pod.spec.as_ref()?.node_name.clone();
    let pods = pods_of(cluster, service).into_iter();
    let pods = pods.filter(|pod| is_in_endpoints(pod, true));
    let lost = pods.filter_map(|pod| {
        let node = node_of(&pod).unwrap_or_default();
        let (pod, space) = (name(&*pod), namespace(service));
        let is_known = cluster.get::<Node>("", &node).is_some();
        (!is_known).then(|| {
            let service = name(service);
            format!("skipping Pod {pod} for Service {space}/{service}: Node {node} Not Found")
        })
    });
    lost.collect()
}

/// Tells of what went wrong, in one event. In a namespace that goes away nothing does.
fn told(service: &Arc<Service>, mut plan: Plan, lost: Vec<String>) -> Plan {
    if plan.writes.is_empty() && lost.is_empty() {
        return plan;
    }
    let writes = plan.writes.iter();
    let about: Vec<_> = writes
        .map(|write| (write.method, write.key.name.to_string()))
        .collect();
    let writes = plan.writes.into_iter();
    plan.writes = writes.map(Write::tolerating_terminating).collect();
    plan.error = lost.first().cloned();
    let service = service.clone();
    plan.then(move |_, outcomes| {
        let of = format!("{}/{}", namespace(&*service), name(&*service));
        let mut errors = lost;
        for ((method, slice), outcome) in about.iter().zip(outcomes) {
            let Some(failure) = outcome.failure() else {
                continue;
            };
            let what = match method {
                Method::Post => "create EndpointSlice".to_owned(),
                Method::Delete => format!("delete {slice} EndpointSlice"),
                Method::Put | Method::Patch => format!("update {slice} EndpointSlice"),
            };
            let why = &failure.message;
            errors.push(format!("failed to {what} for Service {of}: {why}"));
        }
        let errors = match errors.as_slice() {
            [] => return Plan::nothing(),
            [only] => only.clone(),
            all => format!("[{}]", all.join(", ")),
        };
        let message = format!("Error updating Endpoint Slices for Service {of}: {errors}");
        let event = Event::warning(&*service, "FailedToUpdateEndpointSlices", message);
        Plan::nothing().event(event)
    })
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
