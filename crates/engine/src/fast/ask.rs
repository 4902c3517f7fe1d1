//! Questions rules about many nodes, one by one.

use super::class::Class;
use super::groups::{FITS, Groups, Verdict, VerdictId};
use super::looks::Looks;
use crate::framework::{Cx, CycleState, Framework, PluginStatus, Rule};
use crate::model::Pod;

/// So many nodes are asked about by all rules before the next ones are: what the rules read of
/// them stays close at hand.
const BLOCK: usize = 64;

/// Beside a verdict's number: it is yet to be given its number in the class.
const NEW: VerdictId = 1 << 31;

/// What is asked, and for whom.
#[derive(Clone, Copy)]
pub(super) struct Questions<'a> {
    pub(super) framework: &'a Framework,
    pub(super) cx: Cx<'a>,
    pub(super) filters: &'a [Rule],
    pub(super) scores: &'a [usize],
}

/// Nodes, and what is found out about them.
struct Nodes<'a> {
    positions: &'a [u32],
    verdicts: &'a mut [VerdictId],
    sums: &'a mut [Option<i32>],
}

impl Nodes<'_> {
    /// Gives new verdicts their numbers in the class.
    fn number(self, new: Vec<Verdict>, groups: &mut Groups) {
        if new.is_empty() {
            return;
        }
        let number = |Verdict { order, rejected }| groups.verdict_id(order, rejected);
        let numbers: Vec<VerdictId> = new.into_iter().map(number).collect();
        for verdict in self.verdicts.iter_mut().filter(|v| **v & NEW != 0) {
            *verdict = numbers[(*verdict & !NEW) as usize];
        }
    }
}

impl Class {
    /// Asks filters, each about the nodes that none before it rejects, then scores that need no
    /// comparison about the nodes that are left.
    pub(super) fn ask_one_by_one(&mut self, questions: Questions<'_>, looks: &mut Looks) {
        looks.sums.clear();
        looks.sums.resize(looks.positions.len(), Some(0));
        let mut all = Nodes {
            positions: &looks.positions,
            verdicts: &mut looks.verdicts,
            sums: &mut looks.sums,
        };
        let (cycle, pod) = (&self.cycle, &*self.example);
        let new = questions.ask(cycle, pod, &mut all);
        all.number(new, &mut self.groups);
    }
}

impl Questions<'_> {
    /// Asks about nodes; returns the verdicts on them that are not numbered yet.
    fn ask(&self, cycle: &CycleState, pod: &Pod, nodes: &mut Nodes<'_>) -> Vec<Verdict> {
        let mut new = Vec::new();
        let blocks = nodes.positions.chunks(BLOCK);
        let found = nodes.verdicts.chunks_mut(BLOCK);
        let found = found.zip(nodes.sums.chunks_mut(BLOCK));
        for (positions, (verdicts, sums)) in blocks.zip(found) {
            for rule in self.filters {
                let plugin = self.framework.name_of(rule.plugin);
                let reject = |status| {
                    let rejected = PluginStatus { plugin, status };
                    NEW | place(&mut new, rule.order, rejected)
                };
                let asking = (cycle, pod);
                self.framework
                    .filter_these(*rule, self.cx, asking, positions, verdicts, reject);
            }
            if verdicts.iter().all(|verdict| *verdict != FITS) {
                continue;
            }
            for plugin in self.scores {
                let (asking, nodes) = ((cycle, pod), (positions, &*verdicts));
                self.framework
                    .score_these(*plugin, self.cx, asking, nodes, sums);
            }
        }
        new
    }
}

/// The place of a verdict among those that came up.
fn place(found: &mut Vec<Verdict>, order: usize, rejected: PluginStatus) -> VerdictId {
    let is_it = |known: &Verdict| known.order == order && known.rejected == rejected;
    let at = found.iter().position(is_it).unwrap_or_else(|| {
        found.push(Verdict { order, rejected });
        found.len() - 1
    });
    at as VerdictId
}
