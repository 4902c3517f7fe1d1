//! `stowplan node fail|partition|slow|recover`: sets the annotation that simulated nodes heed.

use super::args::{Node as Args, What, Which};
use crate::scheduler::connection;
use crate::{Verdict, explain, output, up};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::sync::Arc;
use stowplan_api::k8s::api::core::v1::Node;
use stowplan_client::{Requests, Unguarded};
use stowplan_env::System;
use stowplan_nodes::{FAULT, KWOK_NODE, NODE};

const ZONE: &str = "topology.kubernetes.io/zone";

/// Does it.
pub(crate) fn run(args: &Args) -> Result<Verdict> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(change(args))?;
    Ok(Verdict::AllPlaced)
}

async fn change(args: &Args) -> Result<()> {
    let (which, fault, done) = match &args.what {
        What::Fail(which) => (which, json!("fail"), "failed"),
        What::Partition(which) => (which, json!("partition"), "cut off"),
        What::Slow { which, factor } => {
            if !factor.is_finite() || *factor <= 0.0 {
                bail!("--factor: {factor} makes no sense, expected a number above 0");
            }
            (which, json!(format!("slow={factor}")), "slow")
        }
        What::Recover(which) => (which, Value::Null, "recovered"),
    };
    let config = cluster(which).await?;
    let client = kube::Client::try_from(config).context("cannot make a client")?;
    let env = Arc::new(System::new());
    let requests = Requests::new(client, env, Arc::new(Unguarded));
    let nodes = meant(&requests, which).await?;
    for node in nodes {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        let patch = json!({"metadata": {"annotations": {FAULT: fault}}});
        let patched = requests.merge::<Node>("", name, None, &patch);
        patched
            .await
            .with_context(|| format!("cannot change node {name:?}"))?;
        output::print(&format!("node/{name} {done}\n"))?;
    }
    Ok(())
}

/// How to reach the cluster that is meant.
async fn cluster(which: &Which) -> Result<kube::Config> {
    if which.kubeconfig.is_some() {
        return connection(which.kubeconfig.as_deref(), None).await;
    }
    match std::env::var_os("KUBECONFIG").is_some_and(|files| !files.is_empty()) {
        true => explain::live::connection(None).await,
        false => connection(Some(&up::usual_kubeconfig()?), None).await,
    }
}

/// The nodes that are meant, all of them simulated.
async fn meant(requests: &Requests, which: &Which) -> Result<Vec<Node>> {
    let mut nodes: Vec<Node> = Vec::new();
    if let Some(zone) = &which.zone {
        let list: Value = requests
            .get("/api/v1/nodes")
            .await
            .context("cannot list nodes")?;
        for item in list["items"].as_array().into_iter().flatten() {
            if item["metadata"]["labels"][ZONE] == *zone {
                nodes.push(serde_json::from_value(item.clone())?);
            }
        }
        if nodes.is_empty() {
            bail!("no node has the label {ZONE}={zone}");
        }
    }
    for name in &which.names {
        match requests.read::<Node>("", name).await? {
            Some(node) => nodes.push(node),
            None => bail!("there is no node {name:?}"),
        }
    }
    for node in &nodes {
        let annotations = node.metadata.annotations.iter().flatten();
        let is_simulated = annotations
            .into_iter()
            .any(|(key, value)| key == NODE || (key == KWOK_NODE && value == "fake"));
        if !is_simulated {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            bail!("node {name:?} is not simulated: it has no annotation {NODE}");
        }
    }
    Ok(nodes)
}
