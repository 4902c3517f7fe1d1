//! Pods as endpoints.

use crate::Cluster;
use crate::common::{
    Selector, is_deleting, is_pod_finished, is_pod_ready, label, labels, name, namespace,
};
use k8s_openapi::api::core::v1::{Container, Node, ObjectReference, Pod, Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use std::sync::Arc;

/// The pods that a Service selects.
pub(crate) fn pods_of(cluster: &Cluster, service: &Service) -> Vec<Arc<Pod>> {
    let wanted = service
        .spec
        .as_ref()
        .and_then(|spec| spec.selector.as_ref());
    let selector = Selector::of_labels(wanted);
    let mut pods = cluster.namespace::<Pod>(namespace(service));
    pods.retain(|pod| selector.matches(labels(&**pod)));
    pods
}

/// Whether a pod is an endpoint at all. Upstream's `ShouldPodBeInEndpoints`.
pub(crate) fn is_in_endpoints(pod: &Pod, with_terminating: bool) -> bool {
    let has_address = addresses(pod).next().is_some();
    !is_pod_finished(pod) && has_address && (with_terminating || !is_deleting(pod))
}

/// The addresses of a pod.
pub(super) fn addresses(pod: &Pod) -> impl Iterator<Item = &str> {
    let all = pod
        .status
        .iter()
        .flat_map(|status| status.pod_ips.iter().flatten());
    all.map(|ip| ip.ip.as_str()).filter(|ip| !ip.is_empty())
}

/// Whether two states of a pod make the same endpoint.
pub(super) fn is_same(before: &Pod, now: &Pod) -> bool {
    let seen = |pod: &Pod| {
        let spec = pod.spec.as_ref();
        (
            addresses(pod).map(str::to_owned).collect::<Vec<_>>(),
            is_pod_ready(pod),
            is_deleting(pod),
            is_pod_finished(pod),
            labels(pod).clone(),
            spec.and_then(|spec| spec.node_name.clone()),
            spec.and_then(|spec| spec.hostname.clone()),
        )
    };
    seen(before) == seen(now)
}

/// Whether the pod's host name is part of the endpoint. Upstream's `ShouldSetHostname`.
pub(crate) fn sets_hostname(pod: &Pod, service: &Service) -> bool {
    pod.spec.as_ref().is_some_and(|spec| {
        let named = |field: &Option<String>| field.as_deref().is_some_and(|text| !text.is_empty());
        named(&spec.hostname)
            && spec.subdomain.as_deref() == Some(name(service))
            && namespace(service) == namespace(pod)
    })
}

/// A pod as an endpoint of addresses of one type; `None` if it has none.
pub(super) fn endpoint(
    cluster: &Cluster,
    service: &Service,
    pod: &Pod,
    address_type: &str,
) -> Option<Endpoint> {
    let is_wanted = |address: &&str| address.contains(':') == (address_type == "IPv6");
    let addresses: Vec<String> = addresses(pod)
        .filter(is_wanted)
        .map(str::to_owned)
        .collect();
    let publishes = publishes_unready(service);
    let (serving, terminating) = (is_pod_ready(pod), is_deleting(pod));
    let node_name = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    let node = node_name
        .as_ref()
        .and_then(|name| cluster.get::<Node>("", name));
    if addresses.is_empty() || (node.is_none() && !publishes) {
        return None;
    }
    let zone = node
        .as_ref()
        .and_then(|node| label(&**node, "topology.kubernetes.io/zone"));
    Some(Endpoint {
        addresses,
        conditions: Some(EndpointConditions {
            ready: Some(publishes || (serving && !terminating)),
            serving: Some(serving),
            terminating: Some(terminating),
        }),
        target_ref: Some(ObjectReference {
            kind: Some("Pod".to_owned()),
            namespace: pod.metadata.namespace.clone(),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
            ..ObjectReference::default()
        }),
        zone: zone.filter(|zone| !zone.is_empty()).map(str::to_owned),
        node_name,
        hostname: match sets_hostname(pod, service) {
            true => pod.spec.as_ref().and_then(|spec| spec.hostname.clone()),
            false => None,
        },
        ..Endpoint::default()
    })
}

/// Whether pods that are not ready count as well.
pub(super) fn publishes_unready(service: &Service) -> bool {
    let spec = service.spec.as_ref();
    spec.is_some_and(|spec| spec.publish_not_ready_addresses == Some(true))
}

/// The ports of a Service on a pod, in order; those that the pod does not have are left out.
pub(super) fn ports(service: &Service, pod: &Pod) -> Vec<EndpointPort> {
    let ports = service
        .spec
        .iter()
        .flat_map(|spec| spec.ports.iter().flatten());
    let ports = ports.filter_map(|port| {
        Some(EndpointPort {
            name: Some(port.name.clone().unwrap_or_default()),
            port: Some(port_number(pod, port)?),
            protocol: Some(port.protocol.clone().unwrap_or_else(|| "TCP".to_owned())),
            app_protocol: port.app_protocol.clone(),
        })
    });
    ports.collect()
}

/// The number of a Service's port on a pod. Upstream's `FindPort`.
pub(crate) fn port_number(pod: &Pod, port: &ServicePort) -> Option<i32> {
    let wanted = match &port.target_port {
        Some(IntOrString::Int(number)) => return Some(*number),
        None => return Some(port.port),
        Some(IntOrString::String(name)) => name,
    };
    let protocol = port.protocol.as_deref().unwrap_or("TCP");
    let spec = pod.spec.as_ref()?;
    let is_sidecar = |one: &&Container| one.restart_policy.as_deref() == Some("Always");
    let sidecars = spec.init_containers.iter().flatten().filter(is_sidecar);
    let containers = spec.containers.iter().chain(sidecars);
    let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
    let found = ports.find(|port| {
        port.name.as_deref() == Some(wanted)
            && port.protocol.as_deref().unwrap_or("TCP") == protocol
    })?;
    Some(found.container_port)
}
