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

pub mod common;
mod controller;
pub mod cron;
pub mod cronjob;
mod event;
pub mod expand;
pub mod job;
mod plan;
mod registry;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod ttlafterfinished;
mod write;

pub use controller::{Controller, Cx, Enqueue, Keys, Watches};
pub use event::{Event, EventType, ObjectRef};
pub use plan::{Order, Plan, Then};
pub use registry::{Descriptor, all, choose};
pub use stowplan_cache::{Cluster, Delta, Key, Kind, Object};
pub use write::{Failure, Method, Outcome, Write};
