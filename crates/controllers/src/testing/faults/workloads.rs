//! Deployments, ReplicaSets, StatefulSets, DaemonSets.

use super::*;
use crate::common::{controller_of, label};
use crate::daemon::DaemonSets;
use crate::deployment::Deployments;
use crate::replicaset::ReplicaSets;
use crate::replication::ReplicationControllers;
use crate::statefulset::StatefulSets;
use k8s_openapi::api::apps::v1::{
    ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet,
};
use k8s_openapi::api::core::v1::{
    Node, PersistentVolumeClaim, PodTemplateSpec, ReplicationController,
};
use serde_json::Value;
use std::collections::BTreeMap;

fn template(image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": image}]},
    })
}

fn set_image(template: &mut PodTemplateSpec, image: &str) {
    template.spec.get_or_insert_default().containers[0].image = Some(image.to_owned());
}

/// How many active pods there are of each image.
fn images(world: &World) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for pod in active(world) {
        let image = pod.spec.and_then(|spec| spec.containers[0].image.clone());
        *counts.entry(image.unwrap_or_default()).or_default() += 1;
    }
    counts
}

fn counts(status: Value) -> String {
    let mut status = status;
    if let Some(fields) = status.as_object_mut() {
        fields.retain(|key, _| key.ends_with("eplicas") || key.starts_with("number"));
    }
    status.to_string()
}

fn deployment(strategy: Value) -> Value {
    json!({
        "metadata": {"name": "web", "namespace": "shop", "generation": 1},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template("one"),
            "strategy": strategy, "revisionHistoryLimit": 1},
    })
}

fn roll(world: &mut World, image: &str) {
    world.change_on_server::<Deployment>("shop", "web", |deployment| {
        set_image(&mut deployment.spec.get_or_insert_default().template, image);
    });
}

fn end_of_deployment(world: &World) -> String {
    let deployment = &world.on_server::<Deployment>()[0];
    let status = serde_json::to_value(&deployment.status).expect("a status");
    let mut sets: Vec<_> = world.on_server::<ReplicaSet>();
    sets.sort_by_key(|set| {
        crate::common::annotation(set, "deployment.kubernetes.io/revision").map(str::to_owned)
    });
    let sizes: Vec<_> = sets
        .iter()
        .map(|set| set.spec.as_ref().and_then(|spec| spec.replicas))
        .collect();
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let reasons: Vec<_> = conditions.map(|one| one["reason"].to_string()).collect();
    let ends: std::collections::BTreeSet<_> = reasons.into_iter().collect();
    format!("{:?} {sizes:?} {ends:?} {}", images(world), counts(status))
}

/// The sets want no more pods than the Deployment allows.
fn check_surge(world: &World) {
    let Some(deployment) = world.on_server::<Deployment>().pop() else {
        return;
    };
    let wanted = deployment.spec.and_then(|spec| spec.replicas).unwrap_or(1);
    let sets = world.on_server::<ReplicaSet>();
    let sizes = sets.iter().filter_map(|set| set.spec.as_ref()?.replicas);
    assert!(sizes.sum::<i32>() <= wanted + 1, "too many pods");
}

#[test]
fn deployments_roll_out() {
    Scenario {
        controllers: || vec![Box::new(Deployments), Box::new(ReplicaSets)],
        start: |world| {
            let limits = json!({"maxSurge": 1, "maxUnavailable": 1});
            let strategy = json!({"type": "RollingUpdate", "rollingUpdate": limits});
            world.add_json::<Deployment>(deployment(strategy));
        },
        steps: &[|world| roll(world, "two"), |world| roll(world, "one")],
        live: run,
        check: check_surge,
        end: end_of_deployment,
        span: MINUTES,
    }
    .play();
}

#[test]
fn deployments_recreate_their_pods() {
    Scenario {
        controllers: || vec![Box::new(Deployments), Box::new(ReplicaSets)],
        start: |world| {
            world.add_json::<Deployment>(deployment(json!({"type": "Recreate"})));
        },
        steps: &[|world| roll(world, "two")],
        live: run,
        check: |world| {
            assert!(
                images(world).len() <= 1,
                "old and new pods run side by side"
            )
        },
        end: end_of_deployment,
        span: MINUTES,
    }
    .play();
}

