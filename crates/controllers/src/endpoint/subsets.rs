//! Addresses with the same ports are one subset.

use super::ADDRESSES_MAX;
use crate::common::is_pod_ready;
use crate::endpointslice::{is_in_endpoints, port_number, sets_hostname};
use k8s_openapi::api::core::v1::{
    EndpointAddress, EndpointPort, EndpointSubset, ObjectReference, Pod, Service,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of one address: itself, whether it is ready, and its ports by name and number.
type Known = (EndpointAddress, bool, BTreeMap<String, EndpointPort>);

/// The subsets of a Service, and whether some addresses had to be left out. Upstream's `RepackSubsets` and
/// `truncateEndpoints`.
pub(super) fn subsets(service: &Service, pods: &[Arc<Pod>]) -> (Vec<EndpointSubset>, bool) {
    let spec = service.spec.as_ref();
    let publishes = spec.is_some_and(|spec| spec.publish_not_ready_addresses == Some(true));
    let is_ipv6 = spec
        .and_then(|spec| spec.ip_families.as_ref()?.first().cloned())
        .is_some_and(|family| family == "IPv6");
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| is_in_endpoints(pod, publishes)) {
        let Some(address) = address(service, pod, is_ipv6) else {
            continue;
        };
        let key = format!("{} {:?}", address.ip, pod.metadata.uid);
        let is_ready = publishes || is_pod_ready(pod);
        known.insert(key, (address, is_ready, ports(service, pod)));
    }
    let ready = known.values().filter(|(_, is_ready, _)| *is_ready).count();
    let is_cut = known.len() > ADDRESSES_MAX;
    let (mut ready_left, mut unready_left) = (ADDRESSES_MAX, ADDRESSES_MAX.saturating_sub(ready));
    let headless_without_ports =
        spec.is_some_and(|spec| spec.ports.as_ref().is_none_or(Vec::is_empty));
    let mut packed: BTreeMap<Vec<String>, EndpointSubset> = BTreeMap::new();
    for (address, is_ready, ports) in known.into_values() {
        if ports.is_empty() && !headless_without_ports {
            continue;
        }
        let left = if is_ready {
            &mut ready_left
        } else {
            &mut unready_left
        };
        if *left == 0 {
            continue;
        }
        *left -= 1;
        let key = ports.keys().cloned().collect();
        let subset = packed.entry(key).or_insert_with(|| EndpointSubset {
            ports: (!ports.is_empty()).then(|| ports.into_values().collect()),
            ..EndpointSubset::default()
        });
        let list = match is_ready {
            true => &mut subset.addresses,
            false => &mut subset.not_ready_addresses,
        };
        list.get_or_insert_default().push(address);
    }
    (packed.into_values().collect(), is_cut)
}

fn address(service: &Service, pod: &Pod, is_ipv6: bool) -> Option<EndpointAddress> {
    let mut ips = pod.status.as_ref()?.pod_ips.iter().flatten();
    let ip = ips.find(|ip| ip.ip.contains(':') == is_ipv6)?;
    let spec = pod.spec.as_ref();
    Some(EndpointAddress {
        ip: ip.ip.clone(),
        hostname: match sets_hostname(pod, service) {
            true => spec.and_then(|spec| spec.hostname.clone()),
            false => None,
        },
        node_name: spec.and_then(|spec| spec.node_name.clone()),
        target_ref: Some(ObjectReference {
            kind: Some("Pod".to_owned()),
            namespace: pod.metadata.namespace.clone(),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
            ..ObjectReference::default()
        }),
    })
}

fn ports(service: &Service, pod: &Pod) -> BTreeMap<String, EndpointPort> {
    let ports = service
        .spec
        .iter()
        .flat_map(|spec| spec.ports.iter().flatten());
    let ports = ports.filter_map(|port| {
        let number = port_number(pod, port)?;
        let made = EndpointPort {
            name: port.name.clone().filter(|name| !name.is_empty()),
            port: number,
            protocol: Some(port.protocol.clone().unwrap_or_else(|| "TCP".to_owned())),
            app_protocol: port.app_protocol.clone(),
        };
        let key = format!(
            "{} {number} {:?}",
            port.name.clone().unwrap_or_default(),
            made.protocol
        );
        Some((key, made))
    });
    ports.collect()
}
