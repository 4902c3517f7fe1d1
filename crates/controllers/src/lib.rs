//! Controllers as pure functions: what is known of the cluster in, the writes that are wanted out.
//!
//! A [`Controller`] says which changes matter to it ([`Controller::watch`]) and what is to be done about
//! one object ([`Controller::sync`]). It reads a [`Cluster`], is given the time, and answers with a
//! [`Plan`]. Nothing is written here: `controller-manager` carries plans out, live or on a virtual clock.
//!
//! | upstream | here |
//! |---|---|
//! | informers, listers, indexers | [`Cluster`] and its [`Store`](stowplan_cache::Store)s |
//! | event handlers | [`Watches::on`] |
//! | the work queue's keys | [`Keys`] |
//! | `syncHandler(key) error` | [`Controller::sync`] |
//! | expectations | not needed: answers to writes are in the cluster at once |
//! | `slowStartBatch` | [`Plan::slow_start`] |

#![deny(clippy::disallowed_methods)]

pub mod cluster_role_aggregation;
pub mod common;
mod controller;
pub mod cronjob;
pub mod daemon;
pub mod deployment;
pub mod disruption;
pub mod endpoint;
pub mod endpointslice;
pub mod endpointslice_mirroring;
pub mod ephemeral;
mod event;
pub mod expand;
pub mod garbage_collector;
pub mod history;
pub mod job;
pub mod namespace;
pub mod node_lifecycle;
mod options;
mod plan;
pub mod pod_gc;
pub mod podautoscaler;
mod registry;
pub mod replicaset;
pub mod replication;
pub mod resourceclaim;
pub mod root_ca;
pub mod service_account;
pub mod service_account_token;
pub mod statefulset;
pub mod taint_eviction;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod ttl;
pub mod ttlafterfinished;
pub mod volume;
mod write;

pub use controller::{Controller, Cx, Enqueue, Keys, Watches};
pub use event::Event;
pub use options::{Options, Signer};
pub use plan::{Order, Plan, Then};
pub use registry::{Descriptor, Make, all, is_chosen};
pub use stowplan_cache::{Cluster, Delta, EventType, Key, Kind, Object, ObjectRef};
pub use write::{Answer, Failure, Method, Outcome, Write};
