//! The traits that share what PreScore left, without its type.

use super::Erased;
use super::slots::{erase_score, typed, typed_mut, typed_slot};
use crate::NodeInfo;
use crate::cast::score_sum;
use crate::framework::cycle::State;
use crate::framework::relevant_changes::RelevantChanges;
use crate::framework::runtime::{MAX_NODE_SCORE, OUT_OF_RANGE};
use crate::framework::{
    Changed, Cx, Invalidation, NormalizeScore, PreScore, PreScoreResult, Range, Reads, Scope,
    Score, ScoreState, Slot, Status,
};
use crate::model::Pod;

pub(in crate::framework) trait AnyPreScore {
    fn pre_score(&self, cx: Cx<'_>, pod: &Pod, feasible: &[&NodeInfo]) -> PreScoreResult<Erased>;
    fn pre_score_disabled(&self, cx: Cx<'_>, pod: &Pod) -> Result<Erased, Status>;
}

impl<P: PreScore> AnyPreScore for P {
    fn pre_score(&self, cx: Cx<'_>, pod: &Pod, feasible: &[&NodeInfo]) -> PreScoreResult<Erased> {
        erase_score(PreScore::pre_score(self, cx, pod, feasible))
    }

    fn pre_score_disabled(&self, cx: Cx<'_>, pod: &Pod) -> Result<Erased, Status> {
        Ok(Box::new(PreScore::pre_score_disabled(self, cx, pod)?))
    }
}

pub(in crate::framework) trait AnyScore {
    fn score(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod, node: &NodeInfo) -> Option<i64>;
    /// Raw scores of all `nodes`, statically dispatched inside.
    fn scores(
        &self,
        cx: Cx<'_>,
        state: &dyn State,
        pod: &Pod,
        nodes: &[&NodeInfo],
    ) -> Vec<Option<i64>>;
    fn score_from_filter(&self, own: &Slot<Erased>) -> Result<Erased, Status>;
}

impl<P: Score> AnyScore for P {
    fn score(&self, cx: Cx<'_>, state: &dyn State, pod: &Pod, node: &NodeInfo) -> Option<i64> {
        Score::score(self, cx, typed(state), pod, node)
    }

    fn scores(
        &self,
        cx: Cx<'_>,
        state: &dyn State,
        pod: &Pod,
        nodes: &[&NodeInfo],
    ) -> Vec<Option<i64>> {
        let state = typed(state);
        nodes
            .iter()
            .map(|node| Score::score(self, cx, state, pod, node))
            .collect()
    }

    fn score_from_filter(&self, own: &Slot<Erased>) -> Result<Erased, Status> {
        Ok(Box::new(Score::score_from_filter(self, typed_slot(own))?))
    }
}

pub(in crate::framework) trait AnyNormalizeScore {
    fn normalize(&self, state: &dyn State, raw: i64, over: Range) -> i64;
}

impl<P: NormalizeScore> AnyNormalizeScore for P {
    fn normalize(&self, state: &dyn State, raw: i64, over: Range) -> i64 {
        NormalizeScore::normalize(self, typed(state), raw, over)
    }
}

/// [`ScoreState`] without its type. What is asked about many nodes is statically dispatched inside.
pub(in crate::framework) trait AnyScoreState {
    kept_state!();
    /// Adds the weighted scores of the nodes at these positions that are not rejected to `sums`; a
    /// score out of range leaves `OUT_OF_RANGE`.
    fn score_these(
        &self,
        cx: Cx<'_>,
        state: &dyn State,
        pod: &Pod,
        weight: i64,
        nodes: (&[u32], &[u32]),
        sums: &mut [i32],
    );
    fn prepare(&self, cx: Cx<'_>, pod: &Pod) -> Option<PreScoreResult<Erased>>;
    fn group_key(&self, state: &dyn State, pod: &Pod, node: &NodeInfo, key: &mut Vec<u64>);
    fn set_feasible(
        &self,
        state: &mut dyn State,
        groups: &mut dyn Iterator<Item = (&[u64], usize)>,
    );
    fn score_group(&self, state: &dyn State, cx: Cx<'_>, pod: &Pod, key: &[u64]) -> Option<i64>;
}

impl<P> AnyScoreState for P
where
    P: Score,
    P::ScoreState: ScoreState<P>,
{
    kept_state!(ScoreState);

    fn score_these(
        &self,
        cx: Cx<'_>,
        state: &dyn State,
        pod: &Pod,
        weight: i64,
        (positions, verdicts): (&[u32], &[u32]),
        sums: &mut [i32],
    ) {
        let state: &P::ScoreState = typed(state);
        let (nodes, summaries) = (cx.cluster.nodes(), cx.cluster.summaries());
        for ((at, verdict), sum) in positions.iter().zip(verdicts).zip(sums) {
            if *verdict != 0 || *sum == OUT_OF_RANGE {
                continue;
            }
            let at = *at as usize;
            let score = match state.score_summary(self, &summaries[at]) {
                Some(score) => score,
                None => self.score(cx, state, pod, &nodes[at]).unwrap_or(0),
            };
            *sum = match (0..=MAX_NODE_SCORE).contains(&score) {
                true => *sum + score_sum(score * weight),
                false => OUT_OF_RANGE,
            };
        }
    }

    fn prepare(&self, cx: Cx<'_>, pod: &Pod) -> Option<PreScoreResult<Erased>> {
        P::ScoreState::prepare(self, cx, pod).map(erase_score)
    }

    fn group_key(&self, state: &dyn State, pod: &Pod, node: &NodeInfo, key: &mut Vec<u64>) {
        typed::<P::ScoreState>(state).group_key(pod, node, key);
    }

    fn set_feasible(
        &self,
        state: &mut dyn State,
        groups: &mut dyn Iterator<Item = (&[u64], usize)>,
    ) {
        typed_mut::<P::ScoreState>(state).set_feasible(groups);
    }

    fn score_group(&self, state: &dyn State, cx: Cx<'_>, pod: &Pod, key: &[u64]) -> Option<i64> {
        typed::<P::ScoreState>(state).score_group(cx, pod, key)
    }
}
