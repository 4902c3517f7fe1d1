//! Asking rules about many nodes, one by one.

use super::class::Class;
use super::full_evaluation::Evaluation;
use super::groups::FITS;
use crate::framework::{Cx, Framework, PluginStatus, Rule};

/// So many nodes are asked about by all rules before the next ones are: what the rules read of
/// them stays close at hand.
const BLOCK: usize = 64;

/// What is asked.
#[derive(Clone, Copy)]
pub(super) struct Questions<'a> {
    pub(super) framework: &'a Framework,
    pub(super) cx: Cx<'a>,
    pub(super) filters: &'a [Rule],
    pub(super) scores: &'a [usize],
}

impl Class {
    /// Asks filters, each about the nodes that none before it rejects, then scores that need no
    /// comparison about the nodes that are left.
    pub(super) fn ask_one_by_one(&mut self, questions: Questions<'_>, evaluation: &mut Evaluation) {
        let Questions {
            framework,
            cx,
            filters,
            scores,
        } = questions;
        evaluation.sums.clear();
        evaluation.sums.resize(evaluation.positions.len(), 0);
        let asking = (&self.cycle, &*self.example);
        let groups = &mut self.groups;
        for start in (0..evaluation.positions.len()).step_by(BLOCK) {
            let block = start..evaluation.positions.len().min(start + BLOCK);
            let positions = &evaluation.positions[block.clone()];
            let verdicts = &mut evaluation.verdicts[block.clone()];
            for rule in filters {
                let reject = |status| {
                    let plugin = framework.name_of(rule.plugin);
                    groups.verdict_id(rule.order, PluginStatus { plugin, status })
                };
                framework.filter_these(*rule, cx, asking, positions, verdicts, reject);
            }
            if verdicts.iter().all(|verdict| *verdict != FITS) {
                continue;
            }
            let sums = &mut evaluation.sums[block];
            for plugin in scores {
                framework.score_these(*plugin, cx, asking, (positions, verdicts), sums);
            }
        }
    }
}
