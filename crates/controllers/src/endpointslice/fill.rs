//! Endpoints with the same ports are spread over slices. Upstream's `reconcileByPortMapping`.

use super::ENDPOINTS_MAX;
use super::slices::{Changes, new_slice, slice_labels};
use crate::common::{labels, name};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What tells endpoints apart: addresses, host name, namespace and name of the pod. Upstream's
/// `hashEndpoint`.
type Identity = (Vec<String>, String, String, String);

/// Endpoints that a slice should have.
#[derive(Default)]
pub(super) struct EndpointSet(BTreeMap<Identity, Endpoint>);

impl EndpointSet {
    pub(super) fn insert(&mut self, endpoint: Endpoint) {
        self.0.insert(identity(&endpoint), endpoint);
    }

    /// The endpoint as it should be, if it is in the set. It is in there no more.
    fn take(&mut self, endpoint: &Endpoint) -> Option<Endpoint> {
        self.0.remove(&identity(endpoint))
    }

    /// Fills a slice up.
    fn pour(&mut self, into: &mut EndpointSlice) {
        let endpoints = into.endpoints.get_or_insert_default();
        while endpoints.len() < ENDPOINTS_MAX
            && let Some((_, endpoint)) = self.0.pop_first()
        {
            endpoints.push(endpoint);
        }
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

fn identity(endpoint: &Endpoint) -> Identity {
    let mut addresses = endpoint.addresses.clone();
    addresses.sort_unstable();
    let target = endpoint.target_ref.as_ref();
    let namespace = target.and_then(|target| target.namespace.clone());
    let name = target.and_then(|target| target.name.clone());
    (
        addresses,
        endpoint.hostname.clone().unwrap_or_default(),
        namespace.unwrap_or_default(),
        name.unwrap_or_default(),
    )
}

/// Whether an endpoint is what it should be, but for the hints, which come later.
fn is_same(one: &Endpoint, two: &Endpoint) -> bool {
    let plain = |endpoint: &Endpoint| {
        let mut target = endpoint.target_ref.clone();
        if let Some(target) = &mut target {
            target.resource_version = None;
        }
        (
            endpoint.node_name.clone(),
            endpoint.zone.clone(),
            endpoint.conditions.clone().unwrap_or_default(),
            target,
        )
    };
    plain(one) == plain(two)
}

/// The endpoints of a slice.
pub(super) fn endpoints(slice: &EndpointSlice) -> &[Endpoint] {
    slice.endpoints.as_deref().unwrap_or_default()
}

/// The same labels, but for those that say what the slice is.
fn has_labels(slice: &EndpointSlice, service: &Service) -> bool {
    let plain = |all: &BTreeMap<String, String>| {
        let mut all = all.clone();
        all.retain(|key, _| !super::is_reserved(key));
        all
    };
    plain(labels(slice)) == plain(labels(service))
}

/// Brings the slices of one set of ports up to date, with as few writes as may be: first come the slices that
/// change anyway, the fullest first; then one that has room for all that is left; then new ones.
pub(super) fn fill(
    service: &Service,
    address_type: &str,
    ports: &[EndpointPort],
    existing: &[Arc<EndpointSlice>],
    mut desired: EndpointSet,
) -> Changes {
    let mut changes = Changes::default();
    let mut unchanged = Vec::new();
    for slice in existing {
        let old = endpoints(slice);
        let mut is_updated = false;
        let mut kept = Vec::with_capacity(old.len());
        for endpoint in old {
            if let Some(wanted) = desired.take(endpoint) {
                is_updated |= !is_same(&wanted, endpoint);
                kept.push(wanted);
            }
        }
        is_updated |= kept.len() != old.len();
        let mut changed = EndpointSlice::clone(slice);
        changed.metadata.labels = Some(slice_labels(service));
        match (is_updated, kept.is_empty()) {
            (true, true) => changes.delete.push(slice.clone()),
            (true, false) => {
                changed.endpoints = Some(kept);
                changes.update.push(changed);
            }
            (false, _) if has_labels(slice, service) => unchanged.push(slice.clone()),
            (false, _) => changes.update.push(changed),
        }
    }
    changes
        .update
        .sort_by_key(|slice| std::cmp::Reverse(endpoints(slice).len()));
    for slice in &mut changes.update {
        desired.pour(slice);
    }
    while desired.len() > 0 {
        let mut slice = match roomy(&unchanged, desired.len()) {
            Some(at) => EndpointSlice::clone(&unchanged.remove(at)),
            None => new_slice(service, address_type, ports.to_vec()),
        };
        desired.pour(&mut slice);
        match slice.metadata.name {
            Some(_) => changes.update.push(slice),
            None => changes.create.push(slice),
        }
    }
    changes
}

/// The slice that becomes the fullest, if so many endpoints have room in one. Upstream's `getSliceToFill`.
fn roomy(slices: &[Arc<EndpointSlice>], more: usize) -> Option<usize> {
    if more >= ENDPOINTS_MAX {
        return None;
    }
    let left = |slice: &EndpointSlice| ENDPOINTS_MAX.checked_sub(more + endpoints(slice).len());
    let all = slices.iter().enumerate();
    let fitting = all.filter_map(|(at, slice)| Some((left(slice)?, at)));
    let best = fitting.filter(|(left, _)| *left < ENDPOINTS_MAX).min()?;
    Some(best.1)
}

/// Those of the slices that stay as they are.
pub(super) fn unchanged(
    existing: &[Arc<EndpointSlice>],
    changes: &Changes,
) -> Vec<Arc<EndpointSlice>> {
    let updated = changes.update.iter().map(name);
    let deleted = changes.delete.iter().map(|slice| name(&**slice));
    let changed: BTreeSet<&str> = updated.chain(deleted).collect();
    let all = existing.iter();
    all.filter(|slice| !changed.contains(name(&***slice)))
        .cloned()
        .collect()
}
