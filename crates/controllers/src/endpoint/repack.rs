//! Subsets in their canonical form. Upstream: `pkg/api/v1/endpoints`.

use crate::common::fnv_128a;
use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset};
use serde::Serialize;
use std::collections::BTreeMap;

/// Address and uid of whom it belongs to. Those that belong to nobody come first.
type Who = (String, Option<String>);

/// Who has a port, and whether he is ready.
type Whose = BTreeMap<Who, bool>;

/// Ports with the same addresses come together. Upstream's `RepackSubsets`.
pub(crate) fn repack(subsets: &[EndpointSubset]) -> Vec<EndpointSubset> {
    let mut addresses: BTreeMap<Who, EndpointAddress> = BTreeMap::new();
    let mut by_port: BTreeMap<u128, (Option<EndpointPort>, Whose)> = BTreeMap::new();
    for subset in subsets {
        let ready = subset.addresses.iter().flatten().map(|one| (one, true));
        let others = subset.not_ready_addresses.iter().flatten();
        let all: Vec<_> = ready.chain(others.map(|one| (one, false))).collect();
        let ports = subset.ports.as_deref().unwrap_or_default();
        // Addresses without ports are kept as well.
        let ports: Vec<Option<&EndpointPort>> = match ports {
            [] => vec![None],
            ports => ports.iter().map(Some).collect(),
        };
        for port in ports {
            let hash = port.map_or(0, |port| hashed("EndpointPort", port));
            let (_, whose) = by_port
                .entry(hash)
                .or_insert_with(|| (port.cloned(), Whose::new()));
            for (address, is_ready) in &all {
                let who = who(address);
                addresses
                    .entry(who.clone())
                    .or_insert_with(|| EndpointAddress::clone(address));
                // One that is not ready somewhere is not ready.
                *whose.entry(who).or_insert(true) &= *is_ready;
            }
        }
    }
    let mut by_addresses: BTreeMap<Vec<(Who, bool)>, Vec<EndpointPort>> = BTreeMap::new();
    for (port, whose) in by_port.into_values() {
        let key = whose.into_iter().collect();
        by_addresses.entry(key).or_default().extend(port);
    }
    let packed = by_addresses.into_iter();
    let packed = packed.map(|(whose, ports)| packed_subset(&addresses, whose, ports));
    let mut packed: Vec<EndpointSubset> = packed.collect();
    if packed.len() > 1 {
        packed.sort_by_cached_key(|subset| hashed("EndpointSubset", subset));
    }
    packed
}

fn who(address: &EndpointAddress) -> Who {
    let target = address.target_ref.as_ref();
    let uid = target.map(|target| target.uid.clone().unwrap_or_default());
    (address.ip.clone(), uid)
}

fn packed_subset(
    addresses: &BTreeMap<Who, EndpointAddress>,
    whose: Vec<(Who, bool)>,
    mut ports: Vec<EndpointPort>,
) -> EndpointSubset {
    ports.sort_by_cached_key(|port| hashed("EndpointPort", port));
    let (ready, others): (Vec<_>, Vec<_>) = whose.into_iter().partition(|(_, is_ready)| *is_ready);
    let list = |of: Vec<(Who, bool)>| -> Option<Vec<EndpointAddress>> {
        let of = of.into_iter();
        let list: Vec<_> = of
            .filter_map(|(who, _)| addresses.get(&who).cloned())
            .collect();
        (!list.is_empty()).then_some(list)
    };
    EndpointSubset {
        addresses: list(ready),
        not_ready_addresses: list(others),
        ports: (!ports.is_empty()).then_some(ports),
    }
}

/// A value as Go prints it, hashed.
fn hashed<T: Serialize>(kind: &str, value: &T) -> u128 {
    let value = serde_json::to_value(value).unwrap_or_default();
    let text = stowplan_schema::dump_for_hash(&format!("io.k8s.api.core.v1.{kind}"), &value);
    fnv_128a(&text.unwrap_or_default())
}
