//! What the scheduler takes: memory and time to start on a large cluster, and time per pod on an idle
//! one.

use crate::home::client;
use crate::world::{World, node_of};
use anyhow::{Context, Result};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use xtask::kubernetes::{self, Cluster, Process, Stowplan};

/// What is measured.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Nodes of the large cluster.
    #[arg(long, default_value_t = 5_000)]
    nodes: usize,
    /// Pods that run on it.
    #[arg(long, default_value_t = 50_000)]
    pods: usize,
    /// Pods that are created on the idle cluster, one after the other.
    #[arg(long, default_value_t = 1_000)]
    samples: usize,
    /// How often the scheduler is started on the large cluster.
    #[arg(long, default_value_t = 3)]
    starts: usize,
}

/// Nodes of the idle cluster.
const IDLE_NODES: usize = 100;

/// Pods that are created before the clock counts.
const WARM_UP: usize = 50;

pub(crate) async fn run(options: &Options) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("stowplan-footprint-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let outcome = measure(options, &folder).await;
    std::fs::remove_dir_all(&folder)?;
    outcome
}

async fn measure(options: &Options, folder: &Path) -> Result<()> {
    let stowplan = Stowplan::build_released()?;
    latency(options, folder, &stowplan).await?;
    large(options, folder, &stowplan).await
}

/// A real kube-apiserver with many nodes, and pods on them: one more is pending when the scheduler
/// starts.
async fn large(options: &Options, folder: &Path, stowplan: &Path) -> Result<()> {
    let programs = kubernetes::build()?;
    let cluster = Cluster::start(&programs, &folder.join("cluster"), &Default::default())?;
    let mut world = World::new(client(&cluster.kubeconfig()).await?);
    world.without_controllers("footprint").await?;
    nodes(&world, options.nodes).await?;
    let created = (0..options.pods).map(|i| {
        let world = &world;
        let node = format!("node-{}", i % options.nodes);
        async move {
            let spec = json!({"nodeName": node});
            world.pod(&format!("running-{i}"), "100m", spec).await
        }
    });
    let mut created = futures::stream::iter(created).buffer_unordered(32);
    while created.try_next().await?.is_some() {}
    for number in 1..=options.starts {
        let pod = format!("pending-{number}");
        world.pod(&pod, "100m", json!({})).await?;
        // A watch of all pods would list 50,000 of them while the scheduler does.
        let mut bindings = bindings(&world, Some(&pod));
        let mut command = Command::new(stowplan);
        command.args(["scheduler", "--leader-elect=false", "--secure-port=0"]);
        command.arg("--kubeconfig").arg(cluster.kubeconfig());
        let start = Instant::now();
        let process = Process::start(&command, &folder.join(format!("start-{number}.log")))?;
        next_binding(&mut bindings, &pod)
            .await
            .with_context(|| process.last_words())?;
        let seconds = start.elapsed().as_secs_f64();
        let (now, peak) = memory(process.pid()?)?;
        println!(
            "{} nodes, {} pods, start {number}: first binding after {seconds:.2} s, \
             {now} MiB resident, {peak} MiB at most",
            options.nodes, options.pods
        );
    }
    Ok(())
}

/// `stowplan up` with its scheduler and nothing to do: from the request that creates a pod to the
/// news that it is bound.
async fn latency(options: &Options, folder: &Path, stowplan: &Path) -> Result<()> {
    let folder = folder.join("idle");
    let up = Stowplan::start_with_scheduler(stowplan, &folder, "127.0.0.1:0")?;
    let mut world = World::new(client(up.kubeconfig()).await?);
    world.without_controllers("footprint").await?;
    nodes(&world, IDLE_NODES).await?;
    let mut bindings = bindings(&world, None);
    let mut spans = Vec::with_capacity(options.samples);
    for i in 0..WARM_UP + options.samples {
        let name = format!("p{i}");
        let start = Instant::now();
        world.pod(&name, "1m", json!({})).await?;
        next_binding(&mut bindings, &name).await?;
        if i >= WARM_UP {
            spans.push(start.elapsed());
        }
    }
    spans.sort_unstable();
    let at = |share: f64| {
        let place = (spans.len() as f64 * share) as usize;
        let span = spans.get(place.min(spans.len().saturating_sub(1)));
        span.map_or(f64::NAN, |span| span.as_secs_f64() * 1e3)
    };
    println!(
        "idle stowplan up, {IDLE_NODES} nodes, {} pods: from request to binding p50 {:.2} ms, \
         p99 {:.2} ms, most {:.2} ms",
        spans.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
    Ok(())
}

/// The pods of the namespace, or one of them, as they change.
fn bindings(world: &World, name: Option<&str>) -> BoxStream<'static, watcher::Result<Pod>> {
    let config = match name {
        Some(name) => watcher::Config::default().fields(&format!("metadata.name={name}")),
        None => watcher::Config::default(),
    };
    let stream = watcher(world.own::<Pod>(), config);
    stream.default_backoff().applied_objects().boxed()
}

async fn next_binding(
    bindings: &mut BoxStream<'static, watcher::Result<Pod>>,
    name: &str,
) -> Result<()> {
    let bound = async {
        while let Some(pod) = bindings.try_next().await? {
            if pod.name_any() == name && node_of(&pod).is_some() {
                return Ok(());
            }
        }
        anyhow::bail!("the watch ended")
    };
    let waited = tokio::time::timeout(Duration::from_secs(300), bound).await;
    waited.with_context(|| format!("pod {name} was not bound"))?
}

/// The memory of a process in MiB, now and at most.
fn memory(pid: u32) -> Result<(u64, u64)> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kib / 1024)
    };
    let now = field("VmRSS:").context("no VmRSS")?;
    Ok((now, field("VmHWM:").context("no VmHWM")?))
}

/// Makes nodes of three zones.
pub(crate) async fn nodes(world: &World, count: usize) -> Result<()> {
    let made = (0..count).map(|i| async move {
        let zone = json!({"topology.kubernetes.io/zone": format!("zone-{}", i % 3)});
        world.node(&format!("node-{i}"), "4", zone).await
    });
    let mut made = futures::stream::iter(made).buffer_unordered(32);
    while made.try_next().await?.is_some() {}
    Ok(())
}
