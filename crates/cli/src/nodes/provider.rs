//! What the API server in this process asks of simulated nodes: logs and usage.

use axum::body::Body;
use jiff::Timestamp;
use serde_json::Value;
use std::sync::Arc;
use stowplan_api::k8s::api::core::v1::Pod;
use stowplan_base::Time;
use stowplan_client::Cluster;
use stowplan_nodes::{LogsWanted, Nodes, PodUsage};
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
        self.nodes.has(node) && !self.nodes.is_real(node)
    }

    fn log<'a>(
        &'a self,
        pod: &'a Value,
        options: &'a LogOptions,
        now: Time,
    ) -> Answering<'a, Body> {
        Box::pin(async move { Ok(self.lines(pod, options, now)) })
    }

    fn exec<'a>(&'a self, pod: &'a Value, options: &'a ExecOptions) -> Answering<'a, Session> {
        Box::pin(async move { Err(nothing_runs(pod, &options.streams.container)) })
    }

    fn attach<'a>(&'a self, pod: &'a Value, options: &'a StreamOptions) -> Answering<'a, Session> {
        Box::pin(async move { Err(nothing_runs(pod, &options.container)) })
    }

    fn port_forward<'a>(&'a self, pod: &'a Value, port: u16) -> Answering<'a, Box<dyn PortStream>> {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        Box::pin(async move {
            Err(Status::internal(format!(
                "pod {name} is simulated: nobody listens on port {port}"
            )))
        })
    }
}

/// Who wants to talk to a process is told that there is none.
fn nothing_runs(pod: &Value, container: &str) -> Status {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    Status::internal(format!(
        "container {container} of pod {name} is simulated: no process runs in it"
    ))
}

impl NodesOfThisProcess {
    fn lines(&self, pod: &Value, options: &LogOptions, now: Time) -> Body {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let wanted = LogsWanted {
            previous: options.previous,
            since: since(options, now),
            tail: options
                .tail_lines
                .and_then(|lines| usize::try_from(lines).ok()),
        };
        let (namespace, name) = (
            text(&pod["metadata"]["namespace"]),
            text(&pod["metadata"]["name"]),
        );
        let lines = self
            .nodes
            .logs(&namespace, &name, &options.container, &wanted);
        let mut log = String::new();
        for line in lines.unwrap_or_default() {
            if options.timestamps {
                let at = Timestamp::from_nanosecond(line.at.as_nanos().into());
                log.push_str(&at.unwrap_or_default().to_string());
                log.push(' ');
            }
            log.push_str(&line.text);
            log.push('\n');
        }
        let limit = options
            .limit_bytes
            .and_then(|bytes| usize::try_from(bytes).ok());
        if let Some(limit) = limit.filter(|limit| *limit < log.len()) {
            let mut end = limit;
            while !log.is_char_boundary(end) {
                end -= 1;
            }
            log.truncate(end);
        }
        Body::from(log)
    }
}

pub(super) fn since(options: &LogOptions, now: Time) -> Option<Time> {
    if let Some(seconds) = options.since_seconds {
        return Some(Time::from_nanos(
            now.as_nanos()
                .saturating_sub(seconds.saturating_mul(1_000_000_000)),
        ));
    }
    let at: Timestamp = options.since_time.as_ref()?.parse().ok()?;
    i64::try_from(at.as_nanosecond()).ok().map(Time::from_nanos)
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
