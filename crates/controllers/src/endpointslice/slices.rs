//! Endpoints are kept in slices of at most a hundred.

use super::endpoints::{endpoint, is_in_endpoints, pods_of, ports};
use super::{HEADLESS, MANAGED_BY, MANAGER, SERVICE};
use crate::common::{controller_ref, labels, name, namespace, set_trigger_time, uid};
use crate::{Cx, Plan, Write};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many endpoints a slice has at most. Upstream's `--max-endpoints-per-slice`.
const ENDPOINTS_MAX: usize = 100;

/// Brings all slices of a Service up to date.
pub(super) fn sync(cx: &Cx<'_>, service: &Service, changed_at: Option<Timestamp>) -> Plan {
    let place = format!("{}/{}", namespace(service), name(service));
    let mut existing = cx.cluster.of::<EndpointSlice>().indexed("service", &place);
    existing.retain(|slice| {
        labels(&**slice)
            .get(MANAGED_BY)
            .is_some_and(|by| by == MANAGER)
    });
    let types = address_types(service);
    let mut writes = Vec::new();
    for slice in &existing {
        if !types.contains(&slice.address_type.as_str()) || !is_owned(slice, service) {
            writes.push(Write::delete(&**slice));
        }
    }
    for address_type in types {
        let of_type = existing
            .iter()
            .filter(|slice| slice.address_type == address_type && is_owned(slice, service));
        writes.extend(by_type(
            cx,
            service,
            address_type,
            of_type.cloned().collect(),
            changed_at,
        ));
    }
    Plan::sequence(writes)
}

fn is_owned(slice: &EndpointSlice, service: &Service) -> bool {
    let mut owners = slice.metadata.owner_references.iter().flatten();
    owners.any(|owner| owner.uid == uid(service) && owner.kind == "Service")
}

/// The types of addresses that a Service has.
fn address_types(service: &Service) -> Vec<&'static str> {
    let spec = service.spec.as_ref();
    let families = spec
        .and_then(|spec| spec.ip_families.as_deref())
        .unwrap_or_default();
    let known = ["IPv4", "IPv6"].into_iter();
    let types: Vec<&str> = known
        .filter(|kind| families.iter().any(|f| f == kind))
        .collect();
    match types.is_empty() {
        true => vec!["IPv4"],
        false => types,
    }
}

/// The labels of a slice: those of its Service, and what it is.
fn slice_labels(service: &Service) -> BTreeMap<String, String> {
    let mut all = labels(service).clone();
    for reserved in [SERVICE, MANAGED_BY, HEADLESS] {
        all.remove(reserved);
    }
    if is_headless(service) {
        all.insert(HEADLESS.to_owned(), String::new());
    }
    all.insert(SERVICE.to_owned(), name(service).to_owned());
    all.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
    all
}

/// Whether a Service has no address of its own.
pub(super) fn is_headless(service: &Service) -> bool {
    let address = service
        .spec
        .as_ref()
        .and_then(|spec| spec.cluster_ip.as_deref());
    matches!(address, None | Some("" | "None"))
}

/// Ports as text, to tell slices apart.
fn port_key(ports: &[EndpointPort]) -> String {
    let mut texts: Vec<String> = ports.iter().map(|port| format!("{port:?}")).collect();
    texts.sort_unstable();
    texts.join(",")
}

fn by_type(
    cx: &Cx<'_>,
    service: &Service,
    address_type: &str,
    existing: Vec<Arc<EndpointSlice>>,
    changed_at: Option<Timestamp>,
) -> Vec<Write> {
    let mut wanted: BTreeMap<String, (Vec<EndpointPort>, Vec<Endpoint>)> = BTreeMap::new();
    for pod in pods_of(cx.cluster, service) {
        if !is_in_endpoints(&pod, true) {
            continue;
        }
        let ports = ports(service, &pod);
        let group = wanted
            .entry(port_key(&ports))
            .or_insert_with(|| (ports, Vec::new()));
        group
            .1
            .extend(endpoint(cx.cluster, service, &pod, address_type));
    }
    // A Service without endpoints has one slice that says so.
    if wanted.values().all(|(_, endpoints)| endpoints.is_empty()) {
        wanted.clear();
        wanted.insert(String::new(), (Vec::new(), Vec::new()));
    }
    let mut slices: BTreeMap<String, Vec<Arc<EndpointSlice>>> = BTreeMap::new();
    for slice in existing {
        let key = port_key(slice.ports.as_deref().unwrap_or_default());
        slices.entry(key).or_default().push(slice);
    }
    let mut filled = Vec::new();
    let mut writes = Vec::new();
    for (key, (ports, endpoints)) in wanted {
        let old = slices.remove(&key).unwrap_or_default();
        let (made, unused) = fill(old, endpoints);
        filled.extend(
            made.into_iter()
                .map(|(slice, endpoints)| (slice, ports.clone(), endpoints)),
        );
        writes.extend(unused.iter().map(|slice| Write::delete(&**slice)));
    }
    // A slice that is not needed any more takes the place of a new one.
    let mut spare: Vec<Arc<EndpointSlice>> = slices.into_values().flatten().collect();
    for (slice, ports, endpoints) in filled {
        let slice = slice.or_else(|| spare.pop());
        let wanted = wanted_slice(service, address_type, slice.as_deref(), ports, endpoints);
        writes.extend(write(slice.as_deref(), wanted, changed_at));
    }
    writes.extend(spare.iter().map(|slice| Write::delete(&**slice)));
    writes
}

