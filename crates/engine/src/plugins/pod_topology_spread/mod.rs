//! PodTopologySpread: pods that look alike are spread over domains.
//!
//! Upstream: `pkg/scheduler/framework/plugins/podtopologyspread`.

mod constraint;
mod crowds;
mod default_selector;
mod domains;
mod filtering;
mod hints;
mod logarithm;
mod scoring;
#[cfg(test)]
mod tests;

pub use filtering::HardConstraints;
pub use scoring::SoftConstraints;

use crate::framework::{
    Changed, ClusterEvent, Cx, Fit, Hint, Kept, Plugin, Point, PreFilter, PreScore, Range, Reads,
    Registration, Sight, Status, Trial,
};
use crate::model::{
    Kind, Object, Pod, PodSelectorOwner, Selector, SpreadConstraint, UnsatisfiableAction,
};
use crate::{Fact, NodeInfo};
use constraint::Constraint;
use domains::Place;
use stowplan_base::{Sym, sym};

/// `PodTopologySpreadArgs`.
#[derive(Clone, Debug, Default)]
pub struct PodTopologySpreadArgs {
    /// `defaultConstraints` and `defaultingType`.
    pub defaults: DefaultConstraints,
}

/// What applies to pods that name no constraints of their own.
#[derive(Clone, Debug, Default)]
pub enum DefaultConstraints {
    /// `defaultingType: System`: zone with skew 5 and hostname with skew 3, both soft.
    #[default]
    System,
    /// `defaultingType: List`: these; their selector comes from the pod's owner.
    List(Vec<SpreadConstraint>),
}

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

