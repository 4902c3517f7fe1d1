//! NodeVolumeLimits: how many volumes of a CSI driver can be attached to a node.
//! Upstream's `plugins/nodevolumelimits/csi.go`.

use super::claims::{claim_not_found, uses_claim};
use crate::cast::count;
use crate::framework::{
    Action, AnyPlugin, ClusterEvent, Code, Cx, EnqueueExtensions, EventResource, Filter,
    FilterState, Fit, Hint, NodesToCheck, Plugin, PluginBuilder, PreFilter, PreFilterResult,
    Registration, Scope, Status,
};
use crate::model::csi_migration::driver_of;
use crate::model::{CsiNode, Object, Pod};
use crate::snapshot::{AttachedVolume, Uncounted, attachable_volumes, volume_limit};
use crate::{Attached, NodeInfo, Snapshot};
use std::sync::Arc;
use stowplan_base::Sym;

mod holders;

pub(crate) use holders::Holders;

const LIMIT_EXCEEDED: &str = "node(s) exceed max volume count";

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct NodeVolumeLimits;

/// The volumes of a pod that take up attachments, or why they cannot be counted.
///
/// Migration from in-tree volumes counts only on nodes that have a CSINode.
#[derive(Clone, Debug)]
pub struct NewVolumes {
    with_csi_node: Result<Arc<[AttachedVolume]>, Status>,
    without_csi_node: Fit,
}

impl Default for NewVolumes {
    fn default() -> Self {
        Self {
            with_csi_node: Ok([].into()),
            without_csi_node: Ok(()),
        }
    }
}

impl NewVolumes {
    fn of(cluster: &Snapshot, pod: &Pod) -> Self {
        let volumes = |has_csi_node| {
            let volumes = attachable_volumes(cluster, pod, has_csi_node);
            volumes.map_err(|problem| uncounted(cluster, pod, problem))
        };
        Self {
            with_csi_node: volumes(true).map(Arc::from),
            without_csi_node: volumes(false).map(drop),
        }
    }
}

fn uncounted(cluster: &Snapshot, pod: &Pod, problem: Uncounted) -> Status {
    let claim = match problem {
        Uncounted::Broken(error) => return Status::error(error),
        Uncounted::Missing(claim) => claim,
    };
    let text = format!(
        "looking up PVC {}/{}: {}",
        pod.key.namespace,
        cluster.names.text(claim),
        claim_not_found(claim, &cluster.names)
    );
    Status::made(Code::UnschedulableAndUnresolvable, text)
}

impl NodeVolumeLimits {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .pre_filter()
            .filter()
            .filter_state()
            .enqueue_extensions()
            .build()
    }
}

impl Plugin for NodeVolumeLimits {
    type FilterState = NewVolumes;
    type ScoreState = ();
}

impl PreFilter for NodeVolumeLimits {
    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilterResult<Self::FilterState> {
        if pod.has_attachable_volumes() {
            PreFilterResult::Ready(NewVolumes::of(cx.cluster, pod))
        } else {
            PreFilterResult::Skip
        }
    }

    fn pre_filter_disabled(&self, cx: Cx<'_>, pod: &Pod) -> Result<Self::FilterState, Status> {
        Ok(NewVolumes::of(cx.cluster, pod))
    }
}

impl Filter for NodeVolumeLimits {
    fn filter(&self, cx: Cx<'_>, new: &Self::FilterState, _pod: &Pod, node: &NodeInfo) -> Fit {
        let Some(csi_node) = &node.csi_node else {
            return new.without_csi_node.clone();
        };
        let new = match &new.with_csi_node {
            Ok(new) => new,
            Err(status) => return Err(status.clone()),
        };
        if new.is_empty() || !csi_node.has_limits() {
            return Ok(());
        }
        let fits = match node.attached() {
            Some(attached) => has_room(csi_node, attached, new),
            None => {
                let attached = Attached::of(cx.cluster, node).map_err(Status::error)?;
                has_room(csi_node, &attached, new)
            }
        };
        match fits {
            true => Ok(()),
            false => Err(Status::unschedulable(LIMIT_EXCEEDED)),
        }
    }
}

impl FilterState<NodeVolumeLimits> for NewVolumes {
    const SCOPE: Scope = Scope::Cluster;

    fn ignores(_plugin: &NodeVolumeLimits, pod: &Pod) -> bool {
        !pod.has_attachable_volumes()
    }

