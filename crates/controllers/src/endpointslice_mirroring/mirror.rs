//! From Endpoints to slices: one for each type of address and each set of ports.

use super::{MANAGED_BY, MANAGER, SERVICE};
use crate::common::{annotations, controller_ref, is_deleting, labels, name, namespace};
use crate::endpoint::repack;
use crate::endpointslice::{hashed, port_key};
use crate::{Event, Plan, Write};
use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort as OldPort, Endpoints};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// How many addresses of a subset are mirrored. Upstream's `--mirroring-max-endpoints-per-subset`.
const ADDRESSES_MAX: usize = 1_000;

/// Annotations that are not for slices.
const NOT_COPIED: [&str; 2] = [
    "endpoints.kubernetes.io/last-change-trigger-time",
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// Endpoints with the same ports and type of address, by address and target.
type Mirrored = BTreeMap<(String, String), Endpoint>;

/// A type of address, and the hashes of ports.
type SliceKey = (&'static str, Vec<u128>);

/// What slices should hold, by type of address and ports.
#[derive(Default)]
struct Wanted(BTreeMap<SliceKey, (Vec<EndpointPort>, Mirrored)>);

/// How many addresses were left out, and how many of them because they are none.
#[derive(Default)]
struct LeftOut {
    all: usize,
    invalid: usize,
}

/// Upstream's `reconcile`.
pub(super) fn sync(endpoints: &Endpoints, existing: Vec<Arc<EndpointSlice>>) -> Plan {
    let (wanted, left_out) = wanted(endpoints);
    let mut by_key: BTreeMap<(&str, Vec<u128>), Vec<Arc<EndpointSlice>>> = BTreeMap::new();
    for slice in existing {
        let type_ = if slice.address_type == "IPv6" {
            "IPv6"
        } else {
            "IPv4"
        };
        let key = port_key(slice.ports.as_deref().unwrap_or_default());
        by_key.entry((type_, key)).or_default().push(slice);
    }
    let (mut made, mut writes, mut spare) = (Vec::new(), Vec::new(), Vec::new());
    for (key, (ports, mirrored)) in wanted.0 {
        let mut old = by_key.remove(&key).unwrap_or_default().into_iter();
        let first = old.next();
        spare.extend(old);
        let slice = wanted_slice(endpoints, key.0, ports, mirrored);
        match first {
            Some(first) if is_same(&first, &slice) => {}
            Some(first) => writes.push(Write::update(&in_place_of(&first, slice))),
            None => made.push(slice),
        }
    }
    spare.extend(by_key.into_values().flatten());
    for slice in made {
        // One that is not needed any more takes the place of a new one, unless its type is another.
        let fits = |one: &Arc<EndpointSlice>| one.address_type == slice.address_type;
        match spare.iter().position(fits) {
            Some(at) => writes.push(Write::update(&in_place_of(&spare.remove(at), slice))),
            None if is_deleting(endpoints) => {}
            None => writes.push(Write::create(&slice).tolerating_terminating()),
        }
    }
    writes.extend(spare.iter().map(|one| Write::delete(&**one)));
    Plan::sequence(writes).events(told(endpoints, &left_out))
}

fn told(endpoints: &Endpoints, left_out: &LeftOut) -> Vec<Event> {
    let mut events = Vec::new();
    let LeftOut { all, invalid } = left_out;
    if *invalid > 0 {
        let message =
            format!("Skipped {invalid} invalid IP addresses when mirroring to EndpointSlices");
        events.push(Event::warning(endpoints, "InvalidIPAddress", message));
    }
    if all > invalid {
        let message = format!(
            "A max of {ADDRESSES_MAX} addresses can be mirrored to EndpointSlices per Endpoints subset. {all} addresses were skipped"
        );
        events.push(Event::warning(
            endpoints,
            "TooManyAddressesToMirror",
            message,
        ));
    }
    events
}

fn wanted(endpoints: &Endpoints) -> (Wanted, LeftOut) {
    let (mut wanted, mut left_out) = (Wanted::default(), LeftOut::default());
    for subset in &repack(endpoints.subsets.as_deref().unwrap_or_default()) {
        let ports = ports(subset.ports.as_deref().unwrap_or_default());
        let ready = subset.addresses.iter().flatten().map(|one| (one, true));
        let others = subset.not_ready_addresses.iter().flatten();
        let all: Vec<_> = ready.chain(others.map(|one| (one, false))).collect();
        let mut added = 0;
        for (address, is_ready) in &all {
            if added >= ADDRESSES_MAX {
                break;
            }
            match endpoint(address, *is_ready) {
                Some((type_, endpoint)) => {
                    added += 1;
                    let group = wanted.0.entry((type_, port_key(&ports)));
                    let group = group.or_insert_with(|| (ports.clone(), Mirrored::new()));
                    group.1.insert(identity(&endpoint), endpoint);
                }
                None => left_out.invalid += 1,
            }
        }
        left_out.all += all.len() - added;
    }
    (wanted, left_out)
}

fn identity(endpoint: &Endpoint) -> (String, String) {
    let target = endpoint.target_ref.as_ref();
    let target = target.and_then(|target| target.uid.clone());
    (endpoint.addresses.join(","), target.unwrap_or_default())
}

fn endpoint(address: &EndpointAddress, is_ready: bool) -> Option<(&'static str, Endpoint)> {
    let ip: IpAddr = address.ip.parse().ok()?;
    let endpoint = Endpoint {
        addresses: vec![ip.to_string()],
        conditions: Some(EndpointConditions {
            ready: Some(is_ready),
            ..EndpointConditions::default()
        }),
        target_ref: address.target_ref.clone(),
        node_name: address.node_name.clone(),
        hostname: address.hostname.clone().filter(|name| !name.is_empty()),
        ..Endpoint::default()
    };
    Some((if ip.is_ipv4() { "IPv4" } else { "IPv6" }, endpoint))
}

fn ports(ports: &[OldPort]) -> Vec<EndpointPort> {
    let mut ports: Vec<EndpointPort> = ports
        .iter()
        .map(|port| EndpointPort {
            name: Some(port.name.clone().unwrap_or_default()),
            port: Some(port.port),
            protocol: port.protocol.clone(),
            app_protocol: port.app_protocol.clone(),
        })
        .collect();
    ports.sort_by_cached_key(hashed);
    ports
}

fn wanted_slice(
    endpoints: &Endpoints,
    address_type: &str,
    ports: Vec<EndpointPort>,
    mirrored: Mirrored,
) -> EndpointSlice {
    let mut all = labels(endpoints).clone();
    all.insert(SERVICE.to_owned(), name(endpoints).to_owned());
    all.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
    let mut copied = annotations(endpoints).clone();
    copied.retain(|key, _| !NOT_COPIED.contains(&key.as_str()));
    EndpointSlice {
        metadata: ObjectMeta {
            namespace: Some(namespace(endpoints).to_owned()),
            generate_name: Some(format!("{}-", name(endpoints))),
            labels: Some(all),
            annotations: (!copied.is_empty()).then_some(copied),
            owner_references: Some(vec![controller_ref(endpoints)]),
            ..ObjectMeta::default()
        },
        address_type: address_type.to_owned(),
        ports: Some(ports),
        endpoints: Some(mirrored.into_values().take(ADDRESSES_MAX).collect()),
    }
}

/// The same slice, with what it should hold.
fn in_place_of(old: &EndpointSlice, wanted: EndpointSlice) -> EndpointSlice {
    let mut slice = old.clone();
    slice.metadata.labels = wanted.metadata.labels;
    slice.metadata.annotations = wanted.metadata.annotations;
    slice.metadata.owner_references = wanted.metadata.owner_references;
    slice.ports = wanted.ports;
    slice.endpoints = wanted.endpoints;
    slice
}

/// Whether a slice says all that it should; the order of endpoints does not matter.
fn is_same(slice: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    let sorted = |slice: &EndpointSlice| {
        let mut all = slice.endpoints.clone().unwrap_or_default();
        all.sort_by_key(identity);
        all
    };
    let uid_of = |slice: &EndpointSlice| {
        let owners = slice.metadata.owner_references.as_deref();
        owners
            .unwrap_or_default()
            .first()
            .map(|owner| owner.uid.clone())
    };
    slice.metadata.labels == wanted.metadata.labels
        && annotations(slice) == annotations(wanted)
        && uid_of(slice) == uid_of(wanted)
        && sorted(slice) == sorted(wanted)
}
