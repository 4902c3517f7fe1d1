//! What ReplicaSets and ReplicationControllers have in common.

use crate::common::{Selector, controller_of, is_controlled_by, namespace, selector_place};
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_cache::{Cluster, Object};

/// What is wanted.
pub(crate) struct Spec<'a> {
    /// How many pods.
    pub(crate) replicas: i32,
    /// For how long a pod has to be ready until it is available.
    pub(crate) min_ready_s: i32,
    /// Which pods.
    pub(crate) selector: Selector,
    /// Labels that the selector asks for.
    pub(crate) match_labels: Option<&'a BTreeMap<String, String>>,
    /// How pods are made.
    pub(crate) template: Option<&'a PodTemplateSpec>,
}

/// A ReplicaSet or a ReplicationController. Upstream makes a ReplicaSet of the latter.
pub(crate) trait Replicated: Object {
    /// Whether its status says how many pods are terminating.
    const TELLS_TERMINATING: bool;

    /// What is wanted.
    fn wanted(&self) -> Spec<'_>;

    /// What there is, in the words of a ReplicaSet.
    fn state(&self) -> ReplicaSetStatus;

    /// The same with another status.
    fn with_state(&self, state: ReplicaSetStatus) -> Self;

    /// The pods of all that have the same controller, including its own. None if nobody controls it.
    fn related_pods(&self, cluster: &Cluster) -> Vec<Arc<Pod>>;

    /// Where it is filed in [`SELECTORS`](crate::common::SELECTORS).
    fn places(&self) -> Vec<String> {
        vec![selector_place(namespace(self), self.wanted().match_labels)]
    }
}

impl Replicated for ReplicaSet {
    const TELLS_TERMINATING: bool = true;

    fn wanted(&self) -> Spec<'_> {
        let spec = self.spec.as_ref();
        let selector = spec.map(|spec| &spec.selector);
        Spec {
            replicas: spec.and_then(|spec| spec.replicas).unwrap_or(1),
            min_ready_s: spec.and_then(|spec| spec.min_ready_seconds).unwrap_or(0),
            selector: Selector::new(selector),
            match_labels: selector.and_then(|selector| selector.match_labels.as_ref()),
            template: spec.and_then(|spec| spec.template.as_ref()),
        }
    }

    fn state(&self) -> ReplicaSetStatus {
        self.status.clone().unwrap_or_default()
    }

    fn with_state(&self, state: ReplicaSetStatus) -> Self {
        Self {
            status: Some(state),
            ..self.clone()
        }
    }

    /// Upstream's `getIndirectlyRelatedPods`, by owners in place of selectors.
    fn related_pods(&self, cluster: &Cluster) -> Vec<Arc<Pod>> {
        let Some(controller) = controller_of(self) else {
            return Vec::new();
        };
        let sets = cluster.owned::<Self>(&controller.uid);
        let is_related = |set: &Arc<Self>| {
            controller_of(&**set).is_some_and(|other| other.uid == controller.uid)
        };
        let mut pods = Vec::new();
        for set in sets.into_iter().filter(is_related) {
            let owned = cluster.owned::<Pod>(crate::common::uid(&*set));
            pods.extend(
                owned
                    .into_iter()
                    .filter(|pod| is_controlled_by(&**pod, &*set)),
            );
        }
        pods
    }
}