fn end_of_pods(world: &World) -> String {
    let pods = active(world);
    let owned = pods
        .iter()
        .filter(|pod| controller_of(*pod).is_some())
        .count();
    format!("{} pods, {owned} owned, {:?}", pods.len(), images(world))
}

#[test]
fn replica_sets_adopt_release_and_scale() {
    Scenario {
        controllers: || vec![Box::new(ReplicaSets)],
        start: |world| {
            world.add_json::<Pod>(json!({
                "metadata": {"name": "orphan", "namespace": "shop", "labels": {"app": "web"}},
                "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "one"}]},
            }));
            world.add_json::<ReplicaSet>(json!({
                "metadata": {"name": "web", "namespace": "shop"},
                "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template("one")},
            }));
        },
        steps: &[
            |world| {
                world.change_on_server::<Pod>("shop", "orphan", |pod| pod.metadata.labels = None);
            },
            |world| {
                world.change_on_server::<ReplicaSet>("shop", "web", |set| {
                    set.spec.get_or_insert_default().replicas = Some(1);
                });
            },
        ],
        live: run,
        check: |world| assert!(active(world).len() <= 4, "too many pods"),
        end: |world| {
            let status = serde_json::to_value(&world.on_server::<ReplicaSet>()[0].status);
            format!("{} {}", end_of_pods(world), counts(status.expect("a status")))
        },
        span: MINUTES,
    }
    .play();
}

#[test]
fn replication_controllers_scale() {
    Scenario {
        controllers: || vec![Box::new(ReplicationControllers)],
        start: |world| {
            world.add_json::<ReplicationController>(json!({
                "metadata": {"name": "web", "namespace": "shop"},
                "spec": {"replicas": 3, "selector": {"app": "web"}, "template": template("one")},
            }));
        },
        steps: &[|world| {
            world.change_on_server::<ReplicationController>("shop", "web", |set| {
                set.spec.get_or_insert_default().replicas = Some(0);
            });
        }],
        live: run,
        check: |world| assert!(active(world).len() <= 4, "too many pods"),
        end: end_of_pods,
        span: MINUTES,
    }
    .play();
}

fn stateful_set(more: Value) -> Value {
    let mut set = json!({
        "metadata": {"name": "web", "namespace": "shop", "generation": 1},
        "spec": {"replicas": 3, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}},
            "template": template("one"), "podManagementPolicy": "OrderedReady",
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete", "whenDeleted": "Delete"},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]},
    });
    for (key, value) in more.as_object().expect("fields") {
        set["spec"][key] = value.clone();
    }
    set
}

const STATEFUL_STEPS: &[fn(&mut World)] = &[
    |world| {
        world.change_on_server::<StatefulSet>("shop", "web", |set| {
            set_image(&mut set.spec.get_or_insert_default().template, "two");
        });
    },
    |world| {
        world.change_on_server::<StatefulSet>("shop", "web", |set| {
            set.spec.get_or_insert_default().replicas = Some(2);
        });
    },
    // Somebody takes a pod away, which has to come back under its name.
    |world| world.remove::<Pod>("shop", "web-0"),
];

fn end_of_stateful_set(world: &World) -> String {
    let pods: Vec<String> = active(world)
        .iter()
        .map(|pod| name(pod).to_owned())
        .collect();
    let status = serde_json::to_value(&world.on_server::<StatefulSet>()[0].status);
    let claims = world.on_server::<PersistentVolumeClaim>();
    let claims: Vec<_> = claims
        .iter()
        .map(|claim| {
            let owners = claim.metadata.owner_references.iter().flatten();
            (
                name(claim).to_owned(),
                owners.map(|owner| owner.name.clone()).collect::<Vec<_>>(),
            )
        })
        .collect();
    let revisions = world.on_server::<ControllerRevision>().len();
    let status = counts(status.expect("a status"));
    format!(
        "{pods:?} {:?} {claims:?} {revisions} {status}",
        images(world)
    )
}

/// With ordered pods no more than one is not there or on its way.
fn check_order(world: &World) {
    let mut down = 0;
    let pods = world.on_server::<Pod>();
    for pod in &pods {
        down += usize::from(is_deleting(pod) || !is_pod_ready(pod));
    }
    assert!(down <= 1, "{down} pods are down");
}

