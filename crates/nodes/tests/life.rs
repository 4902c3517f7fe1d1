//! Nodes and pods on the embedded server, on a virtual clock: through life and death.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stowplan_base::{Env, Time};
use stowplan_client::{Informers, Preconditions, Requests, Unguarded, in_process};
use stowplan_env::{Virtual, virtual_runtime};
use stowplan_nodes::{
    Config, EventSink, FAULT, KWOK_NODE, NodeEvent, NodeTemplate, Nodes, PodEvent, Settings,
};
use stowplan_server::{Api, User};
use stowplan_store::{Options, Store};

const NAMESPACE: &str = "n";

#[derive(Default)]
struct Heard(Mutex<Vec<(String, String)>>);

impl EventSink for Heard {
    fn pod(&self, node: &str, pod: &Pod, event: PodEvent) {
        let name = pod.metadata.name.clone().unwrap_or_default();
        assert!(node.starts_with("node-") || node == "fake");
        self.0
            .lock()
            .unwrap()
            .push((name, event.reason.into_owned()));
    }

    fn node(&self, _: &Node, _: NodeEvent) {}
}

struct Cluster {
    env: Arc<dyn Env>,
    requests: Arc<Requests>,
    nodes: Nodes,
    heard: Arc<Heard>,
    client: kube::Client,
    _api: Arc<Api>,
}

/// A cluster with simulated nodes; the test runs beside them.
fn run<F: Future>(template: NodeTemplate, test: impl FnOnce(Arc<Cluster>) -> F) -> F::Output {
    let env = Virtual::new(Time::from_secs(1_800_000_000), 1);
    let runtime = virtual_runtime(&env).unwrap();
    let env: Arc<dyn Env> = Arc::new(env);
    runtime.block_on(async {
        let config = stowplan_server::Config {
            env: env.clone(),
            store: Store::in_memory(Options::default()),
            tokens: Default::default(),
            token_key: None,
        };
        let api = Api::new(config).await.unwrap();
        let client = in_process(api.service(User::new("admin", &["system:masters"])));
        let requests = Arc::new(Requests::new(
            client.clone(),
            env.clone(),
            Arc::new(Unguarded),
        ));
        for (path, name) in [
            ("/api/v1/namespaces".to_owned(), NAMESPACE),
            (
                format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts"),
                "default",
            ),
        ] {
            let body = json!({"metadata": {"name": name}});
            let made: Result<Value, _> = requests
                .change("POST", &path, "application/json", &body)
                .await;
            made.unwrap();
        }
        let heard = Arc::new(Heard::default());
        let informers = Informers::new(client.clone(), env.clone());
        let nodes = simulate(&informers, template.nodes(), &env, &heard);
        let cluster = Arc::new(Cluster {
            env,
            requests: requests.clone(),
            nodes: nodes.clone(),
            heard,
            client,
            _api: api,
        });
        tokio::select! {
            biased;
            () = nodes.run(&informers, requests) => panic!("the nodes ended"),
            output = test(cluster) => output,
        }
    })
}

fn simulate(
    informers: &Informers,
    nodes: Vec<Node>,
    env: &Arc<dyn Env>,
    heard: &Arc<Heard>,
) -> Nodes {
    let settings = Settings {
        config: Config {
            untaint: true,
            ..Config::default()
        },
        nodes,
        env: env.clone(),
        events: heard.clone(),
        writers: 8,
        runtime: None,
    };
    Nodes::new(informers, settings)
}

impl Cluster {
    async fn sleep(&self, seconds: u64) {
        self.env.sleep(Duration::from_secs(seconds)).await;
    }

    async fn pod(&self, name: &str, node: &str, annotations: Value, more: Value) {
        let requests = json!({"cpu": "100m", "memory": "64Mi"});
        let mut spec = json!({
            "nodeName": node,
            "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "c", "image": "nginx", "resources": {"requests": requests}}],
        });
        for (field, value) in more.as_object().unwrap() {
            spec[field] = value.clone();
        }
        let metadata = json!({"name": name, "namespace": NAMESPACE, "annotations": annotations});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        let pod: Pod = serde_json::from_value(pod).unwrap();
        self.requests.create(&pod).await.unwrap();
    }

    async fn pods(&self) -> Vec<Value> {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/pods");
        let list: Value = self.requests.get(&path).await.unwrap();
        list["items"].as_array().unwrap().clone()
    }

