//! The author's side of a plugin: one small trait per extension point, with upstream's names.
//!
//! A plugin implements the traits of the points at which it has something to do, and its factory says
//! so to a [`PluginBuilder`](super::PluginBuilder), which accepts a point only where the trait is
//! implemented.
//!
//! | trait | asked | upstream's |
//! |---|---|---|
//! | [`PreEnqueue`] | before a pod enters the active queue | `PreEnqueuePlugin` |
//! | [`QueueSort`] | which of two pods comes first | `QueueSortPlugin` |
//! | [`EnqueueExtensions`] | which events may help a rejected pod | `EnqueueExtensions` |
//! | [`PreFilter`] | once per attempt | `PreFilterPlugin` |
//! | [`PreFilterExtensions`] | in dry runs | `PreFilterExtensions` |
//! | [`Filter`] | once per node | `FilterPlugin` |
//! | [`PostFilter`] | when no node fits | `PostFilterPlugin` |
//! | [`PreScore`] | once per attempt | `PreScorePlugin` |
//! | [`Score`], [`NormalizeScore`] | once per feasible node | `ScorePlugin`, `ScoreExtensions` |
//! | [`Reserve`] | when a node is chosen | `ReservePlugin` |
//! | [`Permit`] | before binding | `PermitPlugin` |
//! | [`PreBind`], [`Bind`], [`PostBind`] | in the binding cycle | the same |
//!
//! [`FilterState`] and [`ScoreState`] are for speed alone; a plugin is exact without them.

mod binding;
mod filtering;
mod queueing;
mod scoring;
mod state;

pub use binding::{Bind, Permit, PermitResult, PostBind, PreBind, Reserve};
pub use filtering::{
    Filter, Nomination, PostFilter, PostFilterResult, PreFilter, PreFilterExtensions,
    PreFilterResult,
};
pub use queueing::{EnqueueExtensions, Hint, PreEnqueue, QueueSort};
pub use scoring::{NormalizeScore, PreScore, PreScoreResult, Range, Score};
pub use state::{FilterState, InvalidatedBy, ScoreState};

/// What a plugin remembers of a pod from one extension point to the next: its part of upstream's
/// `CycleState`, but typed.
///
/// Each rule is one function of (what was prepared for the pod, one node): the plain path calls it
/// with state that was just prepared, the fast path with state that is kept up to date.
pub trait Plugin: 'static {
    /// What PreFilter leaves for Filter, PostFilter, Reserve and PreBind. Plugins without PreFilter
    /// get the default.
    type FilterState: Clone + Default + 'static;
    /// What PreScore leaves for Score. Plugins without PreScore get the default.
    type ScoreState: Clone + Default + 'static;
}
