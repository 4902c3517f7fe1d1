//! How many endpoints zones should have, and which ones give some to others.

use super::ByZone;
use crate::endpointslice::hints::{for_zone, is_ready};
use k8s_openapi::api::discovery::v1::Endpoint;
use std::collections::BTreeMap;

/// By how much an endpoint may have more to do than others.
const OVERLOAD_MAX: f64 = 0.2;

/// How many endpoints a zone should have.
pub(super) struct Allocation {
    pub(super) minimum: usize,
    pub(super) maximum: usize,
    desired: f64,
}

#[allow(clippy::cast_precision_loss)]
fn float(count: usize) -> f64 {
    count as f64
}

/// The fewest endpoints for this part of all, without overload.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn fewest(desired: f64) -> usize {
    (desired * (1.0 / (1.0 + OVERLOAD_MAX))).ceil() as usize
}

impl Allocation {
    /// For a zone with this part of all CPUs.
    pub(super) fn new(ratio: f64, count: usize) -> Self {
        let desired = ratio * float(count);
        let minimum = fewest(desired);
        Self {
            minimum,
            maximum: 0,
            desired: desired.max(float(minimum)),
        }
    }
}

/// Whether a zone has fewer endpoints than it should. Upstream's `serviceOverloaded`.
pub(super) fn is_overloaded(zones: &ByZone, ratios: Option<&BTreeMap<String, f64>>) -> bool {
    let Some(ratios) = ratios else {
        return !zones.is_empty();
    };
    let total = float(zones.values().sum());
    let lacks = |(zone, ratio): (&String, &f64)| {
        let fewest = fewest(total * ratio);
        zones.get(zone).is_none_or(|count| *count < fewest)
    };
    !zones.is_empty() && ratios.iter().any(lacks)
}

/// How many endpoints a slice gives to each zone, if all are given to zones that there are, and no zone gets
/// too many. Upstream's `getHintsByZone`.
pub(super) fn fitting_hints(
    endpoints: &[Endpoint],
    allocated: &ByZone,
    allocations: &BTreeMap<String, Allocation>,
) -> Option<ByZone> {
    let mut hints = ByZone::new();
    for endpoint in endpoints.iter().filter(|endpoint| is_ready(endpoint)) {
        let given = endpoint.hints.as_ref()?.for_zones.as_deref()?;
        if given.is_empty() {
            return None;
        }
        for zone in given {
            allocations.get(&zone.name)?;
            *hints.entry(zone.name.clone()).or_default() += 1;
        }
    }
    let fits = |(zone, count): (&String, &usize)| {
        let before = allocated.get(zone).copied().unwrap_or(0);
        let allocation = allocations.get(zone);
        allocation.is_some_and(|allocation| count + before <= allocation.maximum)
    };
    hints.iter().all(fits).then_some(hints)
}

/// Lets zones that have more endpoints than they should give some to others. Upstream's
/// `getGivingAndReceivingZones` and `redistributeHints`.
pub(super) fn exchange<'a>(
    endpoints: impl Iterator<Item = &'a mut Endpoint>,
    allocated: &mut ByZone,
    allocations: &BTreeMap<String, Allocation>,
) {
    let (mut giving, mut receiving) = sides(allocated, allocations);
    for endpoint in endpoints {
        let Some(zone) = endpoint.zone.as_ref() else {
            continue;
        };
        let Some(left) = giving.get_mut(zone).filter(|left| **left > 0) else {
            continue;
        };
        let Some((to, wanted)) = receiving.iter_mut().find(|(_, wanted)| **wanted > 0) else {
            return;
        };
        *left -= 1;
        *wanted -= 1;
        *allocated.entry(to.clone()).or_default() += 1;
        if let Some(count) = allocated.get_mut(zone) {
            *count = count.saturating_sub(1);
        }
        endpoint.hints = Some(for_zone(to));
    }
}

/// How many endpoints zones give and get.
fn sides(allocated: &ByZone, allocations: &BTreeMap<String, Allocation>) -> (ByZone, ByZone) {
    let (mut too_many, mut too_few) = (BTreeMap::new(), BTreeMap::new());
    for (zone, allocation) in allocations {
        let count = float(allocated.get(zone).copied().unwrap_or(0));
        if count > allocation.desired {
            too_many.insert(zone.clone(), count - allocation.desired);
        } else if count < allocation.desired {
            too_few.insert(zone.clone(), allocation.desired - count);
        }
    }
    let most = |zones: &BTreeMap<String, f64>| {
        let zones = zones.iter().filter(|(_, count)| **count > 0.0);
        let most = zones.max_by(|one, two| one.1.total_cmp(two.1).then(two.0.cmp(one.0)))?;
        Some((most.0.clone(), *most.1))
    };
    let (mut giving, mut receiving) = (ByZone::new(), ByZone::new());
    while let (Some((from, gives)), Some((to, gets))) = (most(&too_many), most(&too_few)) {
        if (gives < 1.0 && gets < 1.0) || gives < 0.5 || gets < 0.5 {
            break;
        }
        *giving.entry(from.clone()).or_default() += 1;
        *receiving.entry(to.clone()).or_default() += 1;
        too_many.entry(from).and_modify(|count| *count -= 1.0);
        too_few.entry(to).and_modify(|count| *count -= 1.0);
    }
    (giving, receiving)
}
