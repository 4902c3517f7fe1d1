//! What client-go gives a Go programmer: a client for components of Kubernetes.
//!
//! | here | client-go |
//! |---|---|
//! | [`Requests`] | `rest.RESTClient`: retries, back-pressure, a rate limit, typed writes with preconditions |
//! | [`Reflector`], [`Informers`] | `tools/cache`: one watch per kind, a store, many handlers |
//! | [`WorkQueue`] | `util/workqueue`: each key once, with a backoff of its own |
//! | [`EventRecorder`] | `tools/events` |
//! | [`Recorder`] | `tools/record` |
//! | [`election`] | `tools/leaderelection` |
//! | [`Discovery`] | `discovery`, `restmapper`: all resources of a server, and which one a kind is |
//! | [`in_process`] | – |
//!
//! Connections are `kube`'s: what a request is, how TLS and credentials work is not written again here.
//! The time, sleep and randomness come from [`Env`](stowplan_base::Env), so that everything here runs on a
//! virtual clock.

mod backoff;
mod discovery;
pub mod election;
mod guard;
mod in_process;
mod informer;
mod rate_limiter;
mod record;
mod recorder;
mod reflector;
mod requests;
mod work_queue;
mod writes;

pub use backoff::Backoff;
pub use discovery::{Discovery, ServedResource};
pub use guard::{Guard, Unguarded};
pub use in_process::in_process;
pub use informer::{Informer, Informers, Synced};
pub use rate_limiter::RateLimiter;
pub use record::{Recorder, RecorderWrites, V1Event};
pub use recorder::{Event, EventRecorder, EventWrites};
pub use reflector::{Closed, ListWatch, Metadata, Reflector, Sink};
pub use requests::{Failed, PAUSES, Requests, pod_path};
pub use stowplan_cache::{
    Cluster, Delta, EventType, Key, Kind, Object, ObjectRef, Store, read_lean,
};
pub use work_queue::{WorkQueue, run_workers};
pub use writes::{Preconditions, Writable};
