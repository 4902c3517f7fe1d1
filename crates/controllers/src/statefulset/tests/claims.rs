//! Claims and who owns them.

use super::retention::{has_unexpected_controller, is_owner_up_to_date, with_owners};
use super::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

fn owner(kind: &str, name: &str, uid: &str, controller: bool) -> Value {
    let api_version = if kind == "Pod" { "v1" } else { "apps/v1" };
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": controller})
}

/// A set `web` of one replica, a pod and a claim of it.
fn cast(policy: &str, pod: &str, owners: &[Value]) -> (StatefulSet, Pod, PersistentVolumeClaim) {
    let (scaled, deleted) = policy.split_once('/').unwrap();
    let set = json!({"metadata": {"name": "web", "uid": "set"}, "spec": {
        "replicas": 1, "selector": {}, "template": {},
        "persistentVolumeClaimRetentionPolicy": {"whenScaled": scaled, "whenDeleted": deleted},
    }});
    let pod = json!({"metadata": {"name": pod, "uid": "pod"}});
    let claim = json!({"metadata": {"name": "data", "ownerReferences": owners}});
    (
        serde_json::from_value(set).unwrap(),
        serde_json::from_value(pod).unwrap(),
        serde_json::from_value(claim).unwrap(),
    )
}

/// Upstream's `TestIsClaimOwnerUpToDate` and `TestUpdateClaimOwnerRefForSetAndPod`.
#[test]
fn the_policy_says_who_owns_a_claim() {
    for (policy, scaled_down, wanted) in [
        ("Retain/Retain", false, [].as_slice()),
        ("Retain/Retain", true, &[]),
        ("Retain/Delete", false, &["set"]),
        ("Retain/Delete", true, &["set"]),
        ("Delete/Retain", false, &[]),
        ("Delete/Retain", true, &["pod"]),
        ("Delete/Delete", false, &["set"]),
        ("Delete/Delete", true, &["pod"]),
    ] {
        let pod_name = if scaled_down { "web-1" } else { "web-0" };
        let set_owner = owner("StatefulSet", "web", "set", true);
        let pod_owner = owner("Pod", pod_name, "pod", true);
        let foreign = owner("Other", "web", "x", false);
        let both = [set_owner.clone(), pod_owner.clone()];
        for given in [&[][..], &[set_owner][..], &[pod_owner][..], &both[..]] {
            let mut given = given.to_vec();
            given.push(foreign.clone());
            let (set, pod, claim) = cast(policy, pod_name, &given);
            let has = |owner: &&Value| owner["uid"] != "x";
            let has: Vec<_> = given
                .iter()
                .filter(has)
                .map(|of| of["uid"].clone())
                .collect();
            let is_right = has == wanted;
            assert_eq!(
                is_owner_up_to_date(&claim, &set, &pod),
                is_right,
                "{policy} {given:?}"
            );
            let claim = with_owners(&claim, &set, &pod);
            assert!(is_owner_up_to_date(&claim, &set, &pod));
            let owners = claim.metadata.owner_references.unwrap();
            let ours = |of: &&OwnerReference| of.uid != "x";
            let uids: Vec<_> = owners
                .iter()
                .filter(ours)
                .map(|of| of.uid.as_str())
                .collect();
            assert_eq!(uids, wanted, "{policy}");
            assert!(
                owners
                    .iter()
                    .filter(ours)
                    .all(|of| of.controller == Some(true))
            );
            assert_eq!(owners.len(), wanted.len() + 1);
        }
    }
}

/// Upstream's `TestClaimOwnerUpToDateEdgeCases`, `TestHasUnexpectedController` and `TestNonController`.
#[test]
fn claims_of_others_are_left_alone() {
    let set = || owner("StatefulSet", "web", "set", true);
    for (what, policy, owners, is_unexpected, is_right) in [
        (
            "an earlier set",
            "Delete/Delete",
            vec![owner("StatefulSet", "web", "old", true)],
            true,
            true,
        ),
        (
            "an earlier pod",
            "Delete/Delete",
            vec![owner("Pod", "web-0", "old", true)],
            true,
            true,
        ),
        (
            "another controller",
            "Delete/Delete",
            vec![owner("Other", "o", "o", true)],
            true,
            true,
        ),
        (
            "another controller, and us",
            "Delete/Delete",
            vec![owner("Other", "o", "o", true), set()],
            true,
            false,
        ),
        (
            "another controller, no policy",
            "Retain/Retain",
            vec![owner("Other", "o", "o", true)],
            false,
            true,
        ),
        (
            "an owner that does not control",
            "Retain/Delete",
            vec![owner("StatefulSet", "web", "set", false)],
            false,
            false,
        ),
        (
            "another owner",
            "Retain/Delete",
            vec![owner("Other", "o", "o", false), set()],
            false,
            true,
        ),
    ] {
        let (set, pod, claim) = cast(policy, "web-0", &owners);
        assert_eq!(
            has_unexpected_controller(&claim, &set, &pod),
            is_unexpected,
            "{what}"
        );
        assert_eq!(is_owner_up_to_date(&claim, &set, &pod), is_right, "{what}");
        let changed = with_owners(&claim, &set, &pod);
        if is_unexpected {
            let owners = changed.metadata.owner_references.unwrap();
            assert!(
                owners.iter().all(|of| of.uid != "set" && of.uid != "pod"),
                "{what}"
            );
        }
    }
}

fn owners_of(world: &World, claim: &str) -> Vec<String> {
    let claim = world.get::<PersistentVolumeClaim>("shop", claim);
    let owners = claim.metadata.owner_references.clone().unwrap_or_default();
    owners.into_iter().map(|owner| owner.name).collect()
}

