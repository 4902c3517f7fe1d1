//! How fast a backlog is drained.

use super::{Arena, Backlog, bind_only, create};
use crate::world::{World, node_of};
use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt;
use kube::api::ListParams;
use kube::runtime::{WatchStreamExt, watcher};
use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};
use xtask::kubernetes::Process;

/// Who drains.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Contestant {
    BindOnly,
    Upstream,
    Stowplan,
}

impl Contestant {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BindOnly => "bind-only",
            Self::Upstream => "kube-scheduler",
            Self::Stowplan => "stowplan",
        }
    }
}

/// The same limits for both: the defaults would measure nothing but themselves.
const CONFIG: &str = "\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {qps: 5000, burst: 5000, kubeconfig: KUBECONFIG}
";

/// How fast a backlog went, in pods per second.
#[derive(Clone, Copy)]
pub(super) struct Speed {
    /// Until all were bound.
    pub(super) bound: f64,
    /// Until there was an event for each as well; `None` if events were left out.
    pub(super) told: Option<f64>,
}

/// Creates a backlog, lets the contestant drain it, and cleans up.
pub(super) async fn drained(
    arena: &Arena,
    contestant: Contestant,
    backlog: Backlog,
    pods: usize,
) -> Result<Speed> {
    create(&arena.world, backlog, pods).await?;
    let clock = tokio::spawn(clock(arena.world.own::<Pod>(), pods));
    let process = match contestant {
        Contestant::BindOnly => {
            bind_only::run(&arena.world).await?;
            None
        }
        _ => Some(start(arena, contestant)?),
    };
    let finished = tokio::time::timeout(Duration::from_secs(900), clock).await;
    let (start, seconds) = finished.with_context(|| {
        let words = process
            .as_ref()
            .map(Process::last_words)
            .unwrap_or_default();
        format!(
            "{} did not finish in 15 minutes\n{words}",
            contestant.name()
        )
    })???;
    let told = told(&arena.world, pods).await?;
    drop(process);
    arena.world.clear_pods().await?;
    let speed = |seconds: f64| (pods - 1) as f64 / seconds;
    Ok(Speed {
        bound: speed(seconds),
        told: told.map(|end| speed((end - start).as_secs_f64())),
    })
}

/// When there were as many events as pods; `None` if no more come.
async fn told(world: &World, pods: usize) -> Result<Option<Instant>> {
    let one = ListParams::default().limit(1);
    let (mut before, mut since) = (0, Instant::now());
    loop {
        let page = world.own::<Event>().list(&one).await?;
        let more = page.metadata.remaining_item_count.unwrap_or(0);
        let count = page.items.len() + usize::try_from(more)?;
        if count >= pods {
            return Ok(Some(Instant::now()));
        }
        if count > before {
            (before, since) = (count, Instant::now());
        } else if since.elapsed() > Duration::from_secs(5) {
            return Ok(None);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// When the first pod was bound, and the seconds from then to the last.
async fn clock(pods: kube::Api<Pod>, expected: usize) -> Result<(Instant, f64)> {
    let stream = watcher(pods, watcher::Config::default());
    let mut stream = stream.default_backoff().applied_objects().boxed();
    let mut bound = BTreeSet::new();
    let mut start = None;
    while let Some(pod) = stream.try_next().await? {
        if node_of(&pod).is_some() && bound.insert(pod.name_any()) {
            let start = *start.get_or_insert_with(Instant::now);
            if bound.len() == expected {
                return Ok((start, start.elapsed().as_secs_f64()));
            }
        }
    }
    anyhow::bail!("the watch ended")
}

fn start(arena: &Arena, contestant: Contestant) -> Result<Process> {
    let config = arena.folder.join("scheduler.yaml");
    let kubeconfig = arena.kubeconfig.display().to_string();
    std::fs::write(&config, CONFIG.replace("KUBECONFIG", &kubeconfig))?;
    let mut command = match contestant {
        Contestant::Upstream => {
            let mut command = Command::new(arena.programs.join("kube-scheduler"));
            for flag in ["authentication-kubeconfig", "authorization-kubeconfig"] {
                command.arg(format!("--{flag}={kubeconfig}"));
            }
            command
        }
        _ => {
            let mut command = Command::new(&arena.stowplan);
            command.arg("scheduler");
            command
        }
    };
    command.arg(format!("--config={}", config.display()));
    command.args(["--bind-address=127.0.0.1", "--secure-port=0"]);
    let log = arena.folder.join(format!("{}.log", contestant.name()));
    Process::start(&command, &log)
}
