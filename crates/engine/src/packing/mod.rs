//! Bin packing: policies that choose a node in the place of scores.
//!
//! Scores of plugins end at 100, which cannot tell 5,000 nodes apart. So a profile may have a
//! packing policy instead: it gives every feasible node a key, and the greatest key wins. Filters,
//! preemption and the queue stay as they are.

mod census;
mod cover;

pub use census::{Bound, Census, census};

use crate::NodeInfo;
use crate::model::{Pod, ResourceId};

/// How a profile chooses among the nodes that a pod fits on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Packing {
    /// The first node, in the order in which nodes arrived.
    FirstFit,
    /// The node with the least left over.
    #[default]
    BestFit,
    /// The node with the most left over.
    WorstFit,
    /// As [`FirstFit`](Self::FirstFit), for a queue that hands out the largest pods first: see
    /// [`LargestFirst`](crate::plugins::largest_first::LargestFirst).
    FirstFitDecreasing,
}

/// What a whole node counts for in a key, per resource.
const WHOLE: i64 = 1_000_000;

impl Packing {
    /// Every policy.
    pub const ALL: [Self; 4] = [
        Self::FirstFit,
        Self::BestFit,
        Self::WorstFit,
        Self::FirstFitDecreasing,
    ];

    /// No key is greater than this, or less than its negative.
    pub const KEY_MAX: i64 = (1 << 29) - 1;

    /// The policy's name, as configuration files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FirstFit => "FirstFit",
            Self::BestFit => "BestFit",
            Self::WorstFit => "WorstFit",
            Self::FirstFitDecreasing => "FirstFitDecreasing",
        }
    }

    /// The policy of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// What a node on which the pod fits is worth: the greatest key wins, equal keys are equally
    /// good. A function of the pod's requests and the node alone.
    pub fn key(self, pod: &Pod, node: &NodeInfo) -> i64 {
        let key = match self {
            Self::FirstFit | Self::FirstFitDecreasing => {
                -i64::try_from(node.arrival()).unwrap_or(i64::MAX)
            }
            Self::BestFit => -left_over(pod, node),
            Self::WorstFit => left_over(pod, node),
        };
        key.clamp(-Self::KEY_MAX, Self::KEY_MAX)
    }
}

/// How much of the node is free once the pod is on it: the free shares of cpu, of memory and of
/// everything else that the pod asks for, in millionths, added up.
///
/// A resource that the node does not have leaves nothing over.
fn left_over(pod: &Pod, node: &NodeInfo) -> i64 {
    let asked = &pod.requests.total_columns;
    let always = [ResourceId::CPU, ResourceId::MEMORY];
    let others = asked
        .iter()
        .map(|(id, _)| id)
        .filter(|id| !always.contains(id));
    let free_share = |id: ResourceId| {
        let all = i128::from(node.node.allocatable.get(id));
        let used = i128::from(node.requested.get(id)) + i128::from(asked.get(id));
        let share = (all > 0).then(|| (all - used).clamp(0, all) * i128::from(WHOLE) / all);
        i64::try_from(share.unwrap_or(0)).unwrap_or(WHOLE)
    };
    always.into_iter().chain(others).map(free_share).sum()
}

#[cfg(test)]
mod tests;
