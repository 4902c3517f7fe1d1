//! Volumes are bound before their pod is. Upstream's `volumebinding/binder.go`, `BindPodVolumes`.

use super::{Bind, ClaimKey, Tools, VolumeWrite};
use crate::message::{Message, VolumesWritten};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;
use stowplan_api::k8s::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use stowplan_api::load::Object as ApiObject;
use stowplan_env::timeout;
use tokio::sync::oneshot;

const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// How long to wait before asking again who did not answer.
const ASK_AGAIN: Duration = Duration::from_secs(1);

impl Bind {
    /// Writes what is to be, and waits until it is.
    pub(super) async fn bind_volumes(&self, tools: &Tools) -> Result<(), String> {
        let bound = timeout(
            tools.env(),
            self.volumes_timeout,
            self.write_and_wait(tools),
        );
        let late = || Err("binding volumes: context deadline exceeded".to_owned());
        bound.await.unwrap_or_else(|_| late())
    }

    async fn write_and_wait(&self, tools: &Tools) -> Result<(), String> {
        let mut objects = Vec::with_capacity(self.volumes.len());
        for write in &self.volumes {
            objects.push(match write {
                VolumeWrite::Volume {
                    name,
                    claim,
                    bound_by_controller,
                } => give(tools, name, claim, *bound_by_controller).await?,
                VolumeWrite::Claim(claim) => promise(tools, claim, &self.node).await?,
            });
        }
        let (answer, answered) = oneshot::channel();
        tools.tell(Message::VolumesWritten(VolumesWritten {
            uid: self.pod.uid.clone(),
            objects,
            answer,
        }));
        match answered.await {
            Ok(bound) => bound.map_err(|error| format!("binding volumes: {error}")),
            Err(_) => Err("binding volumes: the scheduler stops".to_owned()),
        }
    }
}

/// Gives a volume to a claim.
async fn give(
    tools: &Tools,
    name: &str,
    claim: &ClaimKey,
    bound_by_controller: bool,
) -> Result<ApiObject, String> {
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
    put::<PersistentVolume>(tools, &path, &volume).await
}

/// Says for which node the claim's volume is to be made.
async fn promise(tools: &Tools, key: &ClaimKey, node: &str) -> Result<ApiObject, String> {
    let path = claim_path(key);
    let claim: Option<Value> = read(tools, &path).await?;
    let claim = claim.filter(|claim| claim["metadata"]["uid"].as_str() == Some(&*key.uid));
    let Some(mut claim) = claim else {
        return Err(format!("persistentvolumeclaims {:?} not found", &*key.name));
    };
    annotate(&mut claim, SELECTED_NODE, node);
    put::<PersistentVolumeClaim>(tools, &path, &claim).await
}

async fn put<T: DeserializeOwned + Into<ApiObject>>(
    tools: &Tools,
    path: &str,
    body: &Value,
) -> Result<ApiObject, String> {
    let answer: Result<T, _> = tools
        .requests
        .change("PUT", path, "application/json", body)
        .await;
    answer.map(Into::into).map_err(|failed| failed.message())
}

fn annotate(object: &mut Value, key: &str, value: &str) {
    let annotations = &mut object["metadata"]["annotations"];
    if !annotations.is_object() {
        *annotations = json!({});
    }
    annotations[key] = Value::from(value);
}

/// Reads an object; `None` if it is not there.
async fn read<T: DeserializeOwned>(tools: &Tools, path: &str) -> Result<Option<T>, String> {
    loop {
        match tools.requests.get(path).await {
            Ok(object) => return Ok(Some(object)),
            Err(failed) if failed.code() == Some(404) => return Ok(None),
            // A server that is not there may come back before the time is over.
            Err(failed) if failed.is_open() => tools.env().sleep(ASK_AGAIN).await,
            Err(failed) => return Err(failed.message()),
        }
    }
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
