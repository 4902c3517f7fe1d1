//! PodTopologySpread: pods that look alike are spread over domains.
//!
//! Upstream: `pkg/scheduler/framework/plugins/podtopologyspread`.

mod account;
mod args;
mod blocking_pods;
mod constraint;
mod default_selector;
mod domains;
mod filtering;
mod hints;
mod logarithm;
mod scoring;
#[cfg(test)]
mod tests;

pub use account::{Account, DomainAccount, accounts};
pub use args::{DefaultConstraints, PodTopologySpreadArgs};
pub use filtering::HardConstraints;
pub use scoring::SoftConstraints;

use crate::framework::{
    AnyPlugin, Changed, ClusterEvent, Cx, EnqueueExtensions, Filter, FilterState, Fit, Hint,
    InvalidatedBy, Invalidation, NormalizeScore, Plugin, PluginBuilder, PreFilter,
    PreFilterExtensions, PreFilterResult, PreScore, PreScoreResult, Range, Reads, Registration,
    Scope, Score, ScoreState, Status,
};
use crate::model::{
    Kind, Object, Pod, PodSelectorOwner, Selector, SpreadConstraint, UnsatisfiableAction,
};
use crate::{Fact, NodeInfo};
use constraint::Constraint;
use domains::Place;
use stowplan_base::{Sym, sym};

/// The plugin.
#[derive(Clone, Debug)]
pub struct PodTopologySpread {
    /// For pods without constraints of their own; their selectors are not read.
    defaults: Vec<SpreadConstraint>,
    /// The defaults are the system's: nodes that lack a topology label are scored all the same.
    system_defaulted: bool,
}

impl PodTopologySpread {
    /// The plugin with its arguments.
    pub fn new(args: PodTopologySpreadArgs) -> Self {
        match args.defaults {
            DefaultConstraints::System => Self {
                defaults: vec![
                    system_default(sym::HOSTNAME, 3),
                    system_default(sym::ZONE, 5),
                ],
                system_defaulted: true,
            },
            DefaultConstraints::List(defaults) => Self {
                defaults,
                system_defaulted: false,
            },
        }
    }

    /// The constraints that hold for the pod: its own, or else the defaults.
    fn constraints(&self, cx: Cx<'_>, pod: &Pod, action: UnsatisfiableAction) -> Vec<Constraint> {
        let wanted = |c: &&SpreadConstraint| c.when_unsatisfiable == action;
        if !pod.spread_constraints.is_empty() {
            return pod
                .spread_constraints
                .iter()
                .filter(wanted)
                .map(|c| Constraint::own(c, &pod.labels))
                .collect();
        }
        let mut defaults = self.defaults.iter().filter(wanted).peekable();
        if defaults.peek().is_none() {
            return Vec::new();
        }
        let selector = default_selector::default_selector(cx.cluster, pod);
        if selector.is_empty() {
            return Vec::new();
        }
        defaults
            .map(|c| Constraint::new(c, selector.clone()))
            .collect()
    }
}

impl PodTopologySpread {
    /// The soft constraints that hold for the pod, if any, and whether nodes that lack a topology
    /// key are left out.
    fn soft_constraints(&self, cx: Cx<'_>, pod: &Pod) -> Option<(Vec<Constraint>, bool)> {
        let constraints = self.constraints(cx, pod, UnsatisfiableAction::ScheduleAnyway);
        if constraints.is_empty() || cx.cluster.nodes().is_empty() {
            return None;
        }
        let require_all_keys = !pod.spread_constraints.is_empty() || !self.system_defaulted;
        Some((constraints, require_all_keys))
    }
}

fn system_default(topology_key: Sym, max_skew: i32) -> SpreadConstraint {
    SpreadConstraint {
        max_skew,
        topology_key,
        when_unsatisfiable: UnsatisfiableAction::ScheduleAnyway,
        selector: Selector::Nothing,
        min_domains: 1,
        honor_node_affinity: true,
        honor_node_taints: false,
        match_label_keys: Box::default(),
    }
}

