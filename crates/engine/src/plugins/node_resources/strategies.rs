//! The scoring strategies of NodeResourcesFit.

use super::allocation::{Load, Share, Sums};
use super::fit::ScoringStrategyKind;
use crate::cast::{float, truncate};
use crate::framework::MAX_NODE_SCORE;
use crate::{NodeInfo, PairRequest, ResourceSummary};

/// The greatest score in a `requestedToCapacityRatio` shape. Upstream's `MaxCustomPriorityScore`.
const MAX_SHAPE_SCORE: i64 = 10;

/// The greatest utilisation, in percent.
const MAX_UTILIZATION: i64 = 100;

/// A strategy, ready to score with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Strategy {
    LeastAllocated,
    MostAllocated,
    RequestedToCapacityRatio(BrokenLine),
}

/// A function of utilisation that is linear between its points (utilisation, score) and flat
/// outside of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BrokenLine(Vec<(i64, i64)>);

impl Strategy {
    pub(super) fn new(kind: &ScoringStrategyKind) -> Self {
        match kind {
            ScoringStrategyKind::LeastAllocated => Self::LeastAllocated,
            ScoringStrategyKind::MostAllocated => Self::MostAllocated,
            ScoringStrategyKind::RequestedToCapacityRatio(shape) => {
                let scale = MAX_NODE_SCORE / MAX_SHAPE_SCORE;
                let point = |&(utilization, score): &(i32, i32)| {
                    (i64::from(utilization), i64::from(score) * scale)
                };
                Self::RequestedToCapacityRatio(BrokenLine(shape.iter().map(point).collect()))
            }
        }
    }

    /// The node's score: the weighted mean over the resources that it has.
    #[inline]
    pub(super) fn score(&self, shares: &[Share], node: &NodeInfo) -> i64 {
        match self {
            Self::LeastAllocated => mean(shares, node, |load| Some(least_requested(load))),
            Self::MostAllocated => mean(shares, node, |load| Some(most_requested(load))),
            Self::RequestedToCapacityRatio(line) => rounded_mean(shares, node, line),
        }
    }

    /// The same, if cpu and memory count, one as much as the other.
    #[inline]
    pub(super) fn score_summary(
        &self,
        request: PairRequest,
        summary: &ResourceSummary,
    ) -> Option<i64> {
        match self {
            Self::LeastAllocated => Some(summary.free_percent(request)),
            Self::MostAllocated => Some(summary.used_percent(request)),
            Self::RequestedToCapacityRatio(_) => None,
        }
    }
}

/// The share of the resource that stays free, of 100.
fn least_requested(load: Load) -> i64 {
    if load.requested > load.allocatable {
        return 0;
    }
    let free = load.allocatable.wrapping_sub(load.requested);
    free.wrapping_mul(MAX_NODE_SCORE)
        .wrapping_div(load.allocatable)
}

/// The share of the resource that is used, of 100. The minimum per container may exceed the node.
fn most_requested(load: Load) -> i64 {
    let used = load.requested.min(load.allocatable);
    used.wrapping_mul(MAX_NODE_SCORE)
        .wrapping_div(load.allocatable)
}

fn mean(shares: &[Share], node: &NodeInfo, score: impl Fn(Load) -> Option<i64>) -> i64 {
    let (sum, weights) = weighted_sum(shares, node, score);
    if weights == 0 { 0 } else { sum / weights }
}

/// Resources that score 0 do not count, and the mean is rounded.
fn rounded_mean(shares: &[Share], node: &NodeInfo, line: &BrokenLine) -> i64 {
    let (sum, weights) = weighted_sum(shares, node, |load| {
        let utilization = if load.requested > load.allocatable {
            MAX_UTILIZATION
        } else {
            load.requested
                .wrapping_mul(MAX_UTILIZATION)
                .wrapping_div(load.allocatable)
        };
        Some(line.at(utilization)).filter(|score| *score > 0)
    });
    if weights == 0 {
        return 0;
    }
    truncate((float(sum) / float(weights)).round())
}

#[inline]
fn weighted_sum(
    shares: &[Share],
    node: &NodeInfo,
    score: impl Fn(Load) -> Option<i64>,
) -> (i64, i64) {
    let (mut sum, mut weights) = (0_i64, 0_i64);
    for share in shares {
        if let Some(score) = share.load(node, Sums::NonZero).and_then(&score) {
            sum = sum.wrapping_add(score.wrapping_mul(share.weight));
            weights = weights.wrapping_add(share.weight);
        }
    }
    (sum, weights)
}

impl BrokenLine {
    fn at(&self, utilization: i64) -> i64 {
        let mut before: Option<(i64, i64)> = None;
        for &(to, to_score) in &self.0 {
            if utilization <= to {
                let Some((from, from_score)) = before else {
                    return to_score;
                };
                return from_score + (to_score - from_score) * (utilization - from) / (to - from);
            }
            before = Some((to, to_score));
        }
        before.map_or(0, |(_, score)| score)
    }
}
