//! Preemption: on which nodes evictions make room, and who has to go. Upstream's
//! `pkg/scheduler/framework/preemption`; the plugin DefaultPreemption decides when it runs.

mod dry_runs;
mod evaluate;
mod pick;
mod preempting;
mod victims;
mod winner_tree;

pub use dry_runs::KeptDryRuns;
pub(crate) use dry_runs::{Detail, DryRuns, has_no_victims, report_without_victims};
pub(crate) use evaluate::evaluate;
pub use evaluate::{Candidate, Preemption, PreemptionReport, Preemptor};
pub use pick::DecidedBy;
pub use preempting::Preempting;
