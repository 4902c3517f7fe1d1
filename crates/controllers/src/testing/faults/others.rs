//! Budgets, claims of pods, tokens and what else there is.

use super::*;
use crate::disruption::Disruption;
use crate::ephemeral::EphemeralVolumes;
use crate::pod_gc::PodGc;
use crate::resourceclaim::ResourceClaims;
use crate::service_account::Accounts;
use crate::taint_eviction::TaintEviction;
use crate::ttl::Ttl;
use crate::volume::{Binder, ClaimProtection, Provisioner, VolumeProtection};
use k8s_openapi::api::core::v1::{
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, ServiceAccount,
};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceClaimTemplate};
use k8s_openapi::api::storage::v1::StorageClass;

fn add_pod(world: &mut World, name: &str, spec: serde_json::Value) {
    world.add_json::<Pod>(json!({
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "web"}}, "spec": spec,
    }));
}

#[test]
fn budgets_are_counted() {
    Scenario {
        controllers: || vec![Box::<Disruption>::default()],
        start: |world| {
            world.add_json::<PodDisruptionBudget>(json!({
                "metadata": {"name": "web", "namespace": "shop", "generation": 1},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
            }));
            for name in ["a", "b", "c"] {
                add_pod(world, name, json!({"nodeName": "n1", "containers": []}));
            }
        },
        steps: &[
            |world| world.remove::<Pod>("shop", "a"),
            |world| world.remove::<Pod>("shop", "b"),
        ],
        live: run,
        check: |_| {},
        end: |world| {
            let status = world
                .on_server::<PodDisruptionBudget>()
                .pop()
                .and_then(|one| one.status);
            let status = status.unwrap_or_default();
            format!(
                "{:?} {:?} {:?}",
                status.current_healthy, status.disruptions_allowed, status.expected_pods
            )
        },
        span: MINUTES,
    }
    .play();
}

#[test]
fn pods_leave_tainted_nodes() {
    Scenario {
        controllers: || vec![Box::<TaintEviction>::default(), Box::<Ttl>::default()],
        start: |world| {
            world.add_json::<Node>(json!({"metadata": {"name": "n1"}}));
            add_pod(world, "a", json!({"nodeName": "n1", "containers": []}));
            add_pod(world, "b", json!({"nodeName": "n1", "containers": [], "tolerations": [
                {"key": "k", "operator": "Exists", "tolerationSeconds": 60}]}));
            add_pod(world, "c", json!({"nodeName": "n1", "containers": [], "tolerations": [{"operator": "Exists"}]}));
        },
        steps: &[|world| {
            world.change_on_server::<Node>("", "n1", |node| {
                let taint = json!([{"key": "k", "effect": "NoExecute"}]);
                node.spec.get_or_insert_default().taints = serde_json::from_value(taint).expect("taints");
            });
        }],
        live: run,
        check: |_| {},
        end: |world| world.on_server::<Pod>().iter().map(|pod| name(pod).to_owned() + " ").collect(),
        span: MINUTES,
    }
    .play();
}

#[test]
fn pods_of_lost_nodes_go() {
    Scenario {
        controllers: || vec![Box::new(PodGc::new(1))],
        start: |world| {
            world.add_json::<Node>(json!({"metadata": {"name": "n1"}}));
            add_pod(world, "a", json!({"nodeName": "n1", "containers": []}));
            add_pod(world, "b", json!({"nodeName": "n2", "containers": []}));
            for name in ["c", "d"] {
                add_pod(world, name, json!({"nodeName": "n1", "containers": []}));
                world.change::<Pod>("shop", name, |pod| {
                    pod.status.get_or_insert_default().phase = Some("Succeeded".to_owned());
                });
            }
        },
        steps: &[],
        live: |_| false,
        check: |_| {},
        end: |world| {
            world
                .on_server::<Pod>()
                .iter()
                .map(|pod| name(pod).to_owned() + " ")
                .collect()
        },
        span: MINUTES,
    }
    .play();
}

