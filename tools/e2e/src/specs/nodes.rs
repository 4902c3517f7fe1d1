//! The nodes of the specs, whose kubelets KWOK plays.

use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use xtask::kubernetes::{Cluster, Process};

/// Two in each of two zones: what the specs ask for at most.
pub(super) const NODES: usize = 4;

/// Creates the nodes and lets KWOK run them, until the process is dropped.
pub(super) fn start(kwok: &Path, cluster: &Cluster, folder: &Path) -> Result<Process> {
    let file = folder.join("nodes.json");
    // Pods need their account, which a controller creates.
    let account = ["serviceaccount/default", "--namespace=kube-system"];
    kubectl(cluster, &[&["wait", "--for=create"], &account[..]].concat())?;
    let items: Vec<Value> = (0..NODES).map(node).chain((0..NODES).map(daemon)).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    std::fs::write(&file, serde_json::to_vec(&list)?)?;
    kubectl(cluster, &["create", "--filename", &file.to_string_lossy()])?;
    // The server taints new nodes; the controller that takes this back does not run.
    let taint = "node.kubernetes.io/not-ready-";
    kubectl(cluster, &["taint", "nodes", "--all", taint])?;
    let kubelets = xtask::tidy::workspace().join("e2e/kubernetes/specs/kubelets.yaml");
    let mut kwok = Command::new(kwok);
    kwok.arg("--kubeconfig").arg(cluster.kubeconfig());
    kwok.arg("--config").arg(kubelets);
    kwok.args(["--manage-all-nodes", "--node-lease-duration-seconds=0"]);
    Process::start(&kwok, &folder.join("kwok.log"))
}

fn kubectl(cluster: &Cluster, arguments: &[&str]) -> Result<()> {
    let output = cluster.kubectl().args(arguments).output()?;
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
