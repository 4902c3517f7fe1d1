//! NodeResourcesBalancedAllocation.

use super::allocation::{Load, Share, Shares, Sums, is_best_effort, shares};
use super::fit::ResourceSpec;
use crate::cast::{count, float, truncate};
use crate::framework::args::{Args, FieldError, Fields};
use crate::framework::{
    AnyPlugin, Cx, MAX_NODE_SCORE, Plugin, PluginBuilder, PreScore, PreScoreResult, Scope, Score,
    ScoreState, Status,
};
use crate::model::Pod;
use crate::{NodeInfo, ResourceSummary};

/// `NodeResourcesBalancedAllocationArgs`.
#[derive(Clone, Debug)]
pub struct NodeResourcesBalancedAllocationArgs {
    /// `resources`; their weights are always 1.
    pub resources: Vec<ResourceSpec>,
}

impl Default for NodeResourcesBalancedAllocationArgs {
    fn default() -> Self {
        Self {
            resources: ResourceSpec::cpu_and_memory(),
        }
    }
}

impl Args for NodeResourcesBalancedAllocationArgs {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
        let resources = ResourceSpec::decode_list(fields)?;
        let path = fields.path("resources");
        for (i, ResourceSpec { name, weight }) in resources.iter().enumerate() {
            let path = path.index(i);
            if resources[..i].iter().any(|other| other.name == *name) {
                fields.reject(path.child("name").duplicate(name));
            }
            if *weight != 1 {
                fields.reject(path.child("weight").invalid(*weight, "must be 1"));
            }
        }
        Ok(Self { resources })
    }
}

/// The plugin: prefers nodes whose resources are used more evenly with the pod than without it.
#[derive(Clone, Debug)]
pub struct NodeResourcesBalancedAllocation {
    args: NodeResourcesBalancedAllocationArgs,
}

/// What PreScore leaves for Score.
#[derive(Clone, Debug, Default)]
pub struct BalancedState {
    /// The resources that count.
    shares: Shares,
    /// The pod asks for none of them: every node scores 0.
    best_effort: bool,
}

impl NodeResourcesBalancedAllocation {
    /// The plugin with its arguments.
    pub fn new(args: NodeResourcesBalancedAllocationArgs) -> Self {
        Self { args }
    }

    fn state(&self, cx: Cx<'_>, pod: &Pod) -> BalancedState {
        let (resources, requests) = (&self.args.resources, &pod.requests.total);
        BalancedState {
            shares: shares(cx, resources, requests),
            best_effort: is_best_effort(cx, resources, requests),
        }
    }
}

impl NodeResourcesBalancedAllocation {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .pre_score()
            .score()
            .score_state()
            .build()
    }
}

impl Plugin for NodeResourcesBalancedAllocation {
    type FilterState = ();
    type ScoreState = BalancedState;
}

impl PreScore for NodeResourcesBalancedAllocation {
    /// Pods that ask for nothing are left alone, or they would all go to the most balanced node.
    fn pre_score(
        &self,
        cx: Cx<'_>,
        pod: &Pod,
        _feasible: &[&NodeInfo],
    ) -> PreScoreResult<BalancedState> {
        let state = self.state(cx, pod);
        if state.best_effort {
            return PreScoreResult::Skip;
        }
        PreScoreResult::Ready(state)
    }

    fn pre_score_disabled(&self, cx: Cx<'_>, pod: &Pod) -> Result<BalancedState, Status> {
        Ok(self.state(cx, pod))
    }
}

impl Score for NodeResourcesBalancedAllocation {
    #[inline]
    fn score(
        &self,
        _cx: Cx<'_>,
        state: &BalancedState,
        _pod: &Pod,
        node: &NodeInfo,
    ) -> Option<i64> {
        if state.best_effort {
            return Some(0);
        }
        let [with_pod, without_pod] = deviations(&state.shares, node).map(balance);
        Some(score_of(with_pod - without_pod))
    }
}

impl ScoreState<NodeResourcesBalancedAllocation> for BalancedState {
    const SCOPE: Scope = Scope::Node;

    #[inline]
    fn score_summary(
        &self,
        _plugin: &NodeResourcesBalancedAllocation,
        summary: &ResourceSummary,
    ) -> Option<i64> {
        let request = self
            .shares
            .summarized(summary)
            .filter(|_| !self.best_effort)?;
        Some(score_of(summary.evenness_gain(request)))
    }
}

/// The score of a node that is so much more evenly used with the pod.
fn score_of(gain: i64) -> i64 {
    let half = MAX_NODE_SCORE / 2;
    half + (half + gain) / 2
}

/// 100 less the standard deviation of the used fractions, in percent.
fn balance(deviation: f64) -> i64 {
    truncate((1.0 - deviation) * float(MAX_NODE_SCORE))
}

/// How much of what there is is used, with the pod and without it.
#[inline]
fn fractions(load: Load) -> [f64; 2] {
    let of = |used: i64| (float(used) / float(load.allocatable)).min(1.0);
    [of(load.requested), of(load.allocated)]
}

/// The standard deviations of the used fractions, with the pod and without it.
#[inline]
fn deviations(shares: &[Share], node: &NodeInfo) -> [f64; 2] {
    let load = |share: &Share| share.load(node, Sums::Requested);
    match shares {
        [a, b] => match (load(a), load(b)) {
            (Some(a), Some(b)) => {
                let (a, b) = (fractions(a), fractions(b));
                [half_apart(a[0], b[0]), half_apart(a[1], b[1])]
            }
            _ => [0.0; 2],
        },
        shares => {
            let all = shares.iter().filter_map(load).map(fractions);
            [0, 1].map(|i| deviation(all.clone().map(|fractions| fractions[i])))
        }
    }
}

/// The standard deviation of two numbers.
fn half_apart(a: f64, b: f64) -> f64 {
    ((a - b) / 2.0).abs()
}

/// The standard deviation; of two numbers as upstream takes it, which rounds otherwise.
fn deviation(fractions: impl Iterator<Item = f64> + Clone) -> f64 {
    let mut first = fractions.clone();
    match (first.next(), first.next(), first.next()) {
        (None, ..) | (_, None, _) => 0.0,
        (Some(a), Some(b), None) => half_apart(a, b),
        _ => {
            let count = float(count(fractions.clone().count()));
            let mean = fractions.clone().fold(0.0, |sum, f| sum + f) / count;
            let squares = fractions.fold(0.0, |sum, f| sum + (f - mean) * (f - mean));
            (squares / count).sqrt()
        }
    }
}
