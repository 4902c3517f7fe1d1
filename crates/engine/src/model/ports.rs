//! Host ports.

use stowplan_base::Sym;

/// A transport protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Protocol {
    /// TCP, the default.
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

/// A port that a container asks for on the node itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HostPort {
    /// The address, or `None` for every address (upstream: `""` and `0.0.0.0`; not `::`).
    pub ip: Option<Sym>,
    /// The protocol.
    pub protocol: Protocol,
    /// The port, 1 to 65535.
    pub port: u16,
}

impl HostPort {
    /// Whether both cannot be served by one node.
    pub fn conflicts(&self, other: &Self) -> bool {
        self.port == other.port
            && self.protocol == other.protocol
            && (self.ip == other.ip || self.ip.is_none() || other.ip.is_none())
    }
}

/// The host ports in use on a node.
///
/// A set, as upstream's `HostPortInfo` is: removing one of two pods that hold the same port frees
/// it.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct UsedPorts(Vec<HostPort>);

impl Clone for UsedPorts {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

impl UsedPorts {
    /// Takes a port.
    pub fn add(&mut self, port: HostPort) {
        if !self.0.contains(&port) {
            self.0.push(port);
        }
    }

    /// Gives a port back.
    pub fn remove(&mut self, port: HostPort) {
        self.0.retain(|held| *held != port);
    }

    /// Whether `wanted` collides with a port in use.
    pub fn conflicts(&self, wanted: &HostPort) -> bool {
        self.0.iter().any(|held| held.conflicts(wanted))
    }
}
