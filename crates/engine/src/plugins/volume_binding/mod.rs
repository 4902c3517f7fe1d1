//! VolumeBinding: a node must be able to reach the pod's volumes, those that are bound as well as
//! those that are still to be found or made.
//! Upstream's `plugins/volumebinding/volume_binding.go`.

mod asks;
mod assume;
mod bound;
mod find;
mod matching;
mod pod_claims;

pub use pod_claims::PodClaims;

use super::claims::uses_claim;
use crate::NodeInfo;
use crate::framework::args::{ArgValue, Args, FieldError, Fields};
use crate::framework::{
    Action, AnyPlugin, ClusterEvent, Cx, EnqueueExtensions, EventResource, Filter, FilterState,
    Fit, Hint, NodesToCheck, Plugin, PluginBuilder, PreBind, PreFilter, PreFilterResult, PreScore,
    PreScoreResult, Registration, Reserve, Scope, Score, ScoreState, Slot, Status, Step,
};
use crate::model::{CsiDriver, CsiStorageCapacity, Object, Pod, VolumeSource};
use std::sync::Arc;
use stowplan_base::{Duration, Sym};

/// `VolumeBindingArgs`.
#[derive(Clone, Debug)]
pub struct VolumeBindingArgs {
    /// `bindTimeoutSeconds`.
    pub bind_timeout_seconds: i64,
}

impl Default for VolumeBindingArgs {
    fn default() -> Self {
        Self {
            bind_timeout_seconds: 600,
        }
    }
}

impl Args for VolumeBindingArgs {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
        const TIMEOUT: &str = "bindTimeoutSeconds";
        let bind_timeout_seconds = fields.get(TIMEOUT, Self::default().bind_timeout_seconds)?;
        let detail = "invalid BindTimeoutSeconds, should not be a negative value";
        fields.check(
            bind_timeout_seconds >= 0,
            TIMEOUT,
            bind_timeout_seconds,
            detail,
        );
        let has_shape = *fields.written("shape") != ArgValue::Null;
        let shape = fields.list("shape", |point| {
            let (utilization, score) = (point.get("utilization", 0)?, point.get("score", 0)?);
            Ok(format!(
                r#"{{"utilization":{utilization},"score":{score}}}"#
            ))
        })?;
        if has_shape {
            fields.reject(fields.path("shape").error(format!(
                "Invalid value: [{}]: unexpected field `shape`, remove it or turn on the feature \
                 gate StorageCapacityScoring",
                shape.join(",")
            )));
        }
        Ok(Self {
            bind_timeout_seconds,
        })
    }
}

/// The plugin.
#[derive(Clone, Debug)]
pub struct VolumeBinding {
    args: VolumeBindingArgs,
}

impl VolumeBinding {
    /// The plugin with its arguments.
    pub fn new(args: VolumeBindingArgs) -> Self {
        Self { args }
    }
}

impl VolumeBinding {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .pre_filter()
            .filter()
            .filter_state()
            .pre_score()
            .score()
            .score_state()
            .reserve()
            .pre_bind()
            .enqueue_extensions()
            .build()
    }
}

impl Plugin for VolumeBinding {
    type FilterState = Arc<PodClaims>;
    type ScoreState = ();
}

impl PreFilter for VolumeBinding {
    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilterResult<Self::FilterState> {
        match PodClaims::of(cx.cluster, pod) {
            Ok(Some(claims)) => PreFilterResult::Ready(Arc::new(claims)),
            Ok(None) => PreFilterResult::Skip,
            Err(status) => PreFilterResult::Rejected(status),
        }
    }
}

impl Filter for VolumeBinding {
    fn filter(&self, cx: Cx<'_>, state: &Self::FilterState, _pod: &Pod, node: &NodeInfo) -> Fit {
        find::check_pod_volumes(cx.cluster, state, node)
    }
}

impl FilterState<VolumeBinding> for Arc<PodClaims> {
    const SCOPE: Scope = Scope::Cluster;

    fn ignores(_plugin: &VolumeBinding, pod: &Pod) -> bool {
        pod.volumes.iter().all(|volume| volume.claim().is_none())
    }

    fn accepts_all(&self, _plugin: &VolumeBinding, _cx: Cx<'_>) -> bool {
        self.bound.is_empty() && self.all_bound()
    }

    fn nodes_to_check(&self, _plugin: &VolumeBinding, cx: Cx<'_>, _pod: &Pod) -> NodesToCheck {
        asks::asks(cx.cluster, self)
    }
}

