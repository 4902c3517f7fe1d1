//! The objects of one resource in a namespace.

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::json;
use std::collections::BTreeMap;
use stowplan_client::{Failed, Metadata, Requests, ServedResource};

/// How many objects are listed at a time.
const PAGE: u32 = 5_000;

/// How long objects with finalizers are taken to need, in seconds.
const FINALIZERS_S: u64 = 15;

/// What is left of a resource.
#[derive(Default)]
pub(super) struct Remains {
    /// How many seconds it may take until it is gone.
    pub(super) estimate_s: u64,
    /// How many objects.
    pub(super) count: usize,
    /// How many of them a finalizer holds.
    pub(super) finalizers: BTreeMap<String, usize>,
    /// What went wrong.
    pub(super) error: Option<String>,
}

#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct List<T> {
    #[serde(default)]
    metadata: ListMeta,
    items: Option<Vec<T>>,
}

#[derive(Deserialize, Default)]
struct ListMeta {
    #[serde(rename = "continue", default)]
    token: String,
}

/// Deletes all objects of a resource, and says what is left. Upstream's
/// `deleteAllContentForGroupVersionResource`, but that what is empty is not deleted.
pub(super) async fn delete(
    requests: &Requests,
    resource: &ServedResource,
    namespace: &str,
    deleted_s: u64,
) -> Remains {
    let mut remains = Remains::default();
    if let Err(error) = attempt(requests, resource, namespace, deleted_s, &mut remains).await {
        remains.error = Some(error);
    }
    remains
}

async fn attempt(
    requests: &Requests,
    resource: &ServedResource,
    namespace: &str,
    deleted_s: u64,
    remains: &mut Remains,
) -> Result<(), String> {
    let path = resource.path(namespace);
    let Some(names) = names(requests, resource, &path, remains).await? else {
        // It can only be deleted as a whole, if at all.
        delete_collection(requests, resource, &path).await?;
        return Ok(());
    };
    if names.is_empty() {
        return Ok(());
    }
    if resource.group.is_empty() && resource.plural == "pods" {
        let grace_s = longest_grace(requests, &path).await?;
        // Who has had that long is not waited for.
        remains.estimate_s = if deleted_s >= grace_s { 0 } else { grace_s };
    }
    if !delete_collection(requests, resource, &path).await? {
        for name in names {
            delete_one(requests, &format!("{path}/{name}")).await?;
        }
    }
    let left = self::names(requests, resource, &path, remains).await?;
    remains.count = left.map_or(0, |left| left.len());
    match () {
        () if remains.count == 0 => remains.estimate_s = 0,
        () if remains.estimate_s > 0 => {}
        () if !remains.finalizers.is_empty() => remains.estimate_s = FINALIZERS_S,
        () => {
            let ServedResource {
                group,
                version,
                plural,
                ..
            } = resource;
            return Err(format!(
                "unexpected items still remain in namespace: {namespace} for gvr: \
                 {group}/{version}, Resource={plural}"
            ));
        }
    }
    Ok(())
}

/// Whether the server does not know how to do that. Some resources that it tells of are not found.
fn is_unsupported(failed: &Failed) -> bool {
    matches!(failed.code(), Some(404 | 405))
}

/// Whether such a deletion is possible.
async fn delete_collection(
    requests: &Requests,
    resource: &ServedResource,
    path: &str,
) -> Result<bool, String> {
    if !resource.has_verbs(&["deletecollection"]) {
        return Ok(false);
    }
    match delete_path(requests, path).await {
        Ok(()) => Ok(true),
        Err(failed) if is_unsupported(&failed) => Ok(false),
        Err(failed) => Err(failed.message()),
    }
}

async fn delete_one(requests: &Requests, path: &str) -> Result<(), String> {
    match delete_path(requests, path).await {
        Ok(()) => Ok(()),
        Err(failed) if is_unsupported(&failed) => Ok(()),
        Err(failed) => Err(failed.message()),
    }
}

/// Nothing is orphaned: all of it has to go.
async fn delete_path(requests: &Requests, path: &str) -> Result<(), Failed> {
    let options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
    });
    let content_type = "application/json";
    let IgnoredAny = requests
        .change("DELETE", path, content_type, &options)
        .await?;
    Ok(())
}

/// The names of all objects, and which finalizers hold them; `None` if they cannot be listed.
async fn names(
    requests: &Requests,
    resource: &ServedResource,
    path: &str,
    remains: &mut Remains,
) -> Result<Option<Vec<String>>, String> {
    remains.finalizers.clear();
    if !resource.has_verbs(&["list"]) {
        return Ok(None);
    }
    let (mut names, mut token) = (Vec::new(), String::new());
    loop {
        let page = page_path(path, &token);
        let list: List<Metadata> = match requests.list_metadata(&page).await {
            Ok(list) => list,
            Err(failed) if is_unsupported(&failed) => return Ok(None),
            Err(failed) => return Err(failed.message()),
        };
        for item in list.items.into_iter().flatten() {
            for finalizer in item.metadata.finalizers.into_iter().flatten() {
                *remains.finalizers.entry(finalizer).or_default() += 1;
            }
            names.push(item.metadata.name.unwrap_or_default());
        }
        if list.metadata.token.is_empty() {
            return Ok(Some(names));
        }
        token = list.metadata.token;
    }
}

fn page_path(path: &str, token: &str) -> String {
    match token {
        "" => format!("{path}?limit={PAGE}"),
        token => format!("{path}?limit={PAGE}&continue={token}"),
    }
}

/// The longest grace period of the pods that still run, in seconds.
async fn longest_grace(requests: &Requests, path: &str) -> Result<u64, String> {
    #[derive(Deserialize)]
    struct Pod {
        #[serde(default)]
        spec: Spec,
        #[serde(default)]
        status: Status,
    }
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Spec {
        termination_grace_period_seconds: i64,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Status {
        phase: String,
    }
    let (mut longest, mut token) = (0, String::new());
    loop {
        let list: Result<List<Pod>, _> = requests.get(&page_path(path, &token)).await;
        let list = list.map_err(|failed| failed.message())?;
        for pod in list.items.into_iter().flatten() {
            if !matches!(&*pod.status.phase, "Succeeded" | "Failed") {
                longest = longest.max(pod.spec.termination_grace_period_seconds);
            }
        }
        if list.metadata.token.is_empty() {
            return Ok(u64::try_from(longest).unwrap_or_default());
        }
        token = list.metadata.token;
    }
}
