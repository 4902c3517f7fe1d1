//! What every other crate stands on: interned names, lookup maps, quantities, labels, time, seeded
//! randomness.
//!
//! **Invariant:** nothing here reads a clock, the environment or a random device; the same calls
//! in the same order give the same values.

mod go_duration;
mod labels;
mod lookup;
mod names;
mod quantity;
mod rng;
mod table;
mod time;

pub use go_duration::DurationError;
pub use labels::{label_key, label_value};
pub use lookup::{Lookup, WordHasher};
pub use names::{Marks, Names, Sym, sym};
pub use quantity::{ParseQuantityError, Quantity};
pub use rng::Rng;
pub use table::Table;
pub use time::{Duration, Time};