impl PreScore for VolumeBinding {
    // Storage is scored only with the feature StorageCapacityScoring.
    fn pre_score(&self, _cx: Cx<'_>, _pod: &Pod, _feasible: &[&NodeInfo]) -> PreScoreResult<()> {
        PreScoreResult::Skip
    }

    fn pre_score_disabled(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<(), Status> {
        Ok(())
    }
}

impl Score for VolumeBinding {
    fn score(&self, _cx: Cx<'_>, _state: &(), _pod: &Pod, _node: &NodeInfo) -> Option<i64> {
        Some(0)
    }
}

impl ScoreState<VolumeBinding> for () {
    const SCOPE: Scope = Scope::Object;
}

impl Reserve for VolumeBinding {
    fn reserve(
        &self,
        cx: Cx<'_>,
        state: Slot<&Self::FilterState>,
        _pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Object>, Status> {
        let changes = assume::changes(cx.cluster, prepared(state)?, node)?;
        Ok(changes
            .into_iter()
            .filter(|change| change.dirty)
            .map(|change| change.object)
            .collect())
    }
}

impl PreBind for VolumeBinding {
    fn pre_bind(
        &self,
        cx: Cx<'_>,
        state: Slot<&Self::FilterState>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Step>, Status> {
        let changes = assume::changes(cx.cluster, prepared(state)?, node)?;
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let timeout = Duration::from_secs(self.args.bind_timeout_seconds);
        let wait = bound::wait(pod, node, &changes, timeout);
        let names = &cx.cluster.names;
        let patches = changes.iter().map(|change| change.patch(names).into());
        Ok(patches.chain([wait.into()]).collect())
    }
}

impl EnqueueExtensions for VolumeBinding {
    fn events(&self) -> Vec<Registration> {
        let add_or_update = Action::ADD.or(Action::UPDATE);
        let node = Action::ADD
            .or(Action::UPDATE_NODE_LABEL)
            .or(Action::UPDATE_NODE_TAINT);
        vec![
            Registration::hinted(EventResource::StorageClass, add_or_update),
            Registration::hinted(EventResource::PersistentVolumeClaim, add_or_update),
            Registration::always(EventResource::PersistentVolume, add_or_update),
            Registration::always(EventResource::Node, node),
            Registration::hinted(EventResource::CSINode, add_or_update),
            Registration::hinted(EventResource::CSIDriver, Action::UPDATE),
            Registration::hinted(EventResource::CSIStorageCapacity, add_or_update),
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
            (_, Some(Object::PersistentVolumeClaim(claim))) => uses_claim(pod, claim),
            (Some(Object::StorageClass(old)), Some(Object::StorageClass(new))) => {
                old.allowed_topologies != new.allowed_topologies
            }
            (Some(Object::CSINode(old)), Some(Object::CSINode(new))) => {
                old.migrated_plugins != new.migrated_plugins
            }
            (Some(Object::CSIDriver(old)), Some(Object::CSIDriver(new))) => {
                capacity_check_ends(pod, old, new)
            }
            (Some(Object::CSIStorageCapacity(old)), Some(Object::CSIStorageCapacity(new))) => {
                limit_rises(old, new)
            }
            _ => true,
        };
        Hint::queue_if(helps)
    }
}

/// What PreFilter left; `None` if the pod has no claims.
fn prepared(state: Slot<&Arc<PodClaims>>) -> Result<Option<&PodClaims>, Status> {
    match state {
        Slot::Ready(claims) => Ok(Some(claims)),
        Slot::Skipped | Slot::Resting(_) => Ok(None),
        Slot::Absent | Slot::Rejected => Err(Status::error("not found")),
        Slot::Broken(status) => Err(status),
    }
}

/// Whether the driver of one of the pod's inline volumes no longer publishes its capacity.
fn capacity_check_ends(pod: &Pod, old: &CsiDriver, new: &CsiDriver) -> bool {
    old.storage_capacity
        && !new.storage_capacity
        && pod
            .volumes
            .iter()
            .any(|volume| volume.source == VolumeSource::Csi { driver: new.name })
}

fn limit_rises(old: &CsiStorageCapacity, new: &CsiStorageCapacity) -> bool {
    match (old.volume_limit(), new.volume_limit()) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(old), Some(new)) => new > old,
    }
}

#[cfg(test)]
mod tests;
