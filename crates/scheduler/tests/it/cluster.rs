//! A cluster to play with.

use kube::api::Api;
use kube::runtime::wait::await_condition;
use kube::runtime::watcher;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use stowplan_api::k8s::NamespaceResourceScope;
use stowplan_api::k8s::api::core::v1::{Node, Pod};
use stowplan_client::{Guard, Unguarded, in_process};
use stowplan_config::KubeSchedulerConfiguration;
use stowplan_engine::plugins::registry::in_tree;
use stowplan_env::System;
use stowplan_scheduler::{NoObserver, Running, Settings, start};
use stowplan_server::{Config, User};
use stowplan_store::{Options, Store};

pub(crate) const NAMESPACE: &str = "n";

/// A server, and its administrator.
pub(crate) struct Cluster {
    pub(crate) api: Arc<stowplan_server::Api>,
    pub(crate) admin: kube::Client,
}

impl Cluster {
    /// An empty cluster but for a namespace.
    pub(crate) async fn new() -> Self {
        let api = stowplan_server::Api::new(Config {
            env: Arc::new(System::new()),
            store: Store::in_memory(Options::default()),
            tokens: BTreeMap::new(),
            token_key: None,
        })
        .await
        .expect("a store that works");
        let admin = in_process(api.service(User::new("admin", &["system:masters"])));
        let cluster = Self { api, admin };
        cluster
            .create(
                "/api/v1/namespaces",
                json!({"metadata": {"name": NAMESPACE}}),
            )
            .await;
        let accounts = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts");
        cluster
            .create(&accounts, json!({"metadata": {"name": "default"}}))
            .await;
        cluster
    }

    /// A client with the rights of a scheduler.
    pub(crate) fn scheduler_client(&self) -> kube::Client {
        let user = User::new("system:kube-scheduler", &["system:authenticated"]);
        in_process(self.api.service(user))
    }

    /// Starts a scheduler with the default profile.
    pub(crate) async fn scheduler(&self) -> Running {
        self.scheduler_with(self.scheduler_client(), "").await
    }

    /// Starts a scheduler with this client and configuration.
    pub(crate) async fn scheduler_with(&self, client: kube::Client, config: &str) -> Running {
        self.guarded_scheduler(client, config, Arc::new(Unguarded))
            .await
    }

    /// A scheduler that acts only while the guard lets it.
    pub(crate) async fn guarded_scheduler(
        &self,
        client: kube::Client,
        config: &str,
        guard: Arc<dyn Guard>,
    ) -> Running {
        let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
        let config = KubeSchedulerConfiguration::from_text(&format!("{head}{config}"));
        let settings = Settings {
            informers: None,
            config: config.expect("a configuration"),
            plugins: in_tree,
            seed: 0,
            host: "host".to_owned(),
            env: Arc::new(System::new()),
            guard,
            observer: Arc::new(NoObserver),
            throttled: false,
            unschedulable_max: None,
        };
        start(client, settings).await.expect("it starts")
    }

    pub(crate) async fn create(&self, path: &str, body: Value) -> Value {
        self.send("POST", path, "application/json", body).await
    }

    /// A merge patch.
    pub(crate) async fn patch(&self, path: &str, body: Value) -> Value {
        self.send("PATCH", path, "application/merge-patch+json", body)
            .await
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.send("GET", path, "application/json", Value::Null)
            .await
    }

    /// Deletes something at once: there is no kubelet to finish what is asked of it.
    pub(crate) async fn delete(&self, path: &str) {
        let now = json!({"gracePeriodSeconds": 0});
        self.send("DELETE", path, "application/json", now).await;
    }

