//! Nodes that fail, are cut off, or are slow.

use super::{BY_NODE, World};
use crate::node::Fault;
use stowplan_base::Time;

/// Which nodes are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which<'a> {
    /// The one of this name.
    Node(&'a str),
    /// All in this zone.
    Zone(&'a str),
}

impl World {
    /// Says what is wrong with nodes from now on, and how many these are.
    pub(crate) fn set_faults(
        &mut self,
        which: Which<'_>,
        fault: Option<Fault>,
        now: Time,
    ) -> usize {
        let ids: Vec<u32> = match which {
            Which::Node(name) => self.node_id(name).into_iter().collect(),
            Which::Zone(zone) => {
                let all = self.nodes.iter();
                let inside = all.filter(|(_, node)| node.zone() == Some(zone));
                inside.map(|(id, _)| id).collect()
            }
        };
        for id in &ids {
            self.set_fault(*id, fault, now);
        }
        ids.len()
    }

    pub(super) fn set_fault(&mut self, id: u32, fault: Option<Fault>, now: Time) {
        let Some(node) = self.nodes.get_mut(id) else {
            return;
        };
        let before = std::mem::replace(&mut node.fault, fault);
        let was_silent = matches!(before, Some(Fault::Fail | Fault::Partition));
        let name = node.name.clone();
        let pods: Vec<u32> = node.pods.iter().copied().collect();
        if before == Some(Fault::Fail) && fault != before {
            // Nothing went on meanwhile.
            for pod in &pods {
                if let Some(entry) = self.pods.get_mut(*pod) {
                    entry.sim.at = now.max(entry.sim.at);
                }
            }
        }
        let is_silent = matches!(fault, Some(Fault::Fail | Fault::Partition));
        if was_silent && !is_silent {
            self.queue_status(id);
            self.queue_lease(id);
            for pod in self.store.indexed(BY_NODE, &name) {
                self.pod_seen(&pod, now);
            }
        }
    }
}
