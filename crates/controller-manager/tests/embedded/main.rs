//! Controllers that know kinds by discovery, against the embedded server on a virtual clock.

mod autoscaler;
mod garbage_collector;
mod namespace;
mod resource_quota;
mod world;
