//! Which candidate is best. Upstream's `pickOneNodeForPreemption`.

use super::evaluate::Candidate;
use super::victims::start_time;
use stowplan_base::Names;

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

/// What a rule wants to be least.
type Badness = fn(&Candidate) -> i64;

/// The rules in the order in which they are asked.
const RULES: [(DecidedBy, Badness); 5] = [
    (DecidedBy::Pdb, |c| c.pdb_violations as i64),
    (DecidedBy::HighestPriority, |c| {
        i64::from(highest_priority(c))
    }),
    (DecidedBy::SumPriorities, sum_of_priorities),
    (DecidedBy::NumVictims, |c| c.victims.len() as i64),
    // The complement turns the order round without overflow.
    (DecidedBy::LatestStart, |c| !earliest_start_nanos(c)),
];

/// The best candidates, in the order of node names, and the rule that decided. `None` if there are
/// no candidates.
pub(super) fn pick(candidates: &[Candidate], names: &Names) -> Option<(Vec<usize>, DecidedBy)> {
    let mut best: Vec<usize> = (0..candidates.len()).collect();
    match best.len() {
        0 => return None,
        1 => return Some((best, DecidedBy::Only)),
        _ => {}
    }
    for (rule, badness) in RULES {
        let least = best.iter().map(|&i| badness(&candidates[i])).min();
        best.retain(|&i| Some(badness(&candidates[i])) == least);
        if best.len() == 1 {
            return Some((best, rule));
        }
    }
    best.sort_by_key(|&i| names.text(candidates[i].node));
    Some((best, DecidedBy::Tie))
}

fn highest_priority(candidate: &Candidate) -> i32 {
    candidate.victims[0].priority
}

/// Every victim counts for 2^31 more than its priority, so that none counts for less than 0.
fn sum_of_priorities(candidate: &Candidate) -> i64 {
    candidate
        .victims
        .iter()
        .map(|victim| i64::from(victim.priority) + (1 << 31))
        .sum()
}

/// When the first of the most important victims started.
fn earliest_start_nanos(candidate: &Candidate) -> i64 {
    let most_important = candidate
        .victims
        .iter()
        .filter(|victim| victim.priority == highest_priority(candidate));
    most_important
        .map(|victim| start_time(victim).as_nanos())
        .min()
        .unwrap_or(i64::MAX)
}
