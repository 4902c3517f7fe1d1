//! What is read of a live cluster before it is drained.

use super::args::Drain;
use crate::explain::live::connection;
use anyhow::{Context, Result, bail};
use http::Request;
use kube::Client;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use stowplan_api::k8s::api::core::v1::{Node, Pod};
use stowplan_sim::drain::{NotThere, controller};

/// A namespace and a name.
pub(super) type Id = (String, String);

/// A client of the cluster that is meant.
pub(super) async fn client(args: &Drain) -> Result<Client> {
    let config = connection(args.kubeconfig.as_deref()).await?;
    Client::try_from(config).context("cannot make a client")
}

/// What is at a path.
pub(super) async fn get<T: DeserializeOwned>(client: &Client, path: &str) -> kube::Result<T> {
    let request = Request::get(path).body(Vec::new());
    client
        .request(request.map_err(kube::Error::HttpError)?)
        .await
}

async fn list<T: DeserializeOwned>(client: &Client, path: &str) -> Result<Vec<T>> {
    let list: Value = get(client, path)
        .await
        .with_context(|| format!("cannot list {path}"))?;
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let read = |item| serde_json::from_value(item).with_context(|| path.to_owned());
    items.into_iter().map(read).collect()
}

/// All DaemonSets, by namespace and name.
pub(super) async fn daemon_sets(client: &Client) -> Result<BTreeSet<Id>> {
    let sets: Vec<Value> = list(client, "/apis/apps/v1/daemonsets").await?;
    let text = |set: &Value, key: &str| set["metadata"][key].as_str().unwrap_or("").to_owned();
    let ids = sets
        .iter()
        .map(|set| (text(set, "namespace"), text(set, "name")));
    Ok(ids.collect())
}

/// What the API says of the DaemonSets that own pods.
pub(super) async fn owning_daemon_sets(
    client: &Client,
    pods: &[Pod],
) -> BTreeMap<Id, Result<(), NotThere>> {
    let mut known = BTreeMap::new();
    for pod in pods {
        let Some(owner) = controller(pod).filter(|owner| owner.kind == "DaemonSet") else {
            continue;
        };
        let namespace = pod.metadata.namespace.clone().unwrap_or_default();
        let id = (namespace, owner.name.clone());
        if known.contains_key(&id) {
            continue;
        }
        let path = format!("/apis/apps/v1/namespaces/{}/daemonsets/{}", id.0, id.1);
        let found = match get::<Value>(client, &path).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) => Err(NotThere {
                is_missing: status.code == 404,
                message: status.message.clone(),
            }),
            Err(error) => Err(NotThere {
                is_missing: false,
                message: error.to_string(),
            }),
        };
        known.insert(id, found);
    }
    known
}

/// The nodes that are meant.
pub(super) async fn nodes(client: &Client, args: &Drain) -> Result<Vec<Node>> {
    if let Some(selector) = &args.selector {
        let query = encoded(&selector.text);
        let nodes = list(client, &format!("/api/v1/nodes?labelSelector={query}")).await?;
        if nodes.is_empty() {
            bail!("no node has the labels {:?}", selector.text);
        }
        return Ok(nodes);
    }
    let mut nodes = Vec::new();
    for name in &args.nodes {
        match get(client, &format!("/api/v1/nodes/{}", encoded(name))).await {
            Ok(node) => nodes.push(node),
            Err(kube::Error::Api(status)) => bail!("{}", status.message),
            Err(error) => return Err(error).context("cannot read the node"),
        }
    }
    Ok(nodes)
}

/// The pods of a node that are meant.
pub(super) async fn pods(client: &Client, args: &Drain, node: &str) -> Result<Vec<Pod>> {
    let mut path = format!(
        "/api/v1/pods?fieldSelector=spec.nodeName%3D{}",
        encoded(node)
    );
    if let Some(selector) = &args.pod_selector {
        path += &format!("&labelSelector={}", encoded(&selector.text));
    }
    list(client, &path).await
}

/// A text as it may stand in a URL.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn what_is_special_in_a_url_is_encoded() {
        assert_eq!(encoded("a=b,c in (d)"), "a%3Db%2Cc%20in%20%28d%29");
        assert_eq!(encoded("node-a-1.example_x~"), "node-a-1.example_x~");
    }
}
