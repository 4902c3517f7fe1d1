//! Hints by which each zone gets as many endpoints as its nodes have capacity. Upstream:
//! `k8s.io/endpointslice/topologycache`.

mod zones;

use super::fill::endpoints;
use super::hints::{for_zone, is_ready, remove};
use super::slices::Changes;
use crate::common::{amount, label};
use crate::{Cluster, Event, EventType};
use k8s_openapi::api::core::v1::{Node, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stowplan_cache::{Delta, Key};
use zones::{Allocation, exchange, fitting_hints, is_overloaded};

const ZONE: &str = "topology.kubernetes.io/zone";
/// Nodes with one of these labels have no capacity for others.
const EXCLUDED: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];

const DISABLED: &str = "TopologyAwareHintsDisabled";
const NO_ZONE: &str = "One or more endpoints do not have a zone specified";
const NO_HINTS: &str = "No hints allocated for zones";
const NO_NODES: &str =
    "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes";
const FEW_ENDPOINTS: &str = "Insufficient number of endpoints";
const OVERLOADED: &str = "Unable to allocate minimum required endpoints to each zone without \
                          exceeding overload threshold";

/// How many endpoints each zone has.
type ByZone = BTreeMap<String, usize>;

/// The capacity of zones, and which Services follow it.
#[derive(Default)]
pub(super) struct Topology {
    /// Which part of all CPUs each zone has; nothing if that is not known, or if there is but one zone.
    ratios: Option<BTreeMap<String, f64>>,
    is_outdated: bool,
    hints: BTreeMap<Key, BTreeMap<String, ByZone>>,
    /// Services that have been told that they have hints.
    populated: BTreeSet<Key>,
}

/// Slices of one type of address, and for which Service.
pub(super) struct Slices<'a> {
    pub(super) service: &'a Service,
    pub(super) address_type: &'a str,
    pub(super) changes: &'a mut Changes,
    pub(super) unchanged: Vec<Arc<EndpointSlice>>,
}

impl Slices<'_> {
    fn key(&self) -> Key {
        Key::of(self.service)
    }

    fn event(&self, event_type: EventType, reason: &'static str, message: &str) -> Event {
        let message = format!("{message}, addressType: {}", self.address_type);
        match event_type {
            EventType::Normal => Event::normal(self.service, reason, message),
            EventType::Warning => Event::warning(self.service, reason, message),
        }
    }

    fn ready(&self) -> usize {
        let changed = self.changes.create.iter().chain(&self.changes.update);
        let all = changed.chain(self.unchanged.iter().map(|slice| &**slice));
        let endpoints = all.flat_map(endpoints);
        endpoints.filter(|endpoint| is_ready(endpoint)).count()
    }

    /// The endpoints that get hints.
    fn given(&mut self) -> impl Iterator<Item = &mut Endpoint> {
        let all = self
            .changes
            .create
            .iter_mut()
            .chain(&mut self.changes.update);
        let all = all.flat_map(|slice| slice.endpoints.iter_mut().flatten());
        all.filter(|endpoint| is_ready(endpoint))
    }
}

/// Whether a change of a node may change the capacity of zones.
pub(super) fn matters(delta: &Delta<'_, Node>) -> bool {
    let seen = |node: &Node| (is_node_ready(node), label(node, ZONE).map(str::to_owned));
    match delta {
        Delta::Updated(before, now) => seen(before) != seen(now),
        Delta::Added(_) | Delta::Deleted(_) => true,
    }
}

fn is_node_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref();
    let mut conditions = conditions
        .and_then(|status| status.conditions.as_ref())
        .into_iter()
        .flatten();
    conditions
        .find(|condition| condition.type_ == "Ready")
        .is_some_and(|ready| ready.status == "True")
}

impl Topology {
    /// Nodes have changed. Says which Services should be looked at again. Upstream's
    /// `checkNodeTopologyDistribution`.
    pub(super) fn nodes_changed(&mut self, cluster: &Cluster) -> Vec<Key> {
        self.is_outdated = true;
        if self.hints.is_empty() {
            return Vec::new();
        }
        self.refresh(cluster);
        let ratios = self.ratios.as_ref();
        let overloaded = self
            .hints
            .iter()
            .filter(|(_, by_type)| by_type.values().any(|zones| is_overloaded(zones, ratios)));
        overloaded.map(|(key, _)| key.clone()).collect()
    }

