//! Gates, groups and claims for devices.

use crate::common::faults::Faults;
use crate::common::internal::Internal;
use crate::common::name_rules;
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::{View, names};

/// Conditions that a pod waits for before it is ready, and gates before it is scheduled.
pub(super) fn validate_gates(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let list = path.child("readinessGates");
    for (i, gate) in spec.list("readinessGates").iter().enumerate() {
        let condition = gate.text("conditionType");
        let at = list.index(i);
        let faults = names::label_key(condition);
        errors.invalid_each(&at.child("conditionType"), condition, faults);
    }
    let list = path.child("schedulingGates");
    let mut taken = BTreeSet::new();
    for (i, gate) in spec.list("schedulingGates").iter().enumerate() {
        let (name, at) = (gate.text("name"), list.index(i));
        errors.invalid_each(&at, name, names::label_key(name));
        if !taken.insert(name) {
            errors.duplicate(&at, name);
        }
    }
}

pub(super) fn validate_group(spec: &Value, path: &Path<'_>, errors: &mut ErrorList) {
    let group = spec.at("schedulingGroup");
    if group.is_null() {
        return;
    }
    let at = path.child("podGroupName");
    if group.has("podGroupName") {
        let name = group.text("podGroupName");
        errors.invalid_each(&at, name, name_rules::dns_subdomain(name, false));
    } else {
        errors.invalid(&at, &Value::Null, "must specify one of: `podGroupName`");
    }
}

pub(super) fn validate_resource_claims(
    spec: &Value,
    mirror: bool,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let mut taken = BTreeSet::new();
    for (i, claim) in spec.list("resourceClaims").iter().enumerate() {
        if mirror {
            // Upstream names no field here.
            let nowhere = Path::ROOT;
            errors.forbidden(
                &nowhere.key(""),
                "static pods do not support resource claims",
            );
            continue;
        }
        let at = path.index(i);
        let (name, name_at) = (claim.text("name"), at.child("name"));
        if name.is_empty() {
            errors.required(&name_at, "");
        } else if taken.contains(name) {
            errors.duplicate(&name_at, name);
        } else {
            errors.invalid_each(&name_at, name, names::dns1123_label(name));
            taken.insert(name);
        }
        let fields = ["resourceClaimName", "resourceClaimTemplateName"];
        match fields.iter().filter(|field| claim.has(field)).count() {
            0 => errors.invalid(
                &at,
                Internal(claim),
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            ),
            1 => {}
            _ => errors.invalid(
                &at,
                Internal(claim),
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
            ),
        }
        for field in fields.iter().filter(|field| claim.has(field)) {
            let name = claim.text(field);
            let faults = name_rules::dns_subdomain(name, false);
            errors.invalid_each(&at.child(field), name, faults);
        }
    }
}
