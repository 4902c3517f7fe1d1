//! kube-rs against the embedded server, in process.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, ServiceAccount};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use stowplan_env::System;
use stowplan_server::{Config, User};
use stowplan_store::{Options, Store};

async fn client() -> kube::Client {
    let api = stowplan_server::Api::new(Config {
        env: std::sync::Arc::new(System::new()),
        store: Store::in_memory(Options::default()),
        tokens: BTreeMap::new(),
        token_key: None,
    })
    .await
    .expect("a store that works");
    stowplan_client::in_process(api.service(User::new("admin", &["system:masters"])))
}

fn object<K: serde::de::DeserializeOwned>(value: serde_json::Value) -> K {
    serde_json::from_value(value).expect("a literal")
}

/// A namespace with the account that its pods run as.
async fn namespace(client: &kube::Client, name: &str) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let new = object(json!({"metadata": {"name": name}}));
    namespaces
        .create(&PostParams::default(), &new)
        .await
        .unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), name);
    let new = object(json!({"metadata": {"name": "default"}}));
    accounts.create(&PostParams::default(), &new).await.unwrap();
}

#[tokio::test]
async fn objects_live_and_die() {
    let client = client().await;
    namespace(&client, "n").await;
    let maps: Api<ConfigMap> = Api::namespaced(client, "n");
    let new: ConfigMap = object(json!({"metadata": {"name": "a"}, "data": {"k": "v"}}));
    let made = maps.create(&PostParams::default(), &new).await.unwrap();
    assert!(made.metadata.uid.is_some());
    let twice = maps.create(&PostParams::default(), &new).await.unwrap_err();
    assert!(
        matches!(&twice, kube::Error::Api(status) if status.code == 409),
        "{twice}"
    );
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"l": "w"}});
    let ours = PatchParams::apply("test");
    let patched = maps
        .patch("a", &ours, &Patch::Apply(&applied))
        .await
        .unwrap();
    assert_eq!(patched.data.unwrap().len(), 2);
    assert_eq!(
        maps.list(&ListParams::default()).await.unwrap().items.len(),
        1
    );
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(maps.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn a_pod_is_bound_once() {
    let client = client().await;
    namespace(&client, "n").await;
    let nodes: Api<Node> = Api::all(client.clone());
    let node = object(json!({"metadata": {"name": "node"}}));
    nodes.create(&PostParams::default(), &node).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(client.clone(), "n");
    let pod = object(json!({"metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}}));
    pods.create(&PostParams::default(), &pod).await.unwrap();
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "node"}});
    let bind = || {
        let body = serde_json::to_vec(&binding).unwrap();
        let request = http::Request::post("/api/v1/namespaces/n/pods/p/binding")
            .header("Content-Type", "application/json")
            .body(body)
            .unwrap();
        client.request::<serde_json::Value>(request)
    };
    bind().await.unwrap();
    let again = bind().await.unwrap_err();
    assert!(
        matches!(&again, kube::Error::Api(status) if status.code == 409),
        "{again}"
    );
    let spec = pods.get("p").await.unwrap().spec.unwrap();
    assert_eq!(spec.node_name.as_deref(), Some("node"));
}

/// A reflector fed by one kind of watch sees what was there, what comes, and what goes.
async fn reflects(config: watcher::Config) {
    let client = client().await;
    namespace(&client, "n").await;
    let maps: Api<ConfigMap> = Api::namespaced(client, "n");
    let map = |name: &str| object::<ConfigMap>(json!({"metadata": {"name": name}}));
    maps.create(&PostParams::default(), &map("before"))
        .await
        .unwrap();
    let (reader, writer) = reflector::store();
    let mut events = reflector(writer, watcher(maps.clone(), config))
        .default_backoff()
        .applied_objects()
        .boxed();
    let first = events.try_next().await.unwrap().unwrap();
    assert_eq!(first.metadata.name.as_deref(), Some("before"));
    maps.create(&PostParams::default(), &map("after"))
        .await
        .unwrap();
    let second = events.try_next().await.unwrap().unwrap();
    assert_eq!(second.metadata.name.as_deref(), Some("after"));
    assert_eq!(reader.state().len(), 2);
    maps.delete("before", &DeleteParams::default())
        .await
        .unwrap();
    // Deletions are no "applied" events: the next one that is carries the store past them.
    maps.create(&PostParams::default(), &map("last"))
        .await
        .unwrap();
    events.try_next().await.unwrap();
    let mut names: Vec<_> = reader
        .state()
        .iter()
        .filter_map(|m| m.metadata.name.clone())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["after", "last"]);
}

#[tokio::test]
async fn a_reflector_follows_a_list_and_a_watch() {
    let run = reflects(watcher::Config::default());
    tokio::time::timeout(Duration::from_secs(60), run)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_reflector_follows_a_streaming_list() {
    let run = reflects(watcher::Config::default().streaming_lists());
    tokio::time::timeout(Duration::from_secs(60), run)
        .await
        .unwrap();
}

#[tokio::test]
async fn the_api_is_described() {
    let client = client().await;
    let get = |path: &str| {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        client.request::<serde_json::Value>(request)
    };
    let index = get("/openapi/v3").await.unwrap();
    let url = index["paths"]["api/v1"]["serverRelativeURL"]
        .as_str()
        .unwrap();
    let document = get(url).await.unwrap();
    let pod = &document["components"]["schemas"]["io.k8s.api.core.v1.Pod"];
    assert!(
        pod["description"]
            .as_str()
            .unwrap()
            .starts_with("Pod is a collection")
    );
    assert!(get("/openapi/v3/apis/nothing/v1").await.is_err());
}
