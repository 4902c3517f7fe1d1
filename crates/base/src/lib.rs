//! What every other crate stands on: interned names, lookup maps, quantities and sums of them, names of resources,
//! labels, time,
//! seeded randomness, and [`Env`], by which components are told the time.
//!
//! **Invariant:** nothing here reads a clock, the environment or a random device; the same calls
//! in the same order give the same values.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod amounts;
pub mod civil;
mod env;
mod go_duration;
mod labels;
mod lookup;
mod names;
mod quantity;
pub mod resource_names;
mod rng;
mod table;
mod time;

pub use env::{Env, Sleep, Virtual};
pub use go_duration::DurationError;
pub use labels::{label_key, label_value};
pub use lookup::{Lookup, WordHasher};
pub use names::{Marks, Names, Sym, sym};
pub use quantity::{ParseQuantityError, Quantity, QuantityParts, QuantityUnit};
pub use rng::Rng;
pub use table::Table;
pub use time::{Duration, Time};
