//! Ports on all nodes: `txnAllocNodePorts`, `updateNodePorts`.

use super::{Allocation, invalid, kind, set_number};
use crate::common::faults::Faults;
use crate::service::{SPEC, node_port};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_apimachinery::field::ErrorList;
use stowplan_apimachinery::{Edit, Status, View};

/// One request's ports: what it has been given counts as taken at once.
pub(super) struct Ports<'a> {
    with: &'a Allocation<'a>,
    given: BTreeSet<i64>,
}

impl<'a> Ports<'a> {
    pub(super) fn new(with: &'a Allocation<'a>) -> Self {
        Self {
            with,
            given: BTreeSet::new(),
        }
    }

    fn allocate(&mut self, port: i64) -> Result<(), String> {
        let ranges = self.with.ranges;
        // A dry run asks only whether the port is taken.
        if !self.with.dry_run && !ranges.holds_port(port) {
            let (first, last) = ranges.node_ports;
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {first}-{last}"
            ));
        }
        if self.with.in_use.node_ports.contains(&port) || self.given.contains(&port) {
            return Err("provided port is already allocated".to_owned());
        }
        self.given.insert(port);
        Ok(())
    }

    fn next(&mut self) -> Result<i64, String> {
        let port = match self.with.dry_run {
            // Upstream's placeholder: one above the range, or above what the request has.
            true => self.given.last().unwrap_or(&32768) + 1,
            false => {
                let Allocation {
                    ranges,
                    in_use,
                    seed,
                    ..
                } = self.with;
                let free = ranges.free_port(in_use, &self.given, *seed);
                free.ok_or_else(|| "range is full".to_owned())?
            }
        };
        self.given.insert(port);
        Ok(port)
    }

    fn next_or_fail(&mut self) -> Result<i64, Box<Status>> {
        self.next().map_err(|why| {
            Box::new(Status::internal(format!(
                "failed to allocate a nodePort: {why}"
            )))
        })
    }

    fn allocate_or_fail(
        &mut self,
        port: i64,
        index: usize,
        service: &Value,
    ) -> Result<(), Box<Status>> {
        self.allocate(port).map_err(|why| {
            let mut errors = ErrorList::new();
            let path = SPEC.child("ports");
            errors.invalid(&path.index(index).child("nodePort"), port, why);
            invalid(service, &errors)
        })
    }

    /// Ports of a new service. Ports with one number (TCP and UDP) share the node's port.
    pub(super) fn init(&mut self, service: &mut Value) -> Result<(), Box<Status>> {
        let mut by_port: BTreeMap<i64, i64> = BTreeMap::new();
        let ports = service.at("spec").list("ports").to_vec();
        // What the first port of a number that has one asks for.
        let mut asked: BTreeMap<i64, i64> = BTreeMap::new();
        for port in ports.iter().filter(|port| node_port(port) != 0) {
            if let Some(number) = port.int("port") {
                asked.entry(number).or_insert(node_port(port));
            }
        }
        for (i, port) in ports.iter().enumerate() {
            let own = node_port(port);
            if own == 0 && !allocates(service) {
                continue;
            }
            let number = port.int("port").unwrap_or_default();
            let given = match by_port.get(&number) {
                Some(shared) if own == 0 => *shared,
                Some(shared) if own == *shared => own,
                Some(_) => {
                    self.allocate_or_fail(own, i, service)?;
                    own
                }
                None => {
                    let given = match asked.get(&number) {
                        Some(wanted) => {
                            self.allocate_or_fail(*wanted, i, service)?;
                            *wanted
                        }
                        None => self.next_or_fail()?,
                    };
                    by_port.insert(number, given);
                    given
                }
            };
            set_port(service, i, given);
        }
        Ok(())
    }

    /// Ports of a service that changes.
    pub(super) fn update(&mut self, service: &mut Value, old: &Value) -> Result<(), Box<Status>> {
        let before: BTreeSet<i64> = old.at("spec").list("ports").iter().map(node_port).collect();
        let mut all: BTreeSet<(String, i64)> = BTreeSet::new();
        let ports = service.at("spec").list("ports").to_vec();
        for (i, port) in ports.iter().enumerate() {
            let mut own = node_port(port);
            if own == 0 && !allocates(service) {
                continue;
            }
            if own == 0 {
                own = self.next_or_fail()?;
                set_port(service, i, own);
            } else if !before.contains(&own) && !self.given.contains(&own) {
                self.allocate_or_fail(own, i, service)?;
            }
            let key = (port.text("protocol").to_owned(), own);
            if all.contains(&key) {
                let text = format!("duplicate nodePort: {{{} {}}}", key.0, key.1);
                return Err(Box::new(Status::plain_error(text)));
            }
            all.insert(key);
        }
        Ok(())
    }

    /// The port where a load balancer asks for a node's health.
    pub(super) fn allocate_health_check(&mut self, service: &mut Value) -> Result<(), Box<Status>> {
        let wanted = service
            .at("spec")
            .int("healthCheckNodePort")
            .unwrap_or_default();
        let outcome = match wanted {
            0 => self
                .next()
                .map_err(|why| format!("failed to allocate a HealthCheck NodePort 0: {why}")),
            wanted => self.allocate(wanted).map(|()| wanted).map_err(|why| {
                format!("failed to allocate requested HealthCheck NodePort {wanted}: {why}")
            }),
        };
        let port = outcome.map_err(|why| Box::new(Status::internal(why)))?;
        set_number(service.at_mut("spec"), "healthCheckNodePort", port);
        Ok(())
    }
}

/// Whether ports without a number get one.
fn allocates(service: &Value) -> bool {
    match kind(service) {
        "NodePort" => true,
        "LoadBalancer" => service.at("spec").flag("allocateLoadBalancerNodePorts"),
        _ => false,
    }
}

fn set_port(service: &mut Value, index: usize, number: i64) {
    let spec = service.at_mut("spec");
    if let Some(port) = spec.list_mut("ports").get_mut(index) {
        port.set("nodePort", number);
    }
}