    async fn send(&self, method: &str, path: &str, content_type: &str, body: Value) -> Value {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", content_type)
            .body(body.to_string().into_bytes())
            .expect("a request");
        let answer = self.admin.request::<Value>(request).await;
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// A node with 4 cpus, 8Gi and 110 pods, and what `more` says.
    pub(crate) async fn node(&self, name: &str, labels: Value, spec: Value) {
        let room = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
        let mut labels = labels;
        labels["kubernetes.io/hostname"] = json!(name);
        let node = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": spec,
            "status": {"allocatable": room, "capacity": room},
        });
        self.create("/api/v1/nodes", node).await;
        // Whoever makes a node cannot know that it is ready; its kubelet says so.
        let nodes: Api<Node> = Api::all(self.admin.clone());
        let node = nodes.get(name).await.expect("the node");
        let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
        let kept: Vec<_> = taints
            .into_iter()
            .filter(|taint| taint.key != "node.kubernetes.io/not-ready")
            .collect();
        let path = format!("/api/v1/nodes/{name}");
        self.patch(&path, json!({"spec": {"taints": kept}})).await;
    }

    /// A plain node.
    pub(crate) async fn plain_node(&self, name: &str) {
        self.node(name, json!({}), json!({})).await;
    }

    /// A pod with this spec, to which a container is added unless there is one.
    pub(crate) async fn pod(&self, name: &str, spec: Value) {
        self.labelled_pod(name, json!({}), spec).await;
    }

    pub(crate) async fn labelled_pod(&self, name: &str, labels: Value, mut spec: Value) {
        if spec["containers"].is_null() {
            spec["containers"] = json!([{"name": "c", "image": "i"}]);
        }
        let pod = json!({"metadata": {"name": name, "labels": labels}, "spec": spec});
        self.create(&pod_path(""), pod).await;
    }

    pub(crate) fn all<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.admin.clone(), NAMESPACE)
    }

    /// Waits until a pod is bound; returns its node.
    pub(crate) async fn bound(&self, name: &str) -> String {
        let pod = self.until::<Pod>(name, |pod| node_of(pod).is_some()).await;
        node_of(&pod).expect("it is bound").to_owned()
    }

    /// Waits until a pod is said to be unschedulable; returns why.
    pub(crate) async fn unschedulable(&self, name: &str) -> String {
        let pod = self
            .until::<Pod>(name, |pod| condition(pod, "PodScheduled").is_some())
            .await;
        condition(&pod, "PodScheduled").expect("it has one")["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Waits until something is so.
    pub(crate) async fn until<K>(&self, name: &str, so: impl Fn(&K) -> bool + Send) -> K
    where
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + 'static,
    {
        let so = |object: Option<&K>| object.is_some_and(&so);
        let found = patiently(await_condition(self.all::<K>(), name, so)).await;
        found.expect("a watch").expect("it is there")
    }

    /// Waits until as many pods are bound; returns all of them.
    pub(crate) async fn all_bound(&self, pods: usize) -> Vec<Pod> {
        let mut bound: BTreeMap<String, Pod> = BTreeMap::new();
        let stream = watcher(self.all::<Pod>(), watcher::Config::default());
        let mut stream = Box::pin(stream);
        patiently(async {
            use futures::TryStreamExt;
            use kube::runtime::watcher::Event;
            while bound.len() < pods {
                let event = stream.try_next().await.expect("a watch").expect("no end");
                if let Event::Apply(pod) | Event::InitApply(pod) = event
                    && node_of(&pod).is_some()
                {
                    bound.insert(pod.metadata.name.clone().unwrap_or_default(), pod);
                }
            }
        })
        .await;
        bound.into_values().collect()
    }
}

/// The path of a pod, or of all.
pub(crate) fn pod_path(name: &str) -> String {
    let path = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    match name {
        "" => path,
        name => format!("{path}/{name}"),
    }
}

/// The node of a pod.
pub(crate) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

/// A condition of a pod, as JSON.
pub(crate) fn condition(pod: &Pod, kind: &str) -> Option<Value> {
    let mut conditions = pod.status.as_ref()?.conditions.iter().flatten();
    let found = conditions.find(|condition| condition.type_ == kind)?;
    Some(serde_json::to_value(found).expect("it is JSON"))
}

/// What a container asks for.
pub(crate) fn asks(cpu: &str) -> Value {
    json!([{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}])
}

/// Gives up when a test hangs.
pub(crate) async fn patiently<T>(future: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, future)
        .await
        .expect("it does not take this long")
}
