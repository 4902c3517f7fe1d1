//! What it takes to run a live scheduler for others: its lease, its metrics, its ports.
//!
//! - [`SchedulerServer`] is all of it together.
//! - [`Instrumentation`] stands between the scheduler and those who look at it.
//! - [`Reviews`] asks the API server who a caller is and what he may do.
//! - [`SecurePort`] says where that is done, and which certificates it trusts.

mod callers;
mod gauge_values;
mod instrumentation;
mod pods;
mod port;
mod proxy_headers;
mod reviews;
mod scheduler_server;
mod serve;
mod spans;

pub use callers::{AuthenticationLookup, Callers, LookupError};
pub use instrumentation::Instrumentation;
pub use port::{ReadCertificates, SecurePort};
pub use proxy_headers::ProxyHeaders;
pub use reviews::Reviews;
pub use scheduler_server::{Broken, SchedulerServer, ServerError, ServerOptions};
pub use spans::{Collector, Tracer};