#[test]
fn stateful_sets_keep_their_order() {
    Scenario {
        controllers: || vec![Box::new(StatefulSets)],
        start: |world| {
            world.add_json::<StatefulSet>(stateful_set(json!({})));
        },
        steps: STATEFUL_STEPS,
        live: run,
        check: check_order,
        end: end_of_stateful_set,
        span: MINUTES,
    }
    .play();
}

#[test]
fn stateful_sets_work_side_by_side() {
    Scenario {
        controllers: || vec![Box::new(StatefulSets)],
        start: |world| {
            let limits = json!({"partition": 0, "maxUnavailable": 2});
            world.add_json::<StatefulSet>(stateful_set(json!({
                "podManagementPolicy": "Parallel",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": limits},
            })));
        },
        steps: STATEFUL_STEPS,
        live: run,
        check: |world| assert!(world.on_server::<Pod>().len() <= 3),
        end: end_of_stateful_set,
        span: MINUTES,
    }
    .play();
}

fn daemon_set(world: &mut World, rolling: Value) {
    for node in ["n1", "n2", "n3"] {
        world.add_json::<Node>(json!({"metadata": {"name": node}}));
    }
    world.add_json::<DaemonSet>(json!({
        "metadata": {"name": "web", "namespace": "shop", "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template("one"),
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}},
    }));
}

/// The scheduler, for pods that are meant for a node, and then the kubelet.
fn place_and_run(world: &mut World) -> bool {
    for pod in world.on_server::<Pod>() {
        let on = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        let Some(node) = crate::daemon::target_node(&pod).filter(|_| on.is_none()) else {
            continue;
        };
        let node = node.to_owned();
        world.change_on_server::<Pod>("shop", name(&pod), |pod| {
            pod.spec.get_or_insert_default().node_name = Some(node);
        });
        return true;
    }
    run(world)
}

fn pods_by_node(world: &World) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for pod in active(world) {
        let node = crate::daemon::target_node(&pod).unwrap_or_default();
        *counts.entry(node.to_owned()).or_default() += 1;
    }
    counts
}

fn end_of_daemon_set(world: &World) -> String {
    let status = serde_json::to_value(&world.on_server::<DaemonSet>()[0].status);
    let revisions = world.on_server::<ControllerRevision>().len();
    let hashes = active(world);
    let hashes: std::collections::BTreeSet<_> = hashes
        .iter()
        .map(|pod| label(pod, "controller-revision-hash").is_some())
        .collect();
    let status = counts(status.expect("a status"));
    format!(
        "{:?} {:?} {hashes:?} {revisions} {status}",
        images(world),
        pods_by_node(world)
    )
}

const DAEMON_STEPS: &[fn(&mut World)] = &[
    |world| {
        world.change_on_server::<DaemonSet>("shop", "web", |set| {
            set_image(&mut set.spec.get_or_insert_default().template, "two");
        });
    },
    |world| {
        world.change_on_server::<Node>("", "n2", |node| {
            let taint = json!([{"key": "k", "effect": "NoExecute"}]);
            node.spec.get_or_insert_default().taints =
                serde_json::from_value(taint).expect("taints");
        });
    },
];

#[test]
fn daemon_sets_have_one_pod_per_node() {
    Scenario {
        controllers: || vec![Box::<DaemonSets>::default()],
        start: |world| daemon_set(world, json!({"maxUnavailable": 1, "maxSurge": 0})),
        steps: DAEMON_STEPS,
        live: place_and_run,
        check: |world| assert!(pods_by_node(world).values().all(|count| *count <= 1)),
        end: end_of_daemon_set,
        span: MINUTES,
    }
    .play();
}

#[test]
fn daemon_sets_surge_by_one() {
    Scenario {
        controllers: || vec![Box::<DaemonSets>::default()],
        start: |world| daemon_set(world, json!({"maxUnavailable": 0, "maxSurge": 1})),
        steps: DAEMON_STEPS,
        live: place_and_run,
        check: |world| assert!(pods_by_node(world).values().all(|count| *count <= 2)),
        end: end_of_daemon_set,
        span: MINUTES,
    }
    .play();
}
