//! NodeResourcesFit.

pub use super::args::{NodeResourcesFitArgs, ResourceSpec, ScoringStrategy, ScoringStrategyKind};

use super::allocation::{Shares, shares};
use super::hints;
use super::strategies::Strategy;
use crate::framework::{
    AnyPlugin, ClusterEvent, Code, Cx, EnqueueExtensions, Filter, FilterState, Fit, Hint, Plugin,
    PluginBuilder, PreFilter, PreFilterResult, PreScore, PreScoreResult, Reason, Reasons,
    Registration, Scope, Score, ScoreState, Status,
};
use crate::model::{Node, Object, Pod, ResourceId};
use crate::{NodeInfo, PairRequest, ResourceSummary, Snapshot};
use stowplan_base::resource_names::is_extended;

/// The plugin: the node must have what the pod asks for.
#[derive(Clone, Debug)]
pub struct NodeResourcesFit {
    args: NodeResourcesFitArgs,
    strategy: Strategy,
}

/// What PreFilter leaves for Filter.
#[derive(Clone, Debug, Default)]
pub struct FitState {
    /// What the node must have.
    requests: Box<[Request]>,
    /// The same, if that is nothing but cpu and memory.
    pair: Option<PairRequest>,
}

impl FitState {
    fn new(requests: Box<[Request]>) -> Self {
        let of = |id| {
            let request = requests.iter().find(|request| request.id == id);
            request.map_or(0, |request| request.amount)
        };
        let in_pair = |id| [ResourceId::CPU, ResourceId::MEMORY].contains(&id);
        let pair = match requests.iter().all(|request| in_pair(request.id)) {
            true => PairRequest::new([of(ResourceId::CPU), of(ResourceId::MEMORY)]),
            false => None,
        };
        let pair = pair.map(PairRequest::or_nothing);
        Self { requests, pair }
    }
}

/// An amount of one resource that a pod asks for; never 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) id: ResourceId,
    pub(super) amount: i64,
    /// A device class stands for the resource.
    has_class: bool,
}

impl Request {
    /// Whether the node has enough of the resource left, or need not have it.
    fn fits(&self, node: &NodeInfo) -> bool {
        let allocatable = node.allocatable().get(self.id);
        let free = allocatable.wrapping_sub(node.requested.get(self.id));
        self.amount <= free || self.is_left_to_devices(&node.node)
    }

    /// Upstream's `shouldDelegateResourceToDRA`: no device plugin offers the resource on the node,
    /// so it would have to come from devices, which DynamicResources sees to.
    pub(super) fn is_left_to_devices(&self, node: &Node) -> bool {
        self.has_class && node.allocatable.get(self.id) <= 0
    }
}

impl NodeResourcesFit {
    /// The plugin with its arguments.
    pub fn new(args: NodeResourcesFitArgs) -> Self {
        let strategy = Strategy::new(&args.scoring_strategy.kind);
        Self { args, strategy }
    }

    /// Whether nobody cares if nodes have enough of an extended resource.
    fn ignores(&self, name: &str) -> bool {
        let NodeResourcesFitArgs {
            ignored_resources,
            ignored_resource_groups,
            ..
        } = &self.args;
        if (ignored_resources.is_empty() && ignored_resource_groups.is_empty())
            || !is_extended(name)
        {
            return false;
        }
        let group = name.split('/').next().unwrap_or(name);
        ignored_resources.iter().any(|ignored| ignored == name)
            || ignored_resource_groups
                .iter()
                .any(|ignored| ignored == group)
    }

    fn shares(&self, cx: Cx<'_>, pod: &Pod) -> Shares {
        let resources = &self.args.scoring_strategy.resources;
        shares(cx, resources, &pod.requests.scoring)
    }
}

/// What `pod` asks for, by column.
pub(super) fn requests_of<'a>(
    cluster: &'a Snapshot,
    pod: &'a Pod,
) -> impl Iterator<Item = Request> + Clone + 'a {
    let columns = pod.requests.spec_columns.iter();
    columns
        .filter(|(id, amount)| *id != ResourceId::PODS && *amount > 0)
        .map(|(id, amount)| Request {
            id,
            amount,
            has_class: id.is_scalar()
                && cluster
                    .device_class_for(cluster.resource_names.name(id))
                    .is_some(),
        })
}

