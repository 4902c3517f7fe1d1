//! All kubelets: each pod runs for a while and is done.

use crate::cluster::NAMESPACE;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Env;
use stowplan_client::{Delta, Failed, Informers, Requests, WorkQueue, run_workers};

const WORKERS: usize = 16;

pub(crate) async fn run(informers: &Informers, requests: Requests, env: Arc<dyn Env>) {
    let pods = informers.of::<Pod>();
    let queue = Arc::new(WorkQueue::<(String, String)>::new(env.clone()));
    let running = queue.clone();
    pods.add_handler(move |delta| {
        let now = match delta {
            Delta::Added(now) if is_bound(now) => now,
            Delta::Updated(before, now) if is_bound(now) && !is_bound(before) => now,
            _ => return,
        };
        let meta = &now.metadata;
        if let (Some(name), Some(uid)) = (&meta.name, &meta.uid) {
            let millis = 10_000 + env.random() % 400_000;
            let key = (name.clone(), uid.clone());
            running.add_after(key, Duration::from_millis(millis));
        }
    });
    run_workers(&queue, WORKERS, |(name, uid)| finish(&requests, name, uid)).await;
}

fn is_bound(pod: &Pod) -> bool {
    pod.spec
        .as_ref()
        .is_some_and(|spec| spec.node_name.is_some())
}

async fn finish(requests: &Requests, name: String, uid: String) -> Result<(), Failed> {
    let patch = json!({"metadata": {"uid": uid}, "status": {"phase": "Succeeded"}});
    let patched = requests
        .merge::<Pod>(NAMESPACE, &name, Some("status"), &patch)
        .await;
    match patched {
        // It is gone, or another one has its name.
        Err(failed) if matches!(failed.code(), Some(404 | 409)) => Ok(()),
        patched => patched.map(drop),
    }
}
