//! A cluster and some time of its life.

use crate::{controller, kubelet, trace};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::{Env, Time};
use stowplan_client::election::{Candidate, Leadership, LeaseName, Timings};
use stowplan_client::{Informers, Requests, Unguarded, in_process};
use stowplan_config::KubeSchedulerConfiguration;
use stowplan_engine::plugins::registry::in_tree;
use stowplan_env::{Virtual, virtual_runtime};
use stowplan_scheduler::{NoObserver, Settings, start_as_task};
use stowplan_server::{Api, Config, User};
use stowplan_store::{Options, Store};

pub(crate) const NAMESPACE: &str = "n";
const NODES: usize = 100;
const SETS: usize = 20;
/// The largest number of pods of a set.
pub(crate) const PODS_MAX: u64 = 90;

/// What became of a cluster in some time.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    /// Of all writes: their revisions, times, keys and values.
    pub(crate) hash: u64,
    pub(crate) writes: u64,
    /// Pods that were made, and pods that got a node.
    pub(crate) pods: u64,
    pub(crate) bindings: u64,
    /// How long it took, by the virtual clock.
    pub(crate) seconds: u64,
}

/// Runs everything for so long on this thread.
pub(crate) fn live_for(span: Duration, seed: u64) -> Outcome {
    let start = Time::from_secs(1_800_000_000);
    let env = Virtual::new(start, seed);
    let runtime = virtual_runtime(&env).expect("a runtime");
    let env: Arc<dyn Env> = Arc::new(env);
    let outcome = runtime.block_on(live(env.clone(), span, seed));
    Outcome {
        seconds: env.monotonic().since(start).as_secs(),
        ..outcome
    }
}

async fn live(env: Arc<dyn Env>, span: Duration, seed: u64) -> Outcome {
    let store = Store::in_memory(Options::default());
    let trace = trace::Trace::default();
    let tracing = tokio::spawn(trace::follow(trace.clone(), store.clone(), env.clone()));
    let api = Api::new(Config {
        env: env.clone(),
        store,
        tokens: BTreeMap::new(),
        token_key: None,
    });
    let api = api.await.expect("a store that works");
    let admin = in_process(api.service(User::new("admin", &["system:masters"])));
    let requests = || Requests::new(admin.clone(), env.clone(), Arc::new(Unguarded));
    furnish(&requests()).await;
    let informers = Arc::new(Informers::new(admin.clone(), env.clone()));
    let user = User::new("system:kube-scheduler", &["system:authenticated"]);
    let scheduler = scheduler(in_process(api.service(user)), env.clone(), seed);
    let end = env.sleep(span);
    tokio::select! {
        biased;
        () = end => {}
        () = scheduler => panic!("the scheduler ended"),
        () = controller::run(&informers, requests(), env.clone()) => panic!("the controller ended"),
        () = kubelet::run(&informers, requests(), env.clone()) => panic!("the kubelets ended"),
        () = change_counts(requests(), env.clone()) => panic!("nobody changes counts any more"),
    }
    tracing.abort();
    trace.outcome()
}

/// Nodes, and sets of pods that are empty at first.
async fn furnish(requests: &Requests) {
    create(requests, "/api/v1/namespaces", &named(NAMESPACE)).await;
    let namespaced = |plural| format!("/api/v1/namespaces/{NAMESPACE}/{plural}");
    create(requests, &namespaced("serviceaccounts"), &named("default")).await;
    let room = json!({"cpu": "16", "memory": "64Gi", "pods": "110"});
    for i in 0..NODES {
        let name = format!("node-{i}");
        let zone = format!("zone-{}", i % 3);
        let labels = json!({"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone});
        let node = json!({
            "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": room, "capacity": room},
        });
        create(requests, "/api/v1/nodes", &node).await;
        // Its kubelet says that it is ready.
        let path = format!("/api/v1/nodes/{name}");
        let patch = json!({"spec": {"taints": null}});
        let patched: Result<Value, _> = requests
            .change("PATCH", &path, "application/merge-patch+json", &patch)
            .await;
        patched.expect("a node");
    }
    for i in 0..SETS {
        let mut map = named(&format!("set-{i}"));
        map["data"] = json!({"count": "0"});
        create(requests, &namespaced("configmaps"), &map).await;
    }
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

async fn create(requests: &Requests, path: &str, body: &Value) {
    let made: Result<Value, _> = requests
        .change("POST", path, "application/json", body)
        .await;
    made.expect("it can be made");
}

/// A scheduler that competes for a lease with nobody.
async fn scheduler(client: kube::Client, env: Arc<dyn Env>, seed: u64) {
    let candidate = Candidate {
        lease: LeaseName {
            namespace: "kube-system".to_owned(),
            name: "kube-scheduler".to_owned(),
        },
        election: "kube-scheduler",
        host: "host".to_owned(),
        component: "default-scheduler".to_owned(),
        timings: Timings::default(),
        address: None,
    };
    let leadership = Arc::new(Leadership::new(candidate, env.clone()));
    let config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    let settings = Settings {
        informers: None,
        plugins: in_tree,
        config: KubeSchedulerConfiguration::from_text(config).expect("a configuration"),
        seed,
        host: "host".to_owned(),
        env,
        guard: leadership.clone(),
        observer: Arc::new(NoObserver),
        throttled: false,
        unschedulable_max: None,
    };
    let started = start_as_task(client.clone(), settings).await;
    let (running, engine) = started.expect("it starts");
    let hold = leadership.hold(client, std::future::pending(), |_| running.wake());
    tokio::join!(engine, hold);
}

/// Somebody wants another number of pods now and then.
async fn change_counts(requests: Requests, env: Arc<dyn Env>) {
    loop {
        let set = format!("set-{}", env.random() % SETS as u64);
        let count = (env.random() % (PODS_MAX + 1)).to_string();
        let patch = json!({"data": {"count": count}});
        let patched = requests
            .merge::<ConfigMap>(NAMESPACE, &set, None, &patch)
            .await;
        patched.expect("a set");
        env.sleep(Duration::from_millis(env.random() % 10_000))
            .await;
    }
}
