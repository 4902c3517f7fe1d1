//! VolumeZone: volumes with zone or region labels need a node of that zone or region.
//! Upstream's `plugins/volumezone/volume_zone.go`.

use super::claims::{claim_not_found, names_claim};
use crate::framework::{
    Action, AnyPlugin, ClusterEvent, Code, Cx, EnqueueExtensions, EventResource, Filter,
    FilterState, Fit, Hint, NodesToCheck, Plugin, PluginBuilder, PreFilter, PreFilterResult,
    Registration, Scope, Status,
};
use crate::model::{BindingMode, Labels, Object, PersistentVolumeClaim, Pod};
use crate::{NodeInfo, Snapshot};
use std::sync::Arc;
use stowplan_base::{Sym, sym};

const CONFLICT: &str = "node(s) had no available volume zone";

/// The labels that place a volume or a node.
const TOPOLOGY_LABELS: [Sym; 4] = [sym::ZONE_BETA, sym::REGION_BETA, sym::ZONE, sym::REGION];

/// The plugin.
#[derive(Clone, Debug, Default)]
pub struct VolumeZone;

/// The topology labels of all bound volumes of a pod, each with its set of allowed values.
type PodTopologies = Arc<[Topology]>;

/// A label and the values that will do.
type Topology = (Sym, Box<[Sym]>);

impl VolumeZone {
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

impl Plugin for VolumeZone {
    type FilterState = PodTopologies;
    type ScoreState = ();
}

impl PreFilter for VolumeZone {
    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilterResult<Self::FilterState> {
        match pod_topologies(cx.cluster, pod) {
            Err(status) => PreFilterResult::Rejected(status),
            Ok(topologies) if topologies.is_empty() => PreFilterResult::Skip,
            Ok(topologies) => PreFilterResult::Ready(topologies.into()),
        }
    }

    fn pre_filter_disabled(&self, cx: Cx<'_>, pod: &Pod) -> Result<Self::FilterState, Status> {
        pod_topologies(cx.cluster, pod).map(Arc::from)
    }
}

impl Filter for VolumeZone {
    fn filter(&self, _cx: Cx<'_>, state: &Self::FilterState, _pod: &Pod, node: &NodeInfo) -> Fit {
        let labels = &node.node.labels;
        // A cluster of a single zone may do without topology labels.
        if TOPOLOGY_LABELS.iter().all(|key| !labels.has(*key)) {
            return Ok(());
        }
        let fits = state
            .iter()
            .all(|(key, values)| node_value(labels, *key).is_some_and(|v| values.contains(&v)));
        if fits {
            Ok(())
        } else {
            Err(Status::unresolvable(CONFLICT))
        }
    }
}

impl FilterState<VolumeZone> for PodTopologies {
    const SCOPE: Scope = Scope::Cluster;

    fn ignores(_plugin: &VolumeZone, pod: &Pod) -> bool {
        pod.volumes
            .iter()
            .all(|volume| volume.named_claim().is_none())
    }

    fn nodes_to_check(&self, _plugin: &VolumeZone, _cx: Cx<'_>, _pod: &Pod) -> NodesToCheck {
        let mut keys = TOPOLOGY_LABELS.to_vec();
        let more = self.iter().map(|(key, _)| *key);
        keys.extend(more.filter(|key| !TOPOLOGY_LABELS.contains(key)));
        NodesToCheck::Alike { keys, need: None }
    }
}

impl EnqueueExtensions for VolumeZone {
    fn events(&self) -> Vec<Registration> {
        let add_or_update = Action::ADD.or(Action::UPDATE);
        let node = Action::ADD
            .or(Action::UPDATE_NODE_LABEL)
            .or(Action::UPDATE_NODE_TAINT);
        vec![
            Registration::hinted(EventResource::StorageClass, Action::ADD),
            Registration::always(EventResource::Node, node),
            Registration::hinted(EventResource::PersistentVolumeClaim, add_or_update),
            Registration::hinted(EventResource::PersistentVolume, add_or_update),
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
            (_, Some(Object::StorageClass(class))) => {
                class.binding_mode == Some(BindingMode::WaitForFirstConsumer)
            }
            (_, Some(Object::PersistentVolumeClaim(claim))) => names_claim(pod, claim),
            (Some(Object::PersistentVolume(old)), Some(Object::PersistentVolume(new))) => {
                old.topology != new.topology
            }
            _ => true,
        };
        Hint::queue_if(helps)
    }
}

/// The node's value of a volume's label; a beta label falls back on the GA one.
fn node_value(labels: &Labels, key: Sym) -> Option<Sym> {
    labels.get(key).or_else(|| match key {
        sym::ZONE_BETA => labels.get(sym::ZONE),
        sym::REGION_BETA => labels.get(sym::REGION),
        _ => None,
    })
}

/// Upstream's `getPVbyPod`. Claims of generic ephemeral volumes are not looked at.
fn pod_topologies(cluster: &Snapshot, pod: &Pod) -> Result<Vec<Topology>, Status> {
    let unresolvable = |text: String| Status::made(Code::UnschedulableAndUnresolvable, text);
    let mut topologies = Vec::new();
    for name in pod.volumes.iter().filter_map(|v| v.named_claim()) {
        if name.is_empty() {
            return Err(Status::unresolvable("PersistentVolumeClaim had no name"));
        }
        let claim = cluster
            .claims
            .get(pod.namespace, name)
            .ok_or_else(|| unresolvable(claim_not_found(name, &cluster.names)))?;
        if claim.volume_name.is_empty() {
            check_waits_for_consumer(cluster, claim)?;
            continue;
        }
        let volume = cluster
            .volumes
            .get(Sym::EMPTY, claim.volume_name)
            .ok_or_else(|| {
                let name = cluster.names.text(claim.volume_name);
                unresolvable(format!("persistentvolume {name:?} not found"))
            })?;
        topologies.extend_from_slice(&volume.topology);
    }
    Ok(topologies)
}

/// A claim may be unbound only if its class waits for the pod.
fn check_waits_for_consumer(cluster: &Snapshot, claim: &PersistentVolumeClaim) -> Fit {
    let unresolvable = |text: String| Status::made(Code::UnschedulableAndUnresolvable, text);
    if claim.storage_class.is_empty() {
        return Err(Status::unresolvable(
            "PersistentVolumeClaim had no pv name and storageClass name",
        ));
    }
    let class_name = cluster.names.text(claim.storage_class);
    let class = cluster
        .storage_classes
        .get(Sym::EMPTY, claim.storage_class)
        .ok_or_else(|| {
            unresolvable(format!(
                "storageclass.storage.k8s.io {class_name:?} not found"
            ))
        })?;
    match class.binding_mode {
        Some(BindingMode::WaitForFirstConsumer) => Ok(()),
        Some(BindingMode::Immediate) => Err(Status::unresolvable("PersistentVolume had no name")),
        None => Err(unresolvable(format!(
            "VolumeBindingMode not set for StorageClass {class_name:?}"
        ))),
    }
}

#[cfg(test)]
mod tests;
