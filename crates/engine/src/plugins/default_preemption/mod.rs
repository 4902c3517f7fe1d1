//! DefaultPreemption. Upstream's `pkg/scheduler/framework/plugins/defaultpreemption` and
//! `pkg/scheduler/framework/preemption`.

use crate::framework::args::{Args, FieldError, Fields};
use crate::framework::preemption::{PreemptionReport, Preemptor, evaluate};
use crate::framework::{
    Action, AnyPlugin, ClusterEvent, Cx, EnqueueExtensions, EventResource, Fit, Hint, Plugin,
    PluginBuilder, PostFilter, PostFilterCx, PostFilterResult, PreEnqueue, Registration, Slot,
    Status,
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

impl Args for DefaultPreemptionArgs {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
        const PERCENTAGE: &str = "minCandidateNodesPercentage";
        const ABSOLUTE: &str = "minCandidateNodesAbsolute";
        let default = Self::default();
        let percentage = fields.get(PERCENTAGE, default.min_candidate_nodes_percentage)?;
        let absolute = fields.get(ABSOLUTE, default.min_candidate_nodes_absolute)?;
        let is_percentage = (0..=100).contains(&percentage);
        fields.check(
            is_percentage,
            PERCENTAGE,
            percentage,
            "not in valid range [0, 100]",
        );
        fields.check(
            absolute >= 0,
            ABSOLUTE,
            absolute,
            "not in valid range [0, inf)",
        );
        let some = percentage != 0 || absolute != 0;
        for (field, other) in [(PERCENTAGE, ABSOLUTE), (ABSOLUTE, PERCENTAGE)] {
            let detail = format!("cannot be zero at the same time as {other}");
            fields.check(some, field, 0, &detail);
        }
        Ok(Self {
            min_candidate_nodes_percentage: percentage,
            min_candidate_nodes_absolute: absolute,
        })
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

impl DefaultPreemption {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .pre_enqueue()
            .post_filter()
            .enqueue_extensions()
            .build()
    }
}

impl Plugin for DefaultPreemption {
    type FilterState = ();
    type ScoreState = ();
}

impl PreEnqueue for DefaultPreemption {
    fn pre_enqueue(&self, cx: Cx<'_>, pod: &Pod) -> Fit {
        if cx.underway.preempting.gates(cx.cluster, &pod.uid) {
            return Err(Status::unresolvable(
                "waiting for the preemption for this pod to be finished",
            ));
        }
        Ok(())
    }
}

impl PostFilter for DefaultPreemption {
    fn post_filter(
        &self,
        cx: &mut PostFilterCx<'_>,
        _state: Slot<&()>,
        pod: &Pod,
    ) -> PostFilterResult {
        let preemptor = Preemptor {
            framework: cx.framework,
            cx: cx.cx,
            cycle: cx.cycle,
            pod,
            statuses: cx.statuses,
        };
        let report = match (preemptor.why_ineligible(), &mut cx.kept) {
            (Some(reason), _) => PreemptionReport::ineligible(reason),
            (None, Some(kept)) => kept.report(preemptor),
            (None, None) => evaluate(preemptor),
        };
        let (status, nomination) = report.verdict(cx.cx);
        PostFilterResult {
            status,
            nomination,
            preemption: Some(report),
        }
    }
}

impl EnqueueExtensions for DefaultPreemption {
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
