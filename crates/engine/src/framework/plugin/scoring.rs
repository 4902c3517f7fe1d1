//! PreScore, Score and NormalizeScore.

use super::Plugin;
use crate::NodeInfo;
use crate::framework::{Cx, Slot, Status};
use crate::model::Pod;

/// Looks at the pod and the feasible nodes once per attempt.
pub trait PreScore: Plugin {
    /// What Score is to know, or that it need not be asked.
    fn pre_score(
        &self,
        cx: Cx<'_>,
        pod: &Pod,
        feasible: &[&NodeInfo],
    ) -> PreScoreResult<Self::ScoreState>;

    /// What Score works with when the profile disables this plugin's PreScore.
    fn pre_score_disabled(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<Self::ScoreState, Status> {
        Err(Status::error("not found"))
    }
}

/// What PreScore found.
pub enum PreScoreResult<S> {
    /// Nothing to tell the nodes apart by: Score is skipped for this pod.
    Skip,
    /// Every feasible node is to be scored.
    Ready(S),
    /// The attempt fails.
    Failed(Status),
}

/// Says how good a node is.
pub trait Score: Plugin {
    /// The node's score: 0..=100, or anything where [`NormalizeScore`] sees to it. `None` ends as 0
    /// and stays out of the [`Range`].
    fn score(
        &self,
        cx: Cx<'_>,
        state: &Self::ScoreState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Option<i64>;

    /// What Score works with in plugins without PreScore; it may lean on what PreFilter left.
    fn score_from_filter(
        &self,
        _filter: Slot<&Self::FilterState>,
    ) -> Result<Self::ScoreState, Status> {
        Ok(Self::ScoreState::default())
    }
}

/// Compares the scores of nodes with each other. Upstream's `ScoreExtensions`.
pub trait NormalizeScore: Score {
    /// Brings a raw score into 0..=100.
    fn normalize(&self, state: &Self::ScoreState, raw: i64, over: Range) -> i64;
}

/// The least and the greatest raw score over the feasible nodes that have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The least.
    pub min: i64,
    /// The greatest.
    pub max: i64,
}
