//! A profile's plugins, run at their extension points. Upstream's `pkg/scheduler/framework/runtime`.

use super::cycle::State;
use super::{
    AnyPlugin, ClusterEvent, Code, Cx, CycleState, Effect, Fit, Hint, NodeStatuses, Nomination,
    Permit, PluginStatus, Point, PostFilterResult, PreFilter, PreScore, Range, Reason, Reasons,
    Registration, Slot, Status, Trial,
};
use crate::NodeInfo;
use crate::model::{Object, Pod};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;
use stowplan_base::{Sym, Time};

/// The greatest score of one plugin for one node.
pub(crate) const MAX_NODE_SCORE: i64 = 100;

/// A profile, ready to run.
pub struct Framework {
    /// The profile's `schedulerName`.
    pub profile_name: String,
    plugins: Vec<Box<dyn AnyPlugin>>,
    /// Per [`Point`], the plugins' indices in the order in which they run.
    enabled: [Vec<usize>; Point::ALL.len()],
    /// Per plugin, what its score is multiplied by.
    weights: Vec<i64>,
}

/// What PreFilter came to.
pub struct PreFilterOutcome {
    /// What the plugins left for Filter.
    pub cycle: CycleState,
    /// Who rejected the pod, if somebody did; the plugin is empty for the framework itself.
    pub rejected: Option<PluginStatus>,
    /// The only nodes that may be asked, if PreFilter narrowed them.
    pub nodes: Option<BTreeSet<Sym>>,
    /// Who narrowed them.
    pub narrowed_by: BTreeSet<&'static str>,
}

/// The scores of one plugin.
#[derive(Clone, Debug)]
pub struct PluginScores {
    /// The plugin.
    pub plugin: &'static str,
    /// What its scores are multiplied by.
    pub weight: i64,
    /// Before NormalizeScore, by position in the list of feasible nodes.
    pub raw: Vec<Option<i64>>,
    /// After NormalizeScore.
    pub normalized: Vec<i64>,
}

/// The scores of all plugins over the feasible nodes.
#[derive(Clone, Debug, Default)]
pub struct ScoreTable {
    /// Per plugin that was not skipped, in the order in which they run.
    pub plugins: Vec<PluginScores>,
    /// Weighted sums, by position in the list of feasible nodes.
    pub totals: Vec<i64>,
}

impl Framework {
    /// A profile from its plugins, each once, and who runs where.
    ///
    /// `enabled` holds indices into `plugins`; `weights` is parallel to `plugins`.
    pub fn new(
        profile_name: String,
        plugins: Vec<Box<dyn AnyPlugin>>,
        enabled: [Vec<usize>; Point::ALL.len()],
        weights: Vec<i64>,
    ) -> Self {
        assert_eq!(plugins.len(), weights.len(), "one weight per plugin");
        Self {
            profile_name,
            plugins,
            enabled,
            weights,
        }
    }

    fn at(&self, point: Point) -> impl DoubleEndedIterator<Item = (usize, &dyn AnyPlugin)> {
        self.enabled[point as usize]
            .iter()
            .map(|&i| (i, &*self.plugins[i]))
    }

