//! What a cluster of programs without machines lacks, played by the test itself.
//!
//! A kubelet everywhere: it says that bound pods run, and finishes those that are told to go. Where
//! no kube-controller-manager runs also its parts that scheduling waits for: service accounts,
//! the status of disruption budgets, and claims bound to the volumes that were chosen for them.

use crate::home::Kind;
use crate::world::{ignore_missing, node_of, now};
use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{
    Namespace, PersistentVolume, PersistentVolumeClaim, Pod, ServiceAccount,
};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Debug;
use tokio::task::JoinSet;

/// The parts that run; they end when this is dropped.
pub(crate) struct StandIns {
    _tasks: JoinSet<()>,
}

impl StandIns {
    pub(crate) fn start(client: &Client, kind: Kind) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(follow(client.clone(), kubelet));
        if kind != Kind::Real {
            tasks.spawn(follow(client.clone(), service_account));
            tasks.spawn(follow(client.clone(), budget));
            tasks.spawn(follow(client.clone(), volume));
            tasks.spawn(follow(client.clone(), unprotected::<PersistentVolume>));
            tasks.spawn(follow(client.clone(), unprotected::<PersistentVolumeClaim>));
            tasks.spawn(follow(client.clone(), budgets_of_pod));
        }
        Self { _tasks: tasks }
    }
}

/// Calls a part for every object of a kind, as it comes and changes.
async fn follow<K, F>(client: Client, part: impl Fn(Client, K) -> F)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
    F: Future<Output = Result<()>>,
{
    let api: Api<K> = Api::all(client.clone());
    let stream = watcher(api, watcher::Config::default());
    let mut objects = stream.default_backoff().applied_objects().boxed();
    loop {
        match objects.try_next().await {
            Ok(Some(object)) => {
                // A server that is being restarted is no news.
                if let Err(error) = part(client.clone(), object).await
                    && let Some(kube::Error::Api(status)) = error.downcast_ref()
                {
                    eprintln!("stand-in for {}: {}", K::kind(&()), status.message);
                }
            }
            Ok(None) => return,
            // The watcher starts anew by itself.
            Err(_) => {}
        }
    }
}

async fn kubelet(client: Client, pod: Pod) -> Result<()> {
    if node_of(&pod).is_none() {
        return Ok(());
    }
    let pods: Api<Pod> = Api::namespaced(client, &pod.namespace().unwrap_or_default());
    if pod.metadata.deletion_timestamp.is_some() {
        return ignore_missing(pods.delete(&pod.name_any(), &now()).await);
    }
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    if phase != Some("Pending") {
        return Ok(());
    }
    let status = json!({"status": {
        "phase": "Running",
        "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "ContainersReady", "status": "True"},
        ],
    }});
    let patch = Patch::Strategic(status);
    let params = PatchParams::default();
    ignore_missing(pods.patch_status(&pod.name_any(), &params, &patch).await)
}

async fn service_account(client: Client, namespace: Namespace) -> Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client, &namespace.name_any());
    let account = json!({"metadata": {"name": "default"}});
    let account: ServiceAccount = serde_json::from_value(account)?;
    match accounts.create(&PostParams::default(), &account).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        outcome => ignore_missing(outcome),
    }
}

/// How many pods of a budget may go: those that are ready beyond `minAvailable`.
async fn budget(client: Client, budget: PodDisruptionBudget) -> Result<()> {
    let namespace = budget.namespace().unwrap_or_default();
    let spec = budget.spec.clone().unwrap_or_default();
    let Some(IntOrString::Int(wanted)) = spec.min_available else {
        return Ok(());
    };
    let selector = spec.selector.as_ref().map(selector).transpose()?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let params = ListParams::default().labels(&selector.unwrap_or_default());
    let list = pods.list(&params).await?;
    let healthy = list.iter().filter(|pod| is_ready(pod)).count() as i32;
    let status = json!({
        "observedGeneration": budget.metadata.generation,
        "disruptionsAllowed": (healthy - wanted).max(0),
        "currentHealthy": healthy,
        "desiredHealthy": wanted,
        "expectedPods": list.items.len(),
    });
    let current = serde_json::to_value(&budget.status)?;
    let same = status
        .as_object()
        .is_some_and(|new| new.iter().all(|(key, value)| current[key] == *value));
    if same {
        return Ok(());
    }
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(client, &namespace);
    let patch = Patch::Merge(json!({"status": status}));
    let params = PatchParams::default();
    ignore_missing(
        budgets
            .patch_status(&budget.name_any(), &params, &patch)
            .await,
    )
}

async fn budgets_of_pod(client: Client, pod: Pod) -> Result<()> {
    let namespace = pod.namespace().unwrap_or_default();
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), &namespace);
    for found in budgets.list(&ListParams::default()).await? {
        budget(client.clone(), found).await?;
    }
    Ok(())
}

fn selector(selector: &LabelSelector) -> Result<String> {
    let labels = selector.match_labels.as_ref().context("no matchLabels")?;
    let pairs: Vec<_> = labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    Ok(pairs.join(","))
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().filter_map(|s| s.conditions.as_ref());
    let mut conditions = conditions.flatten();
    conditions.any(|c| c.type_ == "Ready" && c.status == "True")
        && pod.metadata.deletion_timestamp.is_none()
}

/// Says that a volume is there to be had, or binds the claim that it names.
async fn volume(client: Client, volume: PersistentVolume) -> Result<()> {
    let name = volume.name_any();
    let params = PatchParams::default();
    let phase = volume.status.as_ref().and_then(|s| s.phase.as_deref());
    let volumes: Api<PersistentVolume> = Api::all(client.clone());
    let Some(wanted) = volume.spec.as_ref().and_then(|spec| spec.claim_ref.clone()) else {
        if phase == Some("Available") {
            return Ok(());
        }
        let free = Patch::Merge(json!({"status": {"phase": "Available"}}));
        return ignore_missing(volumes.patch_status(&name, &params, &free).await);
    };
    if phase == Some("Bound") {
        return Ok(());
    }
    let namespace = wanted.namespace.unwrap_or_default();
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client, &namespace);
    let spec = Patch::Merge(json!({
        "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"volumeName": name},
    }));
    let claim = wanted.name.unwrap_or_default();
    ignore_missing(claims.patch(&claim, &params, &spec).await)?;
    let bound = Patch::Merge(json!({"status": {"phase": "Bound"}}));
    ignore_missing(claims.patch_status(&claim, &params, &bound).await)?;
    ignore_missing(volumes.patch_status(&name, &params, &bound).await)
}

/// Lets go what is told to go: nobody uses it.
async fn unprotected<K>(client: Client, object: K) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let finalizers = object.meta().finalizers.as_deref().unwrap_or_default();
    if object.meta().deletion_timestamp.is_none() || finalizers.is_empty() {
        return Ok(());
    }
    let namespace = object.namespace().unwrap_or_default();
    let path = K::url_path(&(), (!namespace.is_empty()).then_some(&*namespace));
    let patch = json!({"metadata": {"finalizers": null}});
    let request = http::Request::patch(format!("{path}/{}", object.name_any()))
        .header("content-type", "application/merge-patch+json")
        .body(serde_json::to_vec(&patch)?)?;
    ignore_missing(client.request::<serde_json::Value>(request).await)
}
