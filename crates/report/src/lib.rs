//! Explanations as data: what `stowplan explain -o json` prints, what the live scheduler serves, and
//! what tables are made of.

#![deny(clippy::disallowed_methods)]

mod change;
mod quantity;
mod redact;
mod report;
mod spread;

pub use change::{Change, Piece};
pub use quantity::{amount, cpu, exact, parse_exact};
pub use redact::{HIDDEN_ERROR, HIDDEN_POD, Masks, Readable};
pub use report::{
    Moment, NodePreemption, NodeReport, Outcome, PodReport, PreemptionSummary, Report, Score,
    State, Text, Verdict, is_hopeless, requests,
};
pub use spread::{Spread, SpreadDomain};