    /// The names of the plugins that run at `point`, in order.
    pub fn enabled_at(&self, point: Point) -> Vec<&'static str> {
        self.at(point).map(|(_, plugin)| plugin.name()).collect()
    }

    /// What the score of each plugin that scores is multiplied by.
    pub fn score_weights(&self) -> Vec<(&'static str, i64)> {
        self.at(Point::Score)
            .map(|(i, plugin)| (plugin.name(), self.weights[i]))
            .collect()
    }

    /// The first PreEnqueue plugin that holds the pod back; `gated_by`, which held it back before,
    /// is asked first.
    pub fn run_pre_enqueue(
        &self,
        cx: Cx<'_>,
        pod: &Pod,
        gated_by: Option<&str>,
    ) -> Option<PluginStatus> {
        let ask = |(_, plugin): (usize, &dyn AnyPlugin)| {
            let status = plugin.pre_enqueue(cx, pod).err()?;
            Some(PluginStatus {
                plugin: plugin.name(),
                status,
            })
        };
        let held_before = |(_, plugin): &(usize, &dyn AnyPlugin)| Some(plugin.name()) == gated_by;
        self.at(Point::PreEnqueue)
            .filter(held_before)
            .chain(self.at(Point::PreEnqueue).filter(|p| !held_before(p)))
            .find_map(ask)
    }

    /// Which of two pods is to be tried first.
    pub fn order(&self, a: (&Pod, Time), b: (&Pod, Time)) -> Ordering {
        self.at(Point::QueueSort)
            .next()
            .map_or(Ordering::Equal, |(_, plugin)| plugin.order(a, b))
    }

    /// Runs PreFilter; an error of a plugin is `Err`.
    pub fn run_pre_filter(&self, cx: Cx<'_>, pod: &Pod) -> Result<PreFilterOutcome, PluginStatus> {
        let mut outcome = PreFilterOutcome {
            cycle: CycleState::new(self.plugins.len()),
            rejected: None,
            nodes: None,
            narrowed_by: BTreeSet::new(),
        };
        for (i, plugin) in self.at(Point::PreFilter) {
            let name = plugin.name();
            let (state, nodes) = match plugin.pre_filter(cx, pod) {
                PreFilter::Skip => {
                    outcome.cycle.filter[i] = Slot::Skipped;
                    continue;
                }
                PreFilter::Rejected(status) => {
                    outcome.cycle.filter[i] = Slot::Rejected;
                    let code = status.code;
                    let status = PluginStatus {
                        plugin: name,
                        status,
                    };
                    match code {
                        // Preemption may help later, and it needs every plugin's state.
                        Code::Unschedulable => outcome.rejected = Some(status),
                        Code::UnschedulableAndUnresolvable => {
                            outcome.rejected = Some(status);
                            outcome.narrowed_by.clear();
                            return Ok(outcome);
                        }
                        Code::Error | Code::Pending => return Err(status),
                    }
                    continue;
                }
                PreFilter::Ready(state) => (state, None),
                PreFilter::Narrowed(state, nodes) => (state, Some(nodes)),
            };
            outcome.cycle.filter[i] = Slot::Ready(state);
            if let Some(nodes) = nodes {
                outcome.narrow(name, nodes);
                if outcome.nodes.as_ref().is_some_and(BTreeSet::is_empty) {
                    outcome.rejected = Some(outcome.empty_intersection());
                    return Ok(outcome);
                }
            }
        }
        self.prepare_unprepared(cx, pod, &mut outcome.cycle);
        Ok(outcome)
    }

    /// Filter plugins whose PreFilter does not run still need something to work with.
    fn prepare_unprepared(&self, cx: Cx<'_>, pod: &Pod, cycle: &mut CycleState) {
        for (i, plugin) in self.at(Point::Filter) {
            if matches!(cycle.filter[i], Slot::Absent)
                && !self.enabled[Point::PreFilter as usize].contains(&i)
            {
                cycle.filter[i] = match plugin.filter_unprepared(cx, pod) {
                    Ok(state) => Slot::Ready(state),
                    Err(status) => Slot::Broken(status),
                };
            }
        }
    }

    /// The plugins whose PreFilter had nothing to check.
    pub fn skipped_filters(&self, cycle: &CycleState) -> Vec<&'static str> {
        self.at(Point::PreFilter)
            .filter(|(i, _)| matches!(cycle.filter[*i], Slot::Skipped))
            .map(|(_, plugin)| plugin.name())
            .collect()
    }

    /// The first filter that rejects the node.
    pub fn run_filters(
        &self,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), PluginStatus> {
        for (i, plugin) in self.at(Point::Filter) {
            if let Err(status) = run_filter(plugin, &cycle.filter[i], cx, pod, node) {
                return Err(PluginStatus {
                    plugin: plugin.name(),
                    status,
                });
            }
        }
        Ok(())
    }

    /// The verdict of every filter on the node, without stopping at the first that rejects it.
    /// Skipped filters are left out.
    pub fn run_all_filters(
        &self,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Vec<(&'static str, Fit)> {
        self.at(Point::Filter)
            .filter(|(i, _)| !matches!(cycle.filter[*i], Slot::Skipped))
            .map(|(i, plugin)| {
                (
                    plugin.name(),
                    run_filter(plugin, &cycle.filter[i], cx, pod, node),
                )
            })
            .collect()
    }

    /// The first filter that rejects the node, with and without the pods nominated to it.
    ///
    /// Nominated pods of equal or higher priority count as present in a first pass; if all filters
    /// pass, they must also pass without them, for affinity may lean on a pod that never comes.
    pub fn run_filters_with_nominated_pods(
        &self,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), PluginStatus> {
        if let Some((trial_cycle, trial_node)) = self.with_nominated_pods(cx, cycle, pod, node) {
            self.run_filters(cx, &trial_cycle, pod, &trial_node)?;
        }
        self.run_filters(cx, cycle, pod, node)
    }

    fn with_nominated_pods(
        &self,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Option<(CycleState, NodeInfo)> {
        let mut trial: Option<(CycleState, NodeInfo)> = None;
        for nominated in cx.nominator.pods_on(node.node.name) {
            if nominated.priority < pod.priority || nominated.uid == pod.uid {
                continue;
            }
            let (cycle, node) = trial.get_or_insert_with(|| (cycle.clone(), node.clone()));
            self.try_pod(cx, cycle, pod, nominated, node, Trial::Add);
        }
        trial
    }

    /// Adds `other` to (or removes it from) `node` and every plugin's state, hypothetically.
    pub fn try_pod(
        &self,
        cx: Cx<'_>,
        cycle: &mut CycleState,
        pod: &Pod,
        other: &Arc<Pod>,
        node: &mut NodeInfo,
        op: Trial,
    ) {
        match op {
            Trial::Add => node.add_pod(other.clone()),
            Trial::Remove => {
                node.remove_pod(&other.uid);
            }
        }
        for (i, plugin) in self.at(Point::PreFilter) {
            if let Slot::Ready(state) = &mut cycle.filter[i] {
                plugin.trial(cx, &mut **state, pod, other, node, op);
            }
        }
    }

    /// Whether anybody has something to say when a pod fits nowhere.
    pub fn has_post_filters(&self) -> bool {
        !self.enabled[Point::PostFilter as usize].is_empty()
    }

    /// Runs PostFilter until somebody succeeds, fails or says that nothing can be done.
    pub fn run_post_filters(
        &self,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        statuses: &NodeStatuses,
    ) -> PostFilterResult {
        let mut nomination = Nomination::Keep;
        let mut preemption = None;
        let mut reasons: Vec<Reason> = Vec::new();
        for (i, plugin) in self.at(Point::PostFilter) {
            let result = plugin.post_filter(cx, self, cycle, &cycle.filter[i], statuses, pod);
            let Err(status) = &result.status else {
                return result;
            };
            match status.code {
                Code::UnschedulableAndUnresolvable => return result,
                Code::Error => {
                    return PostFilterResult {
                        nomination: Nomination::Keep,
                        ..result
                    };
                }
                Code::Unschedulable | Code::Pending => {}
            }
            if result.nomination != Nomination::Keep {
                nomination = result.nomination;
            }
            reasons.extend_from_slice(status.reasons());
            preemption = result.preemption.or(preemption);
        }
        PostFilterResult {
            status: Err(Status {
                code: Code::Unschedulable,
                reasons: Reasons::Many(reasons.into()),
            }),
            nomination,
            preemption,
        }
    }

    /// Whether any plugin scores.
    pub fn has_scores(&self) -> bool {
        !self.enabled[Point::Score as usize].is_empty()
    }

    /// Runs Score and NormalizeScore over the feasible nodes, after PreScore.
    pub fn run_scores(
        &self,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        feasible: &[&NodeInfo],
    ) -> Result<ScoreTable, PluginStatus> {
        let mut table = ScoreTable {
            totals: vec![0; feasible.len()],
            ..ScoreTable::default()
        };
        for (i, plugin) in self.at(Point::Score) {
            let blame = |status| PluginStatus {
                plugin: plugin.name(),
                status,
            };
            let state = match &cycle.score[i] {
                Slot::Skipped => continue,
                Slot::Broken(status) => return Err(blame(status.clone())),
                Slot::Absent | Slot::Rejected => {
                    return Err(blame(Status::error("PreScore did not run")));
                }
                Slot::Ready(state) => &**state,
            };
            let scores =
                score_plugin(plugin, state, cx, pod, feasible, self.weights[i]).map_err(blame)?;
            for (total, score) in table.totals.iter_mut().zip(&scores.normalized) {
                *total += score * scores.weight;
            }
            table.plugins.push(scores);
        }
        Ok(table)
    }

    /// The plugins that score, but whose PreScore had nothing to tell the nodes apart by.
    pub fn skipped_scores(&self, cycle: &CycleState) -> Vec<&'static str> {
        self.at(Point::Score)
            .filter(|(i, _)| matches!(cycle.score[*i], Slot::Skipped))
            .map(|(_, plugin)| plugin.name())
            .collect()
    }

    /// Runs PreScore over the feasible nodes.
    pub fn run_pre_score(
        &self,
        cx: Cx<'_>,
        cycle: &mut CycleState,
        pod: &Pod,
        feasible: &[&NodeInfo],
    ) -> Result<(), PluginStatus> {
        for (i, plugin) in self.at(Point::PreScore) {
            cycle.score[i] = match plugin.pre_score(cx, pod, feasible) {
                PreScore::Skip => Slot::Skipped,
                PreScore::Ready(state) => Slot::Ready(state),
                PreScore::Failed(status) => {
                    return Err(PluginStatus {
                        plugin: plugin.name(),
                        status,
                    });
                }
            };
        }
        for (i, plugin) in self.at(Point::Score) {
            if matches!(cycle.score[i], Slot::Absent) {
                cycle.score[i] = match plugin.score_unprepared(cx, &cycle.filter[i], pod) {
                    Ok(state) => Slot::Ready(state),
                    Err(status) => Slot::Broken(status),
                };
            }
        }
        Ok(())
    }

    /// Runs Reserve: the objects that change with the placement, or who objects.
    pub fn run_reserve(
        &self,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<Object>, PluginStatus> {
        let mut objects = Vec::new();
        for (i, plugin) in self.at(Point::Reserve) {
            match plugin.reserve(cx, &cycle.filter[i], pod, node) {
                Ok(more) => objects.extend(more),
                Err(status) => {
                    return Err(PluginStatus {
                        plugin: plugin.name(),
                        status,
                    });
                }
            }
        }
        Ok(objects)
    }

    /// Runs Permit: who holds the pod and for how long, or who objects.
    pub fn run_permit(
        &self,
        cx: Cx<'_>,
        pod: &Pod,
        node: Sym,
    ) -> Result<Vec<(&'static str, stowplan_base::Duration)>, PluginStatus> {
        let mut waits = Vec::new();
        for (_, plugin) in self.at(Point::Permit) {
            match plugin.permit(cx, pod, node) {
                Permit::Allow => {}
                Permit::Wait(at_most) => waits.push((plugin.name(), at_most)),
                Permit::Reject(status) => {
                    return Err(PluginStatus {
                        plugin: plugin.name(),
                        status,
                    });
                }
            }
        }
        Ok(waits)
    }

    /// Runs PreBind and Bind: what the outside must do, in this order.
    pub fn run_bind(
        &self,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Arc<Pod>,
        node: Sym,
    ) -> Result<Vec<Effect>, PluginStatus> {
        let mut effects = Vec::new();
        for (i, plugin) in self.at(Point::PreBind) {
            match plugin.pre_bind(cx, &cycle.filter[i], pod, node) {
                Ok(more) => effects.extend(more),
                Err(status) => {
                    return Err(PluginStatus {
                        plugin: plugin.name(),
                        status,
                    });
                }
            }
        }
        let bound = self
            .at(Point::Bind)
            .find_map(|(_, plugin)| plugin.bind(cx, pod, node));
        effects.push(bound.ok_or_else(|| PluginStatus {
            plugin: "",
            status: Status::error("no bind plugin took the pod"),
        })?);
        Ok(effects)
    }

    /// Runs PostBind.
    pub fn run_post_bind(&self, cx: Cx<'_>, pod: &Pod, node: Sym) -> Vec<Effect> {
        self.at(Point::PostBind)
            .flat_map(|(_, plugin)| plugin.post_bind(cx, pod, node))
            .collect()
    }

    /// Every plugin with the events it listens to, whatever the points it is enabled at.
    pub fn registrations(&self) -> Vec<(&'static str, Vec<Registration>)> {
        self.plugins
            .iter()
            .map(|plugin| (plugin.name(), plugin.events()))
            .collect()
    }

    /// Asks a plugin whether an event could make `pod` schedulable.
    pub fn hint(
        &self,
        cx: Cx<'_>,
        plugin: &str,
        event: &ClusterEvent,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Hint {
        self.plugins
            .iter()
            .find(|p| p.name() == plugin)
            .map_or(Hint::Queue, |p| p.hint(cx, event, pod, old, new))
    }
}

impl PreFilterOutcome {
    fn narrow(&mut self, plugin: &'static str, nodes: Vec<Sym>) {
        self.narrowed_by.insert(plugin);
        let nodes: BTreeSet<Sym> = nodes.into_iter().collect();
        self.nodes = Some(match self.nodes.take() {
            Some(before) => before.intersection(&nodes).copied().collect(),
            None => nodes,
        });
    }

    fn empty_intersection(&self) -> PluginStatus {
        let plugins: Vec<_> = self.narrowed_by.iter().copied().collect();
        let text = match plugins[..] {
            [one] => format!("node(s) didn't satisfy plugin {one}"),
            _ => format!(
                "node(s) didn't satisfy plugin(s) [{}] simultaneously",
                plugins.join(" ")
            ),
        };
        PluginStatus {
            plugin: "",
            status: Status::made(Code::UnschedulableAndUnresolvable, text),
        }
    }
}

fn run_filter(
    plugin: &dyn AnyPlugin,
    slot: &Slot<Box<dyn State>>,
    cx: Cx<'_>,
    pod: &Pod,
    node: &NodeInfo,
) -> Fit {
    let fit = match slot {
        Slot::Skipped => Ok(()),
        Slot::Ready(state) => plugin.filter(cx, &**state, pod, node),
        Slot::Broken(status) => Err(status.clone()),
        Slot::Absent | Slot::Rejected => Err(Status::error("PreFilter did not run")),
    };
    fit.map_err(|status| match status.code {
        Code::Error => Status::error(format!(
            "running {:?} filter plugin: {}",
            plugin.name(),
            status.message(cx.cluster)
        )),
        _ => status,
    })
}

fn score_plugin(
    plugin: &dyn AnyPlugin,
    state: &dyn State,
    cx: Cx<'_>,
    pod: &Pod,
    feasible: &[&NodeInfo],
    weight: i64,
) -> Result<PluginScores, Status> {
    let raw = plugin.scores(cx, state, pod, feasible);
    let scored = || raw.iter().flatten().copied();
    let over = Range {
        min: scored().min().unwrap_or(0),
        max: scored().max().unwrap_or(0),
    };
    let normalized: Vec<i64> = raw
        .iter()
        .map(|raw| raw.map_or(0, |raw| plugin.normalize(state, raw, over)))
        .collect();
    if let Some(bad) = normalized
        .iter()
        .find(|score| !(0..=MAX_NODE_SCORE).contains(*score))
    {
        return Err(Status::error(format!(
            "plugin {:?} returns an invalid score {bad}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing",
            plugin.name()
        )));
    }
    Ok(PluginScores {
        plugin: plugin.name(),
        weight,
        raw,
        normalized,
    })
}
