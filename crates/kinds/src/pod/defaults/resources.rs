//! Defaults of requests and limits.

use crate::common::resource_names::{is_huge_page, may_overcommit};
use crate::pod::resources::{Half, aggregate, is_pod_level};
use serde_json::{Map, Value};
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::{Edit, View};

const MILLI: i32 = -3;

/// Rounds all quantities of a list up to thousandths.
pub(crate) fn round_list(object: &mut Value, field: &str) {
    let Some(list) = object.child_mut(field).and_then(Value::as_object_mut) else {
        return;
    };
    for value in list.values_mut() {
        let mut quantity = Quantity::of(value);
        quantity.round_up(MILLI);
        *value = quantity.to_string().into();
    }
}

pub(super) fn round(resources: &mut Value) {
    round_list(resources, "limits");
    round_list(resources, "requests");
}

/// Puts into a list what it lacks.
fn fill(resources: &mut Value, half: Half, lacking: impl IntoIterator<Item = (String, Value)>) {
    let mut lacking = lacking.into_iter().peekable();
    if lacking.peek().is_none() {
        return;
    }
    let list = resources.at_mut(half.field());
    for (name, value) in lacking {
        list.default_to(&name, value);
    }
}

fn owned(list: &Value) -> Map<String, Value> {
    list.as_object().cloned().unwrap_or_default()
}

/// A container's limits are its requests where it has none.
pub(super) fn requests_from_limits(container: &mut Value) {
    if let Some(resources) = container.child_mut("resources") {
        let limits = owned(resources.at("limits"));
        fill(resources, Half::Requests, limits);
    }
}

/// Limits and requests of the pod as a whole, where it has some of its own.
pub(super) fn pod_level(spec: &mut Value) {
    if !spec.at("resources").is_object() {
        return;
    }
    let limits = aggregate(spec, Half::Limits);
    let requests = aggregate(spec, Half::Requests);
    let own = spec.at_mut("resources");
    let has = |own: &Value, half: Half| own.entries(half.field()).next().is_some();
    if has(own, Half::Limits) || has(own, Half::Requests) {
        let asked = owned(own.at("requests"));
        let huge = limits
            .iter()
            .filter(|(name, _)| is_huge_page(name) && !asked.contains_key(*name))
            .map(|(name, quantity)| (name.clone(), quantity.to_string().into()));
        fill(own, Half::Limits, huge);
    }
    if has(own, Half::Limits) {
        let summed = requests
            .iter()
            .filter(|(name, _)| is_pod_level(name) && may_overcommit(name))
            .map(|(name, quantity)| (name.clone(), quantity.to_string().into()));
        fill(own, Half::Requests, summed);
        let limits = owned(own.at("limits")).into_iter();
        fill(
            own,
            Half::Requests,
            limits.filter(|(name, _)| is_pod_level(name)),
        );
    }
}
