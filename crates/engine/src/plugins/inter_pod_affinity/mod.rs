//! InterPodAffinity: pods that want to be near others, or away from them.
//!
//! Upstream: `pkg/scheduler/framework/plugins/interpodaffinity`.

mod blocking_pods;
mod filtering;
mod hints;
mod scoring;
mod term;
#[cfg(test)]
mod tests;
mod topology;

pub(crate) use blocking_pods::blocking_pods;
pub use filtering::RequiredTerms;
pub use scoring::PreferredTerms;

use crate::framework::args::{Args, FieldError, Fields};
use crate::framework::{
    AnyPlugin, Changed, ClusterEvent, Code, Cx, EnqueueExtensions, Filter, FilterState, Fit, Hint,
    InvalidatedBy, Invalidation, NormalizeScore, Plugin, PluginBuilder, PreFilter,
    PreFilterExtensions, PreFilterResult, PreScore, PreScoreResult, Range, Reads, Registration,
    Scope, Score, ScoreState, Status,
};
use crate::model::{Kind, Object, Pod, Selector};
use crate::{Fact, NodeInfo, Snapshot};

/// `InterPodAffinityArgs`.
#[derive(Clone, Debug)]
pub struct InterPodAffinityArgs {
    /// `hardPodAffinityWeight`: what an existing pod's required affinity is worth to a newcomer.
    pub hard_pod_affinity_weight: i32,
    /// `ignorePreferredTermsOfExistingPods`.
    pub ignore_preferred_terms_of_existing_pods: bool,
}

impl Default for InterPodAffinityArgs {
    fn default() -> Self {
        Self {
            hard_pod_affinity_weight: 1,
            ignore_preferred_terms_of_existing_pods: false,
        }
    }
}

impl Args for InterPodAffinityArgs {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
        const WEIGHT: &str = "hardPodAffinityWeight";
        const IGNORE: &str = "ignorePreferredTermsOfExistingPods";
        let default = Self::default();
        let weight = fields.get(WEIGHT, default.hard_pod_affinity_weight)?;
        let holds = (0..=100).contains(&weight);
        fields.check(holds, WEIGHT, weight, "not in valid range [0, 100]");
        let ignore = fields.get(IGNORE, default.ignore_preferred_terms_of_existing_pods)?;
        Ok(Self {
            hard_pod_affinity_weight: weight,
            ignore_preferred_terms_of_existing_pods: ignore,
        })
    }
}

/// The plugin.
#[derive(Clone, Debug)]
pub struct InterPodAffinity {
    args: InterPodAffinityArgs,
}

impl InterPodAffinity {
    /// The plugin with its arguments.
    pub fn new(args: InterPodAffinityArgs) -> Self {
        Self { args }
    }

    /// What is wrong with the pod's terms.
    fn check(pod: &Pod) -> Result<(), Status> {
        match &pod.affinity_error {
            Some(error) => Err(Status::made(
                Code::UnschedulableAndUnresolvable,
                format!("parsing pod: {error}"),
            )),
            None => Ok(()),
        }
    }

    /// Preferred terms, counted by `weigh` if there is anything to be counted.
    fn preferred_terms(
        &self,
        cx: Cx<'_>,
        pod: &Pod,
        weigh: fn(&Snapshot, &Pod, i32) -> PreferredTerms,
    ) -> PreScoreResult<PreferredTerms> {
        let has_preferred =
            !pod.preferred_affinity().is_empty() || !pod.preferred_anti_affinity().is_empty();
        if self.args.ignore_preferred_terms_of_existing_pods && !has_preferred {
            return PreScoreResult::Skip;
        }
        if let Some(error) = &pod.affinity_error {
            return PreScoreResult::Failed(Status::error(format!("failed to parse pod: {error}")));
        }
        let hard_weight = self.args.hard_pod_affinity_weight;
        PreScoreResult::Ready(weigh(cx.cluster, pod, hard_weight))
    }
}

impl InterPodAffinity {
    const INVALIDATED_BY: &'static [InvalidatedBy<Self>] =
        &[(Kind::Namespace, Self::is_invalidated_by_namespace)];

    /// The namespaces that terms select by label, and the pod's own, which others' terms may.
    fn is_invalidated_by_namespace(&self, _cx: Cx<'_>, pod: &Pod, namespace: Changed<'_>) -> bool {
        let selects = |selector: &Selector| !selector.requirements().is_empty();
        namespace.name == pod.namespace
            || pod
                .affinity_terms()
                .any(|term| selects(&term.namespace_selector))
    }

    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .pre_filter()
            .pre_filter_extensions()
            .filter()
            .filter_state()
            .pre_score()
            .score()
            .normalize_score()
            .score_state()
            .enqueue_extensions()
            .build()
    }
}

impl Plugin for InterPodAffinity {
    type FilterState = RequiredTerms;
    type ScoreState = PreferredTerms;
}

impl PreFilter for InterPodAffinity {
    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilterResult<RequiredTerms> {
        if let Err(status) = Self::check(pod) {
            return PreFilterResult::Rejected(status);
        }
        let terms = RequiredTerms::count(cx.cluster, pod);
        if terms.restricts_nothing() {
            return PreFilterResult::Skip;
        }
        PreFilterResult::Ready(terms)
    }

    fn pre_filter_disabled(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<RequiredTerms, Status> {
        Err(Status::error(
            "error reading \"PreFilterInterPodAffinity\" from cycleState: not found",
        ))
    }
}

impl PreFilterExtensions for InterPodAffinity {
    fn add_pod(
        &self,
        cx: Cx<'_>,
        state: &mut RequiredTerms,
        pod: &Pod,
        other: &Pod,
        node: &NodeInfo,
    ) {
        state.update_with_pod(cx.cluster, pod, other, &node.node, true);
    }

