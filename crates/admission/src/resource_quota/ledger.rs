//! A quota and what it says is used.
//!
//! Upstream a controller counts what is used and gives back what is gone. Where there is none, what is
//! used is counted here, from the objects, before it is charged: if the status does not say it, or if what
//! it says leaves no room. In between the status holds what was charged, and so at least what is used.

use super::Quotas;
use super::evaluator::Evaluator;
use crate::Attributes;
use serde_json::Value;
use std::sync::Arc;
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::resources::ResourceList;
use stowplan_apimachinery::{Edit, View};

/// See the module.
pub(super) struct Ledger {
    pub(super) quota: Arc<Value>,
    /// Whether what is used has just been counted.
    is_counted: bool,
    /// Whether the status has to be stored though nothing may be charged.
    pub(super) is_new: bool,
}

impl Ledger {
    /// The quota with all in its status that this kind of objects needs.
    pub(super) fn open(
        quota: &Arc<Value>,
        evaluator: &Evaluator<'_>,
        request: &Attributes<'_>,
        quotas: Quotas,
    ) -> Self {
        let mut ledger = Self {
            quota: Arc::clone(quota),
            is_counted: quotas == Quotas::AsTold,
            is_new: false,
        };
        if quotas == Quotas::Counted && is_stale(quota, evaluator) {
            ledger.count(evaluator, request);
        }
        ledger
    }

    /// Counts what is used, if that was not done just now; says whether it did.
    pub(super) fn count(&mut self, evaluator: &Evaluator<'_>, request: &Attributes<'_>) -> bool {
        if std::mem::replace(&mut self.is_counted, true) {
            return false;
        }
        let mut quota = Value::clone(&self.quota);
        let limits = quota.at("spec").at("hard").clone();
        let hard = ResourceList::of(&limits);
        let known = ResourceList::of(quota.at("status").at("hard"));
        let charged = ResourceList::of(quota.at("status").at("used"));
        quota.at_mut("status").set("hard", limits);
        let mut used = ResourceList::default();
        for name in hard.keys() {
            // Of other kinds of objects the status stays; what it did not limit it was not charged for.
            match charged.get(name) {
                _ if evaluator.counts(name) => used.put(name.as_str(), Quantity::units(0)),
                Some(charged) if known.contains_key(name) => {
                    used.put(name.as_str(), charged.clone());
                }
                _ => {}
            }
        }
        let counts = |name: &str| hard.contains_key(name) && evaluator.counts(name);
        used.add(&evaluator.usage_of_all(&quota, request, counts));
        if let Some(other) = evaluator.kin() {
            let other = Evaluator::of(&other, evaluator.cluster());
            let both = |name: &str| counts(name) && other.counts(name);
            if hard.keys().any(|name| both(name)) {
                used.add(&other.usage_of_all(&quota, request, both));
            }
        }
        quota.at_mut("status").set("used", used.to_json());
        self.is_new = quota != *self.quota;
        self.quota = Arc::new(quota);
        true
    }
}

/// Whether the status does not say what is used, or not of what the quota limits.
fn is_stale(quota: &Value, evaluator: &Evaluator<'_>) -> bool {
    let (spec, status) = (quota.at("spec"), quota.at("status"));
    let (hard, known) = (spec.at("hard"), status.at("hard"));
    let counted = |list: &Value| -> Vec<String> {
        let names = list.as_object().into_iter().flatten().map(|(name, _)| name);
        names
            .filter(|name| evaluator.counts(name))
            .cloned()
            .collect()
    };
    let unknown = |name: &String| hard.at(name) != known.at(name) || !status.at("used").has(name);
    let wanted = counted(hard);
    wanted.iter().any(unknown)
        || counted(known).iter().any(|name| !hard.has(name))
        // Which objects a selector chooses can change; scopes cannot.
        || (!wanted.is_empty() && spec.has("scopeSelector"))
}
