//! Back to an earlier moment, by undoing what was logged since.

use super::{Delta, Snapshot};

impl Snapshot {
    /// The cluster as it was when the next change was to have this number; `None` if changes since
    /// are forgotten. Nodes may be in another order, and pods in a later version that looks the same
    /// to everybody.
    pub fn rewound(&self, position: u64) -> Option<Self> {
        let (a, b) = self.log.since(position)?;
        let mut cluster = self.clone();
        for delta in a.iter().chain(b).rev() {
            cluster.undo(delta);
        }
        Some(cluster)
    }

    /// The same, without a copy; `false`, and nothing is undone, if changes since are forgotten.
    pub(crate) fn rewind(&mut self, position: u64) -> bool {
        let Some((a, b)) = self.log.since(position) else {
            return false;
        };
        // What is undone is logged, too.
        let since: Vec<Delta> = a.iter().chain(b).cloned().collect();
        for delta in since.iter().rev() {
            self.undo(delta);
        }
        true
    }

    fn undo(&mut self, delta: &Delta) {
        match delta {
            Delta::Pod {
                added: true, pod, ..
            } => {
                self.remove_pod(&pod.uid);
            }
            Delta::Pod { node, pod, .. } => {
                self.assume_pod(pod.clone(), node.name);
            }
            // Its pods are left without a node, as they were; or get it back.
            Delta::NodeAdded { node, .. } => {
                self.remove_node(node.name);
            }
            Delta::NodeRemoved {
                node,
                pods,
                arrival,
                ..
            } => {
                // Pods that went after their node are not in the log.
                for pod in pods {
                    if self.pod(&pod.uid).is_none() {
                        self.assume_pod(pod.clone(), node.name);
                    }
                }
                self.upsert_node(node.clone());
                if let Some(at) = self.node_position(node.name) {
                    self.nodes[at].arrival = *arrival;
                }
            }
            Delta::NodeUpdated { old, .. } => {
                self.upsert_node(old.clone());
            }
            Delta::Object {
                kind,
                namespace,
                name,
                before,
            } => {
                match before {
                    Some(object) => self.upsert(object.clone()),
                    None => self.remove(*kind, *namespace, *name),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Snapshot;
    use crate::model::{Labels, Namespace, Object, Pod};
    use crate::testing::World;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use stowplan_base::Sym;

    /// What can be seen of a cluster, whatever the order.
    fn seen(cluster: &Snapshot) -> BTreeMap<Sym, (Labels, Vec<String>, u64)> {
        let nodes = cluster.nodes().iter();
        nodes
            .map(|info| {
                let mut pods: Vec<_> = info.pods.iter().map(|pod| pod.key.to_string()).collect();
                pods.sort();
                let labels = info.node.labels.clone();
                (info.node.name, (labels, pods, info.arrival()))
            })
            .collect()
    }

    fn placed(world: &mut World, name: &str, node: Sym) -> Object {
        let pod = world.pod(name, &[]);
        Object::Pod(Arc::new(Pod {
            node_name: Some(node),
            ..pod
        }))
    }

    #[test]
    fn every_change_can_be_undone() {
        let mut world = World::default();
        let mut moments = Vec::new();
        let ns = world.sym("n");
        let mut note = |world: &World| {
            let labels = world.snapshot.namespace_labels(ns).clone();
            moments.push((world.snapshot.log().end(), seen(&world.snapshot), labels));
        };
        let (a, b) = (world.node("a", &[("zone", "1")]), world.node("b", &[]));
        let (a_name, b_name) = (a.name, b.name);
        note(&world);
        world.snapshot.upsert(Object::Node(Arc::new(a)));
        note(&world);
        world.snapshot.upsert(Object::Node(Arc::new(b)));
        for (pod, node) in [("n/p", a_name), ("n/q", a_name), ("n/r", b_name)] {
            let pod = placed(&mut world, pod, node);
            world.snapshot.upsert(pod);
            note(&world);
        }
        let labels = world.labels(&[("team", "x")]);
        let namespace = Namespace { name: ns, labels };
        world
            .snapshot
            .upsert(Object::Namespace(Arc::new(namespace)));
        note(&world);
        let labels = world.labels(&[("team", "y")]);
        let namespace = Namespace { name: ns, labels };
        world
            .snapshot
            .upsert(Object::Namespace(Arc::new(namespace)));
        world.snapshot.remove_pod("n/q");
        note(&world);
        let changed = world.node("a", &[("zone", "2")]);
        world.snapshot.upsert(Object::Node(Arc::new(changed)));
        note(&world);
        let node = crate::model::Kind::Node;
        world.snapshot.remove(node, Sym::EMPTY, a_name);
        note(&world);
        world.snapshot.remove_pod("n/p");
        note(&world);
        for (position, nodes, labels) in &moments {
            let mut in_place = world.snapshot.clone();
            assert!(in_place.rewind(*position));
            for before in [world.snapshot.rewound(*position).unwrap(), in_place] {
                assert_eq!(seen(&before), *nodes, "at {position}");
                assert_eq!(before.namespace_labels(ns), labels, "at {position}");
            }
        }
        assert!(
            world
                .snapshot
                .rewound(world.snapshot.log().end() + 1)
                .is_none()
        );
    }
}
