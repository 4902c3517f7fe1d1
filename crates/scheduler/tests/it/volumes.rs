//! Pods wait for their volumes.

use crate::cluster::{Cluster, NAMESPACE};
use crate::proxy::proxied;
use serde_json::{Value, json};
use stowplan_api::k8s::api::core::v1::{PersistentVolumeClaim, Pod};

const VOLUMES: &str = "/api/v1/persistentvolumes";

fn claims() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims")
}

async fn storage_class(cluster: &Cluster, provisioner: &str) {
    let class = json!({"metadata": {"name": "late"}, "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer"});
    cluster
        .create("/apis/storage.k8s.io/v1/storageclasses", class)
        .await;
}

async fn claim(cluster: &Cluster) {
    let claim = json!({"metadata": {"name": "data"}, "spec": {"storageClassName": "late",
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    cluster.create(&claims(), claim).await;
}

fn volume(name: &str, node: &str) -> Value {
    let term = json!({"matchExpressions": [{"key": "kubernetes.io/hostname",
        "operator": "In", "values": [node]}]});
    json!({"metadata": {"name": name}, "spec": {"storageClassName": "late",
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "local": {"path": "/data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}})
}

fn uses_claim() -> Value {
    json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]})
}

/// Does what the volume controller does: binds the claim to the volume.
async fn complete(cluster: &Cluster, volume: &str) {
    let bound = json!({"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"volumeName": volume}});
    cluster.patch(&format!("{}/data", claims()), bound).await;
}

#[tokio::test]
async fn a_volume_that_is_there_is_given_to_the_claim_before_the_pod_is_bound() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    cluster.plain_node("b").await;
    storage_class(&cluster, "kubernetes.io/no-provisioner").await;
    cluster.create(VOLUMES, volume("disk", "b")).await;
    // So says the volume controller.
    let available = json!({"status": {"phase": "Available"}});
    cluster
        .patch(&format!("{VOLUMES}/disk/status"), available)
        .await;
    claim(&cluster).await;
    let _scheduler = cluster.scheduler().await;
    cluster.pod("p", uses_claim()).await;
    // Others are told where the pod will be while its volumes are bound.
    let pod = cluster
        .until::<Pod>("p", |pod| {
            let status = pod.status.as_ref();
            status.is_some_and(|status| status.nominated_node_name.is_some())
        })
        .await;
    assert_eq!(
        pod.status.unwrap().nominated_node_name.as_deref(),
        Some("b")
    );
    let disk = loop {
        let disk = cluster.get(&format!("{VOLUMES}/disk")).await;
        if !disk["spec"]["claimRef"].is_null() {
            break disk;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(disk["spec"]["claimRef"]["name"], "data");
    assert_eq!(
        disk["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"],
        "yes"
    );
    complete(&cluster, "disk").await;
    assert_eq!(cluster.bound("p").await, "b");
}

#[tokio::test]
async fn a_claim_gets_its_node_and_the_pod_waits_for_the_provisioner() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    storage_class(&cluster, "example.com/disks").await;
    claim(&cluster).await;
    let _scheduler = cluster.scheduler().await;
    cluster.pod("p", uses_claim()).await;
    let claim = cluster.until("data", is_selected).await;
    let annotations = claim.metadata.annotations.unwrap();
    assert_eq!(annotations["volume.kubernetes.io/selected-node"], "a");
    cluster.create(VOLUMES, volume("made", "a")).await;
    complete(&cluster, "made").await;
    assert_eq!(cluster.bound("p").await, "a");
}

fn is_selected(claim: &PersistentVolumeClaim) -> bool {
    let annotations = claim.metadata.annotations.as_ref();
    annotations.is_some_and(|all| all.contains_key("volume.kubernetes.io/selected-node"))
}

#[tokio::test]
async fn who_waits_for_a_provisioner_asks_nobody() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    storage_class(&cluster, "example.com/disks").await;
    claim(&cluster).await;
    let (client, asked) = proxied(cluster.scheduler_client(), |_| None);
    let _scheduler = cluster.scheduler_with(client, "").await;
    cluster.pod("p", uses_claim()).await;
    cluster.until("data", is_selected).await;
    let path = format!("{}/data", claims());
    for step in 0..9 {
        let progress = json!({"metadata": {"annotations": {"progress": step.to_string()}}});
        cluster.patch(&path, progress).await;
    }
    // The claim may be told before its volume.
    complete(&cluster, "made").await;
    cluster.create(VOLUMES, volume("made", "a")).await;
    assert_eq!(cluster.bound("p").await, "a");
    assert_eq!(asked.count(&["GET", "/pods/p"]), 0);
    assert_eq!(asked.count(&["GET", "/persistentvolumes/"]), 0);
    let reads = asked.count(&["GET", "/persistentvolumeclaims/data"]);
    assert_eq!(reads, 1, "before it was written");
}

#[tokio::test]
async fn a_volume_that_cannot_be_reached_sends_the_pod_back() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    storage_class(&cluster, "example.com/disks").await;
    claim(&cluster).await;
    let _scheduler = cluster.scheduler().await;
    cluster.pod("p", uses_claim()).await;
    cluster.until("data", is_selected).await;
    cluster.create(VOLUMES, volume("made", "b")).await;
    complete(&cluster, "made").await;
    let why = cluster.unschedulable("p").await;
    assert_eq!(
        why,
        "running PreBind plugin \"VolumeBinding\": binding volumes: pv \"made\" node affinity \
         doesn't match node \"a\": no matching NodeSelectorTerms"
    );
}

#[tokio::test]
async fn a_provisioner_that_gives_up_sends_the_pod_back() {
    let cluster = Cluster::new().await;
    cluster.plain_node("a").await;
    storage_class(&cluster, "example.com/disks").await;
    claim(&cluster).await;
    let _scheduler = cluster.scheduler().await;
    cluster.pod("p", uses_claim()).await;
    cluster.until("data", is_selected).await;
    let gone = json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": null,
        "other": "yes"}}});
    cluster.patch(&format!("{}/data", claims()), gone).await;
    let why = cluster.unschedulable("p").await;
    assert_eq!(
        why,
        "running PreBind plugin \"VolumeBinding\": binding volumes: provisioning failed for PVC \"data\""
    );
    // It is tried again.
    cluster.until("data", is_selected).await;
    cluster.create(VOLUMES, volume("made", "a")).await;
    complete(&cluster, "made").await;
    assert_eq!(cluster.bound("p").await, "a");
}