impl PodTopologySpread {
    /// Default constraints take their selector from the Services that select the pod, and from its
    /// owner.
    const INVALIDATED_BY: &'static [InvalidatedBy<Self>] = &[
        (Kind::Service, Self::is_invalidated_by_service),
        (Kind::ReplicaSet, Self::is_invalidated_by_owner),
        (Kind::ReplicationController, Self::is_invalidated_by_owner),
        (Kind::StatefulSet, Self::is_invalidated_by_owner),
    ];

    fn is_invalidated_by_service(&self, cx: Cx<'_>, pod: &Pod, service: Changed<'_>) -> bool {
        let selects =
            |service: &PodSelectorOwner| service.selector.matches(&pod.labels, &cx.cluster.names);
        // What it was in between is what the next change has to say of it.
        let now = || cx.cluster.services.get(service.namespace, service.name);
        self.has_default_constraints(pod)
            && service.namespace == pod.namespace
            && (matches!(service.before, Some(Object::Service(before)) if selects(before))
                || now().is_some_and(|now| selects(now)))
    }

    fn is_invalidated_by_owner(&self, _cx: Cx<'_>, pod: &Pod, owner: Changed<'_>) -> bool {
        let controller = pod.controller.as_ref();
        self.has_default_constraints(pod)
            && owner.namespace == pod.namespace
            && controller.is_some_and(|controller| controller.name == owner.name)
    }

    fn has_default_constraints(&self, pod: &Pod) -> bool {
        pod.spread_constraints.is_empty() && !self.defaults.is_empty()
    }

    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .pre_filter()
            .pre_filter_extensions()
            .filter()
            .filter_state()
            .pre_score()
            .score()
            .normalize_score()
            .score_state()
            .enqueue_extensions()
            .build()
    }
}

impl Plugin for PodTopologySpread {
    type FilterState = HardConstraints;
    type ScoreState = SoftConstraints;
}

impl PreFilter for PodTopologySpread {
    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilterResult<HardConstraints> {
        let constraints = self.constraints(cx, pod, UnsatisfiableAction::DoNotSchedule);
        if constraints.is_empty() {
            return PreFilterResult::Skip;
        }
        PreFilterResult::Ready(HardConstraints::count(cx.cluster, pod, constraints))
    }

    fn pre_filter_disabled(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<HardConstraints, Status> {
        Err(Status::error(
            "reading \"PreFilterPodTopologySpread\" from cycleState: not found",
        ))
    }
}

impl PreFilterExtensions for PodTopologySpread {
    fn add_pod(
        &self,
        cx: Cx<'_>,
        state: &mut HardConstraints,
        pod: &Pod,
        other: &Pod,
        node: &NodeInfo,
    ) {
        state.update_with_pod(pod, other, &node.node, 1, &cx.cluster.names);
    }

    fn remove_pod(
        &self,
        cx: Cx<'_>,
        state: &mut HardConstraints,
        pod: &Pod,
        other: &Pod,
        node: &NodeInfo,
    ) {
        state.update_with_pod(pod, other, &node.node, -1, &cx.cluster.names);
    }
}

impl Filter for PodTopologySpread {
    fn filter(&self, _cx: Cx<'_>, state: &HardConstraints, _pod: &Pod, node: &NodeInfo) -> Fit {
        state.filter(&node.node)
    }
}

impl FilterState<PodTopologySpread> for HardConstraints {
    const SCOPE: Scope = Scope::Domains;
    const INVALIDATED_BY: &'static [InvalidatedBy<PodTopologySpread>] =
        PodTopologySpread::INVALIDATED_BY;

    fn prepare(
        plugin: &PodTopologySpread,
        cx: Cx<'_>,
        pod: &Pod,
    ) -> Option<PreFilterResult<HardConstraints>> {
        let constraints = plugin.constraints(cx, pod, UnsatisfiableAction::DoNotSchedule);
        if constraints.is_empty() {
            return Some(PreFilterResult::Skip);
        }
        let state = HardConstraints::count_label_group(cx.cluster, pod, constraints);
        Some(PreFilterResult::Ready(state))
    }

    fn label_marks(&self) -> u64 {
        self.label_marks()
    }

    fn is_affected_by(
        &self,
        _plugin: &PodTopologySpread,
        cx: Cx<'_>,
        pod: &Pod,
        other: &Pod,
    ) -> bool {
        self.is_affected_by(pod, other, &cx.cluster.names)
    }

