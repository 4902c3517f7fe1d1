//! Addresses and ports of services: which are taken, and which a service gets.
//!
//! Pure: what is in use comes in, the service goes out with its fields filled. The server calls
//! [`begin_create`] and [`begin_update`] after mutating admission and before the strategy prepares
//! the object, and stores the outcome in the same transaction in which it read what is in use.
//! Upstream: `pkg/registry/core/service/storage/{alloc,storage}.go`.

mod families;
mod in_use;
mod ports;
#[cfg(test)]
mod tests;

use super::cluster_ips::texts;
use super::{SPEC, needs_cluster_ip, needs_health_check, node_port};
use crate::common::faults::Faults;
use crate::common::ip;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use stowplan_apimachinery::field::ErrorList;
use stowplan_apimachinery::meta::{self, GroupKind};
use stowplan_apimachinery::{Edit, Status, View, go};

pub use in_use::{InUse, Ranges};
use ports::Ports;

/// What an allocation goes by.
pub struct Allocation<'a> {
    /// The ranges to take from.
    pub ranges: &'a Ranges,
    /// What other services have; of a service that changes, what it has itself too.
    pub in_use: &'a InUse,
    /// Where in a range to start looking for a free one.
    pub seed: u64,
    /// Whether nothing will be stored. Upstream then gives out values that nobody can have.
    pub dry_run: bool,
}

/// Gives a new service its addresses and ports.
pub fn begin_create(service: &mut Value, with: &Allocation<'_>) -> Result<(), Box<Status>> {
    let spec = service.at("spec");
    let single = spec.text("clusterIP").to_owned();
    if !single.is_empty() && spec.list("clusterIPs").is_empty() {
        service.at_mut("spec").set("clusterIPs", json!([single]));
    }
    families::init(service, None)?;
    allocate_cluster_ips(service, with)?;
    let mut ports = Ports::new(with);
    if matches!(kind(service), "NodePort" | "LoadBalancer") {
        ports.init(service)?;
    }
    if needs_health_check(service) {
        ports.allocate_health_check(service)?;
    }
    Ok(())
}

/// Gives a service that changes what it lacks, and lets it keep what it has.
pub fn begin_update(
    new: &mut Value,
    old: &Value,
    with: &Allocation<'_>,
) -> Result<(), Box<Status>> {
    keep_allocated(new, old);
    normalize_cluster_ips(new, old);
    families::init(new, Some(old))?;
    update_cluster_ips(new, old, with)?;
    let mut ports = Ports::new(with);
    if matches!(kind(new), "NodePort" | "LoadBalancer") {
        ports.update(new, old)?;
    }
    if !needs_health_check(old) && needs_health_check(new) {
        ports.allocate_health_check(new)?;
    }
    Ok(())
}

fn kind(service: &Value) -> &str {
    service.at("spec").text("type")
}

fn invalid(service: &Value, errors: &ErrorList) -> Box<Status> {
    let kind = GroupKind::new("", "Service");
    Box::new(Status::invalid(&kind, meta::name(service), errors))
}

/// A client that does not know of allocated values leaves them out of an update: they stay.
fn keep_allocated(new: &mut Value, old: &Value) {
    let before = old.at("spec");
    if needs_cluster_ip(old) && needs_cluster_ip(new) {
        let spec = new.at_mut("spec");
        if spec.text("clusterIP").is_empty() && before.has("clusterIP") {
            spec.set("clusterIP", before.at("clusterIP").clone());
        }
        if spec.list("clusterIPs").is_empty() && before.has("clusterIPs") {
            spec.set("clusterIPs", before.at("clusterIPs").clone());
        }
    }
    if gets_node_ports(old) && gets_node_ports(new) {
        keep_node_ports(new, old);
    }
    if needs_health_check(old) && needs_health_check(new) {
        let spec = new.at_mut("spec");
        if spec.int("healthCheckNodePort").unwrap_or_default() == 0 {
            let port = before.int("healthCheckNodePort").unwrap_or_default();
            set_number(spec, "healthCheckNodePort", port);
        }
    }
}

fn gets_node_ports(service: &Value) -> bool {
    let allocates = service.at("spec").at("allocateLoadBalancerNodePorts");
    match kind(service) {
        "NodePort" => true,
        "LoadBalancer" => allocates.as_bool().unwrap_or(true),
        _ => false,
    }
}

