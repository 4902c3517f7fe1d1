//! Drains nodes of a live cluster, as kubectl does: cordons all of them, then evicts the pods of one
//! after the other.
//!
//! Upstream: `k8s.io/kubectl/pkg/cmd/drain` and `pkg/drain/drain.go`.

use super::args::Drain;
use super::evict::Errors;
use super::{allowed, cluster, evict};
use crate::{Verdict, output};
use anyhow::{Result, bail};
use http::Request;
use kube::Client;
use serde_json::{Value, json};
use stowplan_api::k8s::api::core::v1::{Node, Pod};
use stowplan_sim::drain::{PodDeleteStatus, errors, warnings};

/// Does it.
pub(super) async fn drain(args: &Drain) -> Result<Verdict> {
    let client = cluster::client(args).await?;
    let nodes = cluster::nodes(&client, args).await?;
    for node in &nodes {
        cordon(&client, node).await?;
    }
    let (mut left, mut errors) = (Vec::new(), Vec::new());
    for node in &nodes {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        match empty(&client, args, name).await {
            Ok(()) => output::print(&format!("node/{name} drained\n"))?,
            Err(error) => {
                let why = crate::told(&error);
                output::error(format_args!(
                    "unable to drain node {name:?} due to error: {why}, continuing command..."
                ));
                left.push(name);
                match error.downcast::<Errors>() {
                    Ok(several) => errors.extend(several.0),
                    Err(_) => errors.push(why),
                }
            }
        }
    }
    if left.is_empty() {
        return Ok(Verdict::AllPlaced);
    }
    anstream::eprintln!("There are pending nodes to be drained:");
    for name in left {
        anstream::eprintln!(" {}", output::printable(name));
    }
    for error in errors {
        anstream::eprintln!("{}", output::printable(&error));
    }
    Ok(Verdict::SomePending)
}

/// Keeps new pods off the node.
async fn cordon(client: &Client, node: &Node) -> Result<()> {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let spec = node.spec.as_ref();
    if spec.is_some_and(|spec| spec.unschedulable == Some(true)) {
        return output::print(&format!("node/{name} already cordoned\n"));
    }
    let patch = serde_json::to_vec(&json!({"spec": {"unschedulable": true}}))?;
    let request = Request::patch(format!("/api/v1/nodes/{name}"))
        .header("Content-Type", "application/strategic-merge-patch+json")
        .body(patch)?;
    match client.request::<Value>(request).await {
        Ok(_) => output::print(&format!("node/{name} cordoned\n")),
        Err(kube::Error::Api(status)) => {
            bail!("unable to cordon node {name:?}: {}", status.message)
        }
        Err(error) => Err(error.into()),
    }
}

/// Evicts what is on a node, and waits until it is gone.
async fn empty(client: &Client, args: &Drain, node: &str) -> Result<()> {
    let pods = leaving(client, args, node, true).await?;
    let Err(error) = evict::all(client, args, pods).await else {
        return Ok(());
    };
    if let Ok(pods) = leaving(client, args, node, false).await
        && !pods.is_empty()
    {
        let why = crate::told(&error);
        anstream::eprintln!(
            "There are pending pods in node {node:?} when an error occurred: {why}"
        );
        for pod in &pods {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            anstream::eprintln!("pod/{}", output::printable(name));
        }
    }
    Err(error)
}

/// The pods that have to go, or why none may.
async fn leaving(client: &Client, args: &Drain, node: &str, warn: bool) -> Result<Vec<Pod>> {
    let pods = cluster::pods(client, args, node).await?;
    let daemon_sets = cluster::owning_daemon_sets(client, &pods).await;
    let id = |pod: &Pod| {
        let meta = &pod.metadata;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        (text(&meta.namespace), text(&meta.name))
    };
    let skip_after = args.skip_wait_for_delete_timeout;
    let mut pods = pods;
    pods.retain(|pod| !evict::is_given_up(pod, skip_after));
    let judged: Vec<(String, PodDeleteStatus)> = pods
        .iter()
        .map(|pod| {
            let (namespace, name) = id(pod);
            let daemon_set = |set: &str| {
                let known = daemon_sets.get(&(namespace.clone(), set.to_owned()));
                known.cloned().unwrap_or(Ok(()))
            };
            let status = PodDeleteStatus::of(pod, allowed(args), daemon_set);
            (format!("{namespace}/{name}"), status)
        })
        .collect();
    let told = || judged.iter().map(|(name, status)| (name.as_str(), status));
    let refused = errors(told());
    if !refused.is_empty() {
        return Err(Errors(refused).into());
    }
    let warnings = warnings(told());
    if warn && !warnings.is_empty() {
        // In kubectl's letters.
        let warnings = warnings.join("; ");
        anstream::eprintln!("Warning: {}", output::printable(&warnings));
    }
    let going = pods.into_iter().zip(&judged);
    let going = going.filter(|(_, (_, status))| status.is_delete());
    Ok(going.map(|(pod, _)| pod).collect())
}
