//! The garbage collector: objects whose owners are gone are deleted. Upstream: `pkg/controller/garbagecollector`.
//!
//! A [`Graph`] knows which object names which as its owner. It is told what reflectors see and answers with
//! [`Effects`]: which objects to look at. An [`Attempt`] looks at one of them: it is a conversation with the
//! server, one [`Request`] and its [`Answer`] at a time, and ends with a [`Verdict`]. Nothing is sent here:
//! `controller-manager` drives it.
//!
//! ```text
//! reflectors ──▶ Graph ──Effects──▶ queue of uids ──▶ Attempt ◀─▶ server
//!                  ▲                                     │
//!                  └──── what was found to be absent ◀───┘
//! ```
//!
//! | a dependent's owner is | when |
//! |---|---|
//! | solid | it is there |
//! | dangling | it is not there, or another object has its name |
//! | waiting | it is being deleted in the foreground, once its dependents are gone |
//!
//! An object with a solid owner stays, and its other owners are struck out. One with none is deleted: in the
//! foreground if an owner waits and it has dependents itself, else as its own finalizers say.

mod absent_owners;
mod attempt;
mod graph;
mod identity;
mod patches;
mod virtual_delete;

pub use absent_owners::AbsentOwners;
pub use attempt::{Attempt, Step, Verdict};
pub use graph::{Effects, Graph, InvalidOwner};
pub use identity::{FOREGROUND, Gvk, Identity, Live, ORPHAN, Observed, Owner};
pub use patches::{Answer, PatchType, Policy, RemoveFinalizer, RemoveOwners, Request};

#[cfg(test)]
mod tests;
