//! Nodes of many kinds, as in a cluster that has grown.

use super::{Maker, gib};
use std::sync::Arc;
use stowplan_base::{Quantity, Rng, sym};
use stowplan_engine::Snapshot;
use stowplan_engine::model::{CsiDriverLimit, CsiNode, Effect, NodeImage, Object, Taint};

/// The zones of mixed nodes.
pub(crate) const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];
/// Labels of mixed nodes besides name and zone, with their values.
pub(crate) const NODE_LABELS: [(&str, &[&str]); 4] = [
    ("kubernetes.io/arch", &["amd64", "amd64", "amd64", "arm64"]),
    ("example.com/disk", &["ssd", "hdd"]),
    (
        "example.com/pool",
        &["blue", "green", "red", "white", "black"],
    ),
    (INSTANCE_TYPE, &["small", "small", "medium", "large"]),
];
/// The size of a node.
pub(crate) const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// Some nodes are kept for pods that tolerate this.
pub(crate) const DEDICATED: (&str, &str) = ("example.com/dedicated", "batch");
/// Some nodes are rather avoided by pods that do not tolerate this.
pub(crate) const SPOT: &str = "example.com/spot";
/// How many images there are, [named](image) by number.
pub(crate) const IMAGES: usize = 200;

/// The name of an image.
pub(crate) fn image(i: usize) -> String {
    format!("registry.example.com/team-{}/app-{i}:v1", i % 17)
}

impl Maker {
    /// The `i`th node, and its CSINode.
    pub(crate) fn mixed_node(&mut self, cluster: &mut Snapshot, i: usize) -> [Object; 2] {
        let mut rng = Rng::new(i as u64 ^ 0x6d69_7865_6400);
        let names = &mut cluster.names;
        let name = names.intern(&format!("worker-{i}"));
        let zone = names.intern(ZONES[i % ZONES.len()]);
        let mut labels = vec![(sym::HOSTNAME, name), (sym::ZONE, zone)];
        let mut cpu = 4;
        for (key, values) in NODE_LABELS {
            let value = values[rng.below(values.len())];
            labels.push((names.intern(key), names.intern(value)));
            if key == INSTANCE_TYPE {
                cpu = match value {
                    "small" => 8,
                    "medium" => 16,
                    _ => 48,
                };
            }
        }
        let mut taint = |key: &str, value: &str, effect| Taint {
            key: names.intern(key),
            value: names.intern(value),
            effect,
        };
        let mut taints = Vec::new();
        if rng.below(20) == 0 {
            taints.push(taint(DEDICATED.0, DEDICATED.1, Effect::NoSchedule));
        }
        if rng.below(10) == 0 {
            taints.push(taint(SPOT, "", Effect::PreferNoSchedule));
        }
        let images = (0..4).map(|_| {
            let i = rng.below(IMAGES);
            NodeImage {
                names: [names.intern(&image(i))].into(),
                size_bytes: (50 + (i as i64 * 37) % 900) << 20,
            }
        });
        let images = images.collect();
        let allocatable = vec![
            (sym::CPU, Quantity::from_units(cpu)),
            (sym::MEMORY, gib(cpu * 4)),
            (sym::PODS, Quantity::from_units(110)),
        ];
        let mut node = self.bare_node(cluster, name, labels, allocatable);
        node.taints = taints.into();
        node.images = images;
        let csi_node = CsiNode {
            name,
            migrated_plugins: Box::default(),
            drivers: [CsiDriverLimit {
                name: sym::AWS_EBS_DRIVER,
                count: Some(39),
            }]
            .into(),
        };
        [
            Object::Node(Arc::new(node)),
            Object::CSINode(Arc::new(csi_node)),
        ]
    }
}
