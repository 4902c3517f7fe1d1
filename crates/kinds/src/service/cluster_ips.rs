//! Cluster IPs and their families: `ValidateServiceClusterIPsRelatedFields`.

use super::{SPEC, is_headless};
use crate::common::faults::Faults;
use crate::common::ip;
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::ErrorList;

/// Faults of the addresses; asked before they are given out, and once more with the rest.
pub(super) fn validate(service: &Value, old: Option<&Value>) -> ErrorList {
    let mut errors = ErrorList::new();
    let spec = service.at("spec");
    if spec.text("type") == "ExternalName" {
        return errors;
    }
    let path = SPEC.child("clusterIPs");
    let all = spec.at("clusterIPs");
    let ips = texts(spec, "clusterIPs");
    match (spec.text("clusterIP"), ips.first()) {
        ("", None) => {}
        ("", Some(_)) => {
            let fault = "must be empty when `clusterIP` is not specified";
            errors.invalid(&path, all, fault);
        }
        (_, None) => errors.required(&path, ""),
        (one, Some(first)) if one != *first => {
            errors.invalid(&path, all, "first value must match `clusterIP`");
        }
        _ => {}
    }
    validate_families(spec, &mut errors);
    let stored = old.map_or_else(Vec::new, |old| texts(old.at("spec"), "clusterIPs"));
    let stored: BTreeSet<&str> = stored.into_iter().collect();
    let mut bad = false;
    for (i, address) in ips.iter().enumerate() {
        if i == 0 && *address == "None" {
            if ips.len() > 1 {
                bad = true;
                errors.invalid(&path, all, "'None' must be the first and only value");
            }
            continue;
        }
        let faults = ip::validate(&path.index(i), address, &stored);
        bad |= !faults.is_empty();
        errors.extend(faults);
    }
    if ips.len() > 2 {
        errors.invalid(&path, all, "may only hold up to 2 values");
    }
    if bad {
        return errors;
    }
    if ips.len() > 1 {
        let parsed: Option<Vec<_>> = ips.iter().map(|text| ip::parse(text)).collect();
        if !parsed.is_some_and(|parsed| ip::is_dual_stack(&parsed)) {
            let fault = "may specify no more than one IP for each IP family";
            errors.invalid(&path, all, fault);
        }
    }
    if !is_headless(service) {
        let families = spec.list("ipFamilies").iter();
        for (i, (address, family)) in ips.iter().zip(families).enumerate() {
            let family = match (family.as_str(), ip::is_v6(address)) {
                (Some("IPv4"), true) => "IPv4",
                (Some("IPv6"), false) => "IPv6",
                _ => continue,
            };
            let fault = format!("expected an {family} value as indicated by `ipFamilies[{i}]`");
            errors.invalid(&path.index(i), *address, fault);
        }
    }
    errors
}

fn validate_families(spec: &Value, errors: &mut ErrorList) {
    let path = SPEC.child("ipFamilies");
    let families = texts(spec, "ipFamilies");
    let mut seen = BTreeSet::new();
    for (i, family) in families.iter().enumerate() {
        if !matches!(*family, "IPv4" | "IPv6") {
            errors.not_supported(&path.index(i), *family, &["IPv4", "IPv6"]);
        }
        if !seen.insert(*family) {
            errors.duplicate(&path.index(i), *family);
        }
    }
    const POLICIES: &[&str] = &["PreferDualStack", "RequireDualStack", "SingleStack"];
    if let Some(policy) = spec.at("ipFamilyPolicy").as_str()
        && !POLICIES.contains(&policy)
    {
        errors.not_supported(&SPEC.child("ipFamilyPolicy"), policy, POLICIES);
    }
}

/// The texts of a list.
pub(super) fn texts<'a>(spec: &'a Value, key: &str) -> Vec<&'a str> {
    let texts = spec.list(key).iter();
    texts
        .map(|text| text.as_str().unwrap_or_default())
        .collect()
}