    fn remove_pod(
        &self,
        cx: Cx<'_>,
        state: &mut RequiredTerms,
        pod: &Pod,
        other: &Pod,
        node: &NodeInfo,
    ) {
        state.update_with_pod(cx.cluster, pod, other, &node.node, false);
    }
}

impl Filter for InterPodAffinity {
    fn filter(&self, _cx: Cx<'_>, state: &RequiredTerms, _pod: &Pod, node: &NodeInfo) -> Fit {
        state.filter(&node.node)
    }
}

impl FilterState<InterPodAffinity> for RequiredTerms {
    const SCOPE: Scope = Scope::Domains;
    const INVALIDATED_BY: &'static [InvalidatedBy<InterPodAffinity>] =
        InterPodAffinity::INVALIDATED_BY;

    fn prepare(
        _plugin: &InterPodAffinity,
        cx: Cx<'_>,
        pod: &Pod,
    ) -> Option<PreFilterResult<RequiredTerms>> {
        if let Err(status) = InterPodAffinity::check(pod) {
            return Some(PreFilterResult::Rejected(status));
        }
        let terms = RequiredTerms::count_label_group(cx.cluster, pod);
        Some(PreFilterResult::Ready(terms.with_topologies(cx.cluster)))
    }

    fn label_marks(&self) -> u64 {
        self.label_marks()
    }

    fn is_affected_by(
        &self,
        _plugin: &InterPodAffinity,
        cx: Cx<'_>,
        pod: &Pod,
        other: &Pod,
    ) -> bool {
        self.is_affected_by(cx.cluster, pod, other)
    }

    fn skips(&self) -> bool {
        self.restricts_nothing()
    }

    fn update(
        &mut self,
        _plugin: &InterPodAffinity,
        cx: Cx<'_>,
        pod: &Pod,
        fact: Fact<'_>,
        holds: bool,
    ) -> Invalidation {
        self.update(cx.cluster, pod, fact, holds)
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn group_key(&self, node: &NodeInfo, key: &mut Vec<u64>) {
        self.group_key(&node.node, key);
    }

    fn reads(&self, _plugin: &InterPodAffinity, _pod: &Pod) -> Option<Reads> {
        Some(self.reads())
    }

    fn filter_group(&self, key: &[u64]) -> Fit {
        self.filter_group(key)
    }
}

impl PreScore for InterPodAffinity {
    fn pre_score(
        &self,
        cx: Cx<'_>,
        pod: &Pod,
        _feasible: &[&NodeInfo],
    ) -> PreScoreResult<PreferredTerms> {
        match self.preferred_terms(cx, pod, PreferredTerms::weigh) {
            PreScoreResult::Ready(terms) if terms.is_empty() => PreScoreResult::Skip,
            found => found,
        }
    }

    fn pre_score_disabled(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<PreferredTerms, Status> {
        Err(Status::error(
            "failed to read \"PreScoreInterPodAffinity\" from cycleState: not found",
        ))
    }
}

impl Score for InterPodAffinity {
    fn score(
        &self,
        _cx: Cx<'_>,
        state: &PreferredTerms,
        _pod: &Pod,
        node: &NodeInfo,
    ) -> Option<i64> {
        Some(state.score(&node.node))
    }
}

impl NormalizeScore for InterPodAffinity {
    fn normalize(&self, _state: &PreferredTerms, raw: i64, over: Range) -> i64 {
        scoring::normalize(raw, over)
    }
}

impl ScoreState<InterPodAffinity> for PreferredTerms {
    const SCOPE: Scope = Scope::Domains;
    const INVALIDATED_BY: &'static [InvalidatedBy<InterPodAffinity>] =
        InterPodAffinity::INVALIDATED_BY;

    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn prepare(
        plugin: &InterPodAffinity,
        cx: Cx<'_>,
        pod: &Pod,
    ) -> Option<PreScoreResult<PreferredTerms>> {
        Some(
            match plugin.preferred_terms(cx, pod, PreferredTerms::weigh_label_group) {
                PreScoreResult::Ready(terms) => {
                    PreScoreResult::Ready(terms.with_topologies(cx.cluster))
                }
                found => found,
            },
        )
    }

    fn skips(&self) -> bool {
        self.is_empty()
    }

    fn label_marks(&self) -> u64 {
        self.label_marks()
    }

    fn is_affected_by(
        &self,
        _plugin: &InterPodAffinity,
        cx: Cx<'_>,
        pod: &Pod,
        other: &Pod,
    ) -> bool {
        self.is_affected_by(cx.cluster, pod, other)
    }

    fn update(
        &mut self,
        _plugin: &InterPodAffinity,
        cx: Cx<'_>,
        pod: &Pod,
        fact: Fact<'_>,
        holds: bool,
    ) -> Invalidation {
        self.update(cx.cluster, pod, fact, holds)
    }

    fn group_key(&self, _pod: &Pod, node: &NodeInfo, key: &mut Vec<u64>) {
        self.group_key(&node.node, key);
    }

    fn reads(&self, _plugin: &InterPodAffinity, _pod: &Pod) -> Option<Reads> {
        Some(self.reads())
    }

    fn score_group(&self, _cx: Cx<'_>, _pod: &Pod, key: &[u64]) -> Option<i64> {
        Some(self.score_group(key))
    }
}

impl EnqueueExtensions for InterPodAffinity {
    fn events(&self) -> Vec<Registration> {
        hints::events()
    }

    fn hint(
        &self,
        cx: Cx<'_>,
        event: &ClusterEvent,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Hint {
        hints::hint(&cx.cluster.names, event, pod, old, new)
    }
}
