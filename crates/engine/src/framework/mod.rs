//! The scheduling framework: extension points, and how a profile's plugins are run at them.
//!
//! A plugin's author implements [`Plugin`]; everything else here is the machinery that runs a
//! profile. The words are upstream's (`k8s.io/kube-scheduler/framework`, v0.36.4).

mod ask;
mod cycle;
mod diagnosis;
mod erased;
mod event;
mod keep;
mod noted;
mod plugin;
mod profile;
mod reads;
mod runtime;
mod status;

pub use ask::Ask;
pub use cycle::{CycleState, Slot};
pub use diagnosis::{Diagnosis, NodeStatuses, Verdicts};
pub(crate) use diagnosis::{Histogram, message};
pub use erased::AnyPlugin;
pub use event::{Action, ClusterEvent, EventResource, Registration};
pub use keep::{Changed, Kept, Sight};
pub(crate) use noted::{DomainRules, Noted, Place, bit_of};
pub use plugin::{
    Cx, Effect, Hint, Nomination, Permit, Plugin, Point, PostFilterCx, PostFilterResult, PreFilter,
    PreScore, Range, Trial,
};
pub use profile::{EnabledPlugin, PluginSet, Plugins, ProfileError, expand};
pub use reads::{NodePart, Reads};
pub use runtime::{
    BindSteps, Framework, PluginScores, PreFilterOutcome, ScoreTable, TrialSpace, Trials,
};
pub(crate) use runtime::{
    Evaluated, InPlay, MAX_NODE_SCORE, OUT_OF_RANGE, PRE_FILTER_ONLY, Plan, Rule, UNKNOWN,
    has_nominated,
};
pub use status::{Code, Fit, PluginStatus, Reason, Reasons, Status};
