//! PreScore, Score and NormalizeScore.

use super::Framework;
use crate::NodeInfo;
use crate::framework::builder::code;
use crate::framework::cycle::State;
use crate::framework::{
    AnyPlugin, Cx, CycleState, PluginStatus, Point, PreScoreResult, Range, Slot, Status,
};
use crate::model::Pod;
use crate::packing::Packing;

/// The greatest score of one plugin for one node.
pub const MAX_NODE_SCORE: i64 = 100;

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
    pub(super) fn has_scores(&self) -> bool {
        !self.enabled[Point::Score as usize].is_empty() && self.packing.is_none()
    }

    /// Runs Score and NormalizeScore over the feasible nodes, after PreScore.
    pub fn run_scores(
        &self,
        cx: Cx<'_>,
        cycle: &CycleState,
        pod: &Pod,
        feasible: &[&NodeInfo],
    ) -> Result<ScoreTable, PluginStatus> {
        if let Some(packing) = self.packing {
            return Ok(packing_keys(packing, pod, feasible));
        }
        let mut table = ScoreTable {
            totals: vec![0; feasible.len()],
            ..ScoreTable::default()
        };
        for (i, plugin) in self.at(Point::Score) {
            let blame = |status| PluginStatus::at("Score", plugin.name(), status, cx.cluster);
            let state = match &cycle.score[i] {
                Slot::Skipped | Slot::Resting(_) => continue,
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
            .filter(|(i, _)| cycle.score[*i].is_skipped())
            .map(|(_, plugin)| plugin.name())
            .collect()
    }

    /// Runs PreScore over the feasible nodes; for nothing, if no plugin scores or a packing policy
    /// decides.
    pub fn run_pre_score(
        &self,
        cx: Cx<'_>,
        cycle: &mut CycleState,
        pod: &Pod,
        feasible: &[&NodeInfo],
    ) -> Result<(), PluginStatus> {
        if !self.has_scores() {
            return Ok(());
        }
        for (i, plugin) in self.at(Point::PreScore) {
            cycle.score[i] = match code(&plugin.pre_score).pre_score(cx, pod, feasible) {
                PreScoreResult::Skip => Slot::Skipped,
                PreScoreResult::Ready(state) => Slot::Ready(state),
                PreScoreResult::Failed(status) => {
                    return Err(PluginStatus::at(
                        "PreScore",
                        plugin.name(),
                        status,
                        cx.cluster,
                    ));
                }
            };
        }
        for (i, plugin) in self.at(Point::Score) {
            if matches!(cycle.score[i], Slot::Absent) {
                cycle.score[i] = match unprepared(plugin, cx, &cycle.filter[i], pod) {
                    Ok(state) => Slot::Ready(state),
                    Err(status) => Slot::Broken(status),
                };
            }
        }
        Ok(())
    }
}

/// The keys of a packing policy, as if they were the scores of one plugin.
fn packing_keys(
    (plugin, packing): (&'static str, Packing),
    pod: &Pod,
    feasible: &[&NodeInfo],
) -> ScoreTable {
    let keys: Vec<i64> = feasible.iter().map(|node| packing.key(pod, node)).collect();
    ScoreTable {
        plugins: vec![PluginScores {
            plugin,
            weight: 1,
            raw: keys.iter().copied().map(Some).collect(),
            normalized: keys.clone(),
        }],
        totals: keys,
    }
}

/// What Score works with where PreScore does not run.
pub(super) fn unprepared(
    plugin: &AnyPlugin,
    cx: Cx<'_>,
    filter: &Slot<Box<dyn State>>,
    pod: &Pod,
) -> Result<Box<dyn State>, Status> {
    match &plugin.pre_score {
        Some(pre_score) => pre_score.pre_score_disabled(cx, pod),
        None => code(&plugin.score).score_from_filter(filter),
    }
}

/// A raw score in its final range.
pub(super) fn normalize(plugin: &AnyPlugin, state: &dyn State, raw: i64, over: Range) -> i64 {
    match &plugin.normalize_score {
        Some(normalize) => normalize.normalize(state, raw, over),
        None => raw,
    }
}

fn score_plugin(
    plugin: &AnyPlugin,
    state: &dyn State,
    cx: Cx<'_>,
    pod: &Pod,
    feasible: &[&NodeInfo],
    weight: i64,
) -> Result<PluginScores, Status> {
    let raw = code(&plugin.score).scores(cx, state, pod, feasible);
    let scored = || raw.iter().flatten().copied();
    let over = Range {
        min: scored().min().unwrap_or(0),
        max: scored().max().unwrap_or(0),
    };
    let normalized: Vec<i64> = raw
        .iter()
        .map(|raw| raw.map_or(0, |raw| normalize(plugin, state, raw, over)))
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
