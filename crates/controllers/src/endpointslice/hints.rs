//! Which endpoints are for whom, if a Service says how traffic is to be spread. Upstream:
//! `k8s.io/endpointslice/trafficdist`.

use super::fill::endpoints;
use super::slices::Changes;
use crate::common::annotations;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointHints, EndpointSlice, ForNode, ForZone};
use std::sync::Arc;

/// The annotations by which a Service asks for hints; the older one counts more.
const TOPOLOGY: [&str; 2] = [
    "service.kubernetes.io/topology-aware-hints",
    "service.kubernetes.io/topology-mode",
];

/// Whether hints are to follow the nodes' capacity. Upstream's `hintsEnabled`.
pub(super) fn follows_topology(service: &Service) -> bool {
    let noted = annotations(service);
    let value = TOPOLOGY.iter().find_map(|key| noted.get(*key));
    value.is_some_and(|value| value == "Auto" || value == "auto")
}

/// Whether an endpoint is ready.
pub(super) fn is_ready(endpoint: &Endpoint) -> bool {
    let conditions = endpoint.conditions.as_ref();
    conditions.is_some_and(|conditions| conditions.ready == Some(true))
}

/// An endpoint for one zone.
pub(super) fn for_zone(zone: &str) -> EndpointHints {
    EndpointHints {
        for_zones: Some(vec![ForZone {
            name: zone.to_owned(),
        }]),
        for_nodes: None,
    }
}

/// How the `trafficDistribution` of a Service gives hints, if it is one that does.
#[derive(Clone, Copy)]
pub(super) struct Distribution {
    is_by_node: bool,
}

impl Distribution {
    pub(super) fn of(service: &Service) -> Option<Self> {
        let spec = service.spec.as_ref()?;
        let is_by_node = match spec.traffic_distribution.as_deref()? {
            "PreferClose" | "PreferSameZone" => false,
            "PreferSameNode" => true,
            _ => return None,
        };
        (!follows_topology(service)).then_some(Self { is_by_node })
    }

    fn hints(self, endpoint: &Endpoint) -> Option<EndpointHints> {
        let zone = endpoint.zone.clone();
        let node = endpoint.node_name.clone().filter(|_| self.is_by_node);
        (zone.is_some() || node.is_some()).then(|| EndpointHints {
            for_zones: zone.map(|name| vec![ForZone { name }]),
            for_nodes: node.map(|name| vec![ForNode { name }]),
        })
    }

    fn is_good(self, slice: &EndpointSlice) -> bool {
        let mut ready = endpoints(slice)
            .iter()
            .filter(|endpoint| is_ready(endpoint));
        ready.all(|endpoint| {
            let plain = |hints: Option<EndpointHints>| {
                let hints = hints.unwrap_or_default();
                (
                    hints.for_zones.unwrap_or_default(),
                    hints.for_nodes.unwrap_or_default(),
                )
            };
            plain(endpoint.hints.clone()) == plain(self.hints(endpoint))
        })
    }

    /// Gives each endpoint that is ready to its own zone or node. Upstream's `ReconcileHints`.
    pub(super) fn reconcile(self, changes: &mut Changes, unchanged: Vec<Arc<EndpointSlice>>) {
        let wrong = unchanged.iter().filter(|slice| !self.is_good(slice));
        changes
            .update
            .extend(wrong.map(|slice| EndpointSlice::clone(slice)));
        for slice in changes.create.iter_mut().chain(&mut changes.update) {
            for endpoint in slice.endpoints.iter_mut().flatten() {
                if is_ready(endpoint) {
                    endpoint.hints = self.hints(endpoint);
                }
            }
        }
    }
}

/// Takes all hints away. Upstream's `RemoveHintsFromSlices`.
pub(super) fn remove(changes: &mut Changes, unchanged: Vec<Arc<EndpointSlice>>) {
    let has_hints = |slice: &&Arc<EndpointSlice>| {
        let mut all = endpoints(slice).iter();
        all.any(|endpoint| endpoint.hints.is_some())
    };
    let hinted = unchanged.iter().filter(has_hints);
    changes
        .update
        .extend(hinted.map(|slice| EndpointSlice::clone(slice)));
    for slice in changes.create.iter_mut().chain(&mut changes.update) {
        for endpoint in slice.endpoints.iter_mut().flatten() {
            endpoint.hints = None;
        }
    }
}