/// Whether a pod with these requests finds room beside the pods of `node`. Upstream's
/// `fitsRequest`.
#[inline]
pub(super) fn fits(requests: impl Iterator<Item = Request> + Clone, node: &NodeInfo) -> Fit {
    let pods = i64::try_from(node.pods.len()).unwrap_or(i64::MAX);
    let room = node.allocatable().get(ResourceId::PODS);
    if pods < room && requests.clone().all(|request| request.fits(node)) {
        return Ok(());
    }
    Err(shortage(requests, node, pods >= room))
}

/// What there is too little of on the node.
#[cold]
fn shortage(requests: impl Iterator<Item = Request>, node: &NodeInfo, of_pods: bool) -> Status {
    let allocatable = node.allocatable();
    let mut code = Code::Unschedulable;
    let mut first = None;
    let mut more = Vec::new();
    let mut fail = |reason| match first {
        None => first = Some(reason),
        Some(_) => more.push(reason),
    };
    if of_pods {
        fail(Reason::Text("Too many pods"));
    }
    for request in requests.filter(|request| !request.fits(node)) {
        fail(Reason::Insufficient(request.id));
        if request.amount > allocatable.get(request.id) {
            code = Code::UnschedulableAndUnresolvable;
        }
    }
    match first {
        Some(first) if more.is_empty() => Status::new(code, first),
        first => Status {
            code,
            reasons: Reasons::Many(first.into_iter().chain(more).collect()),
        },
    }
}

impl NodeResourcesFit {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .pre_filter()
            .filter()
            .filter_state()
            .pre_score()
            .score()
            .score_state()
            .enqueue_extensions()
            .build()
    }
}

impl Plugin for NodeResourcesFit {
    type FilterState = FitState;
    type ScoreState = Shares;
}

impl PreFilter for NodeResourcesFit {
    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilterResult<FitState> {
        let name = |id| cx.cluster.names.text(cx.cluster.resource_names.name(id));
        let requests = requests_of(cx.cluster, pod)
            .filter(|request| !(request.id.is_scalar() && self.ignores(name(request.id))))
            .collect();
        PreFilterResult::Ready(FitState::new(requests))
    }

    fn pre_filter_disabled(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<FitState, Status> {
        Err(Status::error(
            "error reading \"PreFilterNodeResourcesFit\" from cycleState: not found",
        ))
    }
}

impl Filter for NodeResourcesFit {
    #[inline]
    fn filter(&self, _cx: Cx<'_>, state: &FitState, _pod: &Pod, node: &NodeInfo) -> Fit {
        fits(state.requests.iter().copied(), node)
    }
}

impl FilterState<NodeResourcesFit> for FitState {
    const SCOPE: Scope = Scope::Node;

    #[inline]
    fn fits_summary(&self, _plugin: &NodeResourcesFit, summary: &ResourceSummary) -> bool {
        self.pair.is_some_and(|request| summary.has_room(request))
    }
}

impl PreScore for NodeResourcesFit {
    fn pre_score(&self, cx: Cx<'_>, pod: &Pod, _feasible: &[&NodeInfo]) -> PreScoreResult<Shares> {
        PreScoreResult::Ready(self.shares(cx, pod))
    }

    fn pre_score_disabled(&self, cx: Cx<'_>, pod: &Pod) -> Result<Shares, Status> {
        Ok(self.shares(cx, pod))
    }
}

impl Score for NodeResourcesFit {
    #[inline]
    fn score(&self, _cx: Cx<'_>, shares: &Shares, _pod: &Pod, node: &NodeInfo) -> Option<i64> {
        Some(self.strategy.score(shares, node))
    }
}

impl ScoreState<NodeResourcesFit> for Shares {
    const SCOPE: Scope = Scope::Node;

    #[inline]
    fn score_summary(&self, plugin: &NodeResourcesFit, summary: &ResourceSummary) -> Option<i64> {
        plugin
            .strategy
            .score_summary(self.summarized(summary)?, summary)
    }
}

impl EnqueueExtensions for NodeResourcesFit {
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
        hints::hint(cx, event, pod, old, new)
    }
}
