//! What the garbage collector asks the server.

use super::Collector;
use super::monitors::owner;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use stowplan_client::{Failed, Metadata, ServedResource};
use stowplan_controllers::garbage_collector::{Answer, Identity, Live, PatchType, Request};

impl Collector {
    /// Asks the server.
    pub(super) async fn ask(&self, request: &Request) -> Answer {
        let (Request::Get(target) | Request::Delete { target, .. } | Request::Patch { target, .. }) =
            request;
        let Some(resource) = self.resource(&target.gvk.api_version, &target.gvk.kind) else {
            // It may have been defined a moment ago.
            self.stale.notify_one();
            let (kind, version) = (&target.gvk.kind, &target.gvk.api_version);
            let why = format!("no matches for kind {kind:?} in version {version:?}");
            return Answer::Failed(why);
        };
        if resource.namespaced && target.namespace.is_empty() {
            return Answer::NoNamespace;
        }
        let path = path(&resource, target);
        let namespaced = resource.namespaced;
        let changed = match request {
            Request::Get(_) => {
                let found = self.requests.get_metadata::<Metadata>(&path).await;
                return match found {
                    Ok(object) => Answer::Found(live(object, namespaced)),
                    Err(failed) => refusal(&failed, namespaced),
                };
            }
            Request::Delete {
                target,
                resource_version,
                policy,
            } => {
                let preconditions =
                    json!({"uid": &*target.uid, "resourceVersion": resource_version});
                let options = json!({
                    "apiVersion": "v1",
                    "kind": "DeleteOptions",
                    "preconditions": preconditions,
                    "propagationPolicy": policy.as_str(),
                });
                self.change("DELETE", &path, "application/json", &options)
                    .await
            }
            Request::Patch {
                patch_type, body, ..
            } => {
                let content_type = match patch_type {
                    PatchType::Strategic => "application/strategic-merge-patch+json",
                    PatchType::Merge => "application/merge-patch+json",
                };
                self.change("PATCH", &path, content_type, body).await
            }
        };
        match changed {
            Ok(IgnoredAny) => Answer::Done,
            Err(failed) => refusal(&failed, namespaced),
        }
    }

    async fn change(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<IgnoredAny, Failed> {
        self.requests.change(method, path, content_type, body).await
    }
}

/// Where an object is. The namespace does not matter if its kind has none.
fn path(resource: &ServedResource, target: &Identity) -> String {
    let namespace = match resource.namespaced {
        true => &*target.namespace,
        false => "",
    };
    format!("{}/{}", resource.path(namespace), target.name)
}

fn live(object: Metadata, namespaced: bool) -> Live {
    let meta = object.metadata;
    Live {
        uid: meta.uid.unwrap_or_default(),
        resource_version: meta.resource_version.unwrap_or_default(),
        owners: meta
            .owner_references
            .into_iter()
            .flatten()
            .map(owner)
            .collect(),
        finalizers: meta.finalizers.unwrap_or_default(),
        deleting: meta.deletion_timestamp.is_some(),
        namespaced,
    }
}

fn refusal(failed: &Failed, namespaced: bool) -> Answer {
    match failed.code() {
        Some(404) => Answer::NotFound { namespaced },
        Some(409) => Answer::Conflict,
        Some(415) => Answer::Unsupported,
        _ => Answer::Failed(failed.message()),
    }
}
