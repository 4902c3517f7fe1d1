//! Volumes: 31 and 32.

use super::world::{World, node, pod, verdict, winners};
use serde_json::{Value, json};

fn using(claim: &str) -> Value {
    pod(
        "p",
        json!({"spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]}}),
    )
}

fn bound_world(nodes: Vec<Value>, volume: Value) -> World {
    let claim = json!([{
        "metadata": {
            "name": "data", "namespace": "default", "uid": "data",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {
            "volumeName": "pv", "storageClassName": "", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
        "status": {"phase": "Bound"},
    }]);
    World::new(nodes, [])
        .with("persistentVolumeClaims", claim)
        .with("persistentVolumes", json!([volume]))
}

fn volume(labels: Value, affinity: Value) -> Value {
    json!({
        "metadata": {"name": "pv", "labels": labels},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "nodeAffinity": affinity,
            "claimRef": {"namespace": "default", "name": "data", "uid": "data"},
            "csi": {"driver": "example.com/disk", "volumeHandle": "h"},
        },
        "status": {"phase": "Bound"},
    })
}

#[test]
fn semantic_31_a_missing_claim_is_reported_by_volume_restrictions() {
    let decision = World::new([node("a", json!({}))], []).decide(using("gone"));
    assert_eq!(decision["prefilter"]["plugin"], "VolumeRestrictions");
    assert_eq!(
        decision["prefilter"]["reasons"],
        json!(["persistentvolumeclaim \"gone\" not found"])
    );
}

#[test]
fn semantic_32_zones_may_be_joined_and_beta_labels_match_their_successors() {
    const ZONE: &str = "topology.kubernetes.io/zone";
    let zoned = |name: &str, zone: &str| node(name, json!({"metadata": {"labels": {ZONE: zone}}}));
    let nodes = || {
        vec![
            zoned("a", "z1"),
            zoned("b", "z2"),
            zoned("c", "z3"),
            node("nowhere", json!({})),
        ]
    };
    for label in [ZONE, "failure-domain.beta.kubernetes.io/zone"] {
        let decision = bound_world(nodes(), volume(json!({label: "z1__z2"}), Value::Null))
            .decide(using("data"));
        assert_eq!(winners(&decision).len(), 3, "{label}: {decision}");
        assert_eq!(
            verdict(&decision, "c"),
            "VolumeZone UnschedulableAndUnresolvable: node(s) had no available volume zone"
        );
        assert_eq!(verdict(&decision, "nowhere"), "fits");
    }
    let only_b = json!({"required": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z2"]}]},
    ]}});
    let decision = bound_world(nodes(), volume(json!({}), only_b)).decide(using("data"));
    assert_eq!(winners(&decision), ["b"]);
    assert_eq!(
        verdict(&decision, "a"),
        "VolumeBinding UnschedulableAndUnresolvable: node(s) didn't match PersistentVolume's node affinity"
    );
}
