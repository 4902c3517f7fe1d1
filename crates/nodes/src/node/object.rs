//! What a kubelet says of its node. Upstream's `kubelet_node_status.go` and `nodestatus/setters.go`.

use super::{NODE, is_real};
use crate::kubelet::{digest, hash, mix};
use crate::status::{rfc3339, rfc3339_secs};
use crate::world::NodeFact;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use stowplan_base::Time;

/// What the simulated kubelets say that they are.
pub(crate) const KUBELET_VERSION: &str = "v1.36.4";

/// What a node is that offers nothing in particular, as KWOK's are.
const ROOM: [(&str, &str); 4] = [
    ("cpu", "32"),
    ("memory", "256Gi"),
    ("ephemeral-storage", "100Gi"),
    ("pods", "110"),
];

/// The conditions that a kubelet reports: type, whether it is good that it holds, reason and message.
const CONDITIONS: [(&str, bool, &str, &str); 4] = [
    (
        "MemoryPressure",
        false,
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    (
        "DiskPressure",
        false,
        "KubeletHasNoDiskPressure",
        "kubelet has no disk pressure",
    ),
    (
        "PIDPressure",
        false,
        "KubeletHasSufficientPID",
        "kubelet has sufficient PID available",
    ),
    (
        "Ready",
        true,
        "KubeletReady",
        "kubelet is posting ready status",
    ),
];

/// The node of a manifest as it is registered.
pub(crate) fn prepared(node: &Node, is_real: bool) -> Node {
    let mut node = node.clone();
    let meta = &mut node.metadata;
    let name = meta.name.clone().unwrap_or_default();
    let annotations = meta.annotations.get_or_insert_default();
    let kind = if is_real { super::PROCESS } else { "simulated" };
    annotations.insert(NODE.to_owned(), kind.to_owned());
    let attach = "volumes.kubernetes.io/controller-managed-attach-detach";
    annotations
        .entry(attach.to_owned())
        .or_insert_with(|| "true".to_owned());
    let labels = meta.labels.get_or_insert_default();
    for (key, value) in [
        ("kubernetes.io/hostname", &*name),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
    ] {
        labels
            .entry(key.to_owned())
            .or_insert_with(|| value.to_owned());
    }
    // What a server once said of another node does not hold of this one.
    meta.uid = None;
    meta.resource_version = None;
    meta.creation_timestamp = None;
    meta.managed_fields = None;
    meta.deletion_timestamp = None;
    meta.owner_references = None;
    node
}

/// What a node says of itself beside its conditions.
pub(crate) struct Facts<'a> {
    pub(crate) host: Ipv4Addr,
    /// More conditions.
    pub(crate) more: &'a [NodeFact],
}

/// All that a kubelet reports of its node, as a patch of its status. What the node already says of its
/// room, addresses and kind stays.
pub(crate) fn status_patch(node: &Node, facts: &Facts<'_>, now: Time) -> Value {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let said = node.status.as_ref();
    let mut status = json!({"conditions": conditions(node, facts.more, now)});
    let capacity = said.and_then(|status| status.capacity.as_ref());
    let allocatable = said.and_then(|status| status.allocatable.as_ref());
    let room = match (capacity, allocatable) {
        (Some(_), Some(_)) => None,
        (Some(one), None) | (None, Some(one)) => serde_json::to_value(one).ok(),
        (None, None) => Some(
            ROOM.iter()
                .map(|(key, value)| ((*key).to_owned(), json!(value)))
                .collect(),
        ),
    };
    if let Some(room) = room {
        status["capacity"] = room.clone();
        status["allocatable"] = room;
    }
    if said
        .and_then(|status| status.addresses.as_ref())
        .is_none_or(Vec::is_empty)
    {
        status["addresses"] = json!([
            {"type": "InternalIP", "address": facts.host.to_string()},
            {"type": "Hostname", "address": name},
        ]);
    }
    let info = said.and_then(|status| status.node_info.as_ref());
    if info.is_none_or(|info| info.kubelet_version.is_empty()) {
        let id = digest(&["machine", name]);
        status["nodeInfo"] = json!({
            "machineID": &id[..32],
            "systemUUID": uuid(&["system", name]),
            "bootID": uuid(&["boot", name]),
            "kernelVersion": "6.12.0",
            "osImage": if is_real(node) { "Linux" } else { "Simulated Linux" },
            "containerRuntimeVersion": match is_real(node) {
                true => "process://1.0.0",
                false => "simulated://1.0.0",
            },
            "kubeletVersion": KUBELET_VERSION,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        });
        status["daemonEndpoints"] = json!({"kubeletEndpoint": {"Port": 10250}});
        status["features"] = json!({"supplementalGroupsPolicy": true});
        status["declaredFeatures"] = json!([
            "InPlacePodLevelResourcesVerticalScaling",
            "RestartAllContainersOnContainerExits",
        ]);
    }
    json!({"status": status})
}

fn uuid(parts: &[&str]) -> String {
    let first = hash(parts);
    let second = mix(first ^ 1);
    let [a, b, c] = [first >> 32, first >> 16 & 0xffff, first & 0xfff];
    let [d, e] = [second >> 50 | 0x8000, second & 0xffff_ffff_ffff];
    format!("{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}")
}

fn conditions(node: &Node, more: &[NodeFact], now: Time) -> Value {
    let said = node
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let said: Vec<_> = said.collect();
    let one = |(name, holds, reason, message): (&str, bool, &str, &str)| {
        let status = if holds { "True" } else { "False" };
        let before = said
            .iter()
            .find(|one| one.type_ == name && one.status == status);
        let since = before.and_then(|one| one.last_transition_time.as_ref());
        let since = since.map(|at| rfc3339_secs(Timestamp::as_second(at.0)));
        json!({
            "type": name,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": rfc3339(now),
            "lastTransitionTime": since.unwrap_or_else(|| rfc3339(now)),
        })
    };
    let more = more
        .iter()
        .map(|fact| (fact.name, fact.holds, fact.reason, &*fact.message));
    CONDITIONS.iter().copied().chain(more).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_says_all_that_a_kubelet_says_and_keeps_what_it_said() {
        let facts = Facts {
            host: Ipv4Addr::new(172, 18, 0, 2),
            more: &[],
        };
        let now = Time::from_secs(1_800_000_000);
        let node: Node = serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap();
        let first = status_patch(&node, &facts, now);
        let status = &first["status"];
        assert_eq!(status["allocatable"]["pods"], "110");
        assert_eq!(status["addresses"][0]["address"], "172.18.0.2");
        assert_eq!(status["nodeInfo"]["kubeletVersion"], KUBELET_VERSION);
        let kinds: Vec<_> = status["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| (c["type"].as_str().unwrap(), c["status"].as_str().unwrap()))
            .collect();
        assert_eq!(
            kinds,
            [
                ("MemoryPressure", "False"),
                ("DiskPressure", "False"),
                ("PIDPressure", "False"),
                ("Ready", "True")
            ]
        );
        let mut merged = serde_json::to_value(&node).unwrap();
        merged["status"] = status.clone();
        let node: Node = serde_json::from_value(merged).unwrap();
        let later = status_patch(&node, &facts, now + stowplan_base::Duration::from_secs(300));
        let ready = &later["status"]["conditions"][3];
        assert_eq!(ready["lastTransitionTime"], "2027-01-15T08:00:00Z");
        assert_eq!(ready["lastHeartbeatTime"], "2027-01-15T08:05:00Z");
        assert_eq!(later["status"].as_object().unwrap().len(), 1);
    }
}
