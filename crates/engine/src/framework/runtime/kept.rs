//! Kept state: opened once for pods that are alike, then brought up to date.

use super::Framework;
use super::{pre_filter, scores};
use crate::NodeInfo;
use crate::framework::builder::code;
use crate::framework::cycle::State;
use crate::framework::erased::{AnyFilterState, AnyScoreState};
use crate::framework::{
    AnyPlugin, Changed, Cx, CycleState, DomainRules, Fit, Invalidation, NodesToCheck, Point,
    PreFilterResult, PreScoreResult, Range, Reads, RelevantChanges, Scope, Slot, Status, bit_of,
};
use crate::model::{Kind, Pod};
use std::collections::BTreeSet;
use stowplan_base::Sym;

/// The rules of a profile by how far they look, worked out once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// Filters that look at the node alone, in the order in which they run.
    pub(crate) node_filters: Vec<Rule>,
    /// Those of them that look at the pods on it.
    pub(crate) pod_filters: Vec<Rule>,
    /// Filters that look at domains.
    pub(crate) domain_filters: Vec<Rule>,
    /// PreFilter plugins that look at domains and do not filter: nobody asks them, but whether they
    /// have something to check is kept all the same.
    pub(crate) idle_filters: Vec<Rule>,
    /// PreFilter and Filter plugins that look at anything.
    pub(crate) cluster_filters: Vec<Rule>,
    /// Those of them that have no PreFilter.
    pub(crate) unprepared_filters: Vec<usize>,
    /// Scores of the node alone that need no comparison.
    pub(crate) absolute_scores: Vec<usize>,
    /// Scores of the node alone that do.
    pub(crate) relative_scores: Vec<usize>,
    /// Scores of domains.
    pub(crate) domain_scores: Vec<usize>,
    /// Some relative score looks at the pods on the node.
    pub(crate) pods_compare: bool,
    /// Some rule cannot be kept at all.
    pub(crate) is_plain: bool,
}

impl Plan {
    /// Those that look at domains and keep what PreFilter leaves.
    fn kept_filters(&self) -> impl Iterator<Item = &Rule> {
        self.domain_filters.iter().chain(&self.idle_filters)
    }
}

/// A filter plugin and its place in the order of filters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rule {
    /// The plugin's index in the profile.
    pub(crate) plugin: usize,
    /// Its place among the filters; [`PRE_FILTER_ONLY`] if it is none.
    pub(crate) order: usize,
}

/// The order of plugins that run at PreFilter and not at Filter: after all filters.
pub(crate) const PRE_FILTER_ONLY: usize = usize::MAX - 1;

/// An answer that is yet to be asked for.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// A sum of scores of which one was out of range.
pub(crate) const OUT_OF_RANGE: i32 = i32::MIN;

/// Weighted scores must stay within this, so that they fit into 32 bits with room to spare.
const MOST_SCORE: i64 = 1 << 28;

impl Framework {
    pub(crate) fn plan(&self) -> Plan {
        let mut plan = Plan::default();
        for (order, (plugin, any)) in self.at(Point::Filter).enumerate() {
            let rule = Rule { plugin, order };
            match any.filter_scope() {
                Scope::Object => plan.node_filters.push(rule),
                Scope::Node => {
                    plan.node_filters.push(rule);
                    plan.pod_filters.push(rule);
                }
                Scope::Domains => plan.domain_filters.push(rule),
                Scope::Cluster => plan.cluster_filters.push(rule),
            }
        }
        let pre_filters = &self.enabled[Point::PreFilter as usize];
        let unprepared = plan.cluster_filters.iter().map(|rule| rule.plugin);
        plan.unprepared_filters = unprepared.filter(|i| !pre_filters.contains(i)).collect();
        let order = PRE_FILTER_ONLY;
        for (plugin, any) in self.at(Point::PreFilter) {
            let filters = self.enabled[Point::Filter as usize].contains(&plugin);
            match any.filter_scope() {
                Scope::Cluster if !filters => plan.cluster_filters.push(Rule { plugin, order }),
                Scope::Domains if !filters => plan.idle_filters.push(Rule { plugin, order }),
                _ => {}
            }
        }
        if self.has_scores() {
            self.plan_scores(&mut plan);
        }
        plan
    }

