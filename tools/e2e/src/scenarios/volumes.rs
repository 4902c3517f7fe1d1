//! Claims that are bound when their pod is placed.

use crate::home::Home;
use crate::world::{World, wait};
use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use serde_json::{Value, json};
use std::time::Duration;

const DRIVER: &str = "csi.example.com";
const SELECTED: &str = "volume.kubernetes.io/selected-node";

/// The only volume lies on one node: pod and claim go there.
pub(crate) async fn chosen_late(home: &mut Home) -> Result<()> {
    let _scheduler = home.scheduler("volumes", &[])?;
    let world = &home.world;
    nodes(world).await?;
    class(world, "late", "kubernetes.io/no-provisioner").await?;
    world
        .make::<PersistentVolume>(volume("disk", "late", "b", None))
        .await?;
    claim(world, "data", "late").await?;
    world.pod("reader", "100m", using("data")).await?;
    world.bound_to("reader", "b").await?;
    let claim = world.own::<PersistentVolumeClaim>().get("data").await?;
    let name = claim.spec.and_then(|spec| spec.volume_name);
    ensure!(name.as_deref() == Some("disk"), "the claim has {name:?}");

    claim_unmet(world).await
}

async fn claim_unmet(world: &World) -> Result<()> {
    claim(world, "more", "late").await?;
    world.pod("unlucky", "100m", using("more")).await?;
    let expected = "2 node(s) didn't find available persistent volumes to bind";
    world.refused("unlucky", expected).await?;
    world
        .make::<PersistentVolume>(volume("late-disk", "late", "a", None))
        .await?;
    world.bound_to("unlucky", "a").await
}

/// The scheduler says where, a provisioner makes the volume, and only then the pod is bound.
pub(crate) async fn provisioned(home: &mut Home) -> Result<()> {
    let _scheduler = home.scheduler("provisioning", &[])?;
    let world = &home.world;
    nodes(world).await?;
    class(world, "made", "example.com/provisioner").await?;
    claim(world, "data", "made").await?;
    let mut spec = using("data");
    spec["nodeSelector"] = json!({"kubernetes.io/hostname": "a"});
    world.pod("writer", "100m", spec).await?;
    let claims = world.own::<PersistentVolumeClaim>();
    let selected = || async {
        let claim = claims.get("data").await?;
        let annotations = claim.metadata.annotations.clone().unwrap_or_default();
        let node = annotations.get(SELECTED).cloned();
        Ok(node.map(|node| (claim, node)))
    };
    let (claim, node) = wait("the node to be selected", selected).await?;
    ensure!(node == "a", "selected {node}, expected a");
    // Who does not wait for the volume would be done by then.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let pod = world.get_pod("writer").await?;
    ensure!(
        crate::world::node_of(&pod).is_none(),
        "the pod was bound before its volume was there"
    );
    let made = volume("made-disk", "made", "a", Some(reference(world, &claim)));
    world.make::<PersistentVolume>(made).await?;
    world.bound_to("writer", "a").await
}

/// Volumes of a zone, and volumes that only one pod may use.
pub(crate) async fn rules(home: &mut Home) -> Result<()> {
    let _scheduler = home.scheduler("volume-rules", &[])?;
    let world = &home.world;
    for (name, zone) in [("a", "x"), ("b", "y")] {
        let zone = json!({"topology.kubernetes.io/zone": zone});
        world.node(name, "16", zone).await?;
    }
    zones(world).await?;
    one_pod(world).await
}

async fn zones(world: &World) -> Result<()> {
    for (claim, zone) in [("near", "y"), ("nowhere", "z")] {
        let labels = json!({"topology.kubernetes.io/zone": zone});
        bound_claim(world, claim, labels).await?;
        world.pod(claim, "100m", using(claim)).await?;
    }
    world.bound_to("near", "b").await?;
    let expected = "2 node(s) had no available volume zone";
    world.refused("nowhere", expected).await
}

