//! How long the kubelet of a node may keep Secrets and ConfigMaps: the more nodes, the longer. Upstream:
//! `pkg/controller/ttl/ttl_controller.go`.

use crate::{Controller, Cx, Delta, Key, Plan, Watches, Write};
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where kubelets read it, in seconds.
const ANNOTATION: &str = "node.alpha.kubernetes.io/ttl";

/// How many nodes a cluster has at least and at most, and how long things are kept there. The ranges
/// overlap, so that one node more or less does not change all of them again and again.
const BOUNDARIES: [(usize, usize, u32); 5] = [
    (0, 100, 0),
    (90, 500, 15),
    (450, 1000, 30),
    (900, 2000, 60),
    (1800, usize::MAX, 300),
];

/// Annotates nodes when they change.
#[derive(Default)]
pub struct Ttl {
    /// The boundary that holds now.
    step: AtomicUsize,
}

impl Ttl {
    fn seconds(&self, nodes: usize) -> u32 {
        let mut step = self.step.load(Ordering::Relaxed);
        let at = |step: usize| BOUNDARIES.get(step).copied().unwrap_or_default();
        while step + 1 < BOUNDARIES.len() && nodes > at(step).1 {
            step += 1;
        }
        while step > 0 && nodes < at(step).0 {
            step -= 1;
        }
        self.step.store(step, Ordering::Relaxed);
        at(step).2
    }
}

impl Controller for Ttl {
    fn watch(&self, watches: &mut Watches) {
        watches.on::<Node>(|_, delta, keys| {
            if !matches!(delta, Delta::Deleted(_)) {
                keys.add_object(&**delta.object());
            }
        });
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let Some(node) = cx.cluster.get::<Node>("", &key.name) else {
            return Plan::nothing();
        };
        let wanted = self.seconds(cx.cluster.of::<Node>().len()).to_string();
        let annotations = node.metadata.annotations.as_ref();
        if annotations.and_then(|all| all.get(ANNOTATION)) == Some(&wanted) {
            return Plan::nothing();
        }
        let patch = json!({"metadata": {"annotations": {ANNOTATION: wanted}}});
        Plan::write(Write::strategic_merge::<Node>(key, "", &patch).tolerating(&[404]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    /// Upstream: `TestDesiredTTL`, `TestPatchNode`.
    #[test]
    fn the_more_nodes_the_longer() {
        let ttl = Ttl::default();
        for (nodes, seconds) in [
            (1, 0),
            (100, 0),
            (101, 15),
            (95, 15),
            (89, 0),
            (1001, 60),
            (899, 30),
            (5000, 300),
            (1799, 60),
            (0, 0),
        ] {
            assert_eq!(ttl.seconds(nodes), seconds, "{nodes}");
        }
    }

    #[test]
    fn a_node_is_annotated_once() {
        let mut world = World::default();
        let ttl = Ttl::default();
        world.add_json::<Node>(json!({"metadata": {"name": "n", "annotations": {"a": "b"}}}));
        for writes in [1, 0] {
            world.sync(&ttl, "", "n");
            assert_eq!(world.take_writes().len(), writes);
        }
        let node = world.get::<Node>("", "n");
        let annotations = node.metadata.annotations.as_ref().expect("annotations");
        assert_eq!(annotations[ANNOTATION], "0");
        assert_eq!(annotations["a"], "b");
        world.sync(&ttl, "", "gone");
        assert!(world.take_writes().is_empty());
    }
}