    fn plan_scores(&self, plan: &mut Plan) {
        let mut most: i64 = 0;
        for (plugin, any) in self.at(Point::Score) {
            match any.score_scope() {
                Scope::Object | Scope::Node if any.normalize_score.is_some() => {
                    plan.relative_scores.push(plugin);
                    plan.pods_compare |= any.score_scope() == Scope::Node;
                }
                Scope::Object | Scope::Node => plan.absolute_scores.push(plugin),
                Scope::Domains => plan.domain_scores.push(plugin),
                Scope::Cluster => plan.is_plain = true,
            }
            most = most.saturating_add(self.weights[plugin].saturating_mul(100).saturating_abs());
        }
        plan.is_plain |= most > MOST_SCORE;
    }

    /// About how many bytes is kept in `cycle`.
    pub(crate) fn bytes(&self, cycle: &CycleState) -> usize {
        let filters = self.plugins.iter().zip(&cycle.filter);
        let filters =
            filters.filter_map(|(p, slot)| Some(p.filter_state.as_ref()?.bytes(&**slot.state()?)));
        let scores = self.plugins.iter().zip(&cycle.score);
        let scores =
            scores.filter_map(|(p, slot)| Some(p.score_state.as_ref()?.bytes(&**slot.state()?)));
        cycle.bytes() + filters.chain(scores).sum::<usize>()
    }

    /// Opens state for pods that are like `pod`, and says which nodes may be asked if not all;
    /// `None` if the pod has to take the plain path.
    ///
    /// Rules that look at anything are left out.
    pub(crate) fn open(
        &self,
        cx: Cx<'_>,
        pod: &Pod,
    ) -> Option<(CycleState, Option<BTreeSet<Sym>>)> {
        let mut cycle = CycleState::new(self.plugins.len());
        let mut narrowed: Option<BTreeSet<Sym>> = None;
        for (i, plugin) in self.at(Point::PreFilter) {
            if plugin.filter_scope() == Scope::Cluster {
                cycle.filter[i] = Slot::Skipped;
                continue;
            }
            let kept = code(&plugin.filter_state);
            let prepared = kept.prepare(cx, pod);
            let prepared = prepared.unwrap_or_else(|| code(&plugin.pre_filter).pre_filter(cx, pod));
            cycle.filter[i] = match prepared {
                PreFilterResult::Skip => Slot::Skipped,
                PreFilterResult::Ready(state) if kept.skips(&*state) => Slot::Resting(state),
                PreFilterResult::Ready(state) => Slot::Ready(state),
                PreFilterResult::Narrowed(state, nodes) => {
                    let nodes: BTreeSet<Sym> = nodes.into_iter().collect();
                    narrowed = Some(match narrowed {
                        Some(before) => before.intersection(&nodes).copied().collect(),
                        None => nodes,
                    });
                    Slot::Ready(state)
                }
                PreFilterResult::Rejected(_) => return None,
            };
        }
        for (i, plugin) in self.at(Point::Filter) {
            if plugin.filter_scope() == Scope::Cluster {
                cycle.filter[i] = Slot::Skipped;
            } else if matches!(cycle.filter[i], Slot::Absent) {
                cycle.filter[i] = Slot::Ready(pre_filter::unprepared(plugin, cx, pod).ok()?);
            }
        }
        if narrowed.as_ref().is_some_and(BTreeSet::is_empty) {
            return None;
        }
        Some((cycle, narrowed))
    }

    /// Opens the state of scores; `None` if the pod has to take the plain path.
    pub(crate) fn open_scores(&self, cx: Cx<'_>, cycle: &mut CycleState, pod: &Pod) -> Option<()> {
        if !self.has_scores() {
            return Some(());
        }
        for (i, plugin) in self.at(Point::PreScore) {
            let pre_score = || code(&plugin.pre_score).pre_score(cx, pod, &[]);
            let (prepared, kept) = match &plugin.score_state {
                Some(kept) => (kept.prepare(cx, pod).unwrap_or_else(pre_score), Some(kept)),
                None => (pre_score(), None),
            };
            let skips = |state: &dyn State| kept.is_some_and(|kept| kept.skips(state));
            cycle.score[i] = match prepared {
                PreScoreResult::Skip => Slot::Skipped,
                PreScoreResult::Ready(state) if skips(&*state) => Slot::Resting(state),
                PreScoreResult::Ready(state) => Slot::Ready(state),
                PreScoreResult::Failed(_) => return None,
            };
        }
        for (i, plugin) in self.at(Point::Score) {
            if matches!(cycle.score[i], Slot::Absent) {
                let state = scores::unprepared(plugin, cx, &cycle.filter[i], pod).ok()?;
                cycle.score[i] = Slot::Ready(state);
            }
        }
        Some(())
    }

