//! The whole demo in one process and on a virtual clock.

use crate::witness::{self, Witness};
use serde_json::Value;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stowplan_base::{Env, Time};
use stowplan_client::{Cluster, Informers, Requests, Unguarded, in_process};
use stowplan_config::KubeSchedulerConfiguration;
use stowplan_controller_manager::{ControllerManager, Settings};
use stowplan_controllers::Options;
use stowplan_controllers::volume::PROVISIONER;
use stowplan_demo::{Demo, Scene};
use stowplan_engine::plugins::registry::in_tree;
use stowplan_env::{Virtual, virtual_runtime};
use stowplan_nodes::{Config, Nodes, Unheard};
use stowplan_scheduler::{NoObserver, start_as_task};
use stowplan_server::{Api, Sample, Usage, Used, User};
use stowplan_store::Store;

/// What became of a demo.
pub(crate) struct Played {
    /// The scenes, by the seconds since the beginning.
    pub(crate) scenes: Vec<Scene>,
    pub(crate) witness: Witness,
    /// Of all writes: how many, and what they were.
    pub(crate) writes: (u64, u64),
}

/// Plays the demo for so long, lets it rest (nothing new happens), and says what was to be seen.
pub(crate) fn play(seed: u64, span: Duration, rest: Duration) -> Played {
    let env = Virtual::new(Time::from_secs(1_800_000_000), seed);
    let runtime = virtual_runtime(&env).expect("a runtime");
    let env: Arc<dyn Env> = Arc::new(env);
    runtime.block_on(live(env, seed, span, rest))
}

async fn live(env: Arc<dyn Env>, seed: u64, span: Duration, rest: Duration) -> Played {
    let store = Store::in_memory(Default::default());
    let writes = Arc::new(Mutex::new((0, DefaultHasher::new())));
    let counting = tokio::spawn(count(store.clone(), env.clone(), writes.clone()));
    let api = Api::new(stowplan_server::Config {
        env: env.clone(),
        store,
        tokens: BTreeMap::new(),
        token_key: None,
    });
    let api = api.await.expect("a store that works");
    api.count_quotas();
    let client = |name| in_process(api.service(User::new(name, &["system:masters"])));
    let requests = |name| {
        let requests = Requests::new(client(name), env.clone(), Arc::new(Unguarded));
        Arc::new(requests.named(name))
    };
    let settings = Settings {
        controllers: vec!["*".to_owned()],
        options: Options::default(),
        guard: Arc::new(Unguarded),
        env: env.clone(),
        limit: (0.0, 0),
        host: "host".to_owned(),
        informers: None,
    };
    let manager = ControllerManager::start(client("system:kube-controller-manager"), settings);
    let manager = manager.expect("it starts");
    let settings = stowplan_scheduler::Settings {
        plugins: in_tree,
        config: KubeSchedulerConfiguration::from_profiles(Vec::new()).expect("a configuration"),
        seed,
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
    let informers = manager.informers();
    let nodes = nodes(informers, &env);
    api.use_by(Box::new(UsageOf(
        nodes.clone(),
        informers.cluster().clone(),
    )));
    let scenes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::new(Mutex::new(Witness::default()));
    let admin = requests("admin");
    storage(&admin).await;
    let begin = env.monotonic();
    let demo = Demo::new(client("admin"), env.clone(), Some(seed));
    demo.set_the_scene().await.expect("the company is there");
    let told = scenes.clone();
    let playing = demo.play(move |scene| told.lock().expect("scenes").push(scene.clone()));
    let story = async {
        tokio::select! {
            biased;
            () = env.sleep_until(begin + span) => {}
            () = playing => panic!("the story ended"),
        }
        env.sleep_until(begin + span + rest).await;
    };
    tokio::select! {
        biased;
        () = story => {}
        () = nodes.run(informers, requests("kubelet")) => panic!("the nodes ended"),
        () = engine => panic!("the scheduler ended"),
        () = witness::watch(&seen, &admin, &env, begin) => panic!("nobody looks any more"),
    }
    counting.abort();
    let scenes = scenes.lock().expect("scenes").clone();
    let witness = std::mem::take(&mut *seen.lock().expect("a witness"));
    let (count, hasher) = &*writes.lock().expect("a count");
    Played {
        scenes,
        witness,
        writes: (*count, hasher.finish()),
    }
}

fn nodes(informers: &Informers, env: &Arc<dyn Env>) -> Nodes {
    let settings = stowplan_nodes::Settings {
        config: Config {
            rules: stowplan_demo::rules(),
            ..Config::default()
        },
        nodes: stowplan_demo::nodes(),
        env: env.clone(),
        events: Arc::new(Unheard),
        writers: 8,
        runtime: None,
    };
    Nodes::new(informers, settings)
}

/// The default class of volumes, as `stowplan up` makes it.
async fn storage(requests: &Requests) {
    let class = serde_json::json!({
        "metadata": {
            "name": "standard",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": PROVISIONER,
        "volumeBindingMode": "WaitForFirstConsumer",
    });
    let path = "/apis/storage.k8s.io/v1/storageclasses";
    let made = requests.change::<Value>("POST", path, "application/json", &class);
    made.await.expect("a class");
}

/// Notes each write and its time.
async fn count(store: Store, env: Arc<dyn Env>, writes: Arc<Mutex<(u64, DefaultHasher)>>) {
    let mut watch = store.watch("", store.revision()).expect("it is empty");
    loop {
        let seen = watch.next().await.expect("nothing is compacted so soon");
        let (count, hasher) = &mut *writes.lock().expect("a count");
        for event in seen.events {
            *count += 1;
            env.monotonic().hash(hasher);
            event.entry.key.hash(hasher);
            event.current().map(|entry| &entry.value).hash(hasher);
        }
    }
}

/// Knows what pods use, for the autoscaler.
struct UsageOf(Nodes, Arc<Cluster>);

impl Usage for UsageOf {
    fn nodes(&self, _: Option<&str>, _: Time) -> Vec<Sample> {
        Vec::new()
    }

    fn pods(&self, namespace: &str, name: Option<&str>, _: Time) -> Vec<Sample> {
        let all = self.0.pod_usage().into_iter();
        let wanted = all
            .filter(|pod| pod.namespace == namespace && name.is_none_or(|name| name == pod.name));
        let sample = |used: stowplan_nodes::PodUsage| {
            let pod = self
                .1
                .get::<k8s_openapi::api::core::v1::Pod>(&used.namespace, &used.name)?;
            let container = pod.spec.as_ref()?.containers.first()?.name.clone();
            let amounts = Used {
                cpu_nanos: used.cpu_m as u64 * 1_000_000,
                memory_bytes: used.memory as u64,
            };
            Some(Sample {
                namespace: used.namespace,
                name: used.name,
                labels: pod
                    .metadata
                    .labels
                    .clone()
                    .unwrap_or_default()
                    .into_iter()
                    .collect(),
                containers: vec![(container, amounts)],
            })
        };
        wanted.filter_map(sample).collect()
    }
}
