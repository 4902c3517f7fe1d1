//! Volumes are bound before their pod is. Upstream's `volumebinding/binder.go`, `BindPodVolumes`.

use super::{Bind, ClaimKey, Tools, VolumeWrite};
use crate::message::Message;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stowplan_api::k8s::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use stowplan_engine::model::Kind;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::oneshot;

const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// How long to wait before asking again who did not answer.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// How long to wait at most before looking again, whatever the watches tell.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// A volume or claim came, changed or went, or a pod went.
#[derive(Clone, Debug)]
pub(crate) struct VolumeChange {
    pub(crate) kind: Kind,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl Bind {
    /// Writes what is to be, and waits until it is.
    pub(super) async fn bind_volumes(&self, tools: &Tools) -> Result<(), String> {
        for write in &self.volumes {
            match write {
                VolumeWrite::Volume {
                    name,
                    claim,
                    bound_by_controller,
                } => give(tools, name, claim, *bound_by_controller).await?,
                VolumeWrite::Claim(claim) => promise(tools, claim, &self.node).await?,
            }
        }
        let all = self.wait_for_volumes(tools);
        match tokio::time::timeout(self.volumes_timeout, all).await {
            Ok(bound) => bound.map_err(|error| format!("binding volumes: {error}")),
            Err(_) => Err("binding volumes: context deadline exceeded".to_owned()),
        }
    }

    async fn wait_for_volumes(&self, tools: &Tools) -> Result<(), String> {
        let mut changes = tools.volume_changes.subscribe();
        loop {
            if self.are_bound(tools).await? {
                return Ok(());
            }
            // Looking again in vain costs little, unless many wait and all do it all the time.
            let _ = tokio::time::timeout(LOOK_AGAIN, self.concerned(&mut changes)).await;
        }
    }

    /// Waits for a change of this pod's volumes and claims, or its end.
    async fn concerned(&self, changes: &mut broadcast::Receiver<VolumeChange>) {
        loop {
            match changes.recv().await {
                Ok(change) if !self.is_about(&change) => {}
                Ok(_) | Err(RecvError::Lagged(_)) => return,
                // Everything is being stopped.
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }

    fn is_about(&self, change: &VolumeChange) -> bool {
        let is_claim = |claim: &ClaimKey| {
            change.kind == Kind::PersistentVolumeClaim
                && (&claim.namespace, &claim.name) == (&change.namespace, &change.name)
        };
        match change.kind {
            Kind::Pod => (&self.pod.namespace, &self.pod.name) == (&change.namespace, &change.name),
            _ => self.volumes.iter().any(|write| match write {
                VolumeWrite::Volume { name, claim, .. } => {
                    change.kind == Kind::PersistentVolume && *name == change.name || is_claim(claim)
                }
                VolumeWrite::Claim(claim) => is_claim(claim),
            }),
        }
    }

    /// Whether all volumes are bound. An error if they cannot be any more. Upstream's
    /// `checkBindings`.
    async fn are_bound(&self, tools: &Tools) -> Result<bool, String> {
        self.pod_is_there(tools).await?;
        let mut all = true;
        for write in &self.volumes {
            all &= match write {
                VolumeWrite::Volume { name, claim, .. } => {
                    self.is_given(tools, name, claim).await?
                }
                VolumeWrite::Claim(claim) => self.is_made(tools, claim).await?,
            };
        }
        Ok(all)
    }

    async fn pod_is_there(&self, tools: &Tools) -> Result<(), String> {
        let path = super::requests::pod_path(&self.pod.namespace, &self.pod.name, "");
        let pod: Option<Value> = read(tools, &path).await?;
        match pod.as_ref().map(|pod| pod["metadata"]["uid"].as_str()) {
            Some(uid) if uid != Some(&*self.pod.uid) => Err(format!(
                "pod does not exist any more: {:?}",
                &*self.pod.name
            )),
            None => Err(format!(
                "pod does not exist any more: {:?}",
                &*self.pod.name
            )),
            Some(_) => Ok(()),
        }
    }

    async fn is_given(&self, tools: &Tools, name: &str, claim: &ClaimKey) -> Result<bool, String> {
        let volume: Option<PersistentVolume> = read(tools, &volume_path(name)).await?;
        let Some(volume) = volume else {
            return Err(format!("failed to check binding: pv {name:?} not found"));
        };
        let reference = volume
            .spec
            .as_ref()
            .and_then(|spec| spec.claim_ref.as_ref());
        let has_uid =
            reference.is_some_and(|r| r.uid.as_deref().is_some_and(|uid| !uid.is_empty()));
        self.check_affinity(tools, volume).await?;
        if !has_uid {
            return Err(format!("ClaimRef got reset for pv {name:?}"));
        }
        let claim: Option<PersistentVolumeClaim> = read(tools, &claim_path(claim)).await?;
        match claim {
            Some(claim) => Ok(is_fully_bound(&claim)),
            None => Err("failed to check binding: pvc not found".to_owned()),
        }
    }

    async fn is_made(&self, tools: &Tools, key: &ClaimKey) -> Result<bool, String> {
        let claim: Option<PersistentVolumeClaim> = read(tools, &claim_path(key)).await?;
        let Some(claim) = claim else {
            return Err("failed to check provisioning pvc: not found".to_owned());
        };
        let annotations = claim.metadata.annotations.as_ref();
        let node = annotations.map(|all| all.get(SELECTED_NODE).map(String::as_str));
        match node {
            None => {
                return Err(format!(
                    "selectedNode annotation reset for PVC {:?}",
                    &*key.name
                ));
            }
            Some(node) if node != Some(&*self.node) => {
                return Err(format!("provisioning failed for PVC {:?}", &*key.name));
            }
            Some(_) => {}
        }
        let name = claim
            .spec
            .as_ref()
            .and_then(|spec| spec.volume_name.as_deref());
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let Some(volume) = read(tools, &volume_path(name)).await? else {
                return Ok(false);
            };
            self.check_affinity(tools, volume).await?;
        }
        Ok(is_fully_bound(&claim))
    }

    /// Whether the volume can be reached from the node: the engine knows.
    async fn check_affinity(&self, tools: &Tools, volume: PersistentVolume) -> Result<(), String> {
        let (answer, answered) = oneshot::channel();
        tools.tell(Message::CheckVolume {
            volume: volume.into(),
            node: (&*self.node).into(),
            answer,
        });
        answered.await.unwrap_or(Ok(()))
    }
}

/// Gives a volume to a claim.
async fn give(
    tools: &Tools,
    name: &str,
    claim: &ClaimKey,
    bound_by_controller: bool,
) -> Result<(), String> {
    let path = volume_path(name);
    let volume: Option<Value> = read(tools, &path).await?;
    let Some(mut volume) = volume else {
        return Err(format!("persistentvolumes {name:?} not found"));
    };
    let owner = volume["spec"]["claimRef"]["uid"].as_str();
    if owner.is_some_and(|uid| !uid.is_empty() && *uid != *claim.uid) {
        return Err(format!("pv {name:?} was bound to another claim"));
    }
    volume["spec"]["claimRef"] = json!({
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": &*claim.namespace,
        "name": &*claim.name,
        "uid": &*claim.uid,
    });
    if bound_by_controller {
        annotate(&mut volume, BOUND_BY_CONTROLLER, "yes");
    }
    put(tools, &path, &volume).await
}

/// Says for which node the claim's volume is to be made.
async fn promise(tools: &Tools, key: &ClaimKey, node: &str) -> Result<(), String> {
    let path = claim_path(key);
    let claim: Option<Value> = read(tools, &path).await?;
    let claim = claim.filter(|claim| claim["metadata"]["uid"].as_str() == Some(&*key.uid));
    let Some(mut claim) = claim else {
        return Err(format!("persistentvolumeclaims {:?} not found", &*key.name));
    };
    annotate(&mut claim, SELECTED_NODE, node);
    put(tools, &path, &claim).await
}

async fn put(tools: &Tools, path: &str, body: &Value) -> Result<(), String> {
    let answer: Result<IgnoredAny, _> = tools
        .requests
        .change("PUT", path, "application/json", body)
        .await;
    answer.map(drop).map_err(|failed| failed.message())
}

fn annotate(object: &mut Value, key: &str, value: &str) {
    let annotations = &mut object["metadata"]["annotations"];
    if !annotations.is_object() {
        *annotations = json!({});
    }
    annotations[key] = Value::from(value);
}

/// Reads an object; `None` if it is not there.
async fn read<T: serde::de::DeserializeOwned>(
    tools: &Tools,
    path: &str,
) -> Result<Option<T>, String> {
    loop {
        match tools.requests.get(path).await {
            Ok(object) => return Ok(Some(object)),
            Err(failed) if failed.code() == Some(404) => return Ok(None),
            // A server that is not there may come back before the time is over.
            Err(failed) if failed.is_open() => tokio::time::sleep(ASK_AGAIN).await,
            Err(failed) => return Err(failed.message()),
        }
    }
}

/// Upstream's `isPVCFullyBound`.
fn is_fully_bound(claim: &PersistentVolumeClaim) -> bool {
    let name = claim
        .spec
        .as_ref()
        .and_then(|spec| spec.volume_name.as_deref());
    let annotations = claim.metadata.annotations.as_ref();
    name.is_some_and(|name| !name.is_empty())
        && annotations.is_some_and(|all| all.contains_key(BIND_COMPLETED))
}

fn volume_path(name: &str) -> String {
    format!("/api/v1/persistentvolumes/{name}")
}

fn claim_path(claim: &ClaimKey) -> String {
    let ClaimKey {
        namespace, name, ..
    } = claim;
    format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}")
}