    async fn phases(&self) -> Vec<(String, usize)> {
        let mut phases: std::collections::BTreeMap<String, usize> = Default::default();
        for pod in self.pods().await {
            *phases
                .entry(pod["status"]["phase"].as_str().unwrap().to_owned())
                .or_default() += 1;
        }
        phases.into_iter().collect()
    }

    async fn status(&self, name: &str) -> Value {
        let pod: Value = self
            .requests
            .get(&stowplan_client::pod_path(NAMESPACE, name, ""))
            .await
            .unwrap();
        pod["status"].clone()
    }

    async fn delete(&self, name: &str) {
        let all = Preconditions::default();
        self.requests
            .delete::<Pod>(NAMESPACE, name, &all, None)
            .await
            .unwrap();
    }
}

fn fifty() -> NodeTemplate {
    NodeTemplate {
        count: 50,
        zones: vec!["zone-a".to_owned(), "zone-b".to_owned()],
        ..NodeTemplate::default()
    }
}

fn node_name(i: usize) -> String {
    format!("node-{}-{}", ["a", "b"][i % 2], i / 2 + 1)
}

#[test]
fn fifty_nodes_with_twenty_pods_each_live_and_die() {
    run(fifty(), async |cluster| {
        cluster.sleep(5).await;
        let nodes: Value = cluster.requests.get("/api/v1/nodes").await.unwrap();
        let nodes = nodes["items"].as_array().unwrap();
        assert_eq!(nodes.len(), 50);
        for node in nodes {
            let ready = &node["status"]["conditions"][3];
            assert_eq!(
                (&ready["type"], &ready["status"]),
                (&json!("Ready"), &json!("True"))
            );
            assert_eq!(node["spec"]["taints"], Value::Null);
        }
        for i in 0..1_000 {
            let annotations = match i % 20 {
                // Some come to an end by themselves, some crash.
                0..5 => json!({"stowplan.dev/run-for": "1m"}),
                5 => json!({"stowplan.dev/run-for": "1m", "stowplan.dev/exit-code": "2"}),
                _ => json!({}),
            };
            let policy = if i % 20 < 6 { "Never" } else { "Always" };
            let name = format!("p{i}");
            let more = json!({"restartPolicy": policy});
            cluster
                .pod(&name, &node_name(i / 20), annotations, more)
                .await;
        }
        cluster.sleep(20).await;
        assert_eq!(cluster.phases().await, [("Running".to_owned(), 1_000)]);
        let mut ips: Vec<_> = cluster
            .pods()
            .await
            .iter()
            .map(|pod| pod["status"]["podIP"].to_string())
            .collect();
        ips.sort();
        ips.dedup();
        assert_eq!(ips.len(), 1_000, "each has an address of its own");
        assert_eq!(cluster.nodes.counts(), (50, 1_000));
        assert_eq!(cluster.nodes.pod_usage().len(), 1_000);
        cluster.sleep(60).await;
        let expected = [("Failed", 50), ("Running", 700), ("Succeeded", 250)];
        let expected = expected.map(|(phase, count)| (phase.to_owned(), count));
        assert_eq!(cluster.phases().await, expected);
        for i in 0..1_000 {
            cluster.delete(&format!("p{i}")).await;
        }
        cluster.sleep(20).await;
        assert!(cluster.pods().await.is_empty());
        assert_eq!(cluster.nodes.counts(), (50, 0));
        let heard = cluster.heard.0.lock().unwrap();
        let count = |reason: &str| heard.iter().filter(|(_, heard)| heard == reason).count();
        assert_eq!((count("Started"), count("Killing")), (1_000, 700));
    });
}