    /// A pod whose volumes take up no room fits everywhere.
    fn accepts_all(&self, _plugin: &NodeVolumeLimits, cx: Cx<'_>) -> bool {
        let takes_up_none = || self.with_csi_node.as_ref().is_ok_and(|new| new.is_empty());
        self.without_csi_node.is_ok() && (cx.cluster.csi_nodes.is_empty() || takes_up_none())
    }

    fn nodes_to_check(&self, _plugin: &NodeVolumeLimits, cx: Cx<'_>, _pod: &Pod) -> NodesToCheck {
        let (Ok(new), Ok(())) = (&self.with_csi_node, &self.without_csi_node) else {
            return NodesToCheck::All;
        };
        let mut positions = Vec::new();
        if !new.is_empty() {
            positions.extend(cx.cluster.nodes_with_uncounted_volumes());
        }
        for AttachedVolume { driver, .. } in new.iter() {
            let wanted = new.iter().filter(|volume| volume.driver == *driver);
            let wanted = count(wanted.count());
            positions.extend(cx.cluster.nodes_with_less_room(*driver, wanted));
        }
        NodesToCheck::These(positions)
    }
}

impl EnqueueExtensions for NodeVolumeLimits {
    fn events(&self) -> Vec<Registration> {
        vec![
            Registration::always(EventResource::CSINode, Action::ADD),
            Registration::hinted(EventResource::CSINode, Action::UPDATE),
            Registration::hinted(EventResource::Pod, Action::DELETE),
            Registration::hinted(EventResource::PersistentVolumeClaim, Action::ADD),
            Registration::hinted(EventResource::VolumeAttachment, Action::DELETE),
        ]
    }

    fn hint(
        &self,
        _cx: Cx<'_>,
        _event: &ClusterEvent,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Hint {
        let helps = match (old, new) {
            (Some(Object::Pod(deleted)), _) => {
                (deleted.node_name.is_some() || deleted.nominated_node_name.is_some())
                    && deleted.has_attachable_volumes()
            }
            (_, Some(Object::PersistentVolumeClaim(claim))) => uses_claim(pod, claim),
            (Some(Object::VolumeAttachment(deleted)), _) => {
                return hint_detached(pod, deleted.attacher);
            }
            (Some(Object::CSINode(old)), Some(Object::CSINode(new))) => raises_a_limit(old, new),
            _ => true,
        };
        Hint::queue_if(helps)
    }
}

/// Whether the node has room for the volumes.
fn has_room(csi_node: &CsiNode, attached: &Attached, new: &[AttachedVolume]) -> bool {
    new.iter().all(|AttachedVolume { driver, .. }| {
        let in_use = |volume: &AttachedVolume| attached.is_in_use(volume);
        surplus(csi_node, *driver, attached.count(*driver), new, in_use) == 0
    })
}

/// How many volumes of the driver are too many where so many are attached. What the node's pods use
/// already is not new; what only a VolumeAttachment tells of is.
fn surplus(
    csi_node: &CsiNode,
    driver: Sym,
    attached: i64,
    new: &[AttachedVolume],
    in_use: impl Fn(&AttachedVolume) -> bool,
) -> i64 {
    let Some(limit) = volume_limit(csi_node, driver) else {
        return 0;
    };
    let room = limit - attached;
    let wanted = || new.iter().filter(|volume| volume.driver == driver);
    if count(wanted().count()) <= room {
        return 0;
    }
    match count(wanted().filter(|volume| !in_use(volume)).count()) {
        0 => 0,
        more => (more - room).max(0),
    }
}

fn raises_a_limit(old: &CsiNode, new: &CsiNode) -> bool {
    new.drivers.iter().any(|driver| {
        let before = old.drivers.iter().rev().find(|d| d.name == driver.name);
        driver.count.unwrap_or(0) > before.and_then(|d| d.count).unwrap_or(0)
    })
}

/// Could the pod use the room that a detached volume of `attacher` leaves?
fn hint_detached(pod: &Pod, attacher: Sym) -> Hint {
    for volume in &pod.volumes {
        if volume.named_claim().is_some() {
            return Hint::Queue;
        }
        let Some(migration) = &volume.migration else {
            continue;
        };
        if let Err(error) = &migration.handle {
            return Hint::Error(error.to_string());
        }
        if driver_of(migration.plugin) == Some(attacher) {
            return Hint::Queue;
        }
    }
    Hint::Skip
}

#[cfg(test)]
mod tests;
