//! Endpoints are kept in slices of at most a hundred. Upstream: `k8s.io/endpointslice/reconciler.go`.

use super::endpoints::{endpoint, is_in_endpoints, ports};
use super::fill::{EndpointSet, endpoints, fill, unchanged};
use super::hints::{Distribution, follows_topology, remove};
use super::topology::{Slices, Topology};
use super::{HEADLESS, MANAGED_BY, MANAGER, SERVICE, is_reserved};
use crate::common::{
    controller_ref, fnv_128a, is_deleting, labels, name, namespace, set_trigger_time, uid,
};
use crate::{Cx, Event, Key, Plan, Write};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::{EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is to be done about slices.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) create: Vec<EndpointSlice>,
    pub(super) update: Vec<EndpointSlice>,
    pub(super) delete: Vec<Arc<EndpointSlice>>,
}

impl Changes {
    fn extend(&mut self, more: Self) {
        self.create.extend(more.create);
        self.update.extend(more.update);
        self.delete.extend(more.delete);
    }
}

/// A Service, its pods, and when that happened which brought us here.
pub(super) struct Round<'a> {
    pub(super) cx: &'a Cx<'a>,
    pub(super) service: &'a Service,
    pub(super) pods: &'a [Arc<Pod>],
    pub(super) changed_at: Option<Timestamp>,
}

/// Brings all slices of a Service up to date.
pub(super) fn sync(round: &Round<'_>, topology: &mut Topology) -> Plan {
    let service = round.service;
    let place = format!("{}/{}", namespace(service), name(service));
    let store = round.cx.cluster.of::<EndpointSlice>();
    let mut existing = store.indexed("service", &place);
    existing.retain(|slice| {
        let manager = labels(&**slice).get(MANAGED_BY);
        manager.is_some_and(|by| by == MANAGER) && !is_deleting(&**slice)
    });
    let types = address_types(service);
    let (mut writes, mut events) = (Vec::new(), Vec::new());
    for address_type in &types {
        let of_type = existing.iter();
        let of_type = of_type.filter(|slice| slice.address_type == *address_type);
        let (changes, event) = by_type(round, topology, address_type, of_type.cloned().collect());
        writes.extend(finalize(round, changes));
        events.extend(event);
    }
    let is_other = |slice: &&Arc<EndpointSlice>| !types.contains(&slice.address_type.as_str());
    for slice in existing.iter().filter(is_other) {
        topology.remove_hints(&Key::of(service), &slice.address_type);
        writes.push(Write::delete(&**slice));
    }
    Plan::sequence(writes).events(events)
}

fn is_owned(slice: &EndpointSlice, service: &Service) -> bool {
    let mut owners = slice.metadata.owner_references.iter().flatten();
    owners.any(|owner| {
        owner.uid == uid(service) && owner.kind == "Service" && owner.api_version == "v1"
    })
}

/// The types of addresses that a Service has. A server that does not tell the families is an old one.
fn address_types(service: &Service) -> Vec<&'static str> {
    let spec = service.spec.as_ref();
    let families = spec.and_then(|spec| spec.ip_families.as_deref());
    let families = families.unwrap_or_default();
    let known = ["IPv4", "IPv6"].into_iter();
    let types: Vec<&str> = known
        .filter(|kind| families.iter().any(|family| family == kind))
        .collect();
    let address = spec.and_then(|spec| spec.cluster_ip.as_deref());
    match address {
        _ if !types.is_empty() => types,
        None | Some("" | "None") => vec!["IPv4", "IPv6"],
        Some(address) if address.contains(':') => vec!["IPv6"],
        Some(_) => vec!["IPv4"],
    }
}

/// The labels of a slice: those of its Service, and what it is. Upstream's `setEndpointSliceLabels`.
pub(super) fn slice_labels(service: &Service) -> BTreeMap<String, String> {
    let mut all = labels(service).clone();
    all.retain(|key, _| !is_reserved(key));
    let spec = service.spec.as_ref();
    let address = spec.and_then(|spec| spec.cluster_ip.as_deref());
    if matches!(address, None | Some("" | "None")) {
        all.insert(HEADLESS.to_owned(), String::new());
    }
    all.insert(SERVICE.to_owned(), name(service).to_owned());
    all.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
    all
}

/// A slice without endpoints.
pub(super) fn new_slice(
    service: &Service,
    address_type: &str,
    ports: Vec<EndpointPort>,
) -> EndpointSlice {
    EndpointSlice {
        metadata: ObjectMeta {
            namespace: Some(namespace(service).to_owned()),
            generate_name: Some(format!("{}-", name(service))),
            labels: Some(slice_labels(service)),
            owner_references: Some(vec![controller_ref(service)]),
            ..ObjectMeta::default()
        },
        address_type: address_type.to_owned(),
        ports: Some(ports),
        endpoints: Some(Vec::new()),
    }
}

