//! What makes a cluster live: controllers and nodes, in the same process as the API server.

use super::Identity;
use crate::args::Up;
use crate::nodes::{Events, NodesOfThisProcess, ProcessesOfThisMachine};
use crate::scheduler::host_name;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use stowplan_base::Env;
use stowplan_client::{Informers, Recorder, Requests, Unguarded, in_process};
use stowplan_controller_manager::{ControllerManager, Settings};
use stowplan_controllers::volume::PROVISIONER;
use stowplan_nodes::Nodes;
use stowplan_server::{Api, User, token};
use tokio::task::JoinSet;

/// How many requests of nodes are sent at a time.
const WRITERS: usize = 32;

/// Controllers and nodes at work. They end when it is dropped.
pub(super) struct Living {
    _manager: Option<ControllerManager>,
    /// The scheduler reads them, too, whether or not anything lives here.
    _informers: Arc<Informers>,
    _tasks: JoinSet<()>,
}

impl Living {
    /// Starts what the command line asks for, within the current tokio runtime.
    pub(super) fn start(
        args: &Up,
        api: &Arc<Api>,
        env: &Arc<dyn Env>,
        identity: &Identity,
        informers: Arc<Informers>,
        place: (&Path, SocketAddr),
    ) -> Result<Self> {
        let manager = match args.no_controllers {
            true => None,
            false => Some(controllers(args, api, env, identity, informers.clone())?),
        };
        let mut tasks = JoinSet::new();
        let client = in_process(api.service(component("system:nodes")));
        let requests = Requests::new(client, env.clone(), Arc::new(Unguarded));
        let requests = Arc::new(requests.named("kubelet").at_a_time(WRITERS * 2));
        if manager.is_some() {
            tasks.spawn(default_storage(requests.clone()));
        }
        if !args.no_nodes {
            let informers = informers.clone();
            nodes(args, api, env, informers, requests, place, &mut tasks)?;
        }
        Ok(Self {
            _manager: manager,
            _informers: informers,
            _tasks: tasks,
        })
    }
}

/// What this process knows of the cluster.
pub(super) fn informers(api: &Arc<Api>, env: &Arc<dyn Env>) -> Arc<Informers> {
    let client = in_process(api.service(component("system:kube-controller-manager")));
    Arc::new(Informers::new(client, env.clone()))
}

fn nodes(
    args: &Up,
    api: &Api,
    env: &Arc<dyn Env>,
    informers: Arc<Informers>,
    requests: Arc<Requests>,
    (folder, address): (&Path, SocketAddr),
    tasks: &mut JoinSet<()>,
) -> Result<()> {
    let (recorder, events) = Recorder::new(env.clone());
    let mut config = args.alike.config()?;
    let mut wanted = args.alike.nodes(args.nodes, &args.node_memory)?;
    if args.demo.demo {
        wanted = stowplan_demo::nodes();
        if args.alike.rules.is_none() {
            config.rules = stowplan_demo::rules();
        }
    }
    // Nobody else takes the taint of new nodes away.
    config.untaint = args.no_controllers;
    let address = super::reachable(address);
    let place = (folder, args.kubeconfig.as_deref());
    let processes = args
        .runtime
        .start(env, &informers, &requests, place, Some(address))?;
    if let Some(processes) = &processes {
        config.is_real = true;
        config.conditions = processes.conditions();
    }
    let settings = stowplan_nodes::Settings {
        config,
        nodes: wanted,
        env: env.clone(),
        events: Arc::new(Events(recorder)),
        writers: WRITERS,
        runtime: processes
            .clone()
            .map(|one| Arc::new(one) as Arc<dyn stowplan_nodes::Runtime>),
    };
    let nodes = Nodes::new(&informers, settings);
    let asked = NodesOfThisProcess {
        nodes: nodes.clone(),
        cluster: informers.cluster().clone(),
    };
    api.provide(Arc::new(asked.clone()));
    match processes {
        Some(processes) => {
            let real = ProcessesOfThisMachine {
                processes,
                nodes: asked,
                env: env.clone(),
            };
            api.provide(Arc::new(real.clone()));
            api.use_by(Box::new(real));
        }
        None => api.use_by(Box::new(asked)),
    }
    tasks.spawn(events.carry_out(requests.clone()));
    tasks.spawn(async move { nodes.run(&informers, requests).await });
    Ok(())
}

fn controllers(
    args: &Up,
    api: &Arc<Api>,
    env: &Arc<dyn Env>,
    identity: &Identity,
    informers: Arc<Informers>,
) -> Result<ControllerManager> {
    let mut options = args.chosen.options();
    options.root_ca = Some(identity.pki.ca_pem.as_str().into());
    let key = token::Key::from_pkcs8(&identity.token_key)?;
    options.signer = Some(Arc::new(move |claims| key.sign(claims).ok()));
    let settings = Settings {
        controllers: args.chosen.controllers.clone(),
        options,
        guard: Arc::new(Unguarded),
        env: env.clone(),
        // Nobody else is in this process, and there is no network to spare.
        limit: (0.0, 0),
        host: host_name(),
        informers: Some(informers),
    };
    let client = in_process(api.service(component("system:kube-controller-manager")));
    ControllerManager::start(client, settings).context("--controllers")
}

/// A part of the control plane.
fn component(name: &str) -> User {
    User::new(name, &["system:masters", "system:authenticated"])
}

/// Claims that name no class get a simulated volume.
async fn default_storage(requests: Arc<Requests>) {
    let class = json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": "standard",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": PROVISIONER,
        "volumeBindingMode": "WaitForFirstConsumer",
    });
    let path = "/apis/storage.k8s.io/v1/storageclasses";
    let made = requests.change::<Value>("POST", path, "application/json", &class);
    if let Err(failed) = made.await
        && failed.code() != Some(409)
    {
        tracing::warn!(error = %failed, "the default storage class could not be made");
    }
}
