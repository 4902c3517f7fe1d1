//! What services have, and the ranges it is taken from.

use crate::common::cidr::Cidr;
use crate::common::ip;
use crate::service::cluster_ips::texts;
use crate::service::{needs_health_check, node_port};
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use stowplan_apimachinery::View;

/// The addresses and ports that services have.
#[derive(Clone, Default, Debug)]
pub struct InUse {
    /// Cluster IPs.
    pub cluster_ips: BTreeSet<IpAddr>,
    /// Ports on all nodes, those for health checks included.
    pub node_ports: BTreeSet<i64>,
}

impl InUse {
    /// Adds what a service has.
    pub fn add(&mut self, service: &Value) {
        let spec = service.at("spec");
        let ips = texts(spec, "clusterIPs").into_iter().filter_map(ip::parse);
        self.cluster_ips.extend(ips);
        let ports = spec.list("ports").iter().map(node_port);
        self.node_ports.extend(ports.filter(|port| *port != 0));
        if needs_health_check(service) {
            let port = spec.int("healthCheckNodePort");
            self.node_ports.extend(port.filter(|port| *port != 0));
        }
    }

    /// Takes out what a service had.
    pub fn remove(&mut self, service: &Value) {
        let mut gone = Self::default();
        gone.add(service);
        self.cluster_ips.retain(|ip| !gone.cluster_ips.contains(ip));
        self.node_ports.retain(|p| !gone.node_ports.contains(p));
    }
}

impl<'a> FromIterator<&'a Value> for InUse {
    fn from_iter<I: IntoIterator<Item = &'a Value>>(services: I) -> Self {
        let mut all = Self::default();
        for service in services {
            all.add(service);
        }
        all
    }
}

/// Where addresses and ports come from.
#[derive(Clone, Debug)]
pub struct Ranges {
    /// The range of cluster IPs. Its first address belongs to the API server itself.
    pub cluster_ips: Cidr,
    /// The first and the last port.
    pub node_ports: (i64, i64),
}

impl Default for Ranges {
    fn default() -> Self {
        Self {
            cluster_ips: Cidr {
                address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)),
                bits: 24,
            },
            node_ports: (30000, 32767),
        }
    }
}

impl Ranges {
    /// First and last usable address, as numbers. The network's own and the broadcast address are
    /// not usable.
    fn bounds(&self) -> (u32, u32) {
        let IpAddr::V4(network) = self.cluster_ips.network() else {
            return (1, 0);
        };
        let first = u32::from(network);
        let size = 1_u64 << (32 - u32::from(self.cluster_ips.bits.min(32)));
        let last = u64::from(first) + size - 1;
        let last = u32::try_from(last).unwrap_or(u32::MAX);
        (first.saturating_add(1), last.saturating_sub(1))
    }

    /// The address of the API server's own service.
    pub fn kubernetes_ip(&self) -> IpAddr {
        IpAddr::V4(self.bounds().0.into())
    }

    /// Whether a service may have this address.
    pub(super) fn holds_ip(&self, address: IpAddr) -> bool {
        let (first, last) = self.bounds();
        matches!(address, IpAddr::V4(v4) if (first..=last).contains(&u32::from(v4)))
    }

    /// An address that is free, from the upper band while that has some: the lower one is left for
    /// those who ask for a certain address.
    pub(super) fn free_ip(&self, in_use: &InUse, seed: u64) -> Option<IpAddr> {
        let (first, last) = self.bounds();
        let size = i64::from(last) - i64::from(first) + 1;
        let band = lower_band(size, 16, 256, 16);
        let free = |number: i64| {
            let address = u32::try_from(i64::from(first) + number).ok()?;
            let address = IpAddr::V4(address.into());
            let taken = address == self.kubernetes_ip() || in_use.cluster_ips.contains(&address);
            (!taken).then_some(address)
        };
        from_bands(size, band, seed, free)
    }

    /// Whether a port is one of those for services.
    pub(super) fn holds_port(&self, port: i64) -> bool {
        (self.node_ports.0..=self.node_ports.1).contains(&port)
    }

    /// A port that is free and not among `taken`.
    pub(super) fn free_port(
        &self,
        in_use: &InUse,
        taken: &BTreeSet<i64>,
        seed: u64,
    ) -> Option<i64> {
        let (first, last) = self.node_ports;
        let size = last - first + 1;
        let band = lower_band(size, 16, 128, 32);
        let free = |number: i64| {
            let port = first + number;
            let used = in_use.node_ports.contains(&port) || taken.contains(&port);
            (!used).then_some(port)
        };
        from_bands(size, band, seed, free)
    }
}

/// How much of a range is kept for those who name what they want (`calculateRangeOffset`).
fn lower_band(size: i64, least: i64, most: i64, step: i64) -> i64 {
    match size <= least {
        true => 0,
        false => (size / step).clamp(least, most),
    }
}

/// Walks the upper band from a place that the seed picks, then the lower one.
fn from_bands<T>(size: i64, band: i64, seed: u64, free: impl Fn(i64) -> Option<T>) -> Option<T> {
    let walk = |start: i64, len: i64| {
        let offset = match u64::try_from(len) {
            Ok(len) if len > 0 => (seed % len) as i64,
            _ => return None,
        };
        (0..len).find_map(|i| free(start + (offset + i) % len))
    };
    walk(band, size - band).or_else(|| walk(0, band))
}
