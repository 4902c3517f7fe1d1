//! What it takes to run a live scheduler for others: its lease, its metrics, its ports.
//!
//! - [`Station`] is all of it together.
//! - [`Console`] stands between the scheduler and those who look at it.
//! - [`Leadership`] holds a Lease, or waits for it.
//! - [`Reviews`] asks the API server who a caller is and what he may do.
//! - [`SecurePort`] says where that is done, and whom it knows.

mod announcement;
mod callers;
mod census;
mod console;
mod leadership;
mod lease;
mod pods;
mod port;
mod proxy_headers;
mod reviews;
mod serve;
mod spans;
mod station;
mod whereabouts;

pub use callers::{Callers, Lookup, LookupError};
pub use console::Console;
pub use leadership::{Leadership, LeaseName};
pub use port::{ReadCertificates, SecurePort};
pub use proxy_headers::ProxyHeaders;
pub use reviews::Reviews;
pub use spans::{Collector, Tracer};
pub use station::{Broken, Options, Station, StationError};
pub use stowplan_election::{End, Timings, TimingsError};
pub use whereabouts::Whereabouts;
