//! Nodes that are alike.

use super::NODE;
use k8s_openapi::api::core::v1::{Node, Taint};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Nodes that are alike, spread over zones.
#[derive(Clone, Debug)]
pub struct NodeTemplate {
    /// How many.
    pub count: u32,
    /// In which zones; in none if it is empty.
    pub zones: Vec<String>,
    /// The cpus of each, such as `8`.
    pub cpu: String,
    /// The memory of each, such as `32Gi`.
    pub memory: String,
    /// How many pods each may have.
    pub pods: u32,
    /// How many `nvidia.com/gpu` each has.
    pub gpus: u32,
    /// Taints of each.
    pub taints: Vec<Taint>,
    /// More labels of each.
    pub labels: BTreeMap<String, String>,
    /// What their names begin with.
    pub prefix: String,
}

impl Default for NodeTemplate {
    /// One node of a usual size.
    fn default() -> Self {
        Self {
            count: 1,
            zones: Vec::new(),
            cpu: "8".to_owned(),
            memory: "32Gi".to_owned(),
            pods: 110,
            gpus: 0,
            taints: Vec::new(),
            labels: BTreeMap::new(),
            prefix: "node".to_owned(),
        }
    }
}

impl NodeTemplate {
    /// The nodes: `node-a-1`, `node-b-1`, `node-a-2` in the zones `zone-a` and `zone-b`; `node-1` without
    /// zones.
    pub fn nodes(&self) -> Vec<Node> {
        let zones = self.zones.len().max(1) as u32;
        let node = |i: u32| {
            let zone = self.zones.get((i % zones) as usize);
            self.node(zone.map(String::as_str), i / zones + 1)
        };
        (0..self.count).filter_map(node).collect()
    }

    fn node(&self, zone: Option<&str>, number: u32) -> Option<Node> {
        let prefix = &self.prefix;
        let name = match zone.map(|zone| zone.rsplit('-').next().unwrap_or(zone)) {
            Some(zone) => format!("{prefix}-{zone}-{number}"),
            None => format!("{prefix}-{number}"),
        };
        let size = format!("{}-{}", self.cpu, self.memory.to_lowercase());
        let mut labels: Map<String, Value> = Map::new();
        let mut label = |key: &str, value: &str| labels.insert(key.to_owned(), value.into());
        label("beta.kubernetes.io/arch", "amd64");
        label("beta.kubernetes.io/os", "linux");
        label("kubernetes.io/arch", "amd64");
        label("kubernetes.io/os", "linux");
        label("kubernetes.io/hostname", &name);
        label(
            "node.kubernetes.io/instance-type",
            &format!("simulated-{size}"),
        );
        if let Some(zone) = zone {
            label("topology.kubernetes.io/zone", zone);
            label("topology.kubernetes.io/region", "simulated");
        }
        for (key, value) in &self.labels {
            label(key, value);
        }
        let mut room = json!({
            "cpu": self.cpu,
            "memory": self.memory,
            "ephemeral-storage": "100Gi",
            "pods": self.pods.to_string(),
        });
        if self.gpus > 0 {
            room["nvidia.com/gpu"] = self.gpus.to_string().into();
        }
        let mut node = json!({
            "metadata": {"name": name, "labels": labels, "annotations": {NODE: "simulated"}},
            "spec": {},
            "status": {"capacity": room, "allocatable": room},
        });
        if !self.taints.is_empty() {
            node["spec"]["taints"] = serde_json::to_value(&self.taints).ok()?;
        }
        serde_json::from_value(node).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_follow_the_zones() {
        let template = NodeTemplate {
            count: 3,
            zones: vec!["zone-a".to_owned(), "zone-b".to_owned()],
            gpus: 4,
            labels: [("disk".to_owned(), "ssd".to_owned())].into(),
            ..NodeTemplate::default()
        };
        let nodes = template.nodes();
        let names: Vec<_> = nodes
            .iter()
            .flat_map(|node| node.metadata.name.clone())
            .collect();
        assert_eq!(names, ["node-a-1", "node-b-1", "node-a-2"]);
        let labels = nodes[1].metadata.labels.as_ref().unwrap();
        for (key, value) in [
            ("kubernetes.io/hostname", "node-b-1"),
            ("topology.kubernetes.io/zone", "zone-b"),
            ("topology.kubernetes.io/region", "simulated"),
            ("node.kubernetes.io/instance-type", "simulated-8-32gi"),
            ("disk", "ssd"),
        ] {
            assert_eq!(labels[key], value);
        }
        let capacity = nodes[0].status.as_ref().unwrap().capacity.as_ref().unwrap();
        assert_eq!(capacity["nvidia.com/gpu"].0, "4");
        let plain = NodeTemplate::default().nodes();
        assert_eq!(plain[0].metadata.name.as_deref(), Some("node-1"));
    }
}
