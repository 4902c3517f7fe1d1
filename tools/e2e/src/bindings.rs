//! Who was bound, as a watch tells it.

use crate::world::{World, node_of, wait};
use anyhow::Result;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::runtime::{WatchStreamExt, watcher};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tokio::task::JoinSet;

/// Pods that were seen bound, by uid.
type Seen = Arc<Mutex<BTreeSet<String>>>;

/// Follows the bindings of a namespace until it is dropped.
pub(crate) struct Bindings {
    seen: Seen,
    _task: JoinSet<()>,
}

impl Bindings {
    /// Begins to follow, with what is there.
    pub(crate) fn follow(world: &World) -> Self {
        let seen = Seen::default();
        let mut task = JoinSet::new();
        task.spawn(watch(world.own(), Arc::clone(&seen)));
        Self { seen, _task: task }
    }

    /// Waits until so many pods were seen bound.
    pub(crate) async fn some(&self, count: usize) -> Result<()> {
        let enough = || async {
            let seen = self.seen.lock().unwrap_or_else(|lock| lock.into_inner());
            Ok((seen.len() >= count).then_some(()))
        };
        wait(&format!("a watch to tell of {count} bindings"), enough).await
    }
}

async fn watch(pods: kube::Api<Pod>, seen: Seen) {
    let stream = watcher(pods, watcher::Config::default());
    let mut pods = stream.default_backoff().applied_objects().boxed();
    loop {
        match pods.try_next().await {
            Ok(Some(pod)) => {
                if node_of(&pod).is_some() {
                    let mut seen = seen.lock().unwrap_or_else(|lock| lock.into_inner());
                    seen.insert(pod.uid().unwrap_or_default());
                }
            }
            Ok(None) => return,
            // The watcher goes on by itself.
            Err(_) => {}
        }
    }
}
