//! Which plugins had their say in an attempt.

use super::Framework;
use crate::framework::{CycleState, Point, Scope, Slot};

/// The plugins that had something to check or to score by, by their index in the profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Evaluated {
    filters: u128,
    scores: u128,
}

impl Evaluated {
    /// Whether nodes were compared by their scores.
    pub(crate) fn has_scored(self) -> bool {
        self.scores != 0
    }
}

fn bit(plugin: usize) -> u128 {
    let plugin = u32::try_from(plugin).unwrap_or(u32::MAX);
    1_u128.checked_shl(plugin).unwrap_or(0)
}

impl Framework {
    /// Who had a say in an attempt that left this; `has_scored` says that nodes were compared.
    pub(crate) fn evaluated(&self, cycle: &CycleState, has_scored: bool) -> Evaluated {
        let mut evaluated = Evaluated::default();
        for (plugin, slot) in cycle.filter.iter().enumerate() {
            // A rule that looks at anything rests only because it accepts every node.
            let accepts_all =
                || self.plugins[plugin].filter_scope() == Scope::Cluster && slot.state().is_some();
            if matches!(slot, Slot::Ready(_)) || accepts_all() {
                evaluated.filters |= bit(plugin);
            }
        }
        let scores = cycle.score.iter().enumerate();
        for (plugin, slot) in scores.filter(|_| has_scored) {
            if matches!(slot, Slot::Ready(_)) {
                evaluated.scores |= bit(plugin);
            }
        }
        evaluated
    }

    /// In how many of these attempts each plugin had its say, at each point where that is asked.
    pub(crate) fn evaluations(
        &self,
        attempts: &[(Evaluated, u64)],
    ) -> Vec<(&'static str, &'static str, u64)> {
        let mut all = Vec::new();
        for (point, name) in [
            (Point::PreFilter, "PreFilter"),
            (Point::Filter, "Filter"),
            (Point::PreScore, "PreScore"),
            (Point::Score, "Score"),
        ] {
            let is_filter = matches!(point, Point::PreFilter | Point::Filter);
            for (plugin, any) in self.at(point) {
                let said = |(evaluated, _): &&(Evaluated, u64)| {
                    let mask = match is_filter {
                        true => evaluated.filters,
                        false => evaluated.scores,
                    };
                    mask & bit(plugin) != 0
                };
                let times = attempts.iter().filter(said).map(|(_, times)| times);
                all.push((name, any.name(), times.sum()));
            }
        }
        all
    }
}