#[test]
fn leases_are_renewed_until_the_node_fails_and_its_pods_stay() {
    let template = NodeTemplate {
        count: 2,
        ..NodeTemplate::default()
    };
    run(template, async |cluster| {
        cluster.sleep(5).await;
        cluster.pod("p", "node-1", json!({}), json!({})).await;
        cluster.sleep(5).await;
        let lease = async |name: &str| {
            let lease = cluster
                .requests
                .read::<Lease>("kube-node-lease", name)
                .await
                .unwrap();
            let lease = serde_json::to_value(lease.unwrap()).unwrap();
            let at = lease["spec"]["renewTime"].as_str().unwrap();
            let at: jiff::Timestamp = at.parse().unwrap();
            assert_eq!(lease["spec"]["leaseDurationSeconds"], 40);
            assert_eq!(lease["metadata"]["ownerReferences"][0]["name"], name);
            cluster.env.now().as_millis() / 1_000 - at.as_second()
        };
        for _ in 0..5 {
            cluster.sleep(17).await;
            assert!(lease("node-1").await <= 10);
        }
        let annotate = async |fault: Value| {
            let patch = json!({"metadata": {"annotations": {FAULT: fault}}});
            let patched = cluster
                .requests
                .merge::<Node>("", "node-1", None, &patch)
                .await;
            patched.unwrap();
        };
        annotate(json!("fail")).await;
        cluster.sleep(60).await;
        assert!(lease("node-1").await >= 59);
        assert!(lease("node-2").await <= 10);
        cluster.delete("p").await;
        cluster.sleep(120).await;
        assert_eq!(cluster.status("p").await["phase"], "Running");
        annotate(Value::Null).await;
        cluster.sleep(5).await;
        assert!(lease("node-1").await <= 10);
        assert!(cluster.pods().await.is_empty());
    });
}

#[test]
fn a_second_driver_takes_up_what_the_first_left() {
    run(NodeTemplate::default(), async |cluster| {
        cluster.sleep(5).await;
        let forever = json!({});
        cluster.pod("p", "node-1", forever, json!({})).await;
        cluster.sleep(10).await;
        let before = cluster.status("p").await;
        assert_eq!(before["phase"], "Running");
        assert_eq!(before["hostIP"], "172.18.0.2");
        assert_eq!(before["qosClass"], "Burstable");
        let informers = Informers::new(cluster.client.clone(), cluster.env.clone());
        let second = simulate(&informers, Vec::new(), &cluster.env, &cluster.heard);
        let started = cluster.heard.0.lock().unwrap().len();
        tokio::select! {
            () = second.run(&informers, cluster.requests.clone()) => {}
            () = cluster.sleep(60) => {}
        }
        assert_eq!(second.counts(), (1, 1));
        assert_eq!(cluster.status("p").await, before);
        assert_eq!(cluster.heard.0.lock().unwrap().len(), started);
    });
}

#[test]
fn nodes_for_kwok_are_adopted_and_their_pods_refused_if_they_do_not_fit() {
    run(NodeTemplate::default(), async |cluster| {
        let metadata = json!({"name": "fake", "annotations": {KWOK_NODE: "fake"}});
        let room = json!({"cpu": "1", "memory": "1Gi", "pods": "1"});
        let status = json!({"allocatable": room, "capacity": room});
        let node =
            json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status});
        let node: Node = serde_json::from_value(node).unwrap();
        cluster.requests.create(&node).await.unwrap();
        cluster.sleep(5).await;
        let node = cluster
            .requests
            .read::<Node>("", "fake")
            .await
            .unwrap()
            .unwrap();
        let node = serde_json::to_value(node).unwrap();
        assert_eq!(node["status"]["conditions"][3]["reason"], "KubeletReady");
        assert_eq!(node["status"]["capacity"], room);
        assert!(node["spec"]["podCIDR"].is_string());
        cluster.pod("p", "fake", json!({}), json!({})).await;
        cluster.sleep(5).await;
        cluster.pod("q", "fake", json!({}), json!({})).await;
        cluster.sleep(5).await;
        let refused = cluster.status("q").await;
        assert_eq!(
            (&refused["phase"], &refused["reason"]),
            (&json!("Failed"), &json!("OutOfpods"))
        );
        assert_eq!(cluster.status("p").await["phase"], "Running");
        // A job's finalizer is no special case.
        let patch = json!({"metadata": {"finalizers": ["batch.kubernetes.io/job-tracking"]}});
        let kept = cluster
            .requests
            .merge::<Pod>(NAMESPACE, "p", None, &patch)
            .await;
        kept.unwrap();
        cluster.delete("p").await;
        cluster.sleep(40).await;
        assert_eq!(cluster.status("p").await["phase"], "Failed");
        let patch = json!({"metadata": {"finalizers": null}});
        let _ = cluster
            .requests
            .merge::<Pod>(NAMESPACE, "p", None, &patch)
            .await;
        cluster.sleep(5).await;
        assert_eq!(cluster.pods().await.len(), 1);
    });
}
