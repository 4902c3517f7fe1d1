//! What pods are to the Endpoints of a Service.

use super::ADDRESSES_MAX;
use super::repack::repack;
use crate::common::is_pod_ready;
use crate::endpointslice::{is_in_endpoints, port_number, sets_hostname};
use k8s_openapi::api::core::v1::{
    EndpointAddress, EndpointPort, EndpointSubset, ObjectReference, Pod, Service,
};
use std::sync::Arc;

/// The subsets of a Service, and whether some addresses had to be left out.
pub(super) fn subsets(service: &Service, pods: &[Arc<Pod>]) -> (Vec<EndpointSubset>, bool) {
    let spec = service.spec.as_ref();
    let publishes = spec.is_some_and(|spec| spec.publish_not_ready_addresses == Some(true));
    let mut subsets = Vec::new();
    for pod in pods.iter().filter(|pod| is_in_endpoints(pod, publishes)) {
        let Some((address, ports)) = address(service, pod).zip(ports(service, pod)) else {
            continue;
        };
        let (ready, others) = match publishes || is_pod_ready(pod) {
            true => (Some(vec![address]), None),
            false => (None, Some(vec![address])),
        };
        subsets.push(EndpointSubset {
            addresses: ready,
            not_ready_addresses: others,
            ports: Some(ports),
        });
    }
    let mut subsets = repack(&subsets);
    let is_cut = truncate(&mut subsets);
    (subsets, is_cut)
}

fn count(list: Option<&Vec<EndpointAddress>>) -> usize {
    list.map_or(0, Vec::len)
}

/// Leaves addresses out if there are too many: those that are not ready first, and of each subset its part.
/// Upstream's `truncateEndpoints`.
fn truncate(subsets: &mut [EndpointSubset]) -> bool {
    let ready: usize = subsets.iter().map(|of| count(of.addresses.as_ref())).sum();
    let others = subsets.iter();
    let others: usize = others
        .map(|of| count(of.not_ready_addresses.as_ref()))
        .sum();
    if ready + others <= ADDRESSES_MAX {
        return false;
    }
    let cuts_ready = ready > ADDRESSES_MAX;
    let (max, total) = match cuts_ready {
        true => (ADDRESSES_MAX, ready),
        false => (ADDRESSES_MAX - ready, others),
    };
    let mut left = max;
    for subset in subsets {
        let list = match cuts_ready {
            true => {
                subset.not_ready_addresses = None;
                &mut subset.addresses
            }
            false => &mut subset.not_ready_addresses,
        };
        let share = (count(list.as_ref()) * max).div_ceil(total).min(left);
        if let Some(list) = list {
            list.truncate(share);
            left -= list.len();
        }
        list.take_if(|list| list.is_empty());
    }
    true
}

/// Of the family of the Service's own address.
fn address(service: &Service, pod: &Pod) -> Option<EndpointAddress> {
    let of_service = service.spec.as_ref();
    let is_ipv6 = of_service
        .and_then(|spec| spec.ip_families.as_ref()?.first().cloned())
        .is_some_and(|family| family == "IPv6");
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

/// The ports of a Service on a pod; nothing if it has none of them. A Service without an address of its own
/// need not have ports.
fn ports(service: &Service, pod: &Pod) -> Option<Vec<EndpointPort>> {
    let spec = service.spec.as_ref()?;
    let wanted = spec.ports.as_deref().unwrap_or_default();
    if wanted.is_empty() {
        return (spec.cluster_ip.as_deref() == Some("None")).then(Vec::new);
    }
    let ports = wanted.iter().filter_map(|port| {
        Some(EndpointPort {
            name: port.name.clone().filter(|name| !name.is_empty()),
            port: port_number(pod, port)?,
            protocol: Some(port.protocol.clone().unwrap_or_else(|| "TCP".to_owned())),
            app_protocol: port.app_protocol.clone(),
        })
    });
    let ports: Vec<EndpointPort> = ports.collect();
    (!ports.is_empty()).then_some(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subset(ready: usize, others: usize) -> EndpointSubset {
        let address = |at: usize| EndpointAddress {
            ip: format!("10.0.{}.{}", at / 250, at % 250),
            ..EndpointAddress::default()
        };
        let list = |count: usize| (count > 0).then(|| (0..count).map(address).collect());
        EndpointSubset {
            addresses: list(ready),
            not_ready_addresses: list(others),
            ports: None,
        }
    }

    /// Upstream's `TestTruncateEndpoints`.
    #[test]
    fn of_too_many_addresses_each_subset_keeps_its_part() {
        for (given, kept, is_cut) in [
            (vec![(500, 500)], vec![(500, 500)], false),
            (vec![(500, 501)], vec![(500, 500)], true),
            (vec![(1_100, 0)], vec![(1_000, 0)], true),
            (vec![(1_100, 5)], vec![(1_000, 0)], true),
            (vec![(500, 0), (500, 0)], vec![(500, 0), (500, 0)], false),
            (vec![(600, 0), (600, 0)], vec![(500, 0), (500, 0)], true),
            (
                vec![(300, 600), (200, 600)],
                vec![(300, 250), (200, 250)],
                true,
            ),
            (
                vec![(401, 0), (401, 0), (402, 0)],
                vec![(334, 0), (334, 0), (332, 0)],
                true,
            ),
        ] {
            let mut subsets: Vec<_> = given.iter().map(|(a, b)| subset(*a, *b)).collect();
            assert_eq!(truncate(&mut subsets), is_cut, "{given:?}");
            let counts = subsets.iter().map(|of| {
                (
                    count(of.addresses.as_ref()),
                    count(of.not_ready_addresses.as_ref()),
                )
            });
            assert_eq!(counts.collect::<Vec<_>>(), kept, "{given:?}");
        }
    }
}
