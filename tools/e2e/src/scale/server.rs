//! A whole `stowplan up`, and what it takes.

use crate::home::client;
use anyhow::{Context, Result, bail};
use futures::{StreamExt, TryStreamExt};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::time::{Duration, Instant};
use xtask::kubernetes::Stowplan;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(900);
/// How often it is looked.
const PAUSE: Duration = Duration::from_millis(200);
/// How many requests are sent at a time.
const AT_A_TIME: usize = 16;

/// A running server.
pub(super) struct Server {
    stowplan: Stowplan,
    pid: u32,
    client: kube::Client,
    pub(super) begun: Instant,
}

/// What was used, since some moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) wall_s: f64,
    pub(super) cpu_s: f64,
    pub(super) memory_mib: u64,
    pub(super) peak_mib: u64,
}

/// What there is of the pods of all Deployments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Replicas {
    pub(super) all: u64,
    pub(super) updated: u64,
    pub(super) available: u64,
}

impl Server {
    pub(super) async fn start(binary: &Path, folder: &Path, arguments: &[&str]) -> Result<Self> {
        let begun = Instant::now();
        let stowplan = Stowplan::start_living(binary, folder, arguments)?;
        let client = client(stowplan.kubeconfig()).await?;
        let pid = stowplan.pid()?;
        Ok(Self {
            stowplan,
            pid,
            client,
            begun,
        })
    }

    /// The file that lets clients in.
    pub(super) fn kubeconfig(&self) -> &Path {
        self.stowplan.kubeconfig()
    }

    /// What was used since this moment and these processor seconds.
    pub(super) fn since(&self, begun: Instant, cpu_s: f64) -> Result<Progress> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let mib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
            kib.map(|kib: u64| kib / 1024)
        };
        Ok(Progress {
            wall_s: begun.elapsed().as_secs_f64(),
            cpu_s: self.cpu_s()? - cpu_s,
            memory_mib: mib("VmRSS:").context("no VmRSS")?,
            peak_mib: mib("VmHWM:").context("no VmHWM")?,
        })
    }

    /// The processor seconds that it has used.
    pub(super) fn cpu_s(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks = |place: usize| -> Option<f64> { fields.get(place)?.parse().ok() };
        let ticks = ticks(11).zip(ticks(12)).context("no times in stat")?;
        // Linux counts hundredths of a second there, whatever its clock.
        Ok((ticks.0 + ticks.1) / 100.0)
    }

    async fn send(&self, method: &str, path: &str, kind: &str, body: &Value) -> Result<Value> {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", kind)
            .body(serde_json::to_vec(body)?)?;
        let answer = self.client.request(request).await;
        answer.with_context(|| format!("{method} {path}"))
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value> {
        let request = http::Request::get(path).body(Vec::new())?;
        self.client.request(request).await.context(path.to_owned())
    }

    /// Sends many requests, some at a time.
    async fn send_all(
        &self,
        method: &str,
        kind: &str,
        requests: impl Iterator<Item = (String, Value)>,
    ) -> Result<()> {
        let sent = requests.map(|(path, body)| async move {
            self.send(method, &path, kind, &body).await.map(drop)
        });
        let mut sent = futures::stream::iter(sent).buffer_unordered(AT_A_TIME);
        while sent.try_next().await?.is_some() {}
        Ok(())
    }

    /// Makes objects; each with the path of its list.
    pub(super) async fn create(
        &self,
        objects: impl Iterator<Item = (String, Value)>,
    ) -> Result<()> {
        self.send_all("POST", "application/json", objects).await
    }

    /// Patches objects by JSON merge patches.
    pub(super) async fn patch(&self, patches: impl Iterator<Item = (String, Value)>) -> Result<()> {
        self.send_all("PATCH", "application/merge-patch+json", patches)
            .await
    }

    /// How often what was asked for: verb, and resource with its subresource.
    pub(super) async fn requests(&self) -> Result<BTreeMap<(String, String), u64>> {
        let request = http::Request::get("/metrics").body(Vec::new())?;
        let text = self.client.request_text(request).await?;
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            let Some(rest) = line.strip_prefix("apiserver_request_total{") else {
                continue;
            };
            let (labels, count) = rest.split_once("} ").context("no count")?;
            let label = |name: &str| {
                let mut labels = labels.split(',');
                let value = labels.find_map(|label| label.strip_prefix(name)?.strip_prefix('='));
                value.unwrap_or_default().trim_matches('"').to_owned()
            };
            let resource = match label("subresource") {
                below if below.is_empty() => label("resource"),
                below => format!("{}/{below}", label("resource")),
            };
            *counts.entry((label("verb"), resource)).or_default() += count.parse::<u64>()?;
        }
        Ok(counts)
    }

    /// How many objects of a resource were made.
    pub(super) async fn created(&self, resource: &str) -> Result<u64> {
        let key = ("POST".to_owned(), resource.to_owned());
        Ok(self.requests().await?.get(&key).copied().unwrap_or(0))
    }

    /// How many pods were bound.
    pub(super) async fn bound(&self) -> Result<u64> {
        self.created("pods/binding").await
    }

    /// What there is of the pods of all Deployments.
    pub(super) async fn replicas(&self) -> Result<Replicas> {
        let list = self.get("/apis/apps/v1/deployments").await?;
        let mut sum = Replicas::default();
        for item in list["items"].as_array().into_iter().flatten() {
            let status = &item["status"];
            // What is told of an older template does not count.
            if status["observedGeneration"] != item["metadata"]["generation"] {
                continue;
            }
            let count = |field: &str| status[field].as_u64().unwrap_or(0);
            sum.all += count("replicas");
            sum.updated += count("updatedReplicas");
            sum.available += count("availableReplicas");
        }
        Ok(sum)
    }

    /// Waits until something is so.
    pub(super) async fn wait<F>(&self, what: &str, mut is_so: impl FnMut() -> F) -> Result<()>
    where
        F: Future<Output = Result<bool>>,
    {
        let begun = Instant::now();
        while !is_so().await? {
            if begun.elapsed() > PATIENCE {
                bail!("{what}: not within {} s", PATIENCE.as_secs());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Waits until so many nodes are ready to take pods.
    pub(super) async fn nodes_are_ready(&self, count: usize) -> Result<()> {
        self.wait("nodes", || async {
            // Each of them is registered, renews its lease and is rid of its taint.
            let requests = self.requests().await?;
            let patched = requests.iter().filter(|((verb, resource), _)| {
                matches!(verb.as_str(), "PATCH" | "PUT") && resource == "nodes"
            });
            Ok(patched.map(|(_, count)| *count as usize).sum::<usize>() >= count)
        })
        .await
    }
}

/// A Deployment of plain pods that leave a dead node after half a minute.
pub(super) fn deployment(name: &str, replicas: usize) -> (String, Value) {
    let away = |key: &str| {
        json!({"key": format!("node.kubernetes.io/{key}"), "operator": "Exists",
            "effect": "NoExecute", "tolerationSeconds": 30})
    };
    let labels = json!({"app": name});
    let container = json!({"name": "c", "image": "nginx",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}});
    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [container],
                    "tolerations": [away("not-ready"), away("unreachable")],
                },
            },
        },
    });
    let path = "/apis/apps/v1/namespaces/default/deployments".to_owned();
    (path, object)
}
