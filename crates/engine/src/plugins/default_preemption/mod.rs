//! DefaultPreemption. Upstream's `pkg/scheduler/framework/plugins/defaultpreemption` and
//! `pkg/scheduler/framework/preemption`.

mod evaluate;
mod pick;
mod preempting;
mod victims;

pub use evaluate::{Candidate, Preemption, PreemptionReport, evaluate};
pub use pick::DecidedBy;
pub use preempting::Preempting;

use crate::framework::{
    Action, ClusterEvent, Cx, EventResource, Fit, Hint, Plugin, Point, PostFilterCx,
    PostFilterResult, Registration, Status,
};
use crate::model::{Object, Pod};

/// `DefaultPreemptionArgs`.
#[derive(Clone, Debug)]
pub struct DefaultPreemptionArgs {
    /// `minCandidateNodesPercentage`.
    pub min_candidate_nodes_percentage: i32,
    /// `minCandidateNodesAbsolute`.
    pub min_candidate_nodes_absolute: i32,
}

impl Default for DefaultPreemptionArgs {
    fn default() -> Self {
        Self {
            min_candidate_nodes_percentage: 10,
            min_candidate_nodes_absolute: 100,
        }
    }
}

/// The plugin: when a pod fits nowhere, it may take the place of less important ones.
#[derive(Clone, Debug)]
pub struct DefaultPreemption;

impl DefaultPreemption {
    /// The plugin. Its arguments ask for a minimum of nodes to be tried; all of them always are.
    pub fn new(_args: DefaultPreemptionArgs) -> Self {
        Self
    }
}

impl Plugin for DefaultPreemption {
    const NAME: &'static str = "DefaultPreemption";
    const POINTS: &'static [Point] = &[Point::PreEnqueue, Point::PostFilter];
    type Filter = ();
    type Score = ();

    fn pre_enqueue(&self, cx: Cx<'_>, pod: &Pod) -> Fit {
        if cx.preempting.gates(cx.cluster, &pod.uid) {
            return Err(Status::unresolvable(
                "waiting for the preemption for this pod to be finished",
            ));
        }
        Ok(())
    }

    fn post_filter(&self, cx: &PostFilterCx<'_, ()>, pod: &Pod) -> PostFilterResult {
        let report = evaluate(cx.framework, cx.cx, cx.cycle, pod, cx.statuses);
        let (status, nomination) = report.verdict(cx.cx);
        PostFilterResult {
            status,
            nomination,
            preemption: Some(report),
        }
    }

    /// A gated pod is looked at again when some pod is gone.
    fn events(&self) -> Vec<Registration> {
        vec![Registration::hinted(EventResource::Pod, Action::DELETE)]
    }

    /// When the pod is worth another try is up to the plugins that rejected it.
    fn hint(
        &self,
        _cx: Cx<'_>,
        _event: &ClusterEvent,
        _pod: &Pod,
        _old: Option<&Object>,
        _new: Option<&Object>,
    ) -> Hint {
        Hint::Skip
    }
}

#[cfg(test)]
mod tests;
