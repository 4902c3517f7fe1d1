//! Lease. Upstream: `pkg/apis/coordination/validation/validation.go`,
//! `pkg/registry/coordination/lease/strategy.go`.

use crate::common::faults::Faults;
use crate::common::{NEGATIVE, metadata, name_rules};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{Edit, View};

pub(crate) struct Lease;

static METADATA: Path<'static> = Path::new("metadata");

impl CreateStrategy for Lease {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        drop_coordinated(object, &Value::Null);
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let rule = &name_rules::dns_subdomain;
        let mut errors = metadata::validate(object.at("metadata"), true, rule, &METADATA);
        errors.extend(validate_spec(object.at("spec")));
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for Lease {
    fn prepare_for_update(&self, new: &mut Value, old: &Value, _: &Context<'_>) {
        drop_coordinated(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value, _: &Context<'_>) -> ErrorList {
        let (now, before) = (new.at("metadata"), old.at("metadata"));
        let mut errors = metadata::validate_update(now, before, &METADATA);
        errors.extend(validate_spec(new.at("spec")));
        errors
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for Lease {}

/// Coordinated leader election is behind a gate that is off.
fn drop_coordinated(lease: &mut Value, old: &Value) {
    for field in ["strategy", "preferredHolder"] {
        if !old.at("spec").has(field)
            && let Some(spec) = lease.child_mut("spec")
        {
            spec.unset(field);
        }
    }
}

fn validate_spec(spec: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = Path::new("spec");
    if let Some(seconds @ ..=0) = spec.int("leaseDurationSeconds") {
        let path = path.child("leaseDurationSeconds");
        errors.invalid(&path, seconds, "must be greater than 0");
    }
    if let Some(count @ ..0) = spec.int("leaseTransitions") {
        errors.invalid(&path.child("leaseTransitions"), count, NEGATIVE);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::faults;
    use serde_json::json;

    #[test]
    fn spans_and_counts_are_positive() {
        let lease = json!({"metadata": {"name": "a", "namespace": "n", "finalizers": ["x"]},
            "spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}});
        assert_eq!(
            faults(&Lease, &lease),
            [
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
            ]
        );
    }

    #[test]
    fn what_is_behind_a_gate_is_dropped() {
        let mut lease = json!({"spec": {"strategy": "x", "holderIdentity": "a"}});
        crate::tests::create(&Lease, &mut lease);
        assert_eq!(lease, json!({"spec": {"holderIdentity": "a"}}));
    }
}
