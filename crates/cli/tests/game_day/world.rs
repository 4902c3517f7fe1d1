//! A whole cluster in one process and on a virtual clock: the API server, the scheduler, the controllers,
//! and six simulated nodes in three zones.

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::{Env, Time};
use stowplan_client::{Informers, Requests, Unguarded, in_process};
use stowplan_config::KubeSchedulerConfiguration;
use stowplan_controller_manager::{ControllerManager, Settings};
use stowplan_controllers::Options;
use stowplan_engine::plugins::registry::in_tree;
use stowplan_env::{Virtual, virtual_runtime};
use stowplan_nodes::{FAULT, NodeTemplate, Nodes, Unheard};
use stowplan_report::Report;
use stowplan_scheduler::{AllPermissions, DecisionReader, NoObserver, start_as_task};
use stowplan_server::{Api, User};
use stowplan_store::Store;
use stowplan_telemetry::DecisionAnswer;

const PODS: &str = "/api/v1/namespaces/game-day/pods";

/// The cluster, as its user has it.
pub(crate) struct World {
    env: Arc<dyn Env>,
    requests: Arc<Requests>,
    decisions: DecisionReader,
    start: Time,
}

/// Runs a test on a new cluster.
pub(crate) fn run<F: Future<Output = ()>>(test: impl FnOnce(World) -> F) {
    let env = Virtual::new(Time::from_secs(1_800_000_000), 1);
    let runtime = virtual_runtime(&env).expect("a runtime");
    let env: Arc<dyn Env> = Arc::new(env);
    runtime.block_on(async {
        let api = Api::new(stowplan_server::Config {
            env: env.clone(),
            store: Store::in_memory(Default::default()),
            tokens: BTreeMap::new(),
            token_key: None,
        });
        let api = api.await.expect("a store that works");
        let client = |name| in_process(api.service(User::new(name, &["system:masters"])));
        let requests = |name| {
            let requests = Requests::new(client(name), env.clone(), Arc::new(Unguarded));
            Arc::new(requests.named(name))
        };
        let manager = ControllerManager::start(
            client("system:kube-controller-manager"),
            Settings {
                controllers: vec!["*".to_owned()],
                options: Options::default(),
                guard: Arc::new(Unguarded),
                env: env.clone(),
                limit: (0.0, 0),
                host: "host".to_owned(),
                informers: None,
            },
        );
        let manager = manager.expect("it starts");
        let settings = stowplan_scheduler::Settings {
            plugins: in_tree,
            config: KubeSchedulerConfiguration::from_profiles(Vec::new()).expect("a configuration"),
            seed: 1,
            host: "host".to_owned(),
            env: env.clone(),
            guard: Arc::new(Unguarded),
            observer: Arc::new(NoObserver),
            throttled: false,
            unschedulable_max: None,
            informers: Some(manager.informers().clone()),
        };
        let started = start_as_task(client("system:kube-scheduler"), settings).await;
        let (running, engine) = started.expect("it starts");
        running.wake();
        let world = World {
            env: env.clone(),
            requests: requests("admin"),
            decisions: running.decisions(),
            start: env.monotonic(),
        };
        let nodes = nodes(manager.informers(), &env);
        tokio::select! {
            biased;
            () = nodes.run(manager.informers(), requests("kubelet")) => panic!("the nodes ended"),
            () = engine => panic!("the scheduler ended"),
            () = test(world) => {}
        }
    });
}

fn nodes(informers: &Informers, env: &Arc<dyn Env>) -> Nodes {
    let template = NodeTemplate {
        count: 6,
        zones: ["a", "b", "c"].map(str::to_owned).to_vec(),
        cpu: "4".to_owned(),
        ..NodeTemplate::default()
    };
    let settings = stowplan_nodes::Settings {
        config: Default::default(),
        nodes: template.nodes(),
        env: env.clone(),
        events: Arc::new(Unheard),
        writers: 8,
        runtime: None,
    };
    Nodes::new(informers, settings)
}

/// The objects of a file of the example.
pub(crate) fn example(file: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/game-day");
    let text = std::fs::read_to_string(folder.join(file)).expect("a file");
    let documents = serde_yaml_ng::Deserializer::from_str(&text);
    let read = |document| Value::deserialize(document).expect("an object");
    documents.map(read).collect()
}

/// The path of the list that an object belongs to.
fn path(object: &Value) -> String {
    let group = object["apiVersion"].as_str().expect("an apiVersion");
    let root = match group {
        "v1" => "/api/v1".to_owned(),
        group => format!("/apis/{group}"),
    };
    let kind = object["kind"].as_str().expect("a kind");
    let plural = match kind {
        "PriorityClass" => "priorityclasses".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}"),
        None => format!("{root}/{plural}"),
    }
}

