//! One simulated node: what it is, what is on it, and how it is doing.

mod addresses;
mod object;
mod template;

pub(crate) use addresses::{Blocks, Cidr};
pub(crate) use object::{Facts, prepared, status_patch};
pub use template::NodeTemplate;

use crate::admission::Room;
use k8s_openapi::api::core::v1::Node;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Nodes of ours have this annotation, with the value `simulated`, or `process` if pods really run there.
pub const NODE: &str = "stowplan.dev/node";
/// The value of [`NODE`] where pods really run.
pub(crate) const PROCESS: &str = "process";
/// Nodes that KWOK would play have this annotation, with the value `fake`.
pub const KWOK_NODE: &str = "kwok.x-k8s.io/node";
/// What is wrong with a node: `fail`, `partition`, `slow=3`; nothing if it is empty or not there.
pub const FAULT: &str = "stowplan.dev/fault";

/// What is wrong with a node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fault {
    /// It is down: no heartbeats, no reports, and nothing on it goes on.
    Fail,
    /// It cannot be reached, nor reach anybody; what is on it goes on.
    Partition,
    /// All that it does takes so many times longer.
    Slow(f64),
}

impl Fault {
    /// `fail`, `partition`, `slow=3`; `None` if all is well, or it makes no sense.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "fail" => Some(Self::Fail),
            "partition" => Some(Self::Partition),
            text => {
                let factor: f64 = text.strip_prefix("slow=")?.parse().ok()?;
                (factor.is_finite() && factor > 0.0).then_some(Self::Slow(factor))
            }
        }
    }

    /// What the annotation of a node says.
    pub(crate) fn of(node: &Node) -> Option<Self> {
        let annotations = node.metadata.annotations.as_ref()?;
        Self::parse(annotations.get(FAULT)?)
    }
}

/// Whether a node's pods are to run for real.
pub(crate) fn is_real(node: &Node) -> bool {
    let annotations = node.metadata.annotations.as_ref();
    let kind = annotations.and_then(|all| all.get(NODE));
    kind.is_some_and(|kind| kind == PROCESS)
}

/// Whether a node is to be simulated.
pub(crate) fn is_simulated(node: &Node) -> bool {
    let annotations = node.metadata.annotations.as_ref();
    let is = |name: &str, value: &str| {
        annotations
            .and_then(|all| all.get(name))
            .is_some_and(|found| found == value)
    };
    is(NODE, "simulated") || is(KWOK_NODE, "fake")
}

/// One simulated node.
#[derive(Debug)]
pub(crate) struct NodeSim {
    pub(crate) name: Box<str>,
    /// The node as the API has it.
    pub(crate) object: Arc<Node>,
    pub(crate) host: Ipv4Addr,
    pub(crate) cidr: Cidr,
    pub(crate) room: Room,
    /// Whether its pods really run.
    pub(crate) is_real: bool,
    /// What its annotation said when it was last read.
    pub(crate) annotated: Option<Fault>,
    pub(crate) fault: Option<Fault>,
    /// The pods on it, by their places.
    pub(crate) pods: BTreeSet<u32>,
    /// Whether its lease is known to be there.
    pub(crate) has_lease: bool,
    /// Whether its lease, or its status, already waits to be written.
    pub(crate) is_lease_queued: bool,
    pub(crate) is_status_queued: bool,
}

impl NodeSim {
    /// Whether nothing is heard of it.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.fault, Some(Fault::Fail | Fault::Partition))
    }

    /// How many times slower than others it is.
    pub(crate) fn slowness(&self) -> f64 {
        match self.fault {
            Some(Fault::Slow(factor)) => factor,
            _ => 1.0,
        }
    }

    pub(crate) fn zone(&self) -> Option<&str> {
        let labels = self.object.metadata.labels.as_ref()?;
        labels
            .get("topology.kubernetes.io/zone")
            .map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_words() {
        let rows = [
            ("fail", Some(Fault::Fail)),
            (" partition ", Some(Fault::Partition)),
            ("slow=2.5", Some(Fault::Slow(2.5))),
            ("slow=0", None),
            ("slow=NaN", None),
            ("", None),
            ("other", None),
        ];
        for (text, fault) in rows {
            assert_eq!(Fault::parse(text), fault, "{text}");
        }
    }
}
