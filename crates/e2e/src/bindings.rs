//! Who was bound where, as a watch tells it.

use crate::world::{World, node_of, wait};
use anyhow::{Result, ensure};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::runtime::{WatchStreamExt, watcher};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use tokio::task::JoinSet;

/// All nodes that each pod was ever on, by uid.
type Seen = Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>;

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

    /// Waits until so many pods were seen bound; gives the nodes of each.
    pub(crate) async fn some(&self, count: usize) -> Result<BTreeMap<String, BTreeSet<String>>> {
        let enough = || async {
            let seen = self.seen.lock().unwrap_or_else(|lock| lock.into_inner());
            Ok((seen.len() >= count).then(|| seen.clone()))
        };
        wait(&format!("a watch to tell of {count} bindings"), enough).await
    }

    /// Waits until so many pods were seen bound, and checks that none of them was on two nodes.
    pub(crate) async fn once_each(&self, expected: usize) -> Result<()> {
        for (uid, nodes) in self.some(expected).await? {
            ensure!(nodes.len() == 1, "pod {uid} was on {nodes:?}");
        }
        Ok(())
    }
}

async fn watch(pods: kube::Api<Pod>, seen: Seen) {
    let stream = watcher(pods, watcher::Config::default());
    let mut pods = stream.default_backoff().applied_objects().boxed();
    loop {
        match pods.try_next().await {
            Ok(Some(pod)) => {
                if let Some(node) = node_of(&pod) {
                    let mut seen = seen.lock().unwrap_or_else(|lock| lock.into_inner());
                    let uid = pod.uid().unwrap_or_default();
                    seen.entry(uid).or_default().insert(node);
                }
            }
            Ok(None) => return,
            // The watcher goes on by itself.
            Err(_) => {}
        }
    }
}
