//! What is measured, in order.

use super::child::{Folder, Server};
use super::client::{Protocol, Sender};
use super::figure::{Figure, Goal, percentile};
use super::load::{self, CLIENTS, Client};
use super::watchers;
use anyhow::{Context, Result, bail};
use axum::body::Body;
use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stowplan_env::System;
use stowplan_server::{Api, Config, User};
use stowplan_store::{Options, Store};

/// Where figures go.
pub type Tell<'a> = &'a mut dyn FnMut(Figure) -> Result<()>;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Measures everything: this share of the requests and watches, on folders made in this one.
pub async fn all(scale: f64, root: &Path, tell: Tell<'_>) -> Result<()> {
    let count = |whole: f64| ((whole * scale) as usize).max(1);
    starts(root, tell).await?;
    let folder = Folder::new(root, "load")?;
    tell(sync(folder.path())?)?;
    let server = Server::start(folder.path()).await?;
    let mut sender = Sender::connect(&server.place, Protocol::Http2).await?;
    for namespace in ["http1", "http2", "watch"] {
        prepare(&mut sender, namespace).await?;
    }
    // Code and connections that have been used before.
    load::posts("", &server, Protocol::Http2, count(1e3), |i| {
        new_pod("watch", i + 1_000_000)
    })
    .await?;
    let creates = "create pods, TLS, on disk, HTTP/1.1";
    let http1 = |i| new_pod("http1", i);
    let load = load::posts(creates, &server, Protocol::Http1, count(1e4), http1).await?;
    tell(load.figure(Some(Goal::AtLeast(3_000.0))))?;
    let creates = "create pods, TLS, on disk, HTTP/2";
    let http2 = |i| new_pod("http2", i);
    let load = load::posts(creates, &server, Protocol::Http2, count(2e4), http2).await?;
    tell(load.figure(Some(Goal::AtLeast(3_000.0))))?;
    let binds = "bind pods, TLS, on disk, HTTP/2";
    let load = load::posts(binds, &server, Protocol::Http2, count(2e4), binding).await?;
    tell(load.figure(None))?;
    for (name, accept) in [
        ("list 10,000 pods, TLS, JSON", "application/json"),
        ("list 10,000 pods, TLS, Table", TABLE),
    ] {
        tell(lists(name, &mut sender, accept).await?)?;
    }
    tell(watchers::figure(&server, count(1e3), count(100.0)).await?)?;
    let memory = server.rss_mib()?;
    tell(Figure::new("memory with 31,000 pods", memory, "MiB"))?;
    tell(Figure::time("stop", server.stop()?))?;
    let again = Server::start(folder.path()).await?;
    tell(Figure::time("start with 31,000 pods", again.started_in))?;
    drop(again);
    tell(in_process(count(5e4)).await?)
}

/// Starts with nothing there, and with what a start leaves behind.
async fn starts(root: &Path, tell: Tell<'_>) -> Result<()> {
    const TIMES: usize = 5;
    let (mut first, mut later) = (Vec::new(), Vec::new());
    let mut idle: f64 = 0.0;
    for _ in 0..TIMES {
        let folder = Folder::new(root, "start")?;
        let server = Server::start(folder.path()).await?;
        first.push(server.started_in);
        server.stop()?;
        let server = Server::start(folder.path()).await?;
        later.push(server.started_in);
        tokio::time::sleep(Duration::from_millis(500)).await;
        idle = idle.max(server.rss_mib()?);
        server.stop()?;
    }
    for (name, mut times) in [
        ("first start to ready, median of 5", first),
        ("later start to ready, median of 5", later),
    ] {
        let median = percentile(&mut times, 50).unwrap_or_default();
        tell(Figure::time(name, median).goal(Goal::Below(300.0)))?;
    }
    tell(Figure::new("idle memory, most of 5", idle, "MiB").goal(Goal::Below(60.0)))
}

