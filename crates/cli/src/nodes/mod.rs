//! `stowplan nodes`: simulated nodes on any cluster, and those within `stowplan up`.

pub(crate) mod args;
mod events;
pub(crate) mod fault;
mod logs;
mod port;
mod processes;
mod provider;
mod rules;

use crate::scheduler::connection;
use crate::{Verdict, output, up};
use anyhow::{Context, Result, bail};
use args::{Alike, Nodes as NodesArgs};
pub(crate) use events::Events;
pub(crate) use processes::{ProcessesOfThisMachine, RuntimeArgs};
pub(crate) use provider::NodesOfThisProcess;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stowplan_api::k8s::api::core::v1::Node;
pub(crate) use stowplan_api::k8s::api::core::v1::Taint;
use stowplan_base::Env;
use stowplan_client::{Informers, Recorder, Requests, Unguarded};
use stowplan_env::System;
use stowplan_nodes::{Config, NodeTemplate, Nodes, Settings};

/// How many requests of nodes are sent at a time.
const WRITERS: usize = 32;

/// Simulates nodes until the process is told to stop.
pub(crate) fn run(args: &NodesArgs) -> Result<Verdict> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(simulate(args))?;
    Ok(Verdict::AllPlaced)
}

async fn simulate(args: &NodesArgs) -> Result<()> {
    let stop = up::stop_signal()?;
    args.telemetry.begin();
    stowplan_transport::raise_open_files();
    if args.runtime.is_process() && args.kubelet_port.is_some() {
        bail!(
            "--kubelet-port asks nobody who he is, and would show everybody on this machine what pods say: \
             leave it out with --runtime process"
        );
    }
    args.runtime.check(None)?;
    let mut nodes = manifests(&args.filename)?;
    nodes.extend(args.alike.nodes(args.count, &args.memory)?);
    let config = connection(args.kubeconfig.as_deref(), args.master.as_ref()).await?;
    let client = kube::Client::try_from(config).context("cannot make a client")?;
    let env: Arc<dyn Env> = Arc::new(System::new());
    let requests = Requests::new(client.clone(), env.clone(), Arc::new(Unguarded));
    let requests = Arc::new(requests.named("kubelet").at_a_time(WRITERS * 2));
    let (recorder, events) = Recorder::new(env.clone());
    let informers = Informers::new(client, env.clone());
    output::print(&format!(
        "nodes: {}, and those that are adopted\n",
        nodes.len()
    ))?;
    let runtime = match args.runtime.is_process() {
        true => {
            let folder = up::usual_folder()?;
            let place = (&*folder, args.kubeconfig.as_deref());
            args.runtime
                .start(&env, &informers, &requests, place, None)?
        }
        false => None,
    };
    let kubelet = port::bind(args).await?;
    let mut config = args.alike.config()?;
    config.kubelet = kubelet.as_ref().map(|port| port.address);
    if let Some(runtime) = &runtime {
        config.is_real = true;
        config.conditions = runtime.conditions();
    }
    let settings = Settings {
        config,
        nodes,
        env: env.clone(),
        events: Arc::new(Events(recorder)),
        writers: WRITERS,
        runtime: runtime.map(|runtime| Arc::new(runtime) as Arc<dyn stowplan_nodes::Runtime>),
    };
    let simulated = Nodes::new(&informers, settings);
    let asked = NodesOfThisProcess {
        nodes: simulated.clone(),
        cluster: informers.cluster().clone(),
    };
    tokio::select! {
        () = port::serve(kubelet, asked, env) => {}
        () = simulated.run(&informers, requests.clone()) => {}
        () = events.carry_out(requests) => {}
        () = stop => {}
    }
    Ok(())
}

impl Alike {
    /// So many nodes.
    pub(crate) fn nodes(&self, count: u32, memory: &str) -> Result<Vec<Node>> {
        for (what, given) in [("cpu", self.cpu.as_str()), ("memory", memory)] {
            if given.parse::<stowplan_base::Quantity>().is_err() {
                bail!("{given:?} is not an amount of {what}, expected for example 8 or 32Gi");
            }
        }
        let template = NodeTemplate {
            count,
            zones: self.zones.clone(),
            cpu: self.cpu.clone(),
            memory: memory.to_owned(),
            pods: self.max_pods,
            gpus: self.gpus,
            taints: self.taint.clone(),
            prefix: self.prefix.clone(),
            ..NodeTemplate::default()
        };
        Ok(template.nodes())
    }

    /// How they behave.
    pub(crate) fn config(&self) -> Result<Config> {
        let mut config = Config::default();
        if let Some(file) = &self.rules {
            config.rules = rules::read(file)?;
        }
        if let Some(span) = self.start_after {
            config.start_after = stowplan_base::Duration::from_nanos(span.as_nanos());
        }
        Ok(config)
    }
}

/// The nodes of some files. Other objects in them are passed over.
fn manifests(paths: &[PathBuf]) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    for path in paths {
        let text = match path == Path::new("-") {
            true => std::io::read_to_string(std::io::stdin()),
            false => std::fs::read_to_string(path),
        };
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        for (number, document) in serde_yaml_ng::Deserializer::from_str(&text).enumerate() {
            let place = || format!("{}: document {}", path.display(), number + 1);
            let value: serde_json::Value =
                serde::Deserialize::deserialize(document).with_context(place)?;
            let items = match value["items"].as_array() {
                Some(items) => items.clone(),
                None => vec![value],
            };
            for item in items.into_iter().filter(|item| item["kind"] == "Node") {
                nodes.push(serde_json::from_value(item).with_context(place)?);
            }
        }
    }
    Ok(nodes)
}

/// `KEY=VALUE:EFFECT` or `KEY:EFFECT`.
pub(crate) fn taint(text: &str) -> Result<Taint, String> {
    let wrong = || format!("{text:?} is not a taint, expected KEY=VALUE:EFFECT or KEY:EFFECT");
    let (left, effect) = text.rsplit_once(':').ok_or_else(wrong)?;
    if !["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect) {
        return Err(format!(
            "{effect:?} is not an effect, expected NoSchedule, PreferNoSchedule or NoExecute"
        ));
    }
    let (key, value) = match left.split_once('=') {
        Some((key, value)) => (key, Some(value.to_owned())),
        None => (left, None),
    };
    match key.is_empty() {
        true => Err(wrong()),
        false => Ok(Taint {
            key: key.to_owned(),
            value,
            effect: effect.to_owned(),
            time_added: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_are_read_as_kubectl_reads_them() {
        let read = taint("dedicated=gpu:NoSchedule").unwrap();
        assert_eq!(
            (read.key.as_str(), read.value.as_deref()),
            ("dedicated", Some("gpu"))
        );
        assert_eq!(taint("dedicated:NoExecute").unwrap().value, None);
        for wrong in ["", "dedicated", "dedicated=gpu", "a=b:Never", ":NoExecute"] {
            assert!(taint(wrong).is_err(), "{wrong}");
        }
    }
}