#[test]
fn pods_get_the_claims_of_their_ephemeral_volumes() {
    Scenario {
        controllers: || vec![Box::<EphemeralVolumes>::default()],
        start: |world| {
            let volume = |name: &str| {
                json!({"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": {}}}})
            };
            add_pod(world, "a", json!({"containers": [], "volumes": [volume("x"), volume("y")]}));
        },
        steps: &[],
        live: |_| false,
        check: |_| {},
        end: |world| {
            let claims = world.on_server::<PersistentVolumeClaim>();
            claims.iter().map(|claim| name(claim).to_owned() + " ").collect()
        },
        span: MINUTES,
    }
    .play();
}

#[test]
fn pods_get_the_resource_claims_of_their_templates() {
    Scenario {
        controllers: || vec![Box::<ResourceClaims>::default()],
        start: |world| {
            world.add_json::<ResourceClaimTemplate>(json!({
                "metadata": {"name": "gpu", "namespace": "shop"}, "spec": {"spec": {}},
            }));
            add_pod(
                world,
                "a",
                json!({"containers": [], "resourceClaims": [
                {"name": "one", "resourceClaimTemplateName": "gpu"},
                {"name": "two", "resourceClaimTemplateName": "gpu"}]}),
            );
        },
        steps: &[],
        live: |_| false,
        check: |_| {},
        end: |world| {
            let claims = world.on_server::<ResourceClaim>();
            let pod = &world.on_server::<Pod>()[0];
            let statuses = pod
                .status
                .as_ref()
                .and_then(|status| status.resource_claim_statuses.as_ref());
            let named = statuses.into_iter().flatten();
            let is_there = |of: &Option<String>| claims.iter().any(|one| one.metadata.name == *of);
            let named = named
                .filter(|one| is_there(&one.resource_claim_name))
                .count();
            format!("{} claims, {named} named", claims.len())
        },
        span: MINUTES,
    }
    .play();
}

#[test]
fn namespaces_have_their_accounts() {
    Scenario {
        controllers: || vec![Box::<Accounts>::default()],
        start: |world| {
            for name in ["a", "b"] {
                world.add_json::<Namespace>(
                    json!({"metadata": {"name": name}, "status": {"phase": "Active"}}),
                );
            }
        },
        steps: &[|world| world.remove::<ServiceAccount>("a", "default")],
        live: |_| false,
        check: |_| {},
        end: |world| format!("{} accounts", world.on_server::<ServiceAccount>().len()),
        span: MINUTES,
    }
    .play();
}

/// Whatever happens, a volume belongs to one claim, and a claim to one volume.
#[test]
fn claims_are_bound_once() {
    Scenario {
        controllers: || {
            vec![
                Box::<Binder>::default(),
                Box::<Provisioner>::default(),
                Box::<ClaimProtection>::default(),
                Box::<VolumeProtection>::default(),
            ]
        },
        start: |world| {
            world.add_json::<StorageClass>(json!({
                "metadata": {"name": "fast"}, "provisioner": "simulated.stowplan.dev",
                "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate",
            }));
            world.add_json::<PersistentVolume>(json!({
                "metadata": {"name": "by-hand"},
                "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "", "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem",
                    "hostPath": {"path": "/x"}},
            }));
            for (name, class) in [("a", ""), ("b", "fast"), ("c", "fast")] {
                world.add_json::<PersistentVolumeClaim>(json!({
                    "metadata": {"name": name, "namespace": "shop"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": class,
                        "volumeMode": "Filesystem", "resources": {"requests": {"storage": "1Gi"}}},
                }));
            }
        },
        steps: &[],
        live: |_| false,
        check: |_| {},
        end: |world| {
            let volumes = world.on_server::<PersistentVolume>();
            let mut of: Vec<_> = volumes
                .iter()
                .map(|volume| {
                    let claim = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
                    let phase = volume.status.as_ref().and_then(|status| status.phase.clone());
                    (claim.and_then(|claim| claim.name.clone()), phase)
                })
                .collect();
            of.sort();
            let claims = world.on_server::<PersistentVolumeClaim>();
            let phases: Vec<_> = claims
                .iter()
                .map(|claim| claim.status.as_ref().and_then(|status| status.phase.clone()))
                .collect();
            format!("{of:?} {phases:?}")
        },
        span: MINUTES,
    }
    .play();
}