/// Ports without a number get the one that the port of that name had, unless another has it now.
fn keep_node_ports(new: &mut Value, old: &Value) {
    let before = old.at("spec").list("ports");
    let now = new.at("spec").list("ports").iter();
    let now: BTreeSet<i64> = now.map(node_port).collect();
    let held: BTreeSet<i64> = before.iter().map(node_port).collect();
    // Of several of a name the last one counts.
    let by_name: BTreeMap<&str, i64> = before
        .iter()
        .map(|p| (p.text("name"), node_port(p)))
        .collect();
    let still_used = |number: i64| number != 0 && now.contains(&number) && held.contains(&number);
    for port in new.at_mut("spec").each_mut("ports") {
        if node_port(port) != 0 {
            continue;
        }
        let name = port.text("name");
        let number = by_name.get(name).copied().unwrap_or_default();
        if !still_used(number) {
            set_number(port, "nodePort", number);
        }
    }
}

/// Zero is not written.
fn set_number(object: &mut Value, key: &str, number: i64) {
    match number {
        0 => {
            object.unset(key);
        }
        number => object.set(key, number),
    }
}

/// The old single field and the new list say the same; the caller may have changed only one.
fn normalize_cluster_ips(new: &mut Value, old: &Value) {
    let before = old.at("spec");
    let spec = new.at_mut("spec");
    let same_single = spec.text("clusterIP") == before.text("clusterIP");
    let list = texts(before, "clusterIPs");
    if !list.is_empty() && spec.list("clusterIPs").is_empty() && same_single {
        let list = before.at("clusterIPs").clone();
        spec.set("clusterIPs", list);
    }
    if same_single || texts(spec, "clusterIPs") != list {
        return;
    }
    match spec.text("clusterIP").to_owned().as_str() {
        "" => {
            spec.unset("clusterIPs");
        }
        single => spec.set("clusterIPs", json!([single])),
    }
}

fn update_cluster_ips(
    new: &mut Value,
    old: &Value,
    with: &Allocation<'_>,
) -> Result<(), Box<Status>> {
    if families::keeps_prefer_dual_stack(new, old) {
        return Ok(());
    }
    if !needs_cluster_ip(old) && needs_cluster_ip(new) {
        return allocate_cluster_ips(new, with);
    }
    // With one range there is no second family to gain: `families::init` has refused it.
    Ok(())
}

/// One address for each family that lacks one; given ones have to be free.
fn allocate_cluster_ips(service: &mut Value, with: &Allocation<'_>) -> Result<(), Box<Status>> {
    let headless = texts(service.at("spec"), "clusterIPs").first() == Some(&"None");
    if !needs_cluster_ip(service) || headless {
        return Ok(());
    }
    let families = service.at("spec").list("ipFamilies").len();
    let mut ips: Vec<String> = texts(service.at("spec"), "clusterIPs")
        .into_iter()
        .map(str::to_owned)
        .collect();
    ips.resize(families.max(ips.len()), String::new());
    for i in 0..families {
        let Some(address) = ips.get(i).cloned() else {
            break;
        };
        let given = match address.as_str() {
            "" => with.next_ip(service)?.to_string(),
            _ => {
                with.check_ip(service, &address)?;
                address
            }
        };
        if i == 0 {
            service.at_mut("spec").set("clusterIP", given.as_str());
        }
        ips[i] = given;
    }
    service.at_mut("spec").set("clusterIPs", json!(ips));
    Ok(())
}

impl Allocation<'_> {
    fn next_ip(&self, service: &Value) -> Result<IpAddr, Box<Status>> {
        if self.dry_run {
            return Ok(self.ranges.cluster_ips.network());
        }
        let free = self.ranges.free_ip(self.in_use, self.seed);
        free.ok_or_else(|| {
            let name = go::quote(meta::name(service));
            Box::new(Status::internal(format!(
                "failed to allocate a serviceIP for Service {name}: range is full"
            )))
        })
    }

    fn check_ip(&self, service: &Value, text: &str) -> Result<(), Box<Status>> {
        let Some(address) = ip::parse(text) else {
            let name = go::quote(text);
            let fault = format!("failed to parse service IP {name}");
            return Err(Box::new(Status::internal(fault)));
        };
        let inside = self.ranges.holds_ip(address);
        let why = match (inside, self.dry_run) {
            (true, true) => return Ok(()),
            (true, false) if !self.in_use.cluster_ips.contains(&address) => return Ok(()),
            (true, false) => "provided IP is already allocated".to_owned(),
            (false, false) => "the provided network does not match the current range".to_owned(),
            (false, true) => format!(
                "the provided IP ({address}) is not in the valid range. The range of valid IPs is {}",
                self.ranges.cluster_ips.canonical()
            ),
        };
        let mut errors = ErrorList::new();
        errors.invalid(
            &SPEC.child("clusterIPs"),
            service.at("spec").at("clusterIPs"),
            format!("failed to allocate IP {text}: {why}"),
        );
        Err(invalid(service, &errors))
    }
}
