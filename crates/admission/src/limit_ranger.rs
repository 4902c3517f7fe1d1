//! LimitRanger: defaults and bounds of what containers, pods and claims ask for.
//! Upstream: `plugin/pkg/admission/limitranger`.

use crate::pods::{Half, sum_containers};
use crate::{Attributes, Operation};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::resources::ResourceList;
use stowplan_apimachinery::{Edit, Status, View};

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// The ranges that bind this request.
fn ranges(request: &Attributes<'_>, cluster: &dyn Lookup) -> Vec<Arc<Value>> {
    let updates = request.operation == Operation::Update;
    if !updates && request.operation != Operation::Create {
        return Vec::new();
    }
    let is_pod = request.kind.group.is_empty() && request.kind.kind == "Pod";
    let is_claim = request.kind.group.is_empty() && request.kind.kind == "PersistentVolumeClaim";
    let supported = match request.subresource {
        "" => is_claim || (is_pod && !updates),
        "resize" => is_pod && updates,
        _ => false,
    };
    if !supported || request.old().at("metadata").has("deletionTimestamp") {
        return Vec::new();
    }
    cluster.list("", "limitranges", request.namespace)
}

pub(crate) fn admit(request: &mut Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    let ranges = ranges(request, cluster);
    if request.resource.resource != "pods" {
        return Ok(());
    }
    if let Some(pod) = request.object.as_deref_mut() {
        for range in ranges {
            fill_in(pod, &range);
        }
    }
    Ok(())
}

/// Gives containers the defaults of a range, and says so in an annotation.
fn fill_in(pod: &mut Value, range: &Value) {
    let default = |field: &str| {
        let mut list = ResourceList::default();
        for limit in range.at("spec").list("limits") {
            if limit.text("type") == "Container" {
                let values = ResourceList::of(limit.at(field));
                list.extend(values.iter().map(|(k, v)| (k.clone(), v.clone())));
            }
        }
        list
    };
    let (requests, limits) = (default("defaultRequest"), default("default"));
    let mut said = Vec::new();
    for (field, what) in [
        ("containers", "container"),
        ("initContainers", "init container"),
    ] {
        let Some(spec) = pod.child_mut("spec") else {
            continue;
        };
        for container in spec.each_mut(field) {
            // Limits first, as upstream does; the annotation names requests first.
            let limited = complete(container, Half::Limits, &limits);
            let requested = complete(container, Half::Requests, &requests);
            let name = container.text("name");
            for (set, side) in [(requested, "request"), (limited, "limit")] {
                if !set.is_empty() {
                    said.push(format!("{} {side} for {what} {name}", set.join(", ")));
                }
            }
        }
    }
    if !said.is_empty() {
        let text = format!("LimitRanger plugin set: {}", said.join("; "));
        let metadata = pod.at_mut("metadata");
        metadata.at_mut("annotations").set(ANNOTATION, text);
    }
}

/// Adds what is missing in one list of a container, and returns the names.
fn complete(container: &mut Value, side: Half, defaults: &ResourceList) -> Vec<String> {
    let here = container.at("resources").at(side.field());
    let missing: Vec<_> = defaults.iter().filter(|(k, _)| !here.has(k)).collect();
    if !missing.is_empty() {
        let list = container.at_mut("resources").at_mut(side.field());
        for (name, quantity) in &missing {
            list.set(name, quantity.to_string());
        }
    }
    missing.into_iter().map(|(name, _)| name.clone()).collect()
}

pub(crate) fn validate(request: &Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    for range in ranges(request, cluster) {
        let object = request.object();
        let mut faults = Vec::new();
        for limit in range.at("spec").list("limits") {
            match request.resource.resource.as_str() {
                "pods" => check_pod(object, limit, &mut faults),
                "persistentvolumeclaims" => check_claim(object, limit, &mut faults),
                _ => {}
            }
        }
        if !faults.is_empty() {
            return Err(request.forbidden(together(faults)));
        }
    }
    Ok(())
}

/// Upstream's aggregate: one error stands alone, several are listed, repeats are said once.
fn together(faults: Vec<String>) -> String {
    let mut said = HashSet::new();
    let texts: Vec<&str> = faults
        .iter()
        .map(String::as_str)
        .filter(|fault| said.insert(*fault))
        .collect();
    match texts.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(", ")),
    }
}

fn check_claim(claim: &Value, limit: &Value, faults: &mut Vec<String>) {
    let kind = limit.text("type");
    if kind != "PersistentVolumeClaim" {
        return;
    }
    let requests = ResourceList::of(claim.path(&["spec", "resources", "requests"]));
    let none = ResourceList::default();
    for (name, bound) in ResourceList::of(limit.at("min")).iter() {
        let given = Given::of(name, &requests, &none);
        faults.extend(given.below(kind, bound));
    }
    for (name, bound) in ResourceList::of(limit.at("max")).iter() {
        let given = Given::of(name, &requests, &none);
        faults.extend(given.request_above(kind, bound));
    }
}

