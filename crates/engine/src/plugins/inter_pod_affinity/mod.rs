//! InterPodAffinity: pods that want to be near others, or away from them.
//!
//! Upstream: `pkg/scheduler/framework/plugins/interpodaffinity`.

mod filtering;
mod hints;
mod scoring;
mod term;
#[cfg(test)]
mod tests;
mod topology;

pub use filtering::RequiredTerms;
pub use scoring::PreferredTerms;

use crate::NodeInfo;
use crate::framework::{
    ClusterEvent, Code, Cx, Fit, Hint, Plugin, Point, PreFilter, PreScore, Range, Registration,
    Status, Trial,
};
use crate::model::{Object, Pod};

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
}

impl Plugin for InterPodAffinity {
    const NAME: &'static str = "InterPodAffinity";
    const POINTS: &'static [Point] = &[
        Point::PreFilter,
        Point::Filter,
        Point::PreScore,
        Point::Score,
    ];
    type Filter = RequiredTerms;
    type Score = PreferredTerms;

    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilter<RequiredTerms> {
        if let Some(error) = &pod.affinity_error {
            return PreFilter::Rejected(Status::made(
                Code::UnschedulableAndUnresolvable,
                format!("parsing pod: {error}"),
            ));
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
        let delta = match op {
            Trial::Add => 1,
            Trial::Remove => -1,
        };
        state.update_with_pod(cx.cluster, pod, other, &node.node, delta);
    }

    fn pre_score(
        &self,
        cx: Cx<'_>,
        pod: &Pod,
        _feasible: &[&NodeInfo],
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
        match PreferredTerms::weigh(cx.cluster, pod, hard_weight) {
            Some(terms) => PreScore::Ready(terms),
            None => PreScore::Skip,
        }
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
