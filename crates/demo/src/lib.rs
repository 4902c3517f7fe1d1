//! A small company to look at: what `stowplan up --demo` brings to life.
//!
//! | here | what it is |
//! |---|---|
//! | `manifests` | what is there from the beginning, as YAML files that are part of the program |
//! | [`nodes`], [`rules`] | the machines, and how much the pods on them use |
//! | [`Story`] | what happens next: a function of a seed |
//! | [`Demo`] | makes the objects, and lets happen what the story says |
//!
//! **Invariant:** the story knows no cluster and no clock. What somebody else changes meanwhile stays as it
//! is: objects are made if they are missing, and never put back.

mod demo;
mod machines;
mod manifests;
mod story;

pub use demo::{Demo, DemoError};
pub use machines::{nodes, rules};
pub use story::{Act, Batch, Kind, Scene, Story};

/// A pod that fits on no node, whatever happens: namespace and name.
pub const HOPELESS: (&str, &str) = ("research", "pretrain-xl-0");
