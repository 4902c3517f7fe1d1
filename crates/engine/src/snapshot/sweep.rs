//! Forgetting names that nothing bears any more.

use super::{Objects, ReadKeys, Snapshot};
use std::hash::Hash;
use stowplan_base::Marks;

impl Snapshot {
    /// Marks the names of all objects.
    pub(crate) fn mark_names(&self, marks: &mut Marks) {
        self.resource_names.names().hash(marks);
        for info in &self.nodes {
            info.node.hash(marks);
            info.pods.hash(marks);
        }
        self.orphans.hash(marks);
        self.listed_pods.each(|_, pod| pod.hash(marks));
        mark(&self.namespaces, marks);
        mark(&self.budgets, marks);
        mark(&self.volumes, marks);
        mark(&self.claims, marks);
        mark(&self.storage_classes, marks);
        mark(&self.csi_nodes, marks);
        mark(&self.csi_drivers, marks);
        mark(&self.storage_capacities, marks);
        mark(&self.volume_attachments, marks);
        mark(self.services.all(), marks);
        mark(&self.replication_controllers, marks);
        mark(&self.replica_sets, marks);
        mark(&self.stateful_sets, marks);
        mark(&self.resource_claims, marks);
        mark(&self.resource_slices, marks);
        mark(&self.device_classes, marks);
        self.extended_resources.mark_names(marks);
    }

    /// Forgets all names that are not marked, and what may speak of them: the log, label groups without pods,
    /// and which labels are read. Whoever keeps something by that has to open it anew.
    pub(crate) fn sweep_names(&mut self, marks: &Marks) {
        self.compact_label_group();
        self.read_keys = ReadKeys::default();
        let owners = [
            self.services.all(),
            &self.replication_controllers,
            &self.replica_sets,
            &self.stateful_sets,
        ];
        for owner in owners.into_iter().flat_map(Objects::iter) {
            self.read_keys.add_selector(&owner.selector);
        }
        let placed = self.nodes.iter().flat_map(|info| &info.pods_with_affinity);
        for pod in placed.chain(self.orphans.values().flatten()) {
            self.read_keys.add_terms(pod);
        }
        self.names.sweep(marks);
    }
}

fn mark<T: Hash>(objects: &Objects<T>, marks: &mut Marks) {
    objects.iter().for_each(|object| object.hash(marks));
}