fn policy(scaled: &str, deleted: &str) -> Value {
    json!({"whenScaled": scaled, "whenDeleted": deleted})
}

#[test]
fn claims_follow_their_pods_down() {
    let mut world = world(
        2,
        json!({"persistentVolumeClaimRetentionPolicy": policy("Delete", "Delete")}),
    );
    live(&mut world);
    assert_eq!(owners_of(&world, "data-web-1"), ["web"]);
    set_replicas(&mut world, 1);
    settle(&mut world);
    assert_eq!(owners_of(&world, "data-web-1"), ["web-1"]);
    assert_eq!(owners_of(&world, "data-web-0"), ["web"]);
    // Before the garbage collector has taken the claim of the pod that is gone, none is made again.
    world.remove::<Pod>("shop", "web-1");
    set_replicas(&mut world, 2);
    settle(&mut world);
    assert_eq!(pods(&world), ["web-0"]);
    world.remove::<PersistentVolumeClaim>("shop", "data-web-1");
    settle(&mut world);
    assert_eq!(pods(&world), ["web-0", "web-1"]);
    live(&mut world);
    assert_eq!(owners_of(&world, "data-web-1"), ["web"]);
}

#[test]
fn a_policy_may_change() {
    let mut world = world(2, json!({}));
    live(&mut world);
    assert!(owners_of(&world, "data-web-0").is_empty());
    for (scaled, deleted, wanted) in [
        ("Retain", "Delete", ["web"].as_slice()),
        ("Delete", "Retain", &[]),
        ("Delete", "Delete", &["web"]),
        ("Retain", "Retain", &[]),
    ] {
        change_set(&mut world, |spec| {
            spec["persistentVolumeClaimRetentionPolicy"] = policy(scaled, deleted);
        });
        live(&mut world);
        for claim in ["data-web-0", "data-web-1"] {
            assert_eq!(owners_of(&world, claim), wanted, "{scaled} {deleted}");
        }
    }
}

#[test]
fn somebody_elses_claim_is_told_of() {
    let retention = policy("Retain", "Delete");
    let mut world = world(
        1,
        json!({"persistentVolumeClaimRetentionPolicy": retention}),
    );
    let owners = [owner("Other", "o", "o", true)];
    let claim =
        json!({"metadata": {"name": "data-web-0", "namespace": "shop", "ownerReferences": owners}});
    world.add_json::<PersistentVolumeClaim>(claim);
    settle(&mut world);
    assert!(world.take_reasons().contains(&"ConflictingController"));
    assert_eq!(owners_of(&world, "data-web-0"), ["o"]);
    assert_eq!(pods(&world), ["web-0"]);
}

/// Upstream's `TestStatefulPodControlCreatePodPvcCreateFailure`.
#[test]
fn a_pod_whose_claim_cannot_be_made_waits() {
    for (policy, made) in [
        ("OrderedReady", [].as_slice()),
        ("Parallel", &["web-0", "web-2"]),
    ] {
        let mut world = world(3, json!({"podManagementPolicy": policy}));
        let bad = if policy == "Parallel" {
            "data-web-1"
        } else {
            "data-web-0"
        };
        world.refuse(move |write| (*write.key.name == *bad).then(|| failing(403)));
        settle(&mut world);
        assert_eq!(pods(&world), made, "{policy}");
        let messages: Vec<_> = world
            .events
            .iter()
            .map(|event| event.message.clone())
            .collect();
        let pod = bad.trim_start_matches("data-");
        for wanted in [
            format!("Create Claim {bad} for Pod {pod} in StatefulSet web failed error: no"),
            format!(
                "Create Pod {pod} in StatefulSet web failed error: failed to create PVC {bad}: no"
            ),
        ] {
            assert!(messages.contains(&wanted), "{messages:?}");
        }
        world.refuse(|_| None);
        world.settle(&[&StatefulSets], LONG);
        live(&mut world);
        assert_eq!(pods(&world).len(), 3);
    }
}

/// Upstream's `TestStatefulPodControlCreatePodPVCDeleting`.
#[test]
fn a_claim_on_its_way_out_is_waited_for() {
    let mut world = world(1, json!({}));
    let claim = json!({"metadata": {
        "name": "data-web-0", "namespace": "shop",
        "deletionTimestamp": "2026-03-01T12:00:00Z", "finalizers": ["kubernetes.io/pvc-protection"],
    }});
    world.add_json::<PersistentVolumeClaim>(claim);
    settle(&mut world);
    assert!(pods(&world).is_empty());
    let wanted =
        "Create Pod web-0 in StatefulSet web failed error: pvc data-web-0 is being deleted";
    assert_eq!(world.events[0].message, wanted);
    assert!(!world.errors.is_empty());
    world.remove::<PersistentVolumeClaim>("shop", "data-web-0");
    settle(&mut world);
    assert_eq!(pods(&world), ["web-0"]);
}

#[test]
fn a_pod_that_waits_gets_its_claim_back() {
    let mut world = world(1, json!({}));
    settle(&mut world);
    world.remove::<PersistentVolumeClaim>("shop", "data-web-0");
    settle(&mut world);
    assert_eq!(world.cluster.all::<PersistentVolumeClaim>().len(), 1);
    // One that runs does not.
    live(&mut world);
    world.remove::<PersistentVolumeClaim>("shop", "data-web-0");
    settle(&mut world);
    assert!(world.cluster.all::<PersistentVolumeClaim>().is_empty());
}
