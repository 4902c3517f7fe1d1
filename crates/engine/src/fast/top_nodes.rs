//! The best nodes of an attempt with what each plugin gave them, read off what is kept.

use super::class::{Class, unpack_raw};
use super::groups::{FITS, Groups};
use crate::cast;
use crate::framework::{Cx, Framework, Plan, Reason};
use stowplan_base::Sym;

/// How many of the best nodes are told.
pub const TOP_NODES_MAX: usize = 10;

/// How many different reasons are told of.
const REASONS_MAX: usize = 32;

/// The best nodes of one attempt. Meant to be filled over and over.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopNodes {
    /// The number that the next change of the cluster had when the attempt began.
    pub position: u64,
    /// How many nodes had the greatest total; 0 if there was no contest.
    pub tied: usize,
    /// The plugins that scored, and what their scores are multiplied by.
    pub plugins: Vec<(&'static str, i64)>,
    /// The best nodes, at most [`TOP_NODES_MAX`], and their totals where those are known.
    pub nodes: Vec<(Sym, Option<i64>)>,
    /// What each plugin gave, node by node: as many as there are plugins for each; none where totals
    /// are not known.
    pub scores: Vec<i16>,
    /// Why other nodes will not do, and how many they are; none where that is not kept.
    pub rejected: Vec<(Reason, usize)>,
    /// Space to work in.
    positions: Vec<(u32, i32)>,
    by_verdict: Vec<usize>,
}

impl TopNodes {
    /// Forgets everything, at the start of another attempt.
    pub(crate) fn clear(&mut self, position: u64) {
        self.position = position;
        self.tied = 0;
        self.plugins.clear();
        self.nodes.clear();
        self.scores.clear();
        self.rejected.clear();
    }

    /// These nodes were the best, by position; nothing else is known of them.
    pub(crate) fn take_best(
        &mut self,
        cx: Cx<'_>,
        positions: impl ExactSizeIterator<Item = usize>,
    ) {
        self.tied = positions.len();
        let nodes = positions.filter_map(|at| cx.cluster.nodes().get(at));
        let names = nodes.map(|node| (node.node.name, None));
        self.nodes.extend(names.take(TOP_NODES_MAX));
    }

    /// The best nodes of a class that is up to date.
    pub(super) fn take_class(
        &mut self,
        class: &Class,
        plan: &Plan,
        framework: &Framework,
        cx: Cx<'_>,
        tied: usize,
    ) {
        let Class {
            rows,
            groups,
            tree,
            layout,
            cycle,
            ranges,
            ..
        } = class;
        self.tied = tied;
        self.count_rejected(groups);
        let absolute = plan.absolute_scores.iter().copied();
        let absolute = || {
            absolute
                .clone()
                .filter(|plugin| framework.scores(*plugin, cycle))
        };
        let common = layout.raws.iter().map(|(plugin, _)| *plugin);
        let common = common.chain(layout.scores.iter().map(|(plugin, _)| *plugin));
        let named = |plugin| (framework.name_of(plugin), framework.weight(plugin));
        self.plugins.extend(absolute().chain(common).map(named));
        tree.top(rows, &groups.bonus, TOP_NODES_MAX, &mut self.positions);
        let pod = &*class.example;
        for &(at, total) in &self.positions {
            let node = &cx.cluster.nodes()[at as usize];
            self.nodes.push((node.node.name, Some(i64::from(total))));
            let key = &groups.list[rows[at as usize].group as usize].key;
            let own = absolute().map(|plugin| framework.score(plugin, cx, cycle, pod, node));
            self.scores
                .extend(own.map(|score| cast::score(score.unwrap_or(0))));
            let raws = layout.raws.iter();
            let raws = raws.map(|(plugin, at)| (*plugin, unpack_raw(key[*at])));
            let scores = layout.scores.iter().map(|(plugin, words)| {
                let raw = framework.raw(*plugin, cx, cycle, pod, &key[words.clone()]);
                (*plugin, raw)
            });
            let common = raws.chain(scores).zip(ranges);
            self.scores.extend(common.map(|((plugin, raw), over)| {
                let score = raw.map(|raw| framework.normalize(plugin, cycle, raw, *over));
                cast::score(score.unwrap_or(0))
            }));
        }
    }

    /// Counts the nodes that were rejected, by reason.
    fn count_rejected(&mut self, groups: &Groups) {
        let verdicts = groups.verdicts();
        self.by_verdict.clear();
        self.by_verdict.resize(verdicts.len(), 0);
        for group in groups.list.iter().filter(|group| group.verdict != FITS) {
            self.by_verdict[group.verdict as usize - 1] += group.members as usize;
        }
        for (verdict, &nodes) in verdicts.iter().zip(&self.by_verdict) {
            if nodes == 0 {
                continue;
            }
            for reason in verdict.rejected.status.reasons() {
                let known = self.rejected.iter().position(|(known, _)| known == reason);
                match known {
                    Some(at) => self.rejected[at].1 += nodes,
                    None if self.rejected.len() < REASONS_MAX => {
                        self.rejected.push((reason.clone(), nodes));
                    }
                    None => {}
                }
            }
        }
    }
}
