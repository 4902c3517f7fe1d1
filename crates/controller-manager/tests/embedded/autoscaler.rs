//! Autoscalers of workloads whose load is shared by their pods.

use crate::world::{World, run};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use stowplan_base::Time;
use stowplan_cache::Cluster;
use stowplan_client::Unguarded;
use stowplan_controller_manager::{ControllerManager, Settings};
use stowplan_controllers::Options;
use stowplan_server::{Sample, Usage, Used};

/// So many thousandths of a cpu have to be done, by all pods that run together.
struct Load {
    cpu_m: Arc<AtomicU64>,
    cluster: Arc<Cluster>,
}

impl Usage for Load {
    fn nodes(&self, _: Option<&str>, _: Time) -> Vec<Sample> {
        Vec::new()
    }

    fn pods(&self, namespace: &str, _: Option<&str>, _: Time) -> Vec<Sample> {
        use k8s_openapi::api::core::v1::Pod;
        let mut pods = self.cluster.namespace::<Pod>(namespace);
        pods.retain(|pod| {
            let status = pod.status.as_ref();
            status.and_then(|status| status.phase.as_deref()) == Some("Running")
        });
        let nanos = self.cpu_m.load(Ordering::Relaxed) * 1_000_000;
        let used = Used {
            cpu_nanos: nanos / (pods.len() as u64).max(1),
            memory_bytes: 1 << 20,
        };
        let sample = |pod: &Arc<Pod>| Sample {
            namespace: namespace.to_owned(),
            name: pod.metadata.name.clone().unwrap_or_default(),
            labels: pod
                .metadata
                .labels
                .clone()
                .unwrap_or_default()
                .into_iter()
                .collect(),
            containers: vec![("c".to_owned(), used)],
        };
        pods.iter().map(sample).collect()
    }
}

/// Pods run as soon as they are made, and end as soon as they are deleted.
async fn play_kubelet(world: &World) {
    let pods = world.get("/api/v1/namespaces/shop/pods").await;
    for pod in pods
        .iter()
        .flat_map(|list| list["items"].as_array().into_iter().flatten())
    {
        let name = pod["metadata"]["name"].as_str().unwrap();
        let path = format!("/api/v1/namespaces/shop/pods/{name}");
        if pod["status"]["phase"] == "Running" {
            continue;
        }
        let now = world.env.now();
        let now = jiff::Timestamp::from_second(now.as_nanos() / 1_000_000_000).unwrap();
        let status = json!({"status": {"phase": "Running", "startTime": now.to_string(), "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": now.to_string()}]}});
        let sent = world
            .send("PATCH", &format!("{path}/status"), &status)
            .await;
        sent.unwrap_or_else(|failed| panic!("{path}: {failed}"));
    }
}

const AUTOSCALER: &str = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/shop/deployments/web";

fn deployment() -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [
                {"name": "c", "image": "web", "resources": {"requests": {"cpu": "1"}}}]},
        }},
    })
}

/// Starts the controllers, with a load.
async fn start(world: &World, cpu_m: u64) -> (ControllerManager, Arc<AtomicU64>) {
    let settings = Settings {
        controllers: ["deployment", "replicaset", "horizontal-pod-autoscaler"]
            .map(|name| format!("{name}-controller"))
            .to_vec(),
        options: Options::default(),
        guard: Arc::new(Unguarded),
        env: world.env.clone(),
        informers: None,
        limit: (0.0, 0),
        host: "here".to_owned(),
    };
    let manager = ControllerManager::start(world.client.clone(), settings).unwrap();
    let load = Arc::new(AtomicU64::new(cpu_m));
    world.api.use_by(Box::new(Load {
        cpu_m: load.clone(),
        cluster: manager.informers().cluster().clone(),
    }));
    let namespace = json!({"metadata": {"name": "shop"}});
    world.create("/api/v1/namespaces", namespace).await;
    world
        .create(
            "/api/v1/namespaces/shop/serviceaccounts",
            json!({"metadata": {"name": "default"}}),
        )
        .await;
    (manager, load)
}

/// How many replicas are wanted after each of so many periods.
async fn replicas(world: &World, periods: usize) -> Vec<i64> {
    let mut seen = Vec::new();
    for _ in 0..periods {
        for _ in 0..15 {
            world.pass(1).await;
            play_kubelet(world).await;
        }
        let web = world.get(DEPLOYMENT).await.unwrap();
        seen.push(web["spec"]["replicas"].as_i64().unwrap());
    }
    seen
}

