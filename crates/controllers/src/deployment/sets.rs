//! The ReplicaSets of a Deployment.

use crate::common::{Selector, annotation};
use crate::common::{created_at, is_controlled_by, labels, name, uid};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_cache::Cluster;

/// The label that tells the pods of one template from those of another.
pub(crate) const HASH_LABEL: &str = "pod-template-hash";

/// Which template a ReplicaSet is, in the order of roll-outs.
pub(crate) const REVISION: &str = "deployment.kubernetes.io/revision";

/// The ReplicaSets of a Deployment.
pub(super) struct Sets {
    /// The one with the Deployment's template.
    pub(super) new: Option<Arc<ReplicaSet>>,
    /// All others, oldest first.
    pub(super) old: Vec<Arc<ReplicaSet>>,
}

impl Sets {
    /// Sorts them. Of several with the Deployment's template the oldest is the new one.
    pub(super) fn of(deployment: &Deployment, mut sets: Vec<Arc<ReplicaSet>>) -> Self {
        sets.sort_by(|one, two| by_creation(one, two));
        let template = deployment.spec.as_ref().map(|spec| &spec.template);
        let is_new = |set: &Arc<ReplicaSet>| {
            let of_set = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
            let both = of_set.zip(template);
            both.is_some_and(|(one, two)| equal_ignore_hash(one, two))
        };
        let at = sets.iter().position(is_new);
        Self {
            new: at.map(|at| sets.remove(at)),
            old: sets,
        }
    }

    /// Those that the Deployment has by now.
    pub(super) fn known(cluster: &Cluster, deployment: &Deployment) -> Self {
        let selector = Selector::new(deployment.spec.as_ref().map(|spec| &spec.selector));
        let is_own = |set: &Arc<ReplicaSet>| {
            is_controlled_by(&**set, deployment) && selector.matches(labels(&**set))
        };
        let sets = cluster.owned::<ReplicaSet>(uid(deployment)).into_iter();
        Self::of(deployment, sets.filter(is_own).collect())
    }

    /// The old ones, then the new one.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<ReplicaSet>> {
        self.old.iter().chain(&self.new)
    }

    /// Those that have, or ought to have, pods: the old ones, then the new one.
    pub(super) fn active(&self) -> impl Iterator<Item = &Arc<ReplicaSet>> {
        self.all().filter(|set| replicas(set) > 0)
    }
}

/// How many pods a Deployment wants.
pub(crate) fn wanted(deployment: &Deployment) -> i32 {
    let spec = deployment.spec.as_ref();
    spec.and_then(|spec| spec.replicas).unwrap_or(1)
}

/// How many pods a ReplicaSet wants.
pub(super) fn replicas(set: &ReplicaSet) -> i32 {
    let spec = set.spec.as_ref();
    spec.and_then(|spec| spec.replicas).unwrap_or(1)
}

/// How many pods all of them want.
pub(super) fn replica_count<'a>(sets: impl IntoIterator<Item = &'a Arc<ReplicaSet>>) -> i32 {
    sets.into_iter().map(|set| replicas(set)).sum()
}

/// How many pods of a ReplicaSet are available.
pub(super) fn available(set: &ReplicaSet) -> i32 {
    let status = set.status.as_ref();
    status
        .and_then(|status| status.available_replicas)
        .unwrap_or(0)
}

/// The revision of a ReplicaSet: 0 if it has none, nothing if it makes no sense.
pub(super) fn revision(set: &ReplicaSet) -> Option<i64> {
    annotation(set, REVISION).map_or(Some(0), |text| text.parse().ok())
}

/// The highest revision.
pub(super) fn max_revision(sets: &[Arc<ReplicaSet>]) -> i64 {
    let revisions = sets.iter().filter_map(|set| revision(set));
    revisions.max().unwrap_or(0).max(0)
}

/// The second highest revision; 0 if there is none.
pub(super) fn last_revision<'a>(sets: impl Iterator<Item = &'a Arc<ReplicaSet>>) -> i64 {
    let (mut first, mut second) = (0, 0);
    for revision in sets.filter_map(|set| revision(set)) {
        if revision >= first {
            (first, second) = (revision, first);
        } else if revision > second {
            second = revision;
        }
    }
    second
}

/// Oldest first, then by name. Upstream's `ReplicaSetsByCreationTimestamp`.
pub(super) fn by_creation(one: &ReplicaSet, two: &ReplicaSet) -> Ordering {
    let key = |set: &ReplicaSet| created_at(set);
    key(one)
        .cmp(&key(two))
        .then_with(|| name(one).cmp(name(two)))
}

/// Whether two templates differ in no more than the hash. Upstream's `EqualIgnoreHash`.
pub(super) fn equal_ignore_hash(one: &PodTemplateSpec, two: &PodTemplateSpec) -> bool {
    let plain = |template: &PodTemplateSpec| {
        let mut meta = template.metadata.clone().unwrap_or_default();
        if let Some(labels) = &mut meta.labels {
            labels.remove(HASH_LABEL);
        }
        meta.labels = meta.labels.filter(|labels| !labels.is_empty());
        meta.annotations = meta
            .annotations
            .filter(|annotations| !annotations.is_empty());
        meta
    };
    one.spec == two.spec && plain(one) == plain(two)
}

/// The labels of a template with a hash.
pub(super) fn with_hash(
    labels: Option<&BTreeMap<String, String>>,
    hash: &str,
) -> BTreeMap<String, String> {
    let mut labels = labels.cloned().unwrap_or_default();
    labels.insert(HASH_LABEL.to_owned(), hash.to_owned());
    labels
}
