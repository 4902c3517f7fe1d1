//! Explanations as data: what `stowplan explain -o json` prints, what the live scheduler serves, and
//! what tables are made of.

mod change;
mod quantity;
mod report;

pub use change::Change;
pub use quantity::{amount, cpu, exact, parse_exact};
pub use report::{
    Moment, NodePreemption, NodeReport, Outcome, PodReport, PreemptionSummary, Report, Score,
    State, Text, Verdict, is_hopeless, requests,
};
