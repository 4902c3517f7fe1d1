//! The nodes of the specs, whose kubelets KWOK or `stowplan nodes` plays.

use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::kubernetes::{Cluster, Process};

/// Two in each of two zones: what the specs ask for at most.
pub(super) const NODES: usize = 4;

/// Lets KWOK run nodes, until the process is dropped.
pub(super) fn kwok(kwok: &Path, cluster: &Cluster, folder: &Path) -> Result<Process> {
    let file = write(folder, (0..NODES).map(node))?;
    kubectl(
        cluster.kubectl(),
        &["create", "--filename", &file.to_string_lossy()],
    )?;
    // The server taints new nodes; the controller that takes this back does not run.
    let taint = "node.kubernetes.io/not-ready-";
    kubectl(cluster.kubectl(), &["taint", "nodes", "--all", taint])?;
    let kubelets = xtask::tidy::workspace().join("e2e/kubernetes/specs/kubelets.yaml");
    let mut kwok = Command::new(kwok);
    kwok.arg("--kubeconfig").arg(cluster.kubeconfig());
    kwok.arg("--config").arg(kubelets);
    kwok.args(["--manage-all-nodes", "--node-lease-duration-seconds=0"]);
    Process::start(&kwok, &folder.join("kwok.log"))
}

/// Lets `stowplan nodes` run the same nodes, until the process is dropped.
pub(super) fn stowplan(binary: &Path, kubeconfig: &Path, folder: &Path) -> Result<Process> {
    let mut nodes = Command::new(binary);
    nodes.args(["nodes", "--kubeconfig"]).arg(kubeconfig);
    nodes
        .arg("--filename")
        .arg(write(folder, (0..NODES).map(node))?);
    Process::start(&nodes, &folder.join("nodes.log"))
}

/// Creates the same nodes for `stowplan up`, which adopts them as KWOK would.
pub(super) fn adopted(kubectl_of: Command, folder: &Path) -> Result<()> {
    let fake = |number| {
        let mut node = node(number);
        node["metadata"]["annotations"] = json!({"kwok.x-k8s.io/node": "fake"});
        node
    };
    let file = write(folder, (0..NODES).map(fake))?;
    kubectl(
        kubectl_of,
        &["create", "--filename", &file.to_string_lossy()],
    )
}

/// Creates what the specs take every cluster to have on each node.
pub(super) fn daemons(kubectl_of: impl Fn() -> Command, folder: &Path) -> Result<()> {
    // Pods need their account, which a controller creates.
    let account = ["serviceaccount/default", "--namespace=kube-system"];
    let wait = ["wait", "--for=create", "--timeout=60s"];
    kubectl(kubectl_of(), &[&wait, &account[..]].concat())?;
    let file = write(folder, (0..NODES).map(daemon))?;
    kubectl(
        kubectl_of(),
        &["create", "--filename", &file.to_string_lossy()],
    )
}

/// Writes a list of objects.
pub(super) fn write(folder: &Path, items: impl Iterator<Item = Value>) -> Result<PathBuf> {
    let file = folder.join("objects.json");
    let items: Vec<Value> = items.collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    std::fs::write(&file, serde_json::to_vec(&list)?)?;
    Ok(file)
}

fn kubectl(mut kubectl: Command, arguments: &[&str]) -> Result<()> {
    let output = kubectl.args(arguments).output()?;
    match output.status.success() {
        true => Ok(()),
        false => bail!("no nodes: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// A node as its kubelet would register it.
fn node(number: usize) -> Value {
    let name = format!("node-{number}");
    let room = json!({
        "cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110",
    });
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "topology.kubernetes.io/region": "here",
            "topology.kubernetes.io/zone": format!("zone-{}", number % 2),
        }},
        "status": {
            "addresses": [
                {"type": "Hostname", "address": name},
                {"type": "InternalIP", "address": format!("192.0.2.{}", number + 1)},
            ],
            "allocatable": room,
            "capacity": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    })
}

/// A pod whose name is that of all the daemons which the specs wait for a minute on every node.
fn daemon(number: usize) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("kube-proxy-fluentd-elasticsearch-node-problem-detector-{number}"),
            "namespace": "kube-system",
        },
        "spec": {
            "containers": [{"name": "daemon", "image": "daemon"}],
            "nodeSelector": {"kubernetes.io/hostname": format!("node-{number}")},
            "tolerations": [{"operator": "Exists"}],
        },
    })
}
