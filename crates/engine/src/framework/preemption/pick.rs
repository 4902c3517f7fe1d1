//! Which candidate is best. Upstream's `pickOneNodeForPreemption`.

use super::victims::start_time;
use crate::cast::narrow;
use crate::model::Pod;
use std::sync::Arc;
use stowplan_base::{Names, Sym};

/// The rule that told the best candidate from the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecidedBy {
    /// There was only one candidate.
    Only,
    /// Fewest victims that a budget protects.
    Pdb,
    /// Lowest priority of the most important victim.
    HighestPriority,
    /// Lowest sum of priorities.
    SumPriorities,
    /// Fewest victims.
    NumVictims,
    /// Its most important victims started last.
    LatestStart,
    /// No rule told them apart.
    Tie,
}

impl DecidedBy {
    /// The rule as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Only => "only",
            Self::Pdb => "pdb",
            Self::HighestPriority => "highest_priority",
            Self::SumPriorities => "sum_priorities",
            Self::NumVictims => "num_victims",
            Self::LatestStart => "latest_start",
            Self::Tie => "tie",
        }
    }
}

/// What the rules compare, in the order in which they are asked: less is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Figures {
    pdb_violations: u32,
    highest_priority: i32,
    /// Every victim counts for 2^31 more than its priority, so that none counts for less than 0.
    sum_of_priorities: i64,
    victims: u32,
    /// When the first of the most important victims started. The complement turns the order round
    /// without overflow.
    not_earliest_start_nanos: i64,
}

impl Figures {
    /// The figures of a candidate with these victims, the most important first.
    pub(super) fn of(victims: &[Arc<Pod>], pdb_violations: usize) -> Self {
        let highest_priority = victims.first().map_or(i32::MIN, |victim| victim.priority);
        let priorities = victims.iter().map(|victim| i64::from(victim.priority));
        let starts = victims
            .iter()
            .filter(|victim| victim.priority == highest_priority)
            .map(|victim| start_time(victim).as_nanos());
        Self {
            pdb_violations: narrow(pdb_violations),
            highest_priority,
            sum_of_priorities: priorities.map(|priority| priority + (1 << 31)).sum(),
            victims: narrow(victims.len()),
            not_earliest_start_nanos: !starts.min().unwrap_or(i64::MAX),
        }
    }

    /// The first rule that tells two candidates apart.
    fn told_from(&self, other: &Self) -> DecidedBy {
        if self.pdb_violations != other.pdb_violations {
            DecidedBy::Pdb
        } else if self.highest_priority != other.highest_priority {
            DecidedBy::HighestPriority
        } else if self.sum_of_priorities != other.sum_of_priorities {
            DecidedBy::SumPriorities
        } else if self.victims != other.victims {
            DecidedBy::NumVictims
        } else if self.not_earliest_start_nanos != other.not_earliest_start_nanos {
            DecidedBy::LatestStart
        } else {
            DecidedBy::Tie
        }
    }
}

/// The best candidates, in the order of node names, and the rule that decided. `None` if there are
/// no candidates.
///
/// Rule after rule leaves only the best of those that the rules before it left, until one is left.
/// So the best are the least in the order of figures, and what tells them from the next is the rule
/// that decides.
pub(super) fn pick(
    candidates: &[(Figures, Sym)],
    names: &Names,
) -> Option<(Vec<usize>, DecidedBy)> {
    let figures = || candidates.iter().map(|(figures, _)| figures);
    let least = figures().min()?;
    let mut best: Vec<usize> = (0..candidates.len())
        .filter(|&i| candidates[i].0 == *least)
        .collect();
    best.sort_by_key(|&i| names.text(candidates[i].1));
    let next = figures().filter(|figures| *figures != least).min();
    let decided_by = match (best.len(), next) {
        (1, None) => DecidedBy::Only,
        (1, Some(next)) => least.told_from(next),
        _ => DecidedBy::Tie,
    };
    Some((best, decided_by))
}