#[test]
fn replicas_follow_the_load_up_and_down() {
    run(async |world| {
        let (_manager, load) = start(&world, 3_000).await;
        world
            .create("/apis/apps/v1/namespaces/shop/deployments", deployment())
            .await;
        let autoscaler = json!({
            "metadata": {"name": "web"},
            "spec": {
                "minReplicas": 2, "maxReplicas": 8,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "metrics": [{"type": "Resource", "resource":
                    {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}],
            },
        });
        world
            .create(
                "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers",
                autoscaler,
            )
            .await;
        // Three cpus at half of each pod's request are six pods. New pods are not ready for a window, so
        // that it does not go further than it has to.
        let seen = replicas(&world, 8).await;
        assert_eq!(seen.last(), Some(&6), "{seen:?}");
        let status = world.get(AUTOSCALER).await.unwrap()["status"].clone();
        assert_eq!(status["currentReplicas"], 6);
        assert_eq!(
            status["currentMetrics"][0]["resource"]["current"],
            json!({"averageUtilization": 50, "averageValue": "500m"})
        );
        // More than the maximum can do.
        load.store(9_000, Ordering::Relaxed);
        let seen = replicas(&world, 8).await;
        assert_eq!(seen.last(), Some(&8), "{seen:?}");
        let status = world.get(AUTOSCALER).await.unwrap()["status"].clone();
        let limited = status["conditions"].as_array().unwrap().iter();
        let limited = limited.filter(|one| one["type"] == "ScalingLimited");
        let said: Vec<_> = limited
            .map(|one| (&one["status"], &one["reason"]))
            .collect();
        assert_eq!(said, [(&json!("True"), &json!("TooManyReplicas"))]);
        // And back, but not before five minutes have passed.
        load.store(500, Ordering::Relaxed);
        let seen = replicas(&world, 18).await;
        assert_eq!(seen, [8; 18]);
        let seen = replicas(&world, 6).await;
        assert_eq!(seen.last(), Some(&2), "{seen:?}");
        let events = world.get("/api/v1/namespaces/shop/events").await.unwrap();
        let events = events["items"].as_array().unwrap().iter();
        let told: Vec<_> = events
            .filter(|event| event["reason"] == "SuccessfulRescale")
            .map(|event| event["message"].as_str().unwrap().to_owned())
            .collect();
        assert!(
            told.contains(&"New size: 2; reason: All metrics below target".to_owned()),
            "{told:?}"
        );
    });
}

#[test]
fn a_custom_resource_with_a_scale_is_scaled() {
    run(async |world| {
        let (_manager, _load) = start(&world, 0).await;
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
            "status": {"type": "object", "properties": {
                "replicas": {"type": "integer"}, "selector": {"type": "string"}}},
        }});
        let scale = json!({"specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"});
        let definition = json!({
            "metadata": {"name": "things.x.io"},
            "spec": {"group": "x.io", "scope": "Namespaced",
                "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}, "scale": scale}}]},
        });
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        world.create(path, definition).await;
        world.pass(1).await;
        let thing = json!({"apiVersion": "x.io/v1", "kind": "Thing",
            "metadata": {"name": "web"}, "spec": {"replicas": 9}});
        world
            .create("/apis/x.io/v1/namespaces/shop/things", thing)
            .await;
        let autoscaler = json!({
            "metadata": {"name": "web"},
            "spec": {"maxReplicas": 4,
                "scaleTargetRef": {"apiVersion": "x.io/v1", "kind": "Thing", "name": "web"}},
        });
        world
            .create(
                "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers",
                autoscaler,
            )
            .await;
        world.pass(20).await;
        let thing = world
            .get("/apis/x.io/v1/namespaces/shop/things/web")
            .await
            .unwrap();
        assert_eq!(thing["spec"]["replicas"], 4);
        world.env.sleep(Duration::from_secs(15)).await;
        let status = world.get(AUTOSCALER).await.unwrap()["status"].clone();
        let reasons: Vec<_> = status["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["reason"].as_str().unwrap())
            .collect();
        // It does not say which pods it has.
        assert_eq!(reasons, ["SucceededGetScale", "InvalidSelector"]);
    });
}