    /// The marks of labels of which a pod must bear one to matter to kept state, save for pods that
    /// matter because of terms of their own.
    pub(crate) fn label_marks(&self, plan: &Plan, cycle: &CycleState) -> u64 {
        let filters = plan.kept_filters().map(|rule| {
            let state = cycle.filter[rule.plugin].state();
            state.map_or(0, |s| self.filter_state(rule.plugin).label_marks(&**s))
        });
        let scores = plan.domain_scores.iter().map(|&plugin| {
            let state = cycle.score[plugin].state();
            state.map_or(0, |s| self.score_state(plugin).label_marks(&**s))
        });
        filters.chain(scores).fold(0, |all, marks| all | marks)
    }

    /// To whose kept state pods like `other` matter when they come or go.
    pub(crate) fn rules_affected_by(
        &self,
        plan: &Plan,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        other: &Pod,
    ) -> DomainRules {
        let filter = |rule: &Rule| {
            cycle.filter[rule.plugin].state().is_some_and(|state| {
                self.filter_state(rule.plugin)
                    .is_affected_by(&**state, cx, pod, other)
            })
        };
        let score = |plugin: &usize| {
            cycle.score[*plugin].state().is_some_and(|state| {
                self.score_state(*plugin)
                    .is_affected_by(&**state, cx, pod, other)
            })
        };
        let filters = plan.kept_filters().map(filter);
        let rules = filters.chain(plan.domain_scores.iter().map(score));
        let affected = rules.enumerate().filter(|(_, is_affected)| *is_affected);
        affected.fold(0, |rules, (n, _)| rules | bit_of(n))
    }

    /// Brings kept state up to date after these changes.
    pub(crate) fn update(
        &self,
        plan: &Plan,
        cx: Cx<'_>,
        cycle: &mut CycleState,
        pod: &Pod,
        changes: RelevantChanges<'_>,
    ) -> Invalidation {
        let mut invalid = Invalidation::Nothing;
        for (n, rule) in plan.kept_filters().enumerate() {
            let (kept, slot) = (
                self.filter_state(rule.plugin),
                &mut cycle.filter[rule.plugin],
            );
            if let Some(state) = slot.kept() {
                invalid = invalid.max(kept.update(&mut **state, cx, pod, changes.to(n)));
                let skips = kept.skips(&**state);
                if slot.rest(skips) {
                    invalid = invalid.max(Invalidation::Groups);
                }
            }
        }
        let filters = plan.kept_filters().count();
        for (n, &i) in (filters..).zip(&plan.domain_scores) {
            let (kept, slot) = (self.score_state(i), &mut cycle.score[i]);
            if let Some(state) = slot.kept() {
                invalid = invalid.max(kept.update(&mut **state, cx, pod, changes.to(n)));
                let skips = kept.skips(&**state);
                if slot.rest(skips) {
                    invalid = invalid.max(Invalidation::Groups);
                }
            }
        }
        invalid
    }

    /// Whether some plugin cannot keep its state over a change of such an object.
    pub(crate) fn forgets(&self, cx: Cx<'_>, pod: &Pod, object: Changed<'_>) -> bool {
        if self.invalidating_kinds & object.kind.bit() == 0 {
            return false;
        }
        let loses = |plugin: &AnyPlugin| {
            let (filter, score) = (&plugin.filter_state, &plugin.score_state);
            filter
                .as_ref()
                .is_some_and(|kept| kept.is_invalidated_by(cx, pod, object))
                || score
                    .as_ref()
                    .is_some_and(|kept| kept.is_invalidated_by(cx, pod, object))
        };
        object.kind == Kind::DeviceClass || self.plugins.iter().any(loses)
    }

