//! ResourceQuota: a namespace uses no more than it was given.
//!
//! Works from `status.hard` and `status.used` of the quotas, which may have to be counted first, and
//! returns the quotas with their new `status.used`. Upstream: `apiserver/pkg/admission/plugin/resourcequota` (controller.go,
//! `CheckRequest`) and `pkg/quota/v1/evaluator/core`.

mod claims;
mod evaluator;
mod ledger;
mod pods;
mod recount;
mod scopes;

pub use recount::{counted_resources, recount};

use crate::{Attributes, Operation};
use evaluator::Evaluator;
use ledger::Ledger;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta;
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::resources::ResourceList;
use stowplan_apimachinery::{Edit, Status, View};

/// A quota that a request is charged to.
#[derive(Clone, PartialEq, Debug)]
pub struct QuotaWrite {
    /// The quota as it has to be stored: with the new `status.used`, and still with the
    /// `resourceVersion` that it had when the request was judged. It is an update of the status by
    /// the manager `kube-apiserver`.
    pub quota: Value,
}

/// How it is known what of a quota is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quotas {
    /// By its status, which somebody else keeps up to date; a quota without one has no effect.
    AsTold,
    /// By its objects, wherever the status does not say it or leaves no room.
    Counted,
}

/// Resources that are never counted: they are not stored, or never were.
const IGNORED: [(&str, &str); 9] = [
    ("", "bindings"),
    ("", "componentstatuses"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("", "events"),
];

/// Refuses, or returns what to charge.
pub(crate) fn validate(
    request: &Attributes<'_>,
    cluster: &dyn Lookup,
    quotas: Quotas,
) -> Result<Vec<QuotaWrite>, Status> {
    let creates = request.operation == Operation::Create;
    let writes = creates || request.operation == Operation::Update;
    let resource = (
        request.resource.group.as_str(),
        request.resource.resource.as_str(),
    );
    if !writes
        || request.namespace.is_empty()
        || (creates && request.kind.kind == "Namespace")
        || IGNORED.contains(&resource)
        || resource == ("events.k8s.io", "events")
    {
        return Ok(Vec::new());
    }
    let evaluator = Evaluator::of(request.resource, cluster);
    if !evaluator.handles(request) {
        return Ok(Vec::new());
    }
    let all = cluster.list("", "resourcequotas", request.namespace);
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let open = |quota: &Arc<Value>| Ledger::open(quota, &evaluator, request, quotas);
    let charged = charge(request, &evaluator, all.iter().map(open).collect())?;
    match request.dry_run {
        true => Ok(Vec::new()),
        false => Ok(charged),
    }
}

fn charge(
    request: &Attributes<'_>,
    evaluator: &Evaluator<'_>,
    ledgers: Vec<Ledger>,
) -> Result<Vec<QuotaWrite>, Status> {
    let pertinent = pertinent(request, evaluator, &ledgers)?;
    let usage = evaluator.usage(request.object(), request);
    let negative: Vec<&str> = usage
        .iter()
        .filter(|(_, quantity)| quantity.is_negative())
        .map(|(name, _)| name.as_str())
        .collect();
    if !negative.is_empty() {
        return Err(request.forbidden(format!(
            "quota usage is negative for resource(s): {}",
            negative.join(",")
        )));
    }
    let mut writes = Vec::new();
    for (mut ledger, is_pertinent) in ledgers.into_iter().zip(pertinent) {
        let used = match is_pertinent {
            true => charge_one(request, evaluator, &mut ledger, &usage)?,
            false => None,
        };
        if used.is_some() || ledger.is_new {
            let mut quota = Arc::unwrap_or_clone(ledger.quota);
            if let Some(used) = used {
                quota.at_mut("status").set("used", used.to_json());
            }
            writes.push(QuotaWrite { quota });
        }
    }
    Ok(writes)
}

/// What is used of a quota with this object, if that changes.
fn charge_one(
    request: &Attributes<'_>,
    evaluator: &Evaluator<'_>,
    ledger: &mut Ledger,
    usage: &ResourceList,
) -> Result<Option<ResourceList>, Status> {
    let delta = delta(request, evaluator, &ledger.quota, usage);
    match fits(request, &ledger.quota, &delta) {
        // Some of what was charged may be gone.
        Err(_) if ledger.count(evaluator, request) => fits(request, &ledger.quota, &delta),
        outcome => outcome,
    }
}

/// Which quotas this object counts against.
fn pertinent(
    request: &Attributes<'_>,
    evaluator: &Evaluator<'_>,
    ledgers: &[Ledger],
) -> Result<Vec<bool>, Status> {
    let mut pertinent = Vec::new();
    for Ledger { quota, .. } in ledgers {
        let matches = evaluator.matches(quota, request.object());
        pertinent.push(matches);
        if !matches {
            continue;
        }
        let status = quota.at("status");
        let hard = status.entries("hard").map(|(name, _)| name);
        let restricted: BTreeSet<&str> = hard.filter(|name| evaluator.counts(name)).collect();
        if let Err(why) = evaluator.constraints(&restricted, request.object()) {
            let name = meta::name(quota);
            return Err(request.forbidden(format!("failed quota: {name}: {why}")));
        }
        if restricted.iter().any(|name| !status.at("used").has(name)) {
            let names: Vec<&str> = restricted.into_iter().collect();
            return Err(request.forbidden(format!(
                "status unknown for quota: {}, resources: {}",
                meta::name(quota),
                names.join(",")
            )));
        }
    }
    Ok(pertinent)
}

/// What the request adds to a quota: all that the object uses, or for an update of an object that
/// counted before, what it uses more.
fn delta(
    request: &Attributes<'_>,
    evaluator: &Evaluator<'_>,
    quota: &Value,
    usage: &ResourceList,
) -> ResourceList {
    let old = request.old();
    let stored = !old.at("metadata").text("resourceVersion").is_empty();
    let updates = request.operation == Operation::Update && stored;
    if !updates || !evaluator.matches(quota, old) {
        return usage.clone();
    }
    let before = evaluator.usage(old, request);
    let more = usage.iter().map(|(name, quantity)| {
        let mut more = quantity.clone();
        if let Some(before) = before.get(name) {
            more.sub(before);
        }
        let none = more.is_negative();
        (name.clone(), if none { Quantity::units(0) } else { more })
    });
    more.collect()
}

/// The quota's usage with the addition, if that changes it; refuses what goes beyond the quota.
fn fits(
    request: &Attributes<'_>,
    quota: &Value,
    delta: &ResourceList,
) -> Result<Option<ResourceList>, Status> {
    let status = quota.at("status");
    let (hard, used) = (
        ResourceList::of(status.at("hard")),
        ResourceList::of(status.at("used")),
    );
    let requested: ResourceList = delta
        .iter()
        .filter(|(name, quantity)| !quantity.is_zero() && hard.contains_key(*name))
        .map(|(name, quantity)| (name.clone(), quantity.clone()))
        .collect();
    let mut sum = used.clone();
    sum.add(&requested);
    let exceeded: Vec<&str> = requested
        .keys()
        .filter(|name| sum.get(*name) > hard.get(*name))
        .map(String::as_str)
        .collect();
    if !exceeded.is_empty() && request.subresource != "status" {
        return Err(request.forbidden(format!(
            "exceeded quota: {}, requested: {}, used: {}, limited: {}",
            meta::name(quota),
            printed(&requested, &exceeded),
            printed(&used, &exceeded),
            printed(&hard, &exceeded)
        )));
    }
    Ok((!requested.is_empty()).then_some(sum))
}

/// `cpu=1,memory=2Gi`: these of a list.
fn printed(list: &ResourceList, names: &[&str]) -> String {
    let of = list
        .iter()
        .filter(|(name, _)| names.contains(&name.as_str()));
    let parts: Vec<String> = of
        .map(|(name, quantity)| format!("{name}={quantity}"))
        .collect();
    parts.join(",")
}

#[cfg(test)]
mod counted_tests;
#[cfg(test)]
mod tests;
