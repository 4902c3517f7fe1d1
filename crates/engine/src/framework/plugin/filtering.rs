//! PreFilter, Filter and PostFilter.

use super::Plugin;
use crate::NodeInfo;
use crate::framework::{Cx, Fit, PostFilterCx, PreemptionReport, Slot, Status};
use crate::model::Pod;
use stowplan_base::Sym;

/// Looks at the pod and the cluster once per attempt.
pub trait PreFilter: Plugin {
    /// What Filter is to know, or why it need not be asked.
    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilterResult<Self::FilterState>;

    /// What Filter works with when the profile disables this plugin's PreFilter.
    fn pre_filter_disabled(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<Self::FilterState, Status> {
        Err(Status::error("not found"))
    }
}

/// What PreFilter found.
pub enum PreFilterResult<S> {
    /// Nothing to check: Filter is skipped for this pod.
    Skip,
    /// Every node may be asked.
    Ready(S),
    /// Only these nodes may be asked (some of them may not exist).
    Narrowed(S, Vec<Sym>),
    /// No node will do.
    Rejected(Status),
}

/// Adjusts what PreFilter left in dry runs, for plugins whose Filter looks at more than the node.
///
/// One must undo the other.
pub trait PreFilterExtensions: Plugin {
    /// As if `other` were added to `node`, which already shows it.
    fn add_pod(
        &self,
        cx: Cx<'_>,
        state: &mut Self::FilterState,
        pod: &Pod,
        other: &Pod,
        node: &NodeInfo,
    );

    /// As if `other` were removed from `node`, which no longer shows it.
    fn remove_pod(
        &self,
        cx: Cx<'_>,
        state: &mut Self::FilterState,
        pod: &Pod,
        other: &Pod,
        node: &NodeInfo,
    );
}

/// Says which nodes will do.
pub trait Filter: Plugin {
    /// Does the pod fit on the node?
    fn filter(&self, cx: Cx<'_>, state: &Self::FilterState, pod: &Pod, node: &NodeInfo) -> Fit;
}

/// Asked when no node fits.
pub trait PostFilter: Plugin {
    /// Can something be done about it?
    fn post_filter(
        &self,
        cx: &mut PostFilterCx<'_>,
        state: Slot<&Self::FilterState>,
        pod: &Pod,
    ) -> PostFilterResult;
}

/// What PostFilter came to.
pub struct PostFilterResult {
    /// `Ok` if room can be made.
    pub status: Fit,
    /// The nomination that follows from it.
    pub nomination: Nomination,
    /// What preemption tried, if it was its turn.
    pub preemption: Option<PreemptionReport>,
}

/// What PostFilter does to the pod's nomination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nomination {
    /// Leave it as it is.
    Keep,
    /// Set it; `None` clears it.
    Set(Option<Sym>),
}
