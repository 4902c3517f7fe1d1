//! What budgets say to evictions, as pods come and go.
//!
//! Upstream: `pkg/registry/core/pod/storage/eviction.go` and `pkg/controller/disruption`. How many pods
//! a budget wants healthy does not change while a node is drained, because workloads keep their sizes.

use std::collections::BTreeSet;
use std::sync::Arc;
use stowplan_api::k8s::api::policy::v1 as policy;
use stowplan_api::k8s::apimachinery::pkg::util::intstr::IntOrString;
use stowplan_api::load::Object as ApiObject;
use stowplan_base::Sym;
use stowplan_engine::Snapshot;
use stowplan_engine::model::{Object, Pod, PodDisruptionBudget};
use stowplan_manifest::Loaded;

/// Pods that run and are not ready, by uid.
pub(super) type Unready = BTreeSet<Arc<str>>;

/// One budget.
pub(super) struct Budget {
    namespace: Sym,
    name: Sym,
    /// Namespace and name.
    pub(super) title: String,
    /// What it asks for, as its spec says it: `minAvailable 2`.
    rule: String,
    expected: usize,
    desired: usize,
    /// `unhealthyPodEvictionPolicy: AlwaysAllow`.
    always_allows_unhealthy: bool,
    /// Why its controller allows nothing, whatever pods do.
    failed: Option<String>,
}

/// All budgets.
pub(super) struct Budgets(Vec<Budget>);

/// What the API answers to an eviction.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// The pod goes.
    Evicted,
    /// Try again later: 429.
    TooMany {
        /// The budget's title.
        budget: String,
        /// Its numbers.
        reason: String,
    },
    /// Trying again does not help: 500.
    Failed(&'static str),
}

const TWO_BUDGETS: &str = "This pod has more than one PodDisruptionBudget, which the eviction \
                           subresource does not support.";

impl Budgets {
    /// The budgets of a cluster, as their controller left them.
    pub(super) fn of(objects: &[Loaded], cluster: &Snapshot) -> Self {
        let budgets = objects.iter().filter_map(|loaded| match &loaded.object {
            ApiObject::PodDisruptionBudget(budget) => Budget::of(budget, cluster),
            _ => None,
        });
        Self(budgets.collect())
    }

    /// Whether the pod may go now.
    pub(super) fn ask(&self, cluster: &Snapshot, unready: &Unready, pod: &Pod) -> Answer {
        let own: Vec<&Budget> = self.0.iter().filter(|b| b.guards(cluster, pod)).collect();
        match own.as_slice() {
            [] => Answer::Evicted,
            [budget] => budget.ask(cluster, unready, pod),
            _ => Answer::Failed(TWO_BUDGETS),
        }
    }

    /// What their controller would write now, where that differs from what is there.
    pub(super) fn statuses(&self, cluster: &Snapshot, unready: &Unready) -> Vec<Object> {
        let budgets = self.0.iter().filter_map(|budget| {
            let known = cluster.budgets.get(budget.namespace, budget.name)?;
            let allowed = budget.allowed(budget.healthy(cluster, unready));
            let allowed = i32::try_from(allowed).unwrap_or(i32::MAX);
            (known.disruptions_allowed != allowed).then(|| PodDisruptionBudget {
                disruptions_allowed: allowed,
                ..PodDisruptionBudget::clone(known)
            })
        });
        budgets
            .map(|budget| Object::PodDisruptionBudget(Arc::new(budget)))
            .collect()
    }
}

impl Budget {
    fn of(given: &policy::PodDisruptionBudget, cluster: &Snapshot) -> Option<Self> {
        let namespace = given.metadata.namespace.clone().unwrap_or_default();
        let name = given.metadata.name.clone().unwrap_or_default();
        let spec = given.spec.clone().unwrap_or_default();
        let status = given.status.clone().unwrap_or_default();
        let shown = |value: &IntOrString| match value {
            IntOrString::Int(number) => number.to_string(),
            IntOrString::String(text) => text.clone(),
        };
        let rule = match (&spec.max_unavailable, &spec.min_available) {
            (Some(value), _) => format!("maxUnavailable {}", shown(value)),
            (None, Some(value)) => format!("minAvailable {}", shown(value)),
            (None, None) => "no rule".to_owned(),
        };
        let count = |value: Option<i32>| usize::try_from(value.unwrap_or(0)).unwrap_or(0);
        let mut budget = Self {
            namespace: cluster.names.get(&namespace)?,
            name: cluster.names.get(&name)?,
            title: format!("{namespace}/{name}"),
            rule,
            expected: count(status.expected_pods),
            desired: count(status.desired_healthy),
            always_allows_unhealthy: spec.unhealthy_pod_eviction_policy.as_deref()
                == Some("AlwaysAllow"),
            failed: failure(&status),
        };
        if budget.expected == 0 {
            budget.expected = budget.pods(cluster).count();
        }
        Some(budget)
    }

    fn guards(&self, cluster: &Snapshot, pod: &Pod) -> bool {
        let budget = cluster.budgets.get(self.namespace, self.name);
        pod.namespace == self.namespace
            && budget.is_some_and(|budget| budget.selector.matches(&pod.labels, &cluster.names))
    }

    fn pods<'a>(&'a self, cluster: &'a Snapshot) -> impl Iterator<Item = &'a Arc<Pod>> {
        let pods = cluster.nodes().iter().flat_map(|node| &node.pods);
        pods.filter(|pod| !pod.finished && self.guards(cluster, pod))
    }

    fn healthy(&self, cluster: &Snapshot, unready: &Unready) -> usize {
        let pods = self.pods(cluster);
        pods.filter(|pod| !pod.terminating && !unready.contains(&pod.uid))
            .count()
    }

    fn allowed(&self, healthy: usize) -> usize {
        match self.expected > 0 && self.failed.is_none() {
            true => healthy.saturating_sub(self.desired),
            false => 0,
        }
    }

    fn ask(&self, cluster: &Snapshot, unready: &Unready, pod: &Pod) -> Answer {
        let healthy = self.healthy(cluster, unready);
        if unready.contains(&pod.uid) {
            let has_enough = healthy >= self.desired && self.desired > 0;
            if self.always_allows_unhealthy || has_enough {
                return Answer::Evicted;
            }
        }
        if self.allowed(healthy) > 0 {
            return Answer::Evicted;
        }
        let (rule, expected) = (&self.rule, self.expected);
        let mut reason = format!("{rule}, {healthy} of {expected} healthy");
        if let Some(failed) = &self.failed {
            reason = format!("its controller failed: {failed}");
        } else if unready.contains(&pod.uid) {
            reason += "; the pod is not ready itself, and unhealthyPodEvictionPolicy is \
                       IfHealthyBudget";
        }
        Answer::TooMany {
            budget: self.title.clone(),
            reason,
        }
    }
}

/// Why the controller could not compute a budget.
fn failure(status: &policy::PodDisruptionBudgetStatus) -> Option<String> {
    let mut conditions = status.conditions.iter().flatten();
    let condition = conditions.find(|condition| condition.type_ == "DisruptionAllowed")?;
    (condition.reason == "SyncFailed").then(|| condition.message.clone())
}
