//! Whose volumes would have to go.

use super::surplus;
use crate::cast::count;
use crate::model::{CsiNode, Pod};
use crate::snapshot::{AttachedVolume, attachable_volumes};
use crate::{Attached, NodeInfo, Snapshot};
use std::borrow::Cow;
use std::sync::Arc;

/// A node that has no room for the volumes of a pod.
pub(crate) struct Holders<'a> {
    node: &'a NodeInfo,
    csi_node: &'a CsiNode,
    new: Box<[AttachedVolume]>,
    attached: Cow<'a, Attached>,
}

/// A pod on the node and its volumes there.
type Holder = (Arc<Pod>, Box<[AttachedVolume]>);

impl<'a> Holders<'a> {
    /// `None` if the node has no limits, or the volumes cannot be counted.
    pub(crate) fn of(cluster: &Snapshot, pod: &Pod, node: &'a NodeInfo) -> Option<Self> {
        let attached = match node.attached() {
            Some(attached) => Cow::Borrowed(attached),
            None => Cow::Owned(Attached::of(cluster, node).ok()?),
        };
        Some(Self {
            node,
            csi_node: node.csi_node.as_ref()?,
            new: attachable_volumes(cluster, pod, true).ok()?,
            attached,
        })
    }

    /// How many volumes are too many.
    pub(crate) fn surplus(&self) -> i64 {
        self.surplus_without(&[], &[])
    }

    /// Pods that could go with their volumes: those of the least priority, and of these the ones
    /// with most volumes of the drivers in question. None of them could stay.
    pub(crate) fn who_could_go(&self, cluster: &Snapshot) -> Vec<Arc<Pod>> {
        let is_wanted =
            |volume: &AttachedVolume| self.new.iter().any(|n| n.driver == volume.driver);
        let volumes = |pod: &Arc<Pod>| -> Option<Holder> {
            let volumes = attachable_volumes(cluster, pod, true).ok()?;
            let volumes: Box<[_]> = volumes.iter().copied().filter(is_wanted).collect();
            (!volumes.is_empty()).then(|| (pod.clone(), volumes))
        };
        let mut stay: Vec<Holder> = self.node.pods.iter().filter_map(volumes).collect();
        stay.sort_by(|(a, of_a), (b, of_b)| {
            let most = of_b.len().cmp(&of_a.len());
            a.priority
                .cmp(&b.priority)
                .then(most)
                .then(a.uid.cmp(&b.uid))
        });
        let mut gone: Vec<Holder> = Vec::new();
        while self.surplus_without(&gone, &stay) > 0 {
            if stay.is_empty() {
                return Vec::new();
            }
            gone.push(stay.remove(0));
        }
        for at in (0..gone.len()).rev() {
            stay.push(gone.remove(at));
            if self.surplus_without(&gone, &stay) > 0
                && let Some(holder) = stay.pop()
            {
                gone.insert(at, holder);
            }
        }
        gone.into_iter().map(|(pod, _)| pod).collect()
    }

    /// The same once some have gone and their volumes are detached.
    fn surplus_without(&self, gone: &[Holder], stay: &[Holder]) -> i64 {
        let volumes = |pods: &'_ [Holder]| -> Vec<AttachedVolume> {
            pods.iter().flat_map(|(_, v)| v.iter().copied()).collect()
        };
        let held = volumes(stay);
        let mut freed = volumes(gone);
        freed.retain(|volume| !held.contains(volume));
        freed.sort_unstable();
        freed.dedup();
        let in_use = |v: &AttachedVolume| self.attached.is_in_use(v) && !freed.contains(v);
        let mut drivers: Vec<_> = self.new.iter().map(|volume| volume.driver).collect();
        drivers.dedup();
        let surpluses = drivers.into_iter().map(|driver| {
            let freed = freed.iter().filter(|volume| volume.driver == driver);
            let attached = self.attached.count(driver) - count(freed.count());
            surplus(self.csi_node, driver, attached, &self.new, in_use)
        });
        surpluses.sum()
    }
}