/// A slice, if there is one, and what it is to hold.
type Filled = (Option<Arc<EndpointSlice>>, Vec<Endpoint>);

/// Spreads endpoints over slices: those that are in one stay there, others go where there is room. Says which
/// slices stay empty.
fn fill(
    old: Vec<Arc<EndpointSlice>>,
    endpoints: Vec<Endpoint>,
) -> (Vec<Filled>, Vec<Arc<EndpointSlice>>) {
    let target = |endpoint: &Endpoint| {
        let target = endpoint.target_ref.as_ref();
        target
            .and_then(|target| target.uid.clone())
            .unwrap_or_default()
    };
    let mut missing: BTreeMap<String, Endpoint> = endpoints
        .into_iter()
        .map(|endpoint| (target(&endpoint), endpoint))
        .collect();
    let mut filled: Vec<Filled> = Vec::new();
    for slice in old {
        let kept = slice
            .endpoints
            .iter()
            .flatten()
            .filter_map(|known| missing.remove(&target(known)));
        let kept: Vec<Endpoint> = kept.collect();
        filled.push((Some(slice), kept));
    }
    let mut rest = missing.into_values();
    for (_, endpoints) in &mut filled {
        let room = ENDPOINTS_MAX.saturating_sub(endpoints.len());
        endpoints.extend(rest.by_ref().take(room));
    }
    loop {
        let more: Vec<Endpoint> = rest.by_ref().take(ENDPOINTS_MAX).collect();
        match more.is_empty() {
            true => break,
            false => filled.push((None, more)),
        }
    }
    if filled.is_empty() {
        filled.push((None, Vec::new()));
    }
    let has_any = filled.iter().any(|(_, endpoints)| !endpoints.is_empty());
    let mut unused = Vec::new();
    let mut first = true;
    filled.retain_mut(|(slice, endpoints)| {
        let stays = !endpoints.is_empty() || (!has_any && first);
        first &= !stays;
        if !stays {
            unused.extend(slice.take());
        }
        stays
    });
    (filled, unused)
}

/// A slice as it should be.
fn wanted_slice(
    service: &Service,
    address_type: &str,
    slice: Option<&EndpointSlice>,
    ports: Vec<EndpointPort>,
    endpoints: Vec<Endpoint>,
) -> EndpointSlice {
    let mut wanted = slice.cloned().unwrap_or_else(|| EndpointSlice {
        metadata: ObjectMeta {
            namespace: Some(namespace(service).to_owned()),
            generate_name: Some(format!("{}-", name(service))),
            owner_references: Some(vec![controller_ref(service)]),
            ..ObjectMeta::default()
        },
        address_type: address_type.to_owned(),
        ports: None,
        endpoints: None,
    });
    wanted.metadata.labels = Some(slice_labels(service));
    wanted.ports = Some(ports);
    wanted.endpoints = Some(endpoints);
    wanted
}

/// Writes a slice, unless it is as it should be.
fn write(
    slice: Option<&EndpointSlice>,
    mut wanted: EndpointSlice,
    changed_at: Option<Timestamp>,
) -> Option<Write> {
    let is_same = slice.is_some_and(|slice| {
        wanted.metadata.labels == slice.metadata.labels
            && wanted.endpoints.as_deref() == Some(slice.endpoints.as_deref().unwrap_or_default())
            && wanted.ports.as_deref() == Some(slice.ports.as_deref().unwrap_or_default())
    });
    if is_same {
        return None;
    }
    set_trigger_time(&mut wanted.metadata.annotations, changed_at);
    Some(match slice {
        Some(_) => Write::update(&wanted),
        None => Write::create(&wanted),
    })
}
