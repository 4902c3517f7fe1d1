//! The series that exist per pod: what it requests, its limits, its phase.

use crate::registry::{Desc, Kind, Stability, Text};
use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

const LABELS: &[&str] = &[
    "namespace",
    "node",
    "pod",
    "priority",
    "resource",
    "scheduler",
    "unit",
];

const REQUEST: Desc = Desc {
    name: "kube_pod_resource_request",
    kind: Kind::Gauge,
    stability: Stability::Stable,
    labels: LABELS,
    help: "Resources requested by workloads on the cluster, broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along with the unit for the resource if any.",
};
const LIMIT: Desc = Desc {
    name: "kube_pod_resource_limit",
    kind: Kind::Gauge,
    stability: Stability::Stable,
    labels: LABELS,
    help: "Resources limit for workloads on the cluster, broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along with the unit for the resource if any.",
};
const PHASE: Desc = Desc {
    name: "kube_pod_status_phase",
    kind: Kind::Gauge,
    stability: Stability::Stable,
    labels: &["namespace", "phase", "pod", "uid"],
    help: "The pods current phase.",
};

/// The names of the metrics of this file.
pub(crate) const NAMES: [&str; 3] = [REQUEST.name, LIMIT.name, PHASE.name];

/// `status.phase` of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// Not all containers have started.
    #[default]
    Pending,
    /// It runs.
    Running,
    /// It ended well.
    Succeeded,
    /// It ended badly.
    Failed,
    /// Its node does not say.
    Unknown,
}

impl Phase {
    /// The phase of this name; a pod without one is pending.
    pub fn parse(name: &str) -> Self {
        match name {
            "Running" => Self::Running,
            "Succeeded" => Self::Succeeded,
            "Failed" => Self::Failed,
            "Unknown" => Self::Unknown,
            _ => Self::Pending,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Unknown => "Unknown",
        }
    }
}

/// What a pod requests and may use at most: resources with amounts, in whole units.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Resources {
    /// The sums of the requests.
    pub requests: Vec<(Box<str>, f64)>,
    /// The sums of the limits.
    pub limits: Vec<(Box<str>, f64)>,
}

impl Eq for Resources {}

impl Hash for Resources {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        for (name, value) in self.requests.iter().chain(&self.limits) {
            name.hash(state);
            value.to_bits().hash(state);
        }
    }
}

/// What is kept of a pod. What many pods have in common is kept once.
#[derive(Clone, Debug)]
pub struct PodRow {
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `spec.nodeName`, or empty.
    pub node: Arc<str>,
    /// `spec.schedulerName`.
    pub scheduler: Arc<str>,
    /// `spec.priority`.
    pub priority: Option<i32>,
    /// `status.phase`.
    pub phase: Phase,
    /// Requests and limits.
    pub resources: Arc<Resources>,
}

/// All pods of the cluster. Written by whoever watches pods, read by whoever asks for metrics.
#[derive(Default)]
pub struct PodTable(Mutex<Rows>);

/// Namespace and name.
type Key = (Arc<str>, Box<str>);

#[derive(Default)]
struct Rows {
    rows: BTreeMap<Key, Arc<PodRow>>,
    texts: Shared<str>,
    resources: Shared<Resources>,
}

impl PodTable {
    /// A pod as it is now.
    pub fn upsert(&self, namespace: &str, name: &str, row: PodRow) {
        let mut rows = self.lock();
        let namespace = rows.texts.share(namespace.into());
        let row = PodRow {
            node: rows.texts.share(row.node),
            scheduler: rows.texts.share(row.scheduler),
            resources: rows.resources.share(row.resources),
            ..row
        };
        rows.rows.insert((namespace, name.into()), Arc::new(row));
    }

    /// A pod is gone.
    pub fn remove(&self, namespace: &str, name: &str) {
        self.lock().rows.remove(&(namespace.into(), name.into()));
    }

    /// How many pods there are.
    pub fn len(&self) -> usize {
        self.lock().rows.len()
    }

    /// Whether there is no pod.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes requests and limits. Upstream's `pkg/scheduler/metrics/resources`: pods that have
    /// ended on a node do not count, nor do resources of which there is nothing.
    pub fn write_resources(&self, text: &mut Text) {
        let mut rows = self.rows();
        rows.retain(|(_, row)| {
            let has_ended = matches!(row.phase, Phase::Succeeded | Phase::Failed);
            row.node.is_empty() || !has_ended
        });
        write_amounts(text, &LIMIT, &rows, |resources| &resources.limits);
        write_amounts(text, &REQUEST, &rows, |resources| &resources.requests);
    }

    /// Writes the phase that each pod is in. kube-state-metrics also writes those that it is not
    /// in, with the value 0.
    pub fn write_phases(&self, text: &mut Text) {
        let rows = self.rows();
        if !rows.is_empty() {
            text.header(&PHASE);
        }
        for ((namespace, name), row) in &rows {
            let labels = [
                ("namespace", &**namespace),
                ("phase", row.phase.as_str()),
                ("pod", name),
                ("uid", &row.uid),
            ];
            text.sample(PHASE.name, &labels, 1.0);
        }
    }