/// How the pods of an app stand: those that are ready and stay, by zone.
pub(crate) type Zones = [usize; 3];

impl World {
    /// `kubectl apply`.
    pub(crate) async fn apply(&self, file: &str) {
        for object in example(file) {
            let list = path(&object);
            let made = self
                .requests
                .change::<Value>("POST", &list, "application/json", &object);
            made.await.expect("it can be made");
            if object["kind"] == "Namespace" {
                self.pass(5).await;
            }
        }
    }

    async fn patch(&self, path: &str, patch: Value) {
        let merge = "application/merge-patch+json";
        let patched = self.requests.change::<Value>("PATCH", path, merge, &patch);
        patched.await.expect("it can be changed");
    }

    pub(crate) async fn scale(&self, deployment: &str, replicas: usize) {
        let path = format!("/apis/apps/v1/namespaces/game-day/deployments/{deployment}");
        self.patch(&path, json!({"spec": {"replicas": replicas}}))
            .await;
    }

    /// Changes both nodes of a zone.
    async fn zone(&self, zone: &str, patch: Value) {
        for number in 1..=2 {
            let path = format!("/api/v1/nodes/node-{zone}-{number}");
            self.patch(&path, patch.clone()).await;
        }
    }

    /// `stowplan node fail --zone`.
    pub(crate) async fn fail(&self, zone: &str) {
        let patch = json!({"metadata": {"annotations": {FAULT: "fail"}}});
        self.zone(zone, patch).await;
    }

    /// `stowplan node recover --zone`.
    pub(crate) async fn recover(&self, zone: &str) {
        let patch = json!({"metadata": {"annotations": {FAULT: null}}});
        self.zone(zone, patch).await;
    }

    /// `kubectl cordon` and `kubectl uncordon`.
    pub(crate) async fn cordon(&self, zone: &str, is_closed: bool) {
        self.zone(zone, json!({"spec": {"unschedulable": is_closed}}))
            .await;
    }

    /// Lets seconds pass.
    pub(crate) async fn pass(&self, seconds: u64) {
        self.env.sleep(Duration::from_secs(seconds)).await;
    }

    /// How many seconds have passed since the beginning.
    pub(crate) fn seconds(&self) -> u64 {
        self.env.monotonic().since(self.start).as_secs()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.requests.get(path).await.expect("it is there")
    }

    /// The pods of an app that are not on their way out.
    pub(crate) async fn pods(&self, app: &str) -> Vec<Value> {
        let list = self.get(&format!("{PODS}?labelSelector=app%3D{app}")).await;
        let mut pods = list["items"].as_array().expect("a list").clone();
        pods.retain(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        pods
    }

    pub(crate) async fn ready(&self, app: &str) -> Zones {
        let mut zones = [0; 3];
        for pod in self.pods(app).await.iter().filter(|pod| is_ready(pod)) {
            let node = pod["spec"]["nodeName"].as_str().expect("a node");
            let zone = node.as_bytes()["node-".len()] - b'a';
            zones[usize::from(zone)] += 1;
        }
        zones
    }

    /// Pods of an app that are on no node.
    pub(crate) async fn pending(&self, app: &str) -> Vec<Value> {
        let mut pods = self.pods(app).await;
        pods.retain(|pod| pod["spec"]["nodeName"].is_null());
        pods
    }

    /// What the budget says: allowed, healthy, desired.
    pub(crate) async fn budget(&self) -> [i64; 3] {
        let path = "/apis/policy/v1/namespaces/game-day/poddisruptionbudgets/quorum";
        let budget = self.get(path).await;
        ["disruptionsAllowed", "currentHealthy", "desiredHealthy"]
            .map(|field| budget["status"][field].as_i64().unwrap_or(0))
    }

    /// `stowplan explain pod`.
    pub(crate) async fn explain(&self, pod: &str) -> Report {
        let told = self
            .decisions
            .tournament("game-day", pod, &AllPermissions)
            .await;
        match told {
            DecisionAnswer::Found(report) => {
                serde_json::from_value(report).expect("an explanation")
            }
            _ => panic!("the scheduler does not know {pod}"),
        }
    }

    /// Waits until something is so, and says how many seconds that took.
    pub(crate) async fn until<F: Future<Output = bool>>(&self, is_so: impl Fn() -> F) -> u64 {
        let start = self.seconds();
        while !is_so().await {
            assert!(self.seconds() < start + 600, "it never comes");
            self.pass(1).await;
        }
        self.seconds() - start
    }
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().expect("a name")
}
