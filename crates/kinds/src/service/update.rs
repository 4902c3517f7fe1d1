//! What a change of a service may not do.
//!
//! Upstream: `ValidateServiceUpdate` of `pkg/apis/core/validation/validation.go`.

use super::{SPEC, is_headless, needs_health_check};
use crate::common::faults::Faults;
use serde_json::Value;
use stowplan_apimachinery::View;
use stowplan_apimachinery::field::ErrorList;

const ONCE: &str = "may not change once set";

pub(super) fn validate(new: &Value, old: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let external = |spec: &Value| spec.text("type") == "ExternalName";
    if !external(spec) && !external(before) {
        validate_ips(new, old, &mut errors);
        validate_families(new, old, &mut errors);
    }
    let balanced = |spec: &Value| spec.text("type") == "LoadBalancer";
    let class = spec.at("loadBalancerClass");
    if balanced(spec) && balanced(before) && class != before.at("loadBalancerClass") {
        errors.invalid(&SPEC.child("loadBalancerClass"), class, ONCE);
    }
    // Upstream checks the class here, and again with the rest of the service.
    super::external::validate_class(spec, &mut errors);
    let port = |spec: &Value| spec.int("healthCheckNodePort");
    if needs_health_check(old) && needs_health_check(new) && port(spec) != port(before) {
        errors.forbidden(&SPEC.child("healthCheckNodePort"), "field is immutable");
    }
    errors
}

/// The first address stays; the second may come, and go if the policy says so.
fn validate_ips(new: &Value, old: &Value, errors: &mut ErrorList) {
    if is_headless(old) && is_headless(new) {
        return;
    }
    let path = SPEC.child("clusterIPs");
    let shown = new.at("spec").at("clusterIPs");
    let (ips, before) = (
        new.at("spec").list("clusterIPs"),
        old.at("spec").list("clusterIPs"),
    );
    let first_changed = matches!((ips.first(), before.first()), (Some(a), Some(b)) if a != b);
    if ips.len() == before.len() {
        for (i, _) in ips
            .iter()
            .zip(before)
            .enumerate()
            .filter(|(_, (a, b))| a != b)
        {
            errors.invalid(&path.index(i), shown, ONCE);
        }
    } else if ips.is_empty() {
        errors.invalid(&path.index(0), shown, "primary clusterIP can not be unset");
    } else {
        if first_changed {
            errors.invalid(&path.index(0), shown, ONCE);
        }
        if before.len() > ips.len() && ips.len() == 1 {
            let fault = "must be set to 'SingleStack' when releasing the secondary clusterIP";
            single_stack(new, fault, errors);
        }
    }
}

fn validate_families(new: &Value, old: &Value, errors: &mut ErrorList) {
    if is_headless(old) || is_headless(new) {
        return;
    }
    let path = SPEC.child("ipFamilies");
    let path = path.index(0);
    let spec = new.at("spec");
    let (families, before) = (spec.list("ipFamilies"), old.at("spec").list("ipFamilies"));
    if families.len() == before.len() {
        for _ in families.iter().zip(before).filter(|(a, b)| a != b) {
            errors.invalid(&path, spec.at("ipFamilies"), ONCE);
        }
        return;
    }
    let released = before.len() > families.len();
    if released && spec.list("clusterIPs").is_empty() {
        let fault = "primary ipFamily can not be unset";
        errors.invalid(&path, spec.at("ipFamilies"), fault);
    }
    // Upstream shows the addresses here.
    if matches!((families.first(), before.first()), (Some(a), Some(b)) if a != b) {
        errors.invalid(&path, spec.at("clusterIPs"), ONCE);
    }
    if released && families.len() == 1 {
        let fault = "must be set to 'SingleStack' when releasing the secondary ipFamily";
        single_stack(new, fault, errors);
    }
}

fn single_stack(service: &Value, fault: &str, errors: &mut ErrorList) {
    let policy = service.at("spec").at("ipFamilyPolicy");
    if policy != "SingleStack" {
        errors.invalid(&SPEC.child("ipFamilyPolicy"), policy, fault);
    }
}
