//! Whether a node takes a pod on: what a kubelet checks before it runs it.
//!
//! Upstream: `pkg/kubelet/lifecycle/predicate.go`, in its order and words. The first thing that is wrong
//! is the reason.

mod affinity;
mod amounts;
mod taints;

pub(crate) use amounts::{Amounts, reported, requests_of};

use crate::kubelet::pod_spec;
use k8s_openapi::api::core::v1::{Node, Pod};
use std::collections::BTreeMap;

/// Why a pod is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// What a node has, and what is taken of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room {
    pub(crate) allocatable: Amounts,
    pub(crate) pods_max: i64,
    pub(crate) used: Amounts,
    pub(crate) pods: i64,
    /// Ports of the host that are taken: protocol, address and number, by how many.
    pub(crate) ports: BTreeMap<(Box<str>, Box<str>, i32), u32>,
}

impl Room {
    /// Notes what a node offers.
    pub(crate) fn set_allocatable(&mut self, node: &Node) {
        let offered = node
            .status
            .as_ref()
            .and_then(|status| status.allocatable.as_ref());
        self.allocatable = Amounts::of(offered);
        let pods = offered.and_then(|offered| offered.get("pods"));
        self.pods_max = pods.map_or(0, amounts::value);
    }

    /// A pod is on the node.
    pub(crate) fn take(&mut self, pod: &Pod, requests: &Amounts) {
        self.used.add(requests);
        self.pods += 1;
        for port in host_ports(pod) {
            *self.ports.entry(port).or_default() += 1;
        }
    }

    /// A pod takes up another amount than before.
    pub(crate) fn change(&mut self, before: &Amounts, after: &Amounts) {
        self.used.subtract(before);
        self.used.add(after);
    }

    /// A pod is over or gone. Without the pod its ports are not known.
    pub(crate) fn free(&mut self, pod: Option<&Pod>, requests: &Amounts) {
        self.used.subtract(requests);
        self.pods -= 1;
        for port in pod.into_iter().flat_map(host_ports) {
            if let Some(count) = self.ports.get_mut(&port) {
                *count -= 1;
                if *count == 0 {
                    self.ports.remove(&port);
                }
            }
        }
    }
}

/// Ports of the host that the pod takes.
fn host_ports(pod: &Pod) -> Vec<(Box<str>, Box<str>, i32)> {
    let spec = pod_spec(pod);
    let sidecars = spec.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|one| one.restart_policy.as_deref() == Some("Always"));
    let ports = sidecars
        .chain(&spec.containers)
        .flat_map(|one| one.ports.iter().flatten());
    let taken = ports.filter_map(|port| {
        let number = port.host_port.filter(|number| *number > 0)?;
        let protocol = port.protocol.as_deref().unwrap_or("TCP");
        let address = match port.host_ip.as_deref() {
            None | Some("") => "0.0.0.0",
            Some(address) => address,
        };
        Some((protocol.into(), address.into(), number))
    });
    taken.collect()
}

/// Says whether the node takes the pod on.
pub(crate) fn admit(
    pod: &Pod,
    requests: &Amounts,
    node: &Node,
    room: &Room,
) -> Result<(), Refusal> {
    let refuse = |reason: &str, message: &str| {
        Err(Refusal {
            reason: reason.to_owned(),
            message: message.to_owned(),
        })
    };
    let labels = pod.metadata.labels.as_ref();
    if labels
        .and_then(|labels| labels.get("kubernetes.io/os"))
        .is_some_and(|os| os != "linux")
    {
        let message =
            "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label";
        return refuse("PodOSSelectorNodeLabelDoesNotMatch", message);
    }
    let spec = pod_spec(pod);
    if spec.os.as_ref().is_some_and(|os| os.name != "linux") {
        let message = "Failed to admit pod as the OS field doesn't match node OS";
        return refuse("PodOSNotSupported", message);
    }
    if let Some(short) = requests.first_short(room) {
        return Err(short);
    }
    let predicate = |name: &str, description: &str| {
        refuse(name, &format!("Predicate {name} failed: {description}"))
    };
    if !affinity::matches(spec, node) {
        return predicate(
            "NodeAffinity",
            "node(s) didn't match Pod's node affinity/selector",
        );
    }
    let name = node.metadata.name.as_deref();
    if spec
        .node_name
        .as_deref()
        .is_some_and(|wanted| Some(wanted) != name)
    {
        return predicate("NodeName", "node(s) didn't match the requested node name");
    }
    if has_conflict(&host_ports(pod), room) {
        let description = "node(s) didn't have free ports for the requested pod ports";
        return predicate("NodePorts", description);
    }
    if !taints::tolerates(spec, node) {
        return predicate(
            "TaintToleration",
            "node(s) had taints that the pod didn't tolerate",
        );
    }
    Ok(())
}

fn has_conflict(wanted: &[(Box<str>, Box<str>, i32)], room: &Room) -> bool {
    wanted.iter().any(|(protocol, address, number)| {
        room.ports.keys().any(|(other, taken, port)| {
            let is_any = &**taken == "0.0.0.0" || &**address == "0.0.0.0" || taken == address;
            other == protocol && port == number && is_any
        })
    })
}

#[cfg(test)]
mod tests;