    fn update(
        &mut self,
        _plugin: &PodTopologySpread,
        cx: Cx<'_>,
        pod: &Pod,
        fact: Fact<'_>,
        holds: bool,
    ) -> Invalidation {
        self.update(pod, fact, holds, cx.cluster)
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn group_key(&self, node: &NodeInfo, key: &mut Vec<u64>) {
        self.group_key(&node.node, key);
    }

    fn reads(&self, _plugin: &PodTopologySpread, _pod: &Pod) -> Option<Reads> {
        Some(self.reads())
    }

    fn filter_group(&self, key: &[u64]) -> Fit {
        self.filter_group(key.iter().map(|word| Place::unpack(*word)))
    }
}

impl PreScore for PodTopologySpread {
    fn pre_score(
        &self,
        cx: Cx<'_>,
        pod: &Pod,
        feasible: &[&NodeInfo],
    ) -> PreScoreResult<SoftConstraints> {
        let Some((constraints, require_all_keys)) = self.soft_constraints(cx, pod) else {
            return PreScoreResult::Skip;
        };
        let mut state = SoftConstraints::count(cx.cluster, pod, constraints, require_all_keys);
        state.weigh_nodes(feasible);
        PreScoreResult::Ready(state)
    }

    fn pre_score_disabled(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<SoftConstraints, Status> {
        Err(Status::error(
            "error reading \"PreScorePodTopologySpread\" from cycleState: not found",
        ))
    }
}

impl Score for PodTopologySpread {
    fn score(
        &self,
        _cx: Cx<'_>,
        state: &SoftConstraints,
        _pod: &Pod,
        node: &NodeInfo,
    ) -> Option<i64> {
        state.score(&node.node)
    }
}

impl NormalizeScore for PodTopologySpread {
    fn normalize(&self, _state: &SoftConstraints, raw: i64, over: Range) -> i64 {
        scoring::normalize(raw, over)
    }
}

impl ScoreState<PodTopologySpread> for SoftConstraints {
    const SCOPE: Scope = Scope::Domains;
    const INVALIDATED_BY: &'static [InvalidatedBy<PodTopologySpread>] =
        PodTopologySpread::INVALIDATED_BY;

    fn bytes(&self) -> usize {
        self.bytes()
    }

    fn prepare(
        plugin: &PodTopologySpread,
        cx: Cx<'_>,
        pod: &Pod,
    ) -> Option<PreScoreResult<SoftConstraints>> {
        let Some((constraints, require_all_keys)) = plugin.soft_constraints(cx, pod) else {
            return Some(PreScoreResult::Skip);
        };
        let state =
            SoftConstraints::count_label_group(cx.cluster, pod, constraints, require_all_keys);
        Some(PreScoreResult::Ready(state))
    }

    fn label_marks(&self) -> u64 {
        self.label_marks()
    }

    fn is_affected_by(
        &self,
        _plugin: &PodTopologySpread,
        cx: Cx<'_>,
        pod: &Pod,
        other: &Pod,
    ) -> bool {
        self.is_affected_by(pod, other, &cx.cluster.names)
    }

    fn update(
        &mut self,
        _plugin: &PodTopologySpread,
        cx: Cx<'_>,
        pod: &Pod,
        fact: Fact<'_>,
        holds: bool,
    ) -> Invalidation {
        self.update(pod, fact, holds, &cx.cluster.names)
    }

    fn group_key(&self, _pod: &Pod, node: &NodeInfo, key: &mut Vec<u64>) {
        self.group_key(&node.node, key);
    }

    fn reads(&self, _plugin: &PodTopologySpread, _pod: &Pod) -> Option<Reads> {
        Some(self.reads())
    }

    fn set_feasible<'a>(&mut self, feasible: impl Iterator<Item = (&'a [u64], usize)>) {
        self.weigh(feasible);
    }

    fn score_group(&self, _cx: Cx<'_>, _pod: &Pod, key: &[u64]) -> Option<i64> {
        self.score_group(key.iter().copied())
    }
}

impl EnqueueExtensions for PodTopologySpread {
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
        let constraints = self.constraints(cx, pod, UnsatisfiableAction::DoNotSchedule);
        hints::hint(&constraints, cx, event, pod, old, new)
    }
}
