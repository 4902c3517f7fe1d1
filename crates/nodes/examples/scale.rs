//! How long simulated nodes take until all pods run: `cargo run --release -p stowplan-nodes --example scale
//! -- 5000 50000`. The embedded API server runs in the same process.

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use stowplan_client::{Delta, Informers, Requests, Unguarded, in_process};
use stowplan_env::{Env, Stopwatch, System};
use stowplan_nodes::{Config, NodeTemplate, Nodes, Settings, Unheard};
use stowplan_server::{Api, User};
use stowplan_store::{Options, Store};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse().ok());
    let nodes = arguments.next().unwrap_or(5_000_usize);
    let pods = arguments.next().unwrap_or(50_000_usize);
    let env: Arc<dyn Env> = Arc::new(System::new());
    let api = Api::new(stowplan_server::Config {
        env: env.clone(),
        store: Store::in_memory(Options::default()),
        tokens: Default::default(),
        token_key: None,
    });
    let api = api.await.expect("a server");
    let client = in_process(api.service(User::new("admin", &["system:masters"])));
    let requests = || {
        Arc::new(Requests::new(
            client.clone(),
            env.clone(),
            Arc::new(Unguarded),
        ))
    };
    prepare(&requests()).await;
    let informers = Arc::new(Informers::new(client.clone(), env.clone()));
    let template = NodeTemplate {
        count: nodes as u32,
        ..NodeTemplate::default()
    };
    let settings = Settings {
        config: Config::default(),
        nodes: template.nodes(),
        env: env.clone(),
        events: Arc::new(Unheard),
        writers: 32,
        runtime: None,
    };
    let simulated = Nodes::new(&informers, settings);
    let running = Arc::new(AtomicUsize::new(0));
    let counted = running.clone();
    informers.of::<Pod>().add_handler(move |delta| {
        let is_running = |pod: &Pod| {
            let phase = pod
                .status
                .as_ref()
                .and_then(|status| status.phase.as_deref());
            phase == Some("Running")
        };
        let was = delta.before().is_some_and(|pod| is_running(pod));
        if !matches!(delta, Delta::Deleted(_)) && is_running(delta.object()) && !was {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let began = Stopwatch::start();
    let runner = simulated.clone();
    let (watched, writes) = (informers.clone(), requests());
    tokio::spawn(async move { runner.run(&watched, writes).await });
    while simulated.counts().0 < nodes {
        env.sleep(Duration::from_millis(50)).await;
    }
    println!("{nodes} nodes registered after {:?}", began.elapsed());
    let began = Stopwatch::start();
    let creator = requests();
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (creator, next) = (creator.clone(), next.clone());
        tasks.spawn(async move {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= pods {
                    return;
                }
                create(&creator, i, nodes).await;
            }
        });
    }
    tasks.join_all().await;
    println!("{pods} pods created after {:?}", began.elapsed());
    while running.load(Ordering::Relaxed) < pods {
        env.sleep(Duration::from_millis(50)).await;
    }
    println!("{pods} pods running after {:?}", began.elapsed());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = status.lines().find(|line| line.starts_with("VmRSS"));
    println!("{}", memory.unwrap_or_default());
    let cpu = cpu_s();
    let began = Stopwatch::start();
    env.sleep(Duration::from_secs(20)).await;
    let used = (cpu_s() - cpu) / began.elapsed().as_secs_f64();
    println!("at rest, heartbeats only: {used:.2} cores");
    let began = Stopwatch::start();
    let sum: i64 = simulated.pod_usage().iter().map(|usage| usage.cpu_m).sum();
    println!("usage of all pods ({sum}m) after {:?}", began.elapsed());
}

/// Seconds of processor time that this process has used.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split(' ')
        .collect();
    let ticks = |i: usize| {
        fields
            .get(i)
            .and_then(|text| text.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (ticks(12) + ticks(13)) / 100.0
}

async fn prepare(requests: &Requests) {
    let body = json!({"metadata": {"name": "n"}});
    let post = async |path: &str, name: &str| {
        let mut body = body.clone();
        body["metadata"]["name"] = name.into();
        let made: Result<serde_json::Value, _> = requests
            .change("POST", path, "application/json", &body)
            .await;
        made.expect("it can be made");
    };
    post("/api/v1/namespaces", "n").await;
    post("/api/v1/namespaces/n/serviceaccounts", "default").await;
}

async fn create(requests: &Requests, i: usize, nodes: usize) {
    let wanted = json!({"cpu": "100m", "memory": "64Mi"});
    let node = format!("node-{}", i % nodes + 1);
    let body = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": format!("p{i}"), "namespace": "n"},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "image": "nginx", "resources": {"requests": wanted}}],
        },
    });
    let path = "/api/v1/namespaces/n/pods";
    let made: Result<serde::de::IgnoredAny, _> = requests
        .change("POST", path, "application/json", &body)
        .await;
    made.expect("a pod");
}
