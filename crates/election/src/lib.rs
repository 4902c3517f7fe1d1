//! Who of several schedulers acts: leader election by a Lease.
//!
//! A state machine without clock, network or threads, so that every interleaving can be tried.
//! Time is an argument and must not go back; requests come out ([`Elector::next`]) and their
//! answers go in ([`Elector::answered`]).
//!
//! ```text
//!              try fails: again after the retry period, up to 2.2 times as long
//!               +-----+
//!               v     |
//!  (start) --> Following --written--> Leading --no renewal within the deadline--> Ending --> Over
//!                     |                 | ^  |                                     ^
//!                     |                 +-+  +---------------- stop ---------------+
//!                     |          renewed: again after the retry period             |
//!                     +------------------- stop -----------------------------------+
//! ```
//!
//! The rules are those of client-go's `tools/leaderelection` (v0.36.4), so that a kube-scheduler and
//! a Stowplan can take turns. A lease expires by the observer's own clock: when it has seen no
//! change of the record for as long as the record says.
//!
//! Upstream stops leading when a round of renewals has failed; counted from the last renewal that
//! may be later than another's takeover, if answers are slow. [`Elector::may_act`] is stricter: it
//! ends one renewal deadline after the last *successful* renewal was *sent*. Others can take over no
//! sooner than a whole lease duration after that renewal was stored, which is longer. So at most one
//! may act, always.

#![deny(clippy::disallowed_methods)]

mod elector;
mod record;
mod timings;

pub use elector::{Answer, Elector, End, Request, Step};
pub use record::Record;
pub use timings::{Timings, TimingsError};
