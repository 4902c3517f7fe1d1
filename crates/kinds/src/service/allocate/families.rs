//! Which families of addresses a service has, in a cluster with one range of IPv4.
//!
//! Upstream: `initIPFamilyFields` of `pkg/registry/core/service/storage/alloc.go`.

use super::{invalid, kind};
use crate::common::faults::Faults;
use crate::common::ip;
use crate::service::cluster_ips::{self, texts};
use crate::service::{SPEC, needs_cluster_ip};
use serde_json::{Value, json};
use stowplan_apimachinery::field::ErrorList;
use stowplan_apimachinery::{Edit, Status, View};

const SINGLE: &str = "SingleStack";
const PREFER: &str = "PreferDualStack";
const REQUIRE: &str = "RequireDualStack";

/// Whether a service that would take two families stays as it is: then nothing is looked at.
pub(super) fn keeps_prefer_dual_stack(new: &Value, old: &Value) -> bool {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let same = |key: &str| texts(spec, key) == texts(before, key);
    spec.text("ipFamilyPolicy") == PREFER
        && matches!(before.text("ipFamilyPolicy"), "" | PREFER)
        && kind(new) == kind(old)
        && matches!(kind(new), "ClusterIP" | "NodePort" | "LoadBalancer")
        && same("clusterIPs")
        && same("ipFamilies")
}

/// Fills `ipFamilyPolicy` and `ipFamilies`.
pub(super) fn init(service: &mut Value, old: Option<&Value>) -> Result<(), Box<Status>> {
    if !needs_cluster_ip(service) {
        return Ok(());
    }
    if old.is_some_and(|old| keeps_prefer_dual_stack(service, old)) {
        return Ok(());
    }
    let bare = {
        let spec = service.at("spec");
        spec.text("clusterIP") == "None" && spec.entries("selector").next().is_none()
    };
    let before = old.map_or("", |old| old.at("spec").text("ipFamilyPolicy"));
    let policy = match (before, bare) {
        ("", true) => REQUIRE,
        ("", false) => SINGLE,
        (before, _) => before,
    };
    service.at_mut("spec").default_to("ipFamilyPolicy", policy);
    let faults = cluster_ips::validate(service, old);
    if !faults.is_empty() {
        return Err(invalid(service, &faults));
    }
    let mut errors = ErrorList::new();
    if let Some(old) = old {
        release(service, old, &mut errors);
    }
    one_of_each(service, &mut errors);
    add_families_of_ips(service, &mut errors);
    if !errors.is_empty() {
        return Err(invalid(service, &errors));
    }
    match bare {
        true => init_bare(service),
        false => init_plain(service)?,
    }
    Ok(())
}

fn policy(service: &Value) -> &str {
    service.at("spec").text("ipFamilyPolicy")
}

/// What a service gives up when it goes back to one family.
fn release(service: &mut Value, old: &Value, errors: &mut ErrorList) {
    for (key, what) in [
        ("clusterIPs", "secondary cluster IP"),
        ("ipFamilies", "secondary IP family"),
    ] {
        let count = service.at("spec").list(key).len();
        let same = texts(service.at("spec"), key) == texts(old.at("spec"), key);
        if policy(service) == SINGLE {
            if same && count > 1 {
                service.at_mut("spec").list_mut(key).truncate(1);
            }
        } else if count > 0 && count < old.at("spec").list(key).len() {
            let fault = format!("must be 'SingleStack' to release the {what}");
            errors.invalid(&SPEC.child("ipFamilyPolicy"), policy(service), fault);
        }
    }
}

fn one_of_each(service: &Value, errors: &mut ErrorList) {
    if policy(service) != SINGLE {
        return;
    }
    for (key, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
        if service.at("spec").list(key).len() == 2 {
            let fault = format!(
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
            );
            errors.invalid(&SPEC.child("ipFamilyPolicy"), policy(service), fault);
        }
    }
}

/// Given addresses say of which families the service is.
fn add_families_of_ips(service: &mut Value, errors: &mut ErrorList) {
    let ips: Vec<String> = texts(service.at("spec"), "clusterIPs")
        .into_iter()
        .map(str::to_owned)
        .collect();
    for (i, address) in ips.iter().enumerate() {
        if address == "None" {
            break;
        }
        if i < service.at("spec").list("ipFamilies").len() {
            continue;
        }
        if ip::is_v4(address) {
            let families = service.at_mut("spec").list_mut("ipFamilies");
            families.push(json!("IPv4"));
        } else {
            let family = if ip::is_v6(address) {
                "IPv6"
            } else {
                "unknown"
            };
            errors.invalid(
                &SPEC.child("clusterIPs").index(i),
                json!(ips),
                format!("{family} is not configured on this cluster"),
            );
        }
    }
}

/// Headless and without a selector: somebody else writes the endpoints, of any family.
fn init_bare(service: &mut Value) {
    let both = policy(service) != SINGLE;
    let families = service.at_mut("spec").list_mut("ipFamilies");
    if families.is_empty() {
        families.push(json!("IPv4"));
    }
    if both && let [one] = families.as_slice() {
        let other = if one == "IPv4" { "IPv6" } else { "IPv4" };
        families.push(json!(other));
    }
}

fn init_plain(service: &mut Value) -> Result<(), Box<Status>> {
    let mut errors = ErrorList::new();
    if policy(service) == REQUIRE {
        let fault = "this cluster is not configured for dual-stack services";
        errors.invalid(&SPEC.child("ipFamilyPolicy"), REQUIRE, fault);
    }
    let path = SPEC.child("ipFamilies");
    for (i, family) in texts(service.at("spec"), "ipFamilies")
        .into_iter()
        .enumerate()
    {
        if family != "IPv4" {
            errors.invalid(&path.index(i), family, "not configured on this cluster");
        }
    }
    if !errors.is_empty() {
        return Err(invalid(service, &errors));
    }
    let families = service.at_mut("spec").list_mut("ipFamilies");
    if families.is_empty() {
        families.push(json!("IPv4"));
    }
    Ok(())
}
