//! A controller that keeps as many pods as a ConfigMap says, on what the client crate offers: informers,
//! a work queue, writes with preconditions.

use crate::cluster::{NAMESPACE, PODS_MAX};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::json;
use std::sync::Arc;
use stowplan_base::Env;
use stowplan_client::{
    Delta, Failed, Informers, Preconditions, Requests, Store, WorkQueue, run_workers,
};

const WORKERS: usize = 4;
const SET: &str = "set";

pub(crate) async fn run(informers: &Informers, requests: Requests, env: Arc<dyn Env>) {
    let (maps, pods) = (informers.of::<ConfigMap>(), informers.of::<Pod>());
    let queue = Arc::new(WorkQueue::<String>::new(env));
    let sets = queue.clone();
    maps.add_handler(move |delta| {
        if let Some(name) = &delta.object().metadata.name {
            sets.add(name.clone());
        }
    });
    let owners = queue.clone();
    pods.add_handler(move |delta| {
        let is_over = matches!(delta, Delta::Deleted(_)) || is_finished(delta.object());
        let labels = delta.object().metadata.labels.as_ref().filter(|_| is_over);
        if let Some(set) = labels.and_then(|labels| labels.get(SET)) {
            owners.add(set.clone());
        }
    });
    maps.synced().await;
    pods.synced().await;
    let controller = Controller {
        maps: maps.store(),
        pods: pods.store(),
        requests,
    };
    run_workers(&queue, WORKERS, |set| controller.reconcile(set)).await;
}

struct Controller {
    maps: Arc<Store<ConfigMap>>,
    pods: Arc<Store<Pod>>,
    requests: Requests,
}

impl Controller {
    /// Makes the pods that are missing and deletes those that are too many or finished. What it looks at
    /// may be old, which does no harm: names are taken once, and deletions mean one uid.
    async fn reconcile(&self, set: String) -> Result<(), Failed> {
        let map = self.maps.get(NAMESPACE, &set);
        let data = map.as_ref().and_then(|map| map.data.as_ref());
        let count = data.and_then(|data| data.get("count")?.parse::<u64>().ok());
        let Some(count) = count else { return Ok(()) };
        for i in 0..count {
            let name = format!("{set}-{i}");
            match self.pods.get(NAMESPACE, &name) {
                None => self.create(&set, &name).await?,
                Some(pod) if is_finished(&pod) => self.delete(&pod).await?,
                Some(_) => {}
            }
        }
        for i in count..=PODS_MAX {
            if let Some(pod) = self.pods.get(NAMESPACE, &format!("{set}-{i}")) {
                self.delete(&pod).await?;
            }
        }
        Ok(())
    }

    async fn create(&self, set: &str, name: &str) -> Result<(), Failed> {
        let requests = json!({"cpu": "100m", "memory": "64Mi"});
        let container = json!({"name": "c", "image": "i", "resources": {"requests": requests}});
        let pod = json!({
            "metadata": {"namespace": NAMESPACE, "name": name, "labels": {SET: set}},
            "spec": {"containers": [container]},
        });
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        match self.requests.create(&pod).await {
            Err(failed) if failed.code() == Some(409) => Ok(()),
            made => made.map(drop),
        }
    }

    async fn delete(&self, pod: &Pod) -> Result<(), Failed> {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let this = Preconditions::uid_of(pod);
        let deleted = self
            .requests
            .delete::<Pod>(NAMESPACE, name, &this, Some(0))
            .await;
        match deleted {
            // Another one has this name by now.
            Err(failed) if failed.code() == Some(409) => Ok(()),
            deleted => deleted.map(drop),
        }
    }
}

fn is_finished(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    phase == Some("Succeeded")
}