/// A port as Go prints it, hashed. Ports are in this order.
pub(crate) fn hashed(port: &EndpointPort) -> u128 {
    let value = serde_json::to_value(port).unwrap_or_default();
    let text = stowplan_schema::dump_for_hash("io.k8s.api.discovery.v1.EndpointPort", &value);
    fnv_128a(&text.unwrap_or_default())
}

/// What tells sets of ports apart. Upstream's `NewPortMapKey`.
pub(crate) fn port_key(ports: &[EndpointPort]) -> Vec<u128> {
    let mut hashes: Vec<u128> = ports.iter().map(hashed).collect();
    hashes.sort_unstable();
    hashes
}

/// Ports, and the endpoints that have them.
type Wanted = BTreeMap<Vec<u128>, (Vec<EndpointPort>, EndpointSet)>;

fn wanted(round: &Round<'_>, address_type: &str) -> Wanted {
    let (cluster, service) = (round.cx.cluster, round.service);
    let mut wanted = Wanted::new();
    let pods = round.pods.iter();
    for pod in pods.filter(|pod| is_in_endpoints(pod, true)) {
        let mut ports = ports(service, pod);
        ports.sort_by_cached_key(hashed);
        let group = wanted.entry(port_key(&ports));
        let group = group.or_insert_with(|| (ports, EndpointSet::default()));
        if let Some(endpoint) = endpoint(cluster, service, pod, address_type) {
            group.1.insert(endpoint);
        }
    }
    wanted
}

/// Upstream's `reconcileByAddressType`.
fn by_type(
    round: &Round<'_>,
    topology: &mut Topology,
    address_type: &str,
    existing: Vec<Arc<EndpointSlice>>,
) -> (Changes, Option<Event>) {
    let service = round.service;
    let mut changes = Changes::default();
    let mut by_ports: BTreeMap<Vec<u128>, Vec<Arc<EndpointSlice>>> = BTreeMap::new();
    for slice in &existing {
        let key = port_key(slice.ports.as_deref().unwrap_or_default());
        match is_owned(slice, service) {
            true => by_ports.entry(key).or_default().push(slice.clone()),
            false => changes.delete.push(slice.clone()),
        }
    }
    for (key, (ports, endpoints)) in wanted(round, address_type) {
        let old = by_ports.remove(&key).unwrap_or_default();
        changes.extend(fill(service, address_type, &ports, &old, endpoints));
    }
    changes.delete.extend(by_ports.into_values().flatten());
    // A Service without endpoints has one slice that says so.
    if existing.len() == changes.delete.len() && changes.create.is_empty() {
        let placeholder = new_slice(service, address_type, Vec::new());
        match changes.delete.as_slice() {
            [only] if is_placeholder(only, &placeholder) => changes.delete.clear(),
            _ => changes.create.push(placeholder),
        }
    }
    let event = give_hints(round, topology, address_type, &existing, &mut changes);
    (changes, event)
}

/// Says of endpoints whom they are for, as the Service wants it.
fn give_hints(
    round: &Round<'_>,
    topology: &mut Topology,
    address_type: &str,
    existing: &[Arc<EndpointSlice>],
    changes: &mut Changes,
) -> Option<Event> {
    let service = round.service;
    let slices = Slices {
        service,
        address_type,
        unchanged: unchanged(existing, changes),
        changes,
    };
    if follows_topology(service) {
        return topology.add_hints(round.cx.cluster, slices);
    }
    let event = topology.disable(&slices);
    let Slices {
        changes, unchanged, ..
    } = slices;
    match Distribution::of(service) {
        Some(distribution) => distribution.reconcile(changes, unchanged),
        None => remove(changes, unchanged),
    }
    event
}

fn is_placeholder(slice: &EndpointSlice, placeholder: &EndpointSlice) -> bool {
    labels(slice) == labels(placeholder)
        && slice.address_type == placeholder.address_type
        && slice.ports.as_deref().unwrap_or_default().is_empty()
        && endpoints(slice).is_empty()
}

/// The writes. A slice that is not needed any more takes the place of a new one. Upstream's `finalize`.
fn finalize(round: &Round<'_>, mut changes: Changes) -> Vec<Write> {
    let service = round.service;
    let mut left = Vec::new();
    for slice in changes.delete {
        let made = changes.create.last();
        let fits = made.is_some_and(|made| made.address_type == slice.address_type);
        if fits
            && is_owned(&slice, service)
            && let Some(mut made) = changes.create.pop()
        {
            made.metadata.name = slice.metadata.name.clone();
            changes.update.push(made);
        } else {
            left.push(slice);
        }
    }
    let dated = |mut slice: EndpointSlice| {
        set_trigger_time(&mut slice.metadata.annotations, round.changed_at);
        slice
    };
    // What is made now for a Service that goes would stay behind.
    let made = changes.create.into_iter();
    let made = made.filter(|_| !is_deleting(service));
    let mut writes: Vec<Write> = made.map(|slice| Write::create(&dated(slice))).collect();
    let updated = changes.update.into_iter();
    writes.extend(updated.map(|slice| Write::update(&dated(slice))));
    writes.extend(left.iter().map(|slice| Write::delete(&**slice)));
    writes
}
