//! ReplicaSets: as many pods as are wanted.
//!
//! Upstream: `pkg/controller/replicaset`. ReplicationControllers share all of it (`Replicated`).

mod control;
mod ranks;
mod replicated;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use control::{pace, sync, watch};
pub(crate) use replicated::{Replicated, Spec};

use crate::{Cluster, Controller, Cx, Key, Plan, Watches};
use k8s_openapi::api::apps::v1::ReplicaSet;
use std::time::Duration;

/// The ReplicaSet controller.
#[derive(Default)]
pub struct ReplicaSets;

impl Controller for ReplicaSets {
    fn watch(&self, watches: &mut Watches) {
        watch::<ReplicaSet>(watches);
    }

    fn pace(&self, cluster: &Cluster, key: &Key) -> Duration {
        pace::<ReplicaSet>(cluster, key)
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        sync::<ReplicaSet>(cx, key)
    }
}
