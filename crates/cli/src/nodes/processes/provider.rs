//! What the API server in this process asks of pods that really run: logs, commands, usage.

use super::sessions;
use crate::nodes::NodesOfThisProcess;
use crate::nodes::logs::since;
use axum::body::Body;
use bytes::Bytes;
use serde_json::Value;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use stowplan_api::k8s::api::core::v1::Pod;
use stowplan_base::{Env, Time};
use stowplan_processes::{ContainerUsage, LogRead, LogWanted, Piece, Processes, Streams};
use stowplan_server::{
    Answering, ExecOptions, LogOptions, PortStream, Provider, Sample, Session, Status,
    StreamOptions, Usage, Used,
};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

/// How often a log that is followed is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// The pods that run on this machine.
#[derive(Clone)]
pub(crate) struct ProcessesOfThisMachine {
    pub(crate) processes: Processes,
    pub(crate) nodes: NodesOfThisProcess,
    pub(crate) env: Arc<dyn Env>,
}

pub(super) fn uid(pod: &Value) -> String {
    pod["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

impl Provider for ProcessesOfThisMachine {
    fn has_node(&self, node: &str) -> bool {
        self.nodes.nodes.is_heard(node) && self.nodes.nodes.is_real(node)
    }

    fn log<'a>(
        &'a self,
        pod: &'a Value,
        options: &'a LogOptions,
        now: Time,
    ) -> Answering<'a, Body> {
        Box::pin(async move { self.read_log(pod, options, now) })
    }

    fn exec<'a>(&'a self, pod: &'a Value, options: &'a ExecOptions) -> Answering<'a, Session> {
        let streams = Streams {
            stdin: options.streams.stdin,
            tty: options.streams.tty,
        };
        Box::pin(async move {
            let container = &options.streams.container;
            let begun = self
                .processes
                .exec(&uid(pod), container, &options.command, streams);
            match begun {
                Ok(Some(execution)) => {
                    let (session, attached) = Session::new(&options.streams);
                    tokio::spawn(sessions::run(execution, attached));
                    Ok(session)
                }
                Ok(None) => Err(not_found(container)),
                Err(error) => Err(Status::plain_error(error.to_string())),
            }
        })
    }

    fn attach<'a>(&'a self, pod: &'a Value, options: &'a StreamOptions) -> Answering<'a, Session> {
        Box::pin(async move {
            let (uid, container) = (uid(pod), options.container.clone());
            if !self.processes.is_running(&uid, &container) {
                let [namespace, name] = ["namespace", "name"].map(|field| &pod["metadata"][field]);
                let (namespace, name) = (namespace.as_str(), name.as_str());
                return Err(Status::plain_error(format!(
                    "container {container} not found in pod {}_{}",
                    name.unwrap_or_default(),
                    namespace.unwrap_or_default()
                )));
            }
            let (session, attached) = Session::new(options);
            let env = self.env.clone();
            tokio::spawn(sessions::join(
                self.processes.clone(),
                env,
                uid,
                container,
                attached,
            ));
            Ok(session)
        })
    }

    fn port_forward<'a>(&'a self, _: &'a Value, port: u16) -> Answering<'a, Box<dyn PortStream>> {
        Box::pin(async move {
            let connected = TcpStream::connect(("127.0.0.1", port)).await;
            let refused = |error| {
                Status::internal(format!("error forwarding port {port} to the pod: {error}"))
            };
            let stream: Box<dyn PortStream> = Box::new(connected.map_err(refused)?);
            Ok(stream)
        })
    }
}

fn not_found(container: &str) -> Status {
    Status::plain_error(format!("container not found ({container:?})"))
}

impl ProcessesOfThisMachine {
    fn read_log(&self, pod: &Value, options: &LogOptions, now: Time) -> Result<Body, Status> {
        let number = |number: Option<i64>| number.and_then(|number| usize::try_from(number).ok());
        let wanted = LogWanted {
            since: since(options, now),
            tail: number(options.tail_lines),
            timestamps: options.timestamps,
            limit: number(options.limit_bytes),
            stream: None,
        };
        let (container, uid) = (&options.container, uid(pod));
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let Some(read) = self
            .processes
            .log(&uid, container, options.previous, wanted)
        else {
            let message = match options.previous {
                true => {
                    format!("previous terminated container {container:?} in pod {name:?} not found")
                }
                false => format!(
                    "container {container:?} in pod {name:?} is waiting to start: {}",
                    waits(pod, container)
                ),
            };
            return Err(Status::bad_request(message));
        };
        let (sender, receiver) = mpsc::channel::<Bytes>(2);
        let (processes, env) = (self.processes.clone(), self.env.clone());
        tokio::spawn(copy(read, processes, env, options.follow, sender));
        let stream = futures::stream::unfold(receiver, |mut receiver| async move {
            let piece = receiver.recv().await?;
            Some((Ok::<Bytes, Infallible>(piece), receiver))
        });
        Ok(Body::from_stream(stream))
    }
}