    /// The first of the rules that rejects the node, and its verdict.
    pub(crate) fn first_rejection(
        &self,
        rules: &[Rule],
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), (Rule, Status)> {
        for rule in rules {
            let plugin = &self.plugins[rule.plugin];
            super::filters::run_filter(plugin, &cycle.filter[rule.plugin], cx, pod, node)
                .map_err(|status| (*rule, status))?;
        }
        Ok(())
    }

    /// Asks one rule about the nodes at these positions that are not rejected yet; `reject` turns a
    /// verdict into its number.
    pub(crate) fn filter_these(
        &self,
        rule: Rule,
        cx: Cx<'_>,
        (cycle, pod): (&CycleState, &Pod),
        positions: &[u32],
        verdicts: &mut [u32],
        mut reject: impl FnMut(Status) -> u32,
    ) {
        let plugin = &self.plugins[rule.plugin];
        if let Slot::Ready(state) = &cycle.filter[rule.plugin] {
            let mut reject = |status| reject(super::filters::blame(plugin, status, cx));
            if let Some(kept) = &plugin.filter_state {
                kept.filter_these(cx, &**state, pod, positions, verdicts, &mut reject);
                return;
            }
            let (filter, nodes) = (code(&plugin.filter), cx.cluster.nodes());
            for (at, verdict) in positions.iter().zip(verdicts) {
                if *verdict == 0
                    && let Err(status) = filter.filter(cx, &**state, pod, &nodes[*at as usize])
                {
                    *verdict = reject(status);
                }
            }
        }
    }

    /// Asks one rule about all nodes that are not rejected yet, of which those with the same number
    /// get the same answer: `answers` holds one for each number, [`UNKNOWN`] before it was asked for.
    pub(crate) fn filter_alike(
        &self,
        rule: Rule,
        cx: Cx<'_>,
        (cycle, pod): (&CycleState, &Pod),
        (numbers, answers): (&[u32], &mut [u32]),
        verdicts: &mut [u32],
        mut reject: impl FnMut(Status) -> u32,
    ) {
        let plugin = &self.plugins[rule.plugin];
        let Slot::Ready(state) = &cycle.filter[rule.plugin] else {
            return;
        };
        let nodes = cx.cluster.nodes();
        let filter = code(&plugin.filter);
        let mut ask = |at: usize| match filter.filter(cx, &**state, pod, &nodes[at]) {
            Ok(()) => 0,
            Err(status) => reject(super::filters::blame(plugin, status, cx)),
        };
        if answers.len() == 1 && ask(0) == 0 {
            return;
        }
        for (at, (number, verdict)) in numbers.iter().zip(verdicts).enumerate() {
            if *verdict == 0 {
                let answer = &mut answers[*number as usize];
                if *answer == UNKNOWN {
                    *answer = ask(at);
                }
                *verdict = *answer;
            }
        }
    }

    /// What of a node a filter reads, while it has something to check.
    pub(crate) fn filter_reads(&self, rule: Rule, cycle: &CycleState, pod: &Pod) -> Option<Reads> {
        match &cycle.filter[rule.plugin] {
            Slot::Ready(state) => self.plugins[rule.plugin]
                .filter_state
                .as_ref()?
                .reads(&**state, pod),
            _ => Some(Reads::default()),
        }
    }

    /// What of a node a score reads, while it tells nodes apart.
    pub(crate) fn score_reads(
        &self,
        plugin: usize,
        cycle: &CycleState,
        pod: &Pod,
    ) -> Option<Reads> {
        match &cycle.score[plugin] {
            Slot::Ready(state) => self.plugins[plugin]
                .score_state
                .as_ref()?
                .reads(&**state, pod),
            _ => Some(Reads::default()),
        }
    }

    /// Adds the weighted scores of one plugin to the sums of the nodes at these positions that are
    /// not rejected; a score out of range leaves [`OUT_OF_RANGE`].
    pub(crate) fn score_these(
        &self,
        plugin: usize,
        cx: Cx<'_>,
        (cycle, pod): (&CycleState, &Pod),
        nodes: (&[u32], &[u32]),
        sums: &mut [i32],
    ) {
        if let Slot::Ready(state) = &cycle.score[plugin] {
            let weight = self.weights[plugin];
            self.score_state(plugin)
                .score_these(cx, &**state, pod, weight, nodes, sums);
        }
    }