    /// The pods of this moment, so that nobody waits while they are written down.
    fn rows(&self) -> Vec<(Key, Arc<PodRow>)> {
        let rows = self.lock();
        let rows = rows.rows.iter();
        rows.map(|(key, row)| (key.clone(), row.clone())).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes an amount for each pod and resource.
fn write_amounts(
    text: &mut Text,
    desc: &Desc,
    rows: &[(Key, Arc<PodRow>)],
    amounts: impl Fn(&Resources) -> &[(Box<str>, f64)],
) {
    let mut begun = false;
    for ((namespace, name), row) in rows {
        let priority = row.priority.map(|p| p.to_string()).unwrap_or_default();
        for (resource, amount) in amounts(&row.resources) {
            if *amount == 0.0 {
                continue;
            }
            if !std::mem::replace(&mut begun, true) {
                text.header(desc);
            }
            let labels: [(&str, &str); 7] = [
                ("namespace", namespace),
                ("node", &row.node),
                ("pod", name),
                ("priority", &priority),
                ("resource", resource),
                ("scheduler", &row.scheduler),
                ("unit", unit(resource)),
            ];
            text.sample(desc.name, &labels, *amount);
        }
    }
}

/// The unit of a resource, as upstream's collector names it.
fn unit(resource: &str) -> &'static str {
    match resource {
        "cpu" => "cores",
        "memory" | "storage" | "ephemeral-storage" => "bytes",
        name if name.starts_with("hugepages-") => "bytes",
        name if name.starts_with("attachable-volumes-") => "integer",
        _ => "",
    }
}

/// Values of which there is one each, for as long as somebody has it.
struct Shared<T: ?Sized> {
    all: HashSet<Arc<T>>,
    /// When to look for those that nobody has any more.
    sweep_at: usize,
}

impl<T: ?Sized> Default for Shared<T> {
    fn default() -> Self {
        Self {
            all: HashSet::new(),
            sweep_at: 64,
        }
    }
}

impl<T: ?Sized + Eq + Hash> Shared<T> {
    fn share(&mut self, value: Arc<T>) -> Arc<T> {
        if let Some(known) = self.all.get(&value) {
            return known.clone();
        }
        if self.all.len() >= self.sweep_at {
            self.all.retain(|value| Arc::strong_count(value) > 1);
            self.sweep_at = 64.max(2 * self.all.len());
        }
        self.all.insert(value.clone());
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(node: &str, phase: Phase) -> PodRow {
        let resources = Resources {
            requests: vec![("cpu".into(), 0.1), ("example.com/gpu".into(), 0.0)],
            limits: vec![("hugepages-2Mi".into(), 2_097_152.0)],
        };
        PodRow {
            uid: "u".into(),
            node: node.into(),
            scheduler: "default-scheduler".into(),
            priority: Some(-5),
            phase,
            resources: Arc::new(resources),
        }
    }

    #[test]
    fn resources_are_written_as_upstream_writes_them() {
        let table = PodTable::default();
        table.upsert("a", "one", row("n1", Phase::Running));
        table.upsert("a", "ended", row("n1", Phase::Failed));
        table.upsert("a", "gone", row("n1", Phase::Running));
        table.remove("a", "gone");
        let mut text = Text::default();
        table.write_resources(&mut text);
        let text = text.into_string();
        let lines: Vec<_> = text.lines().filter(|l| !l.starts_with('#')).collect();
        assert_eq!(
            lines,
            [
                r#"kube_pod_resource_limit{namespace="a",node="n1",pod="one",priority="-5",resource="hugepages-2Mi",scheduler="default-scheduler",unit="bytes"} 2.097152e+06"#,
                r#"kube_pod_resource_request{namespace="a",node="n1",pod="one",priority="-5",resource="cpu",scheduler="default-scheduler",unit="cores"} 0.1"#,
            ]
        );
    }

    #[test]
    fn a_pod_has_the_phase_that_it_is_in() {
        let table = PodTable::default();
        table.upsert("a", "one", row("", Phase::parse("")));
        table.upsert("a", "one", row("n1", Phase::parse("Running")));
        let mut text = Text::default();
        table.write_phases(&mut text);
        let text = text.into_string();
        let expected =
            "kube_pod_status_phase{namespace=\"a\",phase=\"Running\",pod=\"one\",uid=\"u\"} 1";
        assert_eq!(text.lines().skip(2).collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn what_pods_have_in_common_is_kept_once_and_given_up_with_them() {
        let table = PodTable::default();
        for n in 0..1000 {
            table.upsert("a", &n.to_string(), row("n1", Phase::Running));
        }
        assert_eq!(table.lock().resources.all.len(), 1);
        for n in 0..1000 {
            table.upsert("a", "moving", row(&format!("node-{n}"), Phase::Running));
        }
        assert!(table.lock().texts.all.len() < 200);
    }
}
