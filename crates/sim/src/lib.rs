//! A cluster on a virtual clock, with the scheduler that ships.
//!
//! ```text
//! files ──▶ Source ──▶ Simulation ──play──▶ Playback ──▶ SimulationReport ──▶ Document
//!           (read)     (cluster, clock)     (what happened)
//! ```
//!
//! Nothing here prints or reads arguments: that is the business of whoever asks.

mod document;
pub mod drain;
mod packing;
mod play;
mod report;
mod simulation;
mod source;
pub mod volumes;

pub use document::{Comparison, Document};
pub use packing::{PackingUse, Policy};
pub use play::{Playback, play, play_watched};
pub use report::{NodeUse, PendingPod, PlacedPod, PodName, PreemptedPods, SimulationReport, Use};
pub use simulation::{Simulation, interner};
pub use source::{InputErrors, Source};
