//! How fast a backlog is drained.

use super::{Arena, Backlog, bind_only, create};
use crate::world::node_of;
use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
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

/// Creates a backlog, lets the contestant drain it, and cleans up.
pub(super) async fn pods_per_second(
    arena: &Arena,
    contestant: Contestant,
    backlog: Backlog,
    pods: usize,
) -> Result<f64> {
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
    let seconds = finished.with_context(|| {
        let words = process
            .as_ref()
            .map(Process::last_words)
            .unwrap_or_default();
        format!(
            "{} did not finish in 15 minutes\n{words}",
            contestant.name()
        )
    })???;
    drop(process);
    arena.world.clear_pods().await?;
    Ok((pods - 1) as f64 / seconds)
}

/// Seconds from the first pod that is bound to the last.
async fn clock(pods: kube::Api<Pod>, expected: usize) -> Result<f64> {
    let stream = watcher(pods, watcher::Config::default());
    let mut stream = stream.default_backoff().applied_objects().boxed();
    let mut bound = BTreeSet::new();
    let mut start = None;
    while let Some(pod) = stream.try_next().await? {
        if node_of(&pod).is_some() && bound.insert(pod.name_any()) {
            let start = *start.get_or_insert_with(Instant::now);
            if bound.len() == expected {
                return Ok(start.elapsed().as_secs_f64());
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
