//! What the API server in this process asks of simulated nodes: logs and usage.

use super::logs;
use axum::body::Body;
use serde_json::Value;
use std::sync::Arc;
use stowplan_api::k8s::api::core::v1::Pod;
use stowplan_base::Time;
use stowplan_client::Cluster;
use stowplan_nodes::{Nodes, PodUsage};
use stowplan_server::{
    Answering, ExecOptions, LogOptions, PortStream, Provider, Sample, Session, Status,
    StreamOptions, Usage, Used,
};

/// The nodes that are simulated in this process.
#[derive(Clone)]
pub(crate) struct NodesOfThisProcess {
    pub(crate) nodes: Nodes,
    pub(crate) cluster: Arc<Cluster>,
}

impl Provider for NodesOfThisProcess {
    fn has_node(&self, node: &str) -> bool {
        self.nodes.is_heard(node) && !self.nodes.is_real(node)
    }

    fn log<'a>(
        &'a self,
        pod: &'a Value,
        options: &'a LogOptions,
        now: Time,
    ) -> Answering<'a, Body> {
        let [namespace, name] = who(pod);
        Box::pin(async move {
            let wanted = logs::wanted(options, now);
            let reader = self
                .nodes
                .logs(namespace, name, &options.container, &wanted)
                .map_err(Status::bad_request)?;
            Ok(logs::body(reader, options))
        })
    }

    fn exec<'a>(&'a self, pod: &'a Value, options: &'a ExecOptions) -> Answering<'a, Session> {
        let container = &options.streams.container;
        let [namespace, name] = who(pod);
        Box::pin(async move {
            match self.nodes.runs(namespace, name, container) {
                true => Ok(nothing_runs("executing command in", name, container)),
                false => Err(Status::plain_error(format!(
                    "container not found ({container:?})"
                ))),
            }
        })
    }

    fn attach<'a>(&'a self, pod: &'a Value, options: &'a StreamOptions) -> Answering<'a, Session> {
        let container = &options.container;
        let [namespace, name] = who(pod);
        Box::pin(async move {
            match self.nodes.runs(namespace, name, container) {
                true => Ok(nothing_runs("attaching to", name, container)),
                false => Err(Status::plain_error(format!(
                    "container {container} not found in pod {name}_{namespace}"
                ))),
            }
        })
    }

    fn port_forward<'a>(&'a self, pod: &'a Value, port: u16) -> Answering<'a, Box<dyn PortStream>> {
        let [_, name] = who(pod);
        Box::pin(async move {
            Err(Status::plain_error(format!(
                "pod {name} is simulated: nobody listens on port {port}"
            )))
        })
    }
}

/// Namespace and name.
fn who(pod: &Value) -> [&str; 2] {
    ["namespace", "name"].map(|field| pod["metadata"][field].as_str().unwrap_or_default())
}

/// Who wants to talk to a process is told that there is none.
fn nothing_runs(doing: &str, pod: &str, container: &str) -> Session {
    Session::failed(Status::internal(format!(
        "error {doing} container: container {container} of pod {pod} is simulated: no process runs in it"
    )))
}

impl Usage for NodesOfThisProcess {
    fn nodes(&self, name: Option<&str>, _: Time) -> Vec<Sample> {
        let all = self.nodes.node_usage().into_iter();
        let wanted = all.filter(|node| name.is_none_or(|name| name == node.name));
        let sample = |node: stowplan_nodes::NodeUsage| Sample {
            name: node.name,
            containers: vec![(String::new(), used(node.cpu_m, node.memory))],
            ..Sample::default()
        };
        wanted.map(sample).collect()
    }

    fn pods(&self, namespace: &str, name: Option<&str>, _: Time) -> Vec<Sample> {
        let all = self.nodes.pod_usage().into_iter();
        let wanted = all.filter(|pod| {
            (namespace.is_empty() || namespace == pod.namespace)
                && name.is_none_or(|name| name == pod.name)
        });
        wanted.filter_map(|pod| self.sample(pod)).collect()
    }
}

impl NodesOfThisProcess {
    /// The containers of a pod share evenly what it uses.
    fn sample(&self, used_by: PodUsage) -> Option<Sample> {
        let pod = self.cluster.get::<Pod>(&used_by.namespace, &used_by.name)?;
        let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice());
        let containers = containers.unwrap_or_default();
        let count = i64::try_from(containers.len()).unwrap_or(1).max(1);
        let share = used(used_by.cpu_m / count, used_by.memory / count);
        let labels = pod.metadata.labels.iter().flatten();
        Some(Sample {
            namespace: used_by.namespace,
            name: used_by.name,
            labels: labels
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            containers: containers
                .iter()
                .map(|one| (one.name.clone(), share))
                .collect(),
        })
    }
}

fn used(cpu_m: i64, memory: i64) -> Used {
    Used {
        cpu_nanos: u64::try_from(cpu_m).unwrap_or(0).saturating_mul(1_000_000),
        memory_bytes: u64::try_from(memory).unwrap_or(0),
    }
}