/// What the disk can do, whatever writes to it.
fn sync(folder: &Path) -> Result<Figure> {
    let path = folder.join("sync");
    let mut file = std::fs::File::create(&path)?;
    let mut times = Vec::new();
    for _ in 0..50 {
        let begin = Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        times.push(begin.elapsed());
    }
    std::fs::remove_file(path)?;
    let median = percentile(&mut times, 50).unwrap_or_default();
    Ok(Figure::time("sync of 4 KiB to this disk", median).times(&mut times))
}

async fn lists(name: &'static str, sender: &mut Sender, accept: &str) -> Result<Figure> {
    const TIMES: usize = 9;
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let begin = Instant::now();
        sender.get(&path("http1", "pods"), accept).await?;
        times.push(begin.elapsed());
    }
    let median = percentile(&mut times, 50).unwrap_or_default();
    let figure = Figure::time(name, median).goal(Goal::Below(300.0));
    Ok(figure.times(&mut times))
}

/// A namespace with the account that its pods run as.
async fn prepare(sender: &mut Sender, namespace: &str) -> Result<()> {
    let body = |name: &str| Bytes::from(json!({"metadata": {"name": name}}).to_string());
    sender.post("/api/v1/namespaces", body(namespace)).await?;
    let accounts = path(namespace, "serviceaccounts");
    sender.post(&accounts, body("default")).await
}

/// Where a namespace's objects are.
pub(super) fn path(namespace: &str, plural: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/{plural}")
}

/// A pod as a ReplicaSet would make it.
pub(super) fn new_pod(namespace: &str, i: usize) -> (String, Bytes) {
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("web-6f8d5c7b9-{i:07}"),
            "namespace": namespace,
            "labels": {"app": "web", "pod-template-hash": "6f8d5c7b9"},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-6f8d5c7b9",
                "uid": "2e8b8d2c-4c7a-4a52-9d0b-1c2f3e4d5a6b",
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "containers": [{
                "name": "web",
                "image": "registry.example/web:1.2.3",
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "resources": {
                    "requests": {"cpu": "100m", "memory": "500Mi"},
                    "limits": {"memory": "500Mi"},
                },
            }],
        },
    });
    (path(namespace, "pods"), Bytes::from(pod.to_string()))
}

fn binding(i: usize) -> (String, Bytes) {
    let name = format!("web-6f8d5c7b9-{i:07}");
    let path = format!("{}/{name}/binding", path("http2", "pods"));
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": "http2"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": format!("node-{}", i % 100)},
    });
    (path, Bytes::from(binding.to_string()))
}

struct InProcess(Arc<Api>, User);

impl InProcess {
    async fn post(&self, path: &str, body: Bytes) -> Result<()> {
        let mut request = http::Request::post(path)
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .body(Body::from(body))?;
        request.extensions_mut().insert(self.1.clone());
        let answer = self.0.call(request).await;
        let code = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        match code.as_u16() {
            201 => Ok(()),
            _ => bail!("{path}: {code}: {}", String::from_utf8_lossy(&body)),
        }
    }
}

impl Client for InProcess {
    async fn ask(&mut self, i: usize) -> Result<()> {
        let (path, body) = new_pod("default", i);
        self.post(&path, body).await
    }
}

/// Creates without a socket and without a disk.
async fn in_process(count: usize) -> Result<Figure> {
    let api = Api::new(Config {
        env: Arc::new(System::new()),
        store: Store::in_memory(Options::default()),
        tokens: BTreeMap::new(),
        token_key: None,
    });
    let api = api.await?;
    let admin = User::new("admin", &["system:masters"]);
    let client = || InProcess(Arc::clone(&api), admin.clone());
    let account = Bytes::from_static(br#"{"metadata": {"name": "default"}}"#);
    let accounts = path("default", "serviceaccounts");
    let made = client().post(&accounts, account).await;
    made.context("an account for the pods")?;
    let clients = (0..CLIENTS).map(|_| client()).collect();
    let load = load::run("create pods, in process, in memory", count, clients);
    Ok(load.await?.figure(Some(Goal::AtLeast(10_000.0))))
}
