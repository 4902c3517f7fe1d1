//! The scheduling framework: extension points, and how a profile's plugins are run at them.
//!
//! A plugin's author implements the small traits of `plugin/`, one per extension point; everything
//! else here is the machinery that runs a profile. The words are upstream's
//! (`k8s.io/kube-scheduler/framework`, v0.36.4).

pub mod args;
mod builder;
mod command;
mod context;
mod cycle;
mod diagnosis;
mod erased;
mod event;
mod handle;
mod nodes_to_check;
mod plugin;
mod point;
pub(crate) mod preemption;
mod profile;
mod reads;
mod registry;
mod relevant_changes;
mod runtime;
mod scope;
mod status;

pub use builder::{AnyPlugin, PluginBuilder};
pub use command::{
    Command, ConditionType, Event, EventType, Expect, FieldChange, ObjectKey, Outcome, Patch,
    PodCondition, Regarding, Seen, Step, Target, Text, Wait, WaitCondition,
};
pub use context::{Cx, PostFilterCx, Underway};
pub use cycle::{CycleState, Slot};
pub use diagnosis::{Diagnosis, NodeStatuses, Verdicts};
pub(crate) use diagnosis::{Histogram, message};
pub use event::{Action, ClusterEvent, EventResource, Registration};
pub(crate) use handle::PermitDecision;
pub use handle::{Handle, WaitingPod};
pub use nodes_to_check::NodesToCheck;
pub use plugin::{
    Bind, EnqueueExtensions, Filter, FilterState, Hint, InvalidatedBy, Nomination, NormalizeScore,
    Permit, PermitResult, Plugin, PostBind, PostFilter, PostFilterResult, PreBind, PreEnqueue,
    PreFilter, PreFilterExtensions, PreFilterResult, PreScore, PreScoreResult, QueueSort, Range,
    Reserve, Score, ScoreState,
};
pub use point::Point;
pub use preemption::{
    Candidate, DecidedBy, KeptDryRuns, Preempting, Preemption, PreemptionReport, Preemptor,
};
pub(crate) use preemption::{Detail, DryRuns, has_no_victims, report_without_victims};
pub use profile::{EnabledPlugin, PluginSet, Plugins, ProfileError, expand};
pub use reads::{NodePart, Reads};
pub use registry::{DecodedArgs, PluginArgs, Registry};
pub(crate) use relevant_changes::{DomainRules, RelevantChange, RelevantChanges, bit_of};
pub use runtime::{
    DryRun, DryRunOp, DryRunSpace, Framework, MAX_NODE_SCORE, PluginScores, PreFilterOutcome,
    ScoreTable,
};
pub(crate) use runtime::{
    Evaluated, InPlay, OUT_OF_RANGE, PRE_FILTER_ONLY, Plan, Rule, UNKNOWN, has_nominated,
};
pub use scope::{Changed, Invalidation, Scope};
pub use status::{Code, Fit, PluginStatus, Reason, Reasons, Status};
