//! The pods that the workloads of files would have, for those who look at files without a cluster.
//!
//! A function takes a workload and a [`View`] of the input and returns the objects that are missing, as
//! JSON: a Deployment wants a ReplicaSet, a ReplicaSet wants pods, a StatefulSet wants pods and
//! their claims. Pods, sets and claims are made by the controllers' own functions; only names and what is
//! there are looked at in another way, since a file has no uids and no past. Nothing is written here, and
//! what comes back is neither defaulted nor admitted: it takes the road of every object that is created.
//!
//! Names are made to be read and to be the same every time: `web-0`, `web-1` for a Deployment,
//! ReplicaSet, StatefulSet or Job `web`, and `agent-NODE` for a DaemonSet `agent`. (A real ReplicaSet
//! would say `web-6d4b75cb6d-x7k2p`.)

pub mod daemon_set;
pub mod deployment;
pub mod ephemeral;
pub mod job;
pub mod replica_set;
pub mod stateful_set;
mod template;
#[cfg(test)]
mod tests;
mod view;

pub use view::{Owner, Pod, View};