fn check_pod(pod: &Value, limit: &Value, faults: &mut Vec<String>) {
    let spec = pod.at("spec");
    let resources = |of: &Value, side: Half| ResourceList::of(of.at("resources").at(side.field()));
    match limit.text("type") {
        "Container" => {
            let ordinary = spec.list("containers").iter();
            for container in ordinary.chain(spec.list("initContainers")) {
                let requests = resources(container, Half::Requests);
                let limits = resources(container, Half::Limits);
                check_bounds(limit, &requests, &limits, faults);
            }
        }
        "Pod" => {
            let [requests, limits] = [Half::Requests, Half::Limits].map(|side| {
                let mut sum = sum_containers(spec, |container| resources(container, side));
                for (name, quantity) in resources(spec, side).iter() {
                    if matches!(name.as_str(), "cpu" | "memory") {
                        sum.put(name.clone(), quantity.clone());
                    }
                }
                sum
            });
            check_bounds(limit, &requests, &limits, faults);
        }
        _ => {}
    }
}

fn check_bounds(
    limit: &Value,
    requests: &ResourceList,
    limits: &ResourceList,
    faults: &mut Vec<String>,
) {
    let kind = limit.text("type");
    for (name, bound) in ResourceList::of(limit.at("min")).iter() {
        faults.extend(Given::of(name, requests, limits).below(kind, bound));
    }
    for (name, bound) in ResourceList::of(limit.at("max")).iter() {
        faults.extend(Given::of(name, requests, limits).above(kind, bound));
    }
    for (name, bound) in ResourceList::of(limit.at("maxLimitRequestRatio")).iter() {
        faults.extend(Given::of(name, requests, limits).too_far_apart(kind, bound));
    }
}

/// What was given of one resource.
struct Given<'a> {
    name: &'a str,
    request: Option<&'a Quantity>,
    limit: Option<&'a Quantity>,
}

/// Beyond this many units upstream compares units instead of thousandths.
const MAX_MILLI: i64 = i64::MAX / 1000;

fn units(quantity: Option<&Quantity>) -> i64 {
    quantity.map_or(0, Quantity::value)
}

fn millis(quantity: Option<&Quantity>) -> i64 {
    quantity.map_or(0, Quantity::milli_value)
}

impl<'a> Given<'a> {
    fn of(name: &'a str, requests: &'a ResourceList, limits: &'a ResourceList) -> Self {
        Self {
            name,
            request: requests.get(name),
            limit: limits.get(name),
        }
    }

    /// Request, limit and bound at the precision they are compared at.
    fn comparable(&self, bound: &Quantity) -> [i64; 3] {
        let all = [self.request, self.limit, Some(bound)];
        match all.iter().all(|q| units(*q) <= MAX_MILLI) {
            true => all.map(millis),
            false => all.map(units),
        }
    }

    fn below(&self, kind: &str, bound: &Quantity) -> Option<String> {
        let least = format!("minimum {} usage per {kind} is {bound}", self.name);
        let [request, limit, least_value] = self.comparable(bound);
        let Some(asked) = self.request else {
            return Some(format!("{least}.  No request is specified"));
        };
        if request < least_value {
            return Some(format!("{least}, but request is {asked}"));
        }
        let given = self.limit.filter(|_| limit < least_value)?;
        Some(format!("{least}, but limit is {given}"))
    }

    fn above(&self, kind: &str, bound: &Quantity) -> Option<String> {
        let most = format!("maximum {} usage per {kind} is {bound}", self.name);
        let [request, limit, most_value] = self.comparable(bound);
        let Some(given) = self.limit else {
            return Some(format!("{most}.  No limit is specified"));
        };
        if limit > most_value {
            return Some(format!("{most}, but limit is {given}"));
        }
        let asked = self.request.filter(|_| request > most_value)?;
        Some(format!("{most}, but request is {asked}"))
    }

    fn request_above(&self, kind: &str, bound: &Quantity) -> Option<String> {
        let most = format!("maximum {} usage per {kind} is {bound}", self.name);
        let [request, _, most_value] = self.comparable(bound);
        let Some(asked) = self.request else {
            return Some(format!("{most}.  No request is specified"));
        };
        (request > most_value).then(|| format!("{most}, but request is {asked}"))
    }

    fn too_far_apart(&self, kind: &str, bound: &Quantity) -> Option<String> {
        let [request, limit, _] = self.comparable(bound);
        let most = format!(
            "{} max limit to request ratio per {kind} is {bound}",
            self.name
        );
        for (value, side) in [(request, "request"), (limit, "limit")] {
            if value == 0 {
                return Some(format!("{most}, but no {side} is specified or {side} is 0"));
            }
        }
        let ratio = limit as f64 / request as f64;
        let too_far = match bound.value() <= MAX_MILLI {
            true => ratio * 1000.0 > bound.milli_value() as f64,
            false => ratio > bound.value() as f64,
        };
        too_far.then(|| format!("{most}, but provided ratio is {ratio:.6}"))
    }
}

#[cfg(test)]
#[path = "limit_ranger_tests.rs"]
mod tests;
