//! What it takes to run a live scheduler for others: its lease, its metrics, its ports.
//!
//! - [`Leadership`] holds a Lease, or waits for it.
//! - [`Reviews`] asks the API server who a caller is and what he may do.
//! - [`serve`] answers on the secure port.

mod leadership;
mod lease;
mod reviews;
mod serve;

pub use leadership::{Leadership, LeaseName};
pub use reviews::Reviews;
pub use serve::serve;
pub use stowplan_election::{End, Timings, TimingsError};
