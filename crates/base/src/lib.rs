//! What every other crate stands on: interned names, lookup maps, quantities, time, seeded
//! randomness.
//!
//! **Invariant:** nothing here reads a clock, the environment or a random device; the same calls
//! in the same order give the same values.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod lookup;
mod names;
mod quantity;
mod rng;
mod table;
mod time;

pub use lookup::{Lookup, WordHasher};
pub use names::{Marks, Names, Sym, sym};
pub use quantity::{ParseQuantityError, Quantity};
pub use rng::Rng;
pub use table::Table;
pub use time::{Duration, Time};