async fn one_pod(world: &World) -> Result<()> {
    class(world, "single", "kubernetes.io/no-provisioner").await?;
    let mut single = volume("single", "single", "a", None);
    single["spec"]["accessModes"] = json!(["ReadWriteOncePod"]);
    world.make::<PersistentVolume>(single).await?;
    let mut wanted = claimed("single", "single");
    wanted["spec"]["accessModes"] = json!(["ReadWriteOncePod"]);
    world.put::<PersistentVolumeClaim>(wanted).await?;
    world.pod("first", "100m", using("single")).await?;
    world.bound_to("first", "a").await?;
    world.pod("second", "100m", using("single")).await?;
    let expected = "ReadWriteOncePod access mode already in-use by another pod";
    world.refused("second", expected).await?;
    world.remove_pod("first").await?;
    world.bound_to("second", "a").await
}

/// A node holds as many volumes of a driver as the driver says.
pub(crate) async fn counted(home: &mut Home) -> Result<()> {
    let world = &home.world;
    nodes(world).await?;
    for node in ["a", "b"] {
        let driver = json!({"name": DRIVER, "nodeID": node, "allocatable": {"count": 1}});
        let object = json!({"metadata": {"name": node}, "spec": {"drivers": [driver]}});
        world.make::<CSINode>(object).await?;
    }
    // What is there when a scheduler starts is known before it decides.
    let _scheduler = home.scheduler("volume-limits", &[])?;
    for name in ["one", "two", "three"] {
        bound_claim(world, name, json!({})).await?;
    }
    for name in ["one", "two"] {
        world.pod(name, "100m", using(name)).await?;
    }
    let (one, two) = (world.bound("one").await?, world.bound("two").await?);
    ensure!(one != two, "{one} holds two volumes");
    world.pod("three", "100m", using("three")).await?;
    let expected = "2 node(s) exceed max volume count";
    world.refused("three", expected).await?;
    world.remove_pod("one").await?;
    world.bound_to("three", &one).await
}

/// A claim of no class with a volume of its own, which a driver brings to any node.
async fn bound_claim(world: &World, name: &str, labels: Value) -> Result<()> {
    let made = world
        .put::<PersistentVolumeClaim>(claimed(name, ""))
        .await?;
    let volume = json!({
        "metadata": {"name": format!("{name}-volume"), "labels": labels},
        "spec": {
            "storageClassName": "",
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": DRIVER, "volumeHandle": name},
            "claimRef": reference(world, &made),
        },
    });
    world.make::<PersistentVolume>(volume).await?;
    let bound = || async {
        let claim = world.own::<PersistentVolumeClaim>().get(name).await?;
        let phase = claim.status.and_then(|status| status.phase);
        Ok((phase.as_deref() == Some("Bound")).then_some(()))
    };
    wait("the claim to be bound", bound).await
}

fn reference(world: &World, claim: &PersistentVolumeClaim) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": world.namespace(),
        "name": claim.metadata.name,
        "uid": claim.metadata.uid,
    })
}

async fn nodes(world: &World) -> Result<()> {
    for name in ["a", "b"] {
        world.node(name, "4", json!({})).await?;
    }
    Ok(())
}

async fn class(world: &World, name: &str, provisioner: &str) -> Result<()> {
    let class = json!({
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    });
    world.make::<StorageClass>(class).await?;
    Ok(())
}

async fn claim(world: &World, name: &str, class: &str) -> Result<()> {
    let claim = claimed(name, class);
    world.put::<PersistentVolumeClaim>(claim).await?;
    Ok(())
}

fn claimed(name: &str, class: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "storageClassName": class,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    })
}

fn volume(name: &str, class: &str, node: &str, claim: Option<Value>) -> Value {
    let mut volume = json!({
        "metadata": {"name": name},
        "spec": {
            "storageClassName": class,
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": "/var/lib/disk"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]},
            ]}]}},
        },
    });
    if let Some(claim) = claim {
        volume["spec"]["claimRef"] = claim;
    }
    volume
}

fn using(claim: &str) -> Value {
    json!({"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]})
}
