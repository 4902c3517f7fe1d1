//! A cluster to draw.

use super::model::{Cluster, NodeRow, PodRow, PodState, Room};
use super::view::View;
use std::sync::Arc;

const GI: i64 = 1 << 30;

/// Four nodes in each of three zones, one of them dead and one cordoned, and three pods that wait.
pub(super) fn cluster() -> Cluster {
    let mut nodes = Vec::new();
    for (zone, last) in [("a", "node-a-4"), ("b", "gpu-b-1"), ("c", "gpu-c-1")] {
        let names = (1..=3).map(|i| format!("node-{zone}-{i}"));
        for (i, name) in names.chain([last.to_owned()]).enumerate() {
            let gpus = if name.starts_with("gpu") { 4 } else { 0 };
            nodes.push(NodeRow {
                is_ready: name != "node-b-2",
                is_cordoned: name == "node-c-3",
                zone: zone.to_owned(),
                room: Room {
                    cpu_m: 8_000,
                    memory: 32 * GI,
                    gpus,
                },
                requested: Room {
                    cpu_m: 1_000 + 2_000 * i as i64,
                    memory: 8 * GI,
                    gpus: gpus / 2,
                },
                pods: 3 + i,
                name,
            });
        }
    }
    nodes.sort_by(|a, b| (&a.zone, &a.name).cmp(&(&b.zone, &b.name)));
    let pod = |namespace: &str, name: &str, node: Option<&str>, state, since| PodRow {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        node: node.map(str::to_owned),
        priority: 10,
        state,
        since,
        message: match node {
            None => "0/12 nodes are available: 1 node(s) were unschedulable, 11 Insufficient \
                     nvidia.com/gpu. preemption: 0/12 nodes are available: 12 Preemption is not \
                     helpful for scheduling."
                .to_owned(),
            Some(_) => String::new(),
        },
        asks: Room {
            cpu_m: 500,
            memory: GI,
            gpus: 0,
        },
    };
    let pods = vec![
        pod("data", "sync-1", Some("node-a-2"), PodState::Succeeded, 400),
        pod("research", "pretrain-xl-0", None, PodState::Waiting, 10),
        pod("research", "train-7-1-x8k2p", None, PodState::Waiting, 940),
        pod(
            "shop",
            "cart-b9f-5xq2w",
            Some("node-a-2"),
            PodState::Ready,
            100,
        ),
        pod("shop", "web-6c4-a\u{1b}[31m", None, PodState::Waiting, 990),
    ];
    Cluster { nodes, pods }
}

/// It, on a screen without colours.
pub(super) fn view() -> View {
    View {
        cluster: Arc::new(cluster()),
        server: "https://127.0.0.1:6443".to_owned(),
        now: 1_000,
        is_synced: true,
        ..View::default()
    }
}