    /// What a domain filter sees of a node; nothing while it has nothing to check.
    pub(crate) fn filter_group_key(
        &self,
        rule: Rule,
        cycle: &CycleState,
        node: &NodeInfo,
        seen: &mut Vec<u64>,
    ) {
        if let Slot::Ready(state) = &cycle.filter[rule.plugin] {
            self.filter_state(rule.plugin)
                .group_key(&**state, node, seen);
        }
    }

    /// The verdict of a domain filter on nodes that look like this.
    pub(crate) fn admit(&self, rule: Rule, cycle: &CycleState, seen: &[u64]) -> Fit {
        match &cycle.filter[rule.plugin] {
            Slot::Ready(state) => self.filter_state(rule.plugin).filter_group(&**state, seen),
            _ => Ok(()),
        }
    }

    /// About which nodes a filter has to be asked.
    pub(crate) fn asks(
        &self,
        rule: Rule,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
    ) -> NodesToCheck {
        match &cycle.filter[rule.plugin] {
            Slot::Ready(state) => match &self.plugins[rule.plugin].filter_state {
                Some(kept) => kept.nodes_to_check(&**state, cx, pod),
                None => NodesToCheck::All,
            },
            _ => NodesToCheck::All,
        }
    }

    /// Whether a filter has something to check.
    pub(crate) fn filters(&self, rule: Rule, cycle: &CycleState) -> bool {
        matches!(cycle.filter[rule.plugin], Slot::Ready(_))
    }

    /// Whether a score tells nodes apart.
    pub(crate) fn scores(&self, plugin: usize, cycle: &CycleState) -> bool {
        matches!(cycle.score[plugin], Slot::Ready(_))
    }

    /// The raw score of one node.
    pub(crate) fn score(
        &self,
        plugin: usize,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Option<i64> {
        match &cycle.score[plugin] {
            Slot::Ready(state) => code(&self.plugins[plugin].score).score(cx, &**state, pod, node),
            _ => Some(0),
        }
    }

    /// What a domain score sees of a node; nothing while there is nothing to tell.
    pub(crate) fn score_group_key(
        &self,
        plugin: usize,
        cycle: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
        seen: &mut Vec<u64>,
    ) {
        if let Slot::Ready(state) = &cycle.score[plugin] {
            self.score_state(plugin)
                .group_key(&**state, pod, node, seen);
        }
    }

    /// Tells a domain score of the feasible nodes.
    pub(crate) fn weigh(
        &self,
        plugin: usize,
        cycle: &mut CycleState,
        feasible: &mut dyn Iterator<Item = (&[u64], usize)>,
    ) {
        if let Slot::Ready(state) = &mut cycle.score[plugin] {
            self.score_state(plugin)
                .set_feasible(&mut **state, feasible);
        }
    }

    /// The raw score of nodes that look like this to a domain score.
    pub(crate) fn raw(
        &self,
        plugin: usize,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        seen: &[u64],
    ) -> Option<i64> {
        match &cycle.score[plugin] {
            Slot::Ready(state) => self
                .score_state(plugin)
                .score_group(&**state, cx, pod, seen),
            _ => Some(0),
        }
    }

    /// A raw score in its final range.
    pub(crate) fn normalize(
        &self,
        plugin: usize,
        cycle: &CycleState,
        raw: i64,
        over: Range,
    ) -> i64 {
        match &cycle.score[plugin] {
            Slot::Ready(state) => scores::normalize(&self.plugins[plugin], &**state, raw, over),
            _ => raw,
        }
    }

    /// How a plugin keeps what its PreFilter leaves, of one whose scope is not the whole cluster.
    #[inline]
    fn filter_state(&self, plugin: usize) -> &dyn AnyFilterState {
        code(&self.plugins[plugin].filter_state)
    }

    /// How a plugin keeps what its PreScore leaves.
    #[inline]
    fn score_state(&self, plugin: usize) -> &dyn AnyScoreState {
        code(&self.plugins[plugin].score_state)
    }

    /// What a plugin's score is multiplied by.
    pub(crate) fn weight(&self, plugin: usize) -> i64 {
        self.weights[plugin]
    }

    /// The plugin's name.
    pub(crate) fn name_of(&self, plugin: usize) -> &'static str {
        self.plugins[plugin].name()
    }