    /// Upstream's `SetNodes`.
    fn refresh(&mut self, cluster: &Cluster) {
        if !std::mem::take(&mut self.is_outdated) {
            return;
        }
        self.ratios = None;
        let mut by_zone: BTreeMap<String, i128> = BTreeMap::new();
        for node in cluster.all::<Node>() {
            let is_excluded = EXCLUDED.iter().any(|key| label(&*node, key).is_some());
            if is_excluded || !is_node_ready(&node) {
                continue;
            }
            let status = node.status.as_ref();
            let cpu = status
                .and_then(|status| status.allocatable.as_ref()?.get("cpu"))
                .and_then(amount)
                .unwrap_or(0);
            match label(&*node, ZONE).filter(|zone| !zone.is_empty()) {
                Some(zone) if cpu != 0 => *by_zone.entry(zone.to_owned()).or_default() += cpu,
                _ => return,
            }
        }
        let total: i128 = by_zone.values().sum();
        if total != 0 && by_zone.len() >= 2 {
            #[allow(clippy::cast_precision_loss)]
            let ratio = |cpu: i128| cpu as f64 / total as f64;
            let ratios = by_zone.into_iter().map(|(zone, cpu)| (zone, ratio(cpu)));
            self.ratios = Some(ratios.collect());
        }
    }

    /// A Service is gone.
    pub(super) fn forget(&mut self, key: &Key) {
        self.hints.remove(key);
        self.populated.remove(key);
    }

    /// The Service has no hints for addresses of this type.
    pub(super) fn remove_hints(&mut self, key: &Key, address_type: &str) {
        if let Some(by_type) = self.hints.get_mut(key) {
            by_type.remove(address_type);
            if by_type.is_empty() {
                self.hints.remove(key);
            }
        }
        self.populated.remove(key);
    }

    /// The Service does not ask for hints, or no more.
    pub(super) fn disable(&mut self, slices: &Slices<'_>) -> Option<Event> {
        let key = slices.key();
        let was_populated = self.populated.contains(&key);
        self.remove_hints(&key, slices.address_type);
        let message = "Topology Aware Hints has been disabled";
        was_populated.then(|| slices.event(EventType::Warning, DISABLED, message))
    }

    /// No hints, for this reason.
    fn without(&mut self, slices: Slices<'_>, why: &str) -> Event {
        let event = slices.event(EventType::Warning, DISABLED, why);
        self.remove_hints(&slices.key(), slices.address_type);
        remove(slices.changes, slices.unchanged);
        event
    }

    /// Gives each endpoint to its own zone, and then some to zones that have too few. Upstream's `AddHints`.
    pub(super) fn add_hints(&mut self, cluster: &Cluster, mut slices: Slices<'_>) -> Option<Event> {
        self.refresh(cluster);
        let allocations = match self.allocations(slices.ready()) {
            Ok(allocations) => allocations,
            Err(why) => return Some(self.without(slices, &why)),
        };
        // Slices whose hints are still good stay as they are.
        let mut allocated = ByZone::new();
        let mut stay = Vec::new();
        for slice in std::mem::take(&mut slices.unchanged) {
            match fitting_hints(endpoints(&slice), &allocated, &allocations) {
                Some(hints) => {
                    for (zone, count) in hints {
                        *allocated.entry(zone).or_default() += count;
                    }
                    stay.push(slice);
                }
                None => slices.changes.update.push(EndpointSlice::clone(&slice)),
            }
        }
        slices.unchanged = stay;
        let has_zone =
            |endpoint: &mut Endpoint| endpoint.zone.as_ref().is_some_and(|z| !z.is_empty());
        if !slices.given().all(has_zone) {
            return Some(self.without(slices, NO_ZONE));
        }
        for endpoint in slices.given() {
            let zone = endpoint.zone.clone().unwrap_or_default();
            endpoint.hints = Some(for_zone(&zone));
            *allocated.entry(zone).or_default() += 1;
        }
        exchange(slices.given(), &mut allocated, &allocations);
        if allocated.is_empty() {
            return Some(self.without(slices, NO_HINTS));
        }
        let (key, address_type) = (slices.key(), slices.address_type.to_owned());
        let by_type = self.hints.entry(key.clone()).or_default();
        by_type.insert(address_type, allocated);
        let message = "Topology Aware Hints has been enabled";
        let is_news = self.populated.insert(key);
        is_news.then(|| slices.event(EventType::Normal, "TopologyAwareHintsEnabled", message))
    }

    /// How many endpoints each zone should have, or why that cannot be. Upstream's `getAllocations`.
    fn allocations(&self, count: usize) -> Result<BTreeMap<String, Allocation>, String> {
        let ratios = self.ratios.as_ref().ok_or_else(|| NO_NODES.to_owned())?;
        let counts = format!("({count} endpoints, {} zones)", ratios.len());
        if ratios.len() > count {
            return Err(format!("{FEW_ENDPOINTS} {counts}"));
        }
        let each = |(zone, ratio): (&String, &f64)| (zone.clone(), Allocation::new(*ratio, count));
        let mut all: BTreeMap<String, Allocation> = ratios.iter().map(each).collect();
        let minima: usize = all.values().map(|allocation| allocation.minimum).sum();
        let Some(spare) = count.checked_sub(minima) else {
            return Err(format!("{OVERLOADED} {counts}"));
        };
        for allocation in all.values_mut() {
            allocation.maximum = allocation.minimum + spare;
        }
        Ok(all)
    }
}
