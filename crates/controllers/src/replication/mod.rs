//! ReplicationControllers: ReplicaSets under an older name.
//!
//! Upstream: `pkg/controller/replication`.

#[cfg(test)]
mod tests;

use crate::common::Selector;
use crate::replicaset::{Replicated, Spec, pace, sync, watch};
use crate::{Controller, Cx, Key, Plan, Watches};
use k8s_openapi::api::apps::v1::{ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::api::core::v1::{
    Pod, ReplicationController, ReplicationControllerCondition, ReplicationControllerStatus,
};
use std::sync::Arc;
use std::time::Duration;
use stowplan_cache::Cluster;

/// The ReplicationController controller.
#[derive(Default)]
pub struct ReplicationControllers;

impl Controller for ReplicationControllers {
    fn watch(&self, watches: &mut Watches) {
        watch::<ReplicationController>(watches);
    }

    fn pace(&self, cluster: &Cluster, key: &Key) -> Duration {
        pace::<ReplicationController>(cluster, key)
    }

    fn component(&self) -> Option<&'static str> {
        Some("replication-controller")
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        sync::<ReplicationController>(cx, key)
    }
}

impl Replicated for ReplicationController {
    const TELLS_TERMINATING: bool = false;

    fn wanted(&self) -> Spec<'_> {
        let spec = self.spec.as_ref();
        let labels = spec.and_then(|spec| spec.selector.as_ref());
        Spec {
            replicas: spec.and_then(|spec| spec.replicas).unwrap_or(1),
            min_ready_s: spec.and_then(|spec| spec.min_ready_seconds).unwrap_or(0),
            selector: match labels {
                Some(labels) => Selector::of_labels(Some(labels)),
                None => Selector::new(None),
            },
            match_labels: labels,
            template: spec.and_then(|spec| spec.template.as_ref()),
        }
    }

    fn state(&self) -> ReplicaSetStatus {
        let status = self.status.clone().unwrap_or_default();
        let conditions = status.conditions.map(|conditions| {
            let same = |condition: ReplicationControllerCondition| ReplicaSetCondition {
                last_transition_time: condition.last_transition_time,
                message: condition.message,
                reason: condition.reason,
                status: condition.status,
                type_: condition.type_,
            };
            conditions.into_iter().map(same).collect()
        });
        ReplicaSetStatus {
            available_replicas: status.available_replicas,
            conditions,
            fully_labeled_replicas: status.fully_labeled_replicas,
            observed_generation: status.observed_generation,
            ready_replicas: status.ready_replicas,
            replicas: status.replicas,
            terminating_replicas: None,
        }
    }

    fn with_state(&self, state: ReplicaSetStatus) -> Self {
        let conditions = state.conditions.map(|conditions| {
            let same = |condition: ReplicaSetCondition| ReplicationControllerCondition {
                last_transition_time: condition.last_transition_time,
                message: condition.message,
                reason: condition.reason,
                status: condition.status,
                type_: condition.type_,
            };
            conditions.into_iter().map(same).collect()
        });
        let status = ReplicationControllerStatus {
            available_replicas: state.available_replicas,
            conditions,
            fully_labeled_replicas: state.fully_labeled_replicas,
            observed_generation: state.observed_generation,
            ready_replicas: state.ready_replicas,
            replicas: state.replicas,
        };
        Self {
            status: Some(status),
            ..self.clone()
        }
    }

    /// As upstream, which looks for ReplicaSets among ReplicationControllers and finds none.
    fn related_pods(&self, _: &Cluster) -> Vec<Arc<Pod>> {
        Vec::new()
    }
}