/// Why a container waits, as its status says.
fn waits(pod: &Value, container: &str) -> String {
    let lists = [
        "initContainerStatuses",
        "containerStatuses",
        "ephemeralContainerStatuses",
    ];
    let mut all = lists
        .iter()
        .flat_map(|list| pod["status"][list].as_array().into_iter().flatten());
    let status = all.find(|one| one["name"] == container);
    let reason = status.and_then(|one| one["state"]["waiting"]["reason"].as_str());
    reason.unwrap_or("ContainerCreating").to_owned()
}

/// Hands on a log, and what is added to it if it is followed.
pub(super) async fn copy(
    mut read: LogRead,
    processes: Processes,
    env: Arc<dyn Env>,
    follow: bool,
    sender: mpsc::Sender<Bytes>,
) {
    loop {
        // Before it is read: what is said until then is read, too.
        let is_over = !follow || processes.is_over(&read);
        loop {
            match read.next_piece() {
                Ok(Piece::Text(text)) if text.is_empty() => {}
                Ok(Piece::Text(text)) => {
                    if sender.send(text.into()).await.is_err() {
                        return;
                    }
                }
                Ok(Piece::Nothing) => break,
                Ok(Piece::Enough) | Err(_) => return,
            }
        }
        if is_over {
            return;
        }
        tokio::select! {
            () = env.sleep(LOOK) => {}
            () = sender.closed() => return,
        }
    }
}

impl Usage for ProcessesOfThisMachine {
    fn nodes(&self, name: Option<&str>, now: Time) -> Vec<Sample> {
        let mut all = Usage::nodes(&self.nodes, name, now);
        let pods = self.pods("", None, now);
        for sample in &mut all {
            if !self.nodes.nodes.is_real(&sample.name) {
                continue;
            }
            let on_it = pods
                .iter()
                .filter(|pod| self.node_of(pod).as_ref() == Some(&sample.name));
            let mut sum = Used {
                cpu_nanos: 0,
                memory_bytes: 0,
            };
            for (_, used) in on_it.flat_map(|pod| &pod.containers) {
                sum.cpu_nanos += used.cpu_nanos;
                sum.memory_bytes += used.memory_bytes;
            }
            sample.containers = vec![(String::new(), sum)];
        }
        all
    }

    fn pods(&self, namespace: &str, name: Option<&str>, now: Time) -> Vec<Sample> {
        let mut all = Usage::pods(&self.nodes, namespace, name, now);
        let mut used: BTreeMap<String, Vec<ContainerUsage>> = BTreeMap::new();
        for one in self.processes.usage() {
            used.entry(one.uid.clone()).or_default().push(one);
        }
        all.retain_mut(|sample| {
            let pod = self
                .nodes
                .cluster
                .get::<Pod>(&sample.namespace, &sample.name);
            let Some(pod) = pod else { return false };
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            if !self.nodes.nodes.is_real(node.unwrap_or_default()) {
                return true;
            }
            let uid = pod.metadata.uid.as_deref().unwrap_or_default();
            let containers = used.remove(uid).unwrap_or_default().into_iter();
            let containers = containers.map(|one| {
                let used = Used {
                    cpu_nanos: one.cpu_nanos,
                    memory_bytes: one.memory,
                };
                (one.container, used)
            });
            sample.containers = containers.collect();
            !sample.containers.is_empty()
        });
        all
    }
}

impl ProcessesOfThisMachine {
    fn node_of(&self, sample: &Sample) -> Option<String> {
        let pod = self
            .nodes
            .cluster
            .get::<Pod>(&sample.namespace, &sample.name)?;
        pod.spec.as_ref()?.node_name.clone()
    }
}