impl Plugin for PodTopologySpread {
    const NAME: &'static str = "PodTopologySpread";
    const POINTS: &'static [Point] = &[
        Point::PreFilter,
        Point::Filter,
        Point::PreScore,
        Point::Score,
    ];
    const FILTER_SIGHT: Sight = Sight::Domains;
    const SCORE_SIGHT: Sight = Sight::Domains;
    type Filter = HardConstraints;
    type Score = SoftConstraints;

    fn pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilter<HardConstraints> {
        let constraints = self.constraints(cx, pod, UnsatisfiableAction::DoNotSchedule);
        if constraints.is_empty() {
            return PreFilter::Skip;
        }
        PreFilter::Ready(HardConstraints::count(cx.cluster, pod, constraints))
    }

    fn filter_unprepared(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<HardConstraints, Status> {
        Err(Status::error(
            "reading \"PreFilterPodTopologySpread\" from cycleState: not found",
        ))
    }

    fn filter(&self, _cx: Cx<'_>, state: &HardConstraints, _pod: &Pod, node: &NodeInfo) -> Fit {
        state.filter(&node.node)
    }

    fn trial(
        &self,
        cx: Cx<'_>,
        state: &mut HardConstraints,
        pod: &Pod,
        other: &Pod,
        node: &NodeInfo,
        op: Trial,
    ) {
        let delta = match op {
            Trial::Add => 1,
            Trial::Remove => -1,
        };
        state.update_with_pod(pod, other, &node.node, delta, &cx.cluster.names);
    }

    fn keep_filter(&self, cx: Cx<'_>, pod: &Pod) -> PreFilter<HardConstraints> {
        let constraints = self.constraints(cx, pod, UnsatisfiableAction::DoNotSchedule);
        if constraints.is_empty() {
            return PreFilter::Skip;
        }
        PreFilter::Ready(HardConstraints::count_kin(cx.cluster, pod, constraints))
    }

    fn filter_looks_for(&self, state: &HardConstraints) -> u64 {
        state.looks_for()
    }

    fn minds_filter(&self, cx: Cx<'_>, state: &HardConstraints, pod: &Pod, other: &Pod) -> bool {
        state.minds(pod, other, &cx.cluster.names)
    }

    fn observe_filter(
        &self,
        cx: Cx<'_>,
        state: &mut HardConstraints,
        pod: &Pod,
        fact: Fact<'_>,
        holds: bool,
    ) -> Kept {
        state.observe(pod, fact, holds, cx.cluster)
    }

    fn filter_bytes(&self, state: &HardConstraints) -> usize {
        state.bytes()
    }

    fn score_bytes(&self, state: &SoftConstraints) -> usize {
        state.bytes()
    }

    fn see_filter(&self, state: &HardConstraints, node: &NodeInfo, seen: &mut Vec<u64>) {
        state.see(&node.node, seen);
    }

    fn filter_reads(&self, state: &HardConstraints, _pod: &Pod) -> Option<Reads> {
        Some(state.reads())
    }

    fn admit(&self, state: &HardConstraints, seen: &[u64]) -> Fit {
        state.admit(seen.iter().map(|word| Place::unpack(*word)))
    }

    /// Default constraints take their selector from the Services that select the pod, and from its
    /// owner.
    fn forgets(&self, cx: Cx<'_>, pod: &Pod, object: Changed<'_>) -> bool {
        use Kind::{ReplicaSet, ReplicationController, Service, StatefulSet};
        let (namespace, name) = (object.namespace, object.name);
        if namespace != pod.namespace
            || !pod.spread_constraints.is_empty()
            || self.defaults.is_empty()
        {
            return false;
        }
        match object.kind {
            Service => {
                let selects = |service: &PodSelectorOwner| {
                    service.selector.matches(&pod.labels, &cx.cluster.names)
                };
                // What it was in between is what the next change has to say of it.
                let now = cx.cluster.services.get(namespace, name);
                matches!(object.before, Some(Object::Service(before)) if selects(before))
                    || now.is_some_and(|now| selects(now))
            }
            ReplicationController | ReplicaSet | StatefulSet => pod
                .controller
                .as_ref()
                .is_some_and(|owner| owner.name == name),
            _ => false,
        }
    }

    fn pre_score(
        &self,
        cx: Cx<'_>,
        pod: &Pod,
        feasible: &[&NodeInfo],
    ) -> PreScore<SoftConstraints> {
        let Some((constraints, require_all_keys)) = self.soft_constraints(cx, pod) else {
            return PreScore::Skip;
        };
        let mut state = SoftConstraints::count(cx.cluster, pod, constraints, require_all_keys);
        state.weigh_nodes(feasible);
        PreScore::Ready(state)
    }

    fn keep_score(&self, cx: Cx<'_>, pod: &Pod) -> PreScore<SoftConstraints> {
        let Some((constraints, require_all_keys)) = self.soft_constraints(cx, pod) else {
            return PreScore::Skip;
        };
        let state = SoftConstraints::count_kin(cx.cluster, pod, constraints, require_all_keys);
        PreScore::Ready(state)
    }

    fn score_looks_for(&self, state: &SoftConstraints) -> u64 {
        state.looks_for()
    }

    fn minds_score(&self, cx: Cx<'_>, state: &SoftConstraints, pod: &Pod, other: &Pod) -> bool {
        state.minds(pod, other, &cx.cluster.names)
    }

    fn observe_score(
        &self,
        cx: Cx<'_>,
        state: &mut SoftConstraints,
        pod: &Pod,
        fact: Fact<'_>,
        holds: bool,
    ) -> Kept {
        state.observe(pod, fact, holds, &cx.cluster.names)
    }

    fn see_score(&self, state: &SoftConstraints, _pod: &Pod, node: &NodeInfo, seen: &mut Vec<u64>) {
        state.see(&node.node, seen);
    }

    fn score_reads(&self, state: &SoftConstraints, _pod: &Pod) -> Option<Reads> {
        Some(state.reads())
    }

    fn weigh<'a>(
        &self,
        state: &mut SoftConstraints,
        feasible: impl Iterator<Item = (&'a [u64], usize)>,
    ) {
        state.weigh(feasible);
    }

    fn raw(&self, _cx: Cx<'_>, state: &SoftConstraints, _pod: &Pod, seen: &[u64]) -> Option<i64> {
        state.raw(seen.iter().copied())
    }

    fn score_unprepared(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<SoftConstraints, Status> {
        Err(Status::error(
            "error reading \"PreScorePodTopologySpread\" from cycleState: not found",
        ))
    }

    fn score(
        &self,
        _cx: Cx<'_>,
        state: &SoftConstraints,
        _pod: &Pod,
        node: &NodeInfo,
    ) -> Option<i64> {
        state.score(&node.node)
    }

    fn normalize(&self, _state: &SoftConstraints, raw: i64, over: Range) -> i64 {
        scoring::normalize(raw, over)
    }

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