    /// Where in the order of filters the plugin of this name stands.
    pub(crate) fn filter_order(&self, name: &str) -> usize {
        let mut filters = self.at(Point::Filter);
        let at = filters.position(|(_, plugin)| plugin.name() == name);
        at.unwrap_or(usize::MAX)
    }

    /// Forgets what the rules that look at anything were asked about one pod.
    #[cold]
    pub(crate) fn forget_cluster_filters(&self, plan: &Plan, cycle: &mut CycleState) {
        for rule in &plan.cluster_filters {
            match cycle.filter.get_mut(rule.plugin) {
                None | Some(Slot::Skipped) => {}
                Some(slot) => *slot = Slot::Skipped,
            }
        }
    }

    /// Asks the rules that look at anything about the pod itself, into `cycle`; `None` if the pod has
    /// to take the plain path.
    pub(crate) fn prepare_cluster_filters(
        &self,
        plan: &Plan,
        cx: Cx<'_>,
        cycle: &mut CycleState,
        pod: &Pod,
    ) -> Option<InPlay> {
        let mut in_play = InPlay::None;
        for rule in &plan.cluster_filters {
            let i = rule.plugin;
            let (plugin, slot) = (&self.plugins[i], &mut cycle.filter[i]);
            if plan.unprepared_filters.contains(&i) {
                *slot = Slot::Ready(pre_filter::unprepared(plugin, cx, pod).ok()?);
            } else if plugin
                .filter_state
                .as_ref()
                .is_some_and(|kept| kept.ignores(pod))
            {
                debug_assert!(
                    prepared(plugin, cx, pod).is_some_and(|found| found.is_skipped()),
                    "{} ignores a pod that its PreFilter does not skip",
                    plugin.name()
                );
                if !matches!(slot, Slot::Skipped) {
                    *slot = Slot::Skipped;
                }
                continue;
            } else {
                *slot = prepared(plugin, cx, pod)?;
            }
            in_play = in_play.max(match slot {
                Slot::Ready(_) => InPlay::Some,
                Slot::Resting(_) => InPlay::Resting,
                _ => InPlay::None,
            });
        }
        Some(in_play)
    }
}

/// Which rules that look at anything have something to check for a pod.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum InPlay {
    None,
    /// Only such as accept every node.
    Resting,
    Some,
}

fn prepared(plugin: &AnyPlugin, cx: Cx<'_>, pod: &Pod) -> Option<Slot<Box<dyn State>>> {
    let kept = plugin.filter_state.as_ref();
    let accepts_all = |state: &dyn State| kept.is_some_and(|kept| kept.accepts_all(state, cx));
    match code(&plugin.pre_filter).pre_filter(cx, pod) {
        PreFilterResult::Skip => Some(Slot::Skipped),
        PreFilterResult::Ready(state) if accepts_all(&*state) => {
            let accepts = |node| code(&plugin.filter).filter(cx, &*state, pod, node).is_ok();
            debug_assert!(cx.cluster.nodes().iter().all(accepts));
            Some(Slot::Resting(state))
        }
        PreFilterResult::Ready(state) => Some(Slot::Ready(state)),
        PreFilterResult::Narrowed(..) | PreFilterResult::Rejected(_) => None,
    }
}

/// The kinds of objects that what these plugins keep may be invalidated by. Resources that device classes
/// stand for are read by several plugins.
pub(super) fn invalidating_kinds(plugins: &[AnyPlugin]) -> u32 {
    let filters = plugins.iter().filter_map(|p| p.filter_state.as_ref());
    let scores = plugins.iter().filter_map(|p| p.score_state.as_ref());
    let kinds = filters.map(|kept| kept.invalidating_kinds());
    let kinds = kinds.chain(scores.map(|kept| kept.invalidating_kinds()));
    kinds.fold(Kind::DeviceClass.bit(), |all, kinds| all | kinds)
}
