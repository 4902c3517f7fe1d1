//! InterPodAffinity: pods that want to be near others, or away from them.
//!
//! Upstream: `pkg/scheduler/framework/plugins/interpodaffinity`.

mod crowds;
mod filtering;
mod hints;
mod scoring;
mod term;
#[cfg(test)]
mod tests;
mod topology;

pub(crate) use crowds::crowds;
pub use filtering::RequiredTerms;
pub use scoring::PreferredTerms;

use crate::framework::{
    Changed, ClusterEvent, Code, Cx, Fit, Hint, Kept, Plugin, Point, PreFilter, PreScore, Range,
    Reads, Registration, Sight, Status, Trial,
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
    ) -> PreScore<PreferredTerms> {
        let has_preferred =
            !pod.preferred_affinity().is_empty() || !pod.preferred_anti_affinity().is_empty();
        if self.args.ignore_preferred_terms_of_existing_pods && !has_preferred {
            return PreScore::Skip;
        }
        if let Some(error) = &pod.affinity_error {
            return PreScore::Failed(Status::error(format!("failed to parse pod: {error}")));
        }
        let hard_weight = self.args.hard_pod_affinity_weight;
        PreScore::Ready(weigh(cx.cluster, pod, hard_weight))
    }
}

impl Plugin for InterPodAffinity {
    const NAME: &'static str = "InterPodAffinity";
    const POINTS: &'static [Point] = &[
        Point::PreFilter,
        Point::Filter,
        Point::PreScore,
        Point::Score,
    ];
    const FILTER_SIGHT: Sight = Sight::Domains;
    const SCORE_SIGHT: Sight = Sight::Domains;
    type Filter = RequiredTerms;
    type Score = PreferredTerms;

    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilter<RequiredTerms> {
        if let Err(status) = Self::check(pod) {
            return PreFilter::Rejected(status);
        }
        let terms = RequiredTerms::count(cx.cluster, pod);
        if terms.restricts_nothing() {
            return PreFilter::Skip;
        }
        PreFilter::Ready(terms)
    }

    fn filter_unprepared(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<RequiredTerms, Status> {
        Err(Status::error(
            "error reading \"PreFilterInterPodAffinity\" from cycleState: not found",
        ))
    }

    fn filter(&self, _cx: Cx<'_>, state: &RequiredTerms, _pod: &Pod, node: &NodeInfo) -> Fit {
        state.filter(&node.node)
    }

    fn trial(
        &self,
        cx: Cx<'_>,
        state: &mut RequiredTerms,
        pod: &Pod,
        other: &Pod,
        node: &NodeInfo,
        op: Trial,
    ) {
        state.update_with_pod(cx.cluster, pod, other, &node.node, op == Trial::Add);
    }

    /// The namespaces that terms select by label, and the pod's own, which others' terms may.
    fn forgets(&self, _cx: Cx<'_>, pod: &Pod, object: Changed<'_>) -> bool {
        let selects = |selector: &Selector| !selector.requirements().is_empty();
        object.kind == Kind::Namespace
            && (object.name == pod.namespace
                || pod
                    .affinity_terms()
                    .any(|term| selects(&term.namespace_selector)))
    }

    fn keep_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilter<RequiredTerms> {
        if let Err(status) = Self::check(pod) {
            return PreFilter::Rejected(status);
        }
        let terms = RequiredTerms::count_kin(cx.cluster, pod);
        PreFilter::Ready(terms.with_topologies(cx.cluster))
    }

    fn filter_looks_for(&self, state: &RequiredTerms) -> u64 {
        state.looks_for()
    }

    fn minds_filter(&self, cx: Cx<'_>, state: &RequiredTerms, pod: &Pod, other: &Pod) -> bool {
        state.minds(cx.cluster, pod, other)
    }

    fn filter_rests(&self, state: &RequiredTerms) -> bool {
        state.restricts_nothing()
    }

    fn observe_filter(
        &self,
        cx: Cx<'_>,
        state: &mut RequiredTerms,
        pod: &Pod,
        fact: Fact<'_>,
        holds: bool,
    ) -> Kept {
        state.observe(cx.cluster, pod, fact, holds)
    }

    fn filter_bytes(&self, state: &RequiredTerms) -> usize {
        state.bytes()
    }

    fn score_bytes(&self, state: &PreferredTerms) -> usize {
        state.bytes()
    }

    fn see_filter(&self, state: &RequiredTerms, node: &NodeInfo, seen: &mut Vec<u64>) {
        state.see(&node.node, seen);
    }

    fn filter_reads(&self, state: &RequiredTerms, _pod: &Pod) -> Option<Reads> {
        Some(state.reads())
    }

    fn admit(&self, state: &RequiredTerms, seen: &[u64]) -> Fit {
        state.admit(seen)
    }

    fn pre_score(
        &self,
        cx: Cx<'_>,
        pod: &Pod,
        _feasible: &[&NodeInfo],
    ) -> PreScore<PreferredTerms> {
        match self.preferred_terms(cx, pod, PreferredTerms::weigh) {
            PreScore::Ready(terms) if terms.is_empty() => PreScore::Skip,
            found => found,
        }
    }

    fn keep_score(&self, cx: Cx<'_>, pod: &Pod) -> PreScore<PreferredTerms> {
        match self.preferred_terms(cx, pod, PreferredTerms::weigh_kin) {
            PreScore::Ready(terms) => PreScore::Ready(terms.with_topologies(cx.cluster)),
            found => found,
        }
    }

    fn score_rests(&self, state: &PreferredTerms) -> bool {
        state.is_empty()
    }

    fn score_looks_for(&self, state: &PreferredTerms) -> u64 {
        state.looks_for()
    }

    fn minds_score(&self, cx: Cx<'_>, state: &PreferredTerms, pod: &Pod, other: &Pod) -> bool {
        state.minds(cx.cluster, pod, other)
    }

    fn observe_score(
        &self,
        cx: Cx<'_>,
        state: &mut PreferredTerms,
        pod: &Pod,
        fact: Fact<'_>,
        holds: bool,
    ) -> Kept {
        state.observe(cx.cluster, pod, fact, holds)
    }

    fn see_score(&self, state: &PreferredTerms, _pod: &Pod, node: &NodeInfo, seen: &mut Vec<u64>) {
        state.see(&node.node, seen);
    }

    fn score_reads(&self, state: &PreferredTerms, _pod: &Pod) -> Option<Reads> {
        Some(state.reads())
    }

    fn raw(&self, _cx: Cx<'_>, state: &PreferredTerms, _pod: &Pod, seen: &[u64]) -> Option<i64> {
        Some(state.raw(seen))
    }

    fn score_unprepared(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<PreferredTerms, Status> {
        Err(Status::error(
            "failed to read \"PreScoreInterPodAffinity\" from cycleState: not found",
        ))
    }

    fn score(
        &self,
        _cx: Cx<'_>,
        state: &PreferredTerms,
        _pod: &Pod,
        node: &NodeInfo,
    ) -> Option<i64> {
        Some(state.score(&node.node))
    }

    fn normalize(&self, _state: &PreferredTerms, raw: i64, over: Range) -> i64 {
        scoring::normalize(raw, over)
    }

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
