//! What is remembered of each attempt: little, for as many attempts as there is room for.

use super::decision::{Best, Decision};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use stowplan_api::k8s::jiff::Timestamp;
use stowplan_base::{Duration, Marks, Sym, Time};
use stowplan_engine::Snapshot;
use stowplan_engine::fast::TopNodes;
use stowplan_engine::model::Pod;

/// How many attempts are remembered; the oldest make way.
const RECORDS_MAX: usize = 8192;

/// How much of a message is told, in bytes.
const MESSAGE_MAX: usize = 1024;

/// What came of an attempt, as far as is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// The pod goes to this node: the binding is under way.
    Assumed(Sym),
    /// It is bound to this node.
    Bound(Sym),
    /// It fits nowhere.
    Unschedulable(Arc<str>),
    /// Something broke.
    Error(Arc<str>),
}

impl Outcome {
    fn as_str(&self) -> &'static str {
        match self {
            Self::Assumed(_) => "Assumed",
            Self::Bound(_) => "Bound",
            Self::Unschedulable(_) => "Unschedulable",
            Self::Error(_) => "Error",
        }
    }
}

/// One attempt.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// The pod, as it was tried.
    pub(super) pod: Arc<Pod>,
    pub(super) start: Time,
    pub(super) took: Duration,
    pub(super) outcome: Outcome,
    /// The best nodes, and the position in the log of changes.
    pub(super) top_nodes: TopNodes,
}

/// The latest attempts, and of each pod the last.
#[derive(Default)]
pub(super) struct Records {
    /// A ring: the oldest is overwritten, in the room that it takes up.
    all: Vec<Record>,
    next: usize,
    last: HashMap<(Sym, Sym), usize>,
}

impl Records {
    /// Remembers an attempt. `fill` is given the room for its top nodes.
    pub(super) fn add(
        &mut self,
        (pod, start, took): (&Arc<Pod>, Time, Duration),
        outcome: Outcome,
        fill: impl FnOnce(&mut TopNodes),
    ) {
        let at = self.next;
        self.next = (at + 1) % RECORDS_MAX;
        match self.all.get_mut(at) {
            Some(record) => {
                let key = (record.pod.namespace, record.pod.name);
                if self.last.get(&key) == Some(&at) {
                    self.last.remove(&key);
                }
                record.pod = pod.clone();
                (record.start, record.took) = (start, took);
                record.outcome = outcome;
                fill(&mut record.top_nodes);
            }
            None => {
                let mut top_nodes = TopNodes::default();
                fill(&mut top_nodes);
                self.all.push(Record {
                    pod: pod.clone(),
                    start,
                    took,
                    outcome,
                    top_nodes,
                });
            }
        }
        self.last.insert((pod.namespace, pod.name), at);
    }

    /// The last attempt of the pod of this name.
    pub(super) fn get(&self, key: (Sym, Sym)) -> Option<&Record> {
        self.all.get(*self.last.get(&key)?)
    }

    /// Marks the names of which records speak.
    pub(super) fn mark_names(&self, marks: &mut Marks) {
        for record in &self.all {
            record.pod.hash(marks);
            if let Outcome::Assumed(node) | Outcome::Bound(node) = record.outcome {
                node.hash(marks);
            }
            let nodes = record.top_nodes.nodes.iter();
            nodes.for_each(|(node, _)| node.hash(marks));
        }
    }

    /// More is known of what came of a pod's last attempt.
    pub(super) fn settle(&mut self, pod: &Pod, outcome: Outcome) {
        let at = self.last.get(&(pod.namespace, pod.name)).copied();
        let record = at.and_then(|at| self.all.get_mut(at));
        if let Some(record) = record.filter(|record| record.pod.uid == pod.uid) {
            record.outcome = outcome;
        }
    }
}

impl Record {
    /// The record as it is told.
    pub(super) fn told(&self, cluster: &Snapshot) -> Decision {
        let node = match &self.outcome {
            Outcome::Assumed(node) | Outcome::Bound(node) => Some(*node),
            Outcome::Unschedulable(_) | Outcome::Error(_) => None,
        };
        Decision {
            head: self.head(cluster),
            node: node.map(|node| cluster.names.text(node).to_owned()),
            reasons: self.reasons(cluster),
            best: self.best(cluster),
        }
    }

    fn head(&self, cluster: &Snapshot) -> Value {
        let text = |sym| cluster.names.text(sym);
        let key = &self.pod.key;
        let mut told = json!({
            "apiVersion": "stowplan.dev/v1",
            "kind": "Decision",
            "metadata": {"namespace": &*key.namespace, "name": &*key.name},
            "podUID": &*self.pod.uid,
            "schedulerName": text(self.pod.scheduler_name),
            "time": timestamp(self.start),
            "durationSeconds": self.took.as_nanos() as f64 / 1e9,
            "outcome": self.outcome.as_str(),
            "logPosition": self.top_nodes.position,
        });
        if let Outcome::Unschedulable(message) | Outcome::Error(message) = &self.outcome {
            told["message"] = shortened(message).into();
        }
        if self.top_nodes.tied > 0 {
            told["tied"] = self.top_nodes.tied.into();
        }
        if !self.top_nodes.plugins.is_empty() {
            let plugins = self.top_nodes.plugins.iter();
            let plugins = plugins.map(|(name, weight)| json!({"name": name, "weight": weight}));
            told["plugins"] = Value::from_iter(plugins);
        }
        told
    }

    /// Why nodes will not do, each reason with the number of nodes.
    fn reasons(&self, cluster: &Snapshot) -> Vec<Value> {
        let found = match &self.outcome {
            Outcome::Unschedulable(message) | Outcome::Error(message) => reasons(message),
            Outcome::Assumed(_) | Outcome::Bound(_) => {
                let rejected = self.top_nodes.rejected.iter();
                rejected
                    .map(|(reason, nodes)| (*nodes as u64, reason.render(cluster)))
                    .collect()
            }
        };
        let found = found.into_iter();
        found
            .map(|(count, reason)| json!({"count": count, "reason": reason}))
            .collect()
    }

    /// The best nodes: what each plugin gave, in the order of `plugins`, and the weighted sum.
    fn best(&self, cluster: &Snapshot) -> Vec<Best> {
        let TopNodes {
            nodes,
            plugins,
            scores,
            ..
        } = &self.top_nodes;
        let mut scores = scores.chunks(plugins.len().max(1));
        let nodes = nodes.iter().map(|(node, total)| {
            let mut given = Map::new();
            if let Some(total) = total {
                given.insert("total".to_owned(), (*total).into());
                let own = scores.next().unwrap_or_default();
                given.insert("scores".to_owned(), own.into());
            }
            Best {
                node: cluster.names.text(*node).to_owned(),
                scores: given,
            }
        });
        nodes.collect()
    }
}

/// The beginning of a message, counted as JSON writes it: a control character is six bytes there.
fn shortened(message: &str) -> &str {
    let mut room = MESSAGE_MAX;
    let written = |c: char| match c {
        '"' | '\\' => 2,
        c if c.is_control() => 6,
        c => c.len_utf8(),
    };
    let end = message.char_indices().find_map(|(at, c)| {
        let left = room.checked_sub(written(c));
        room = left.unwrap_or(0);
        left.is_none().then_some(at)
    });
    end.map_or(message, |end| message.get(..end).unwrap_or_default())
}

/// The reasons of `0/5 nodes are available: 2 x, 3 y. preemption: …`, each with its count.
fn reasons(message: &str) -> Vec<(u64, String)> {
    let list = message.split_once(" nodes are available: ");
    let list = list.map_or("", |(_, rest)| rest);
    // What PostFilter says follows the list.
    let list = list.split_once(". ").map_or(list, |(list, _)| list);
    let list = list.strip_suffix('.').unwrap_or(list);
    let mut found: Vec<(u64, String)> = Vec::new();
    for part in list.split(", ") {
        let counted = part
            .split_once(' ')
            .and_then(|(count, reason)| Some((count.parse::<u64>().ok()?, reason.to_owned())));
        match (counted, found.last_mut()) {
            (Some(counted), _) => found.push(counted),
            // A comma within a reason does not end it.
            (None, Some((_, reason))) => {
                reason.push_str(", ");
                reason.push_str(part);
            }
            (None, None) => {}
        }
    }
    found
}

/// A point in time, as the API writes it, with microseconds.
pub(super) fn timestamp(time: Time) -> String {
    let time = Timestamp::from_nanosecond(time.as_nanos().into()).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::decision::BYTES_MAX;
    use stowplan_api::k8s;
    use stowplan_bridge::convert::{Interner, api_object};
    use stowplan_engine::framework::Reason;
    use stowplan_engine::model::Object;

    fn pod(cluster: &mut Snapshot) -> Arc<Pod> {
        let given = json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u"},
            "spec": {"containers": []},
        });
        let given: k8s::api::core::v1::Pod = serde_json::from_value(given).unwrap();
        let mut interner = Interner {
            names: &mut cluster.names,
            resource_names: &mut cluster.resource_names,
        };
        let Ok(Some(Object::Pod(pod))) = api_object(&mut interner, &given.into()) else {
            panic!("a pod")
        };
        pod
    }

    #[test]
    fn a_record_is_never_too_large() {
        let mut cluster = Snapshot::new();
        let reasons: Vec<_> = (0..300)
            .map(|i| format!("{i} node(s) didn't have \"free\" ports {i:0200}"))
            .collect();
        let message = format!("0/9 nodes are available: {}.", reasons.join(", "));
        let mut top_nodes = TopNodes::default();
        for i in 0..10 {
            let name = format!("{}-{i}", "x".repeat(63));
            top_nodes.nodes.push((cluster.names.intern(&name), Some(1)));
        }
        let pod = pod(&mut cluster);
        let record = Record {
            pod,
            start: Time::from_secs(1),
            took: Duration::from_nanos(1),
            outcome: Outcome::Unschedulable(message.as_str().into()),
            top_nodes,
        };
        let controls = Record {
            outcome: Outcome::Error("\u{1}".repeat(5_000).into()),
            ..record.clone()
        };
        assert!(controls.told(&cluster).to_json().to_string().len() <= BYTES_MAX);
        let mut bound = Record {
            outcome: Outcome::Bound(cluster.names.intern("x")),
            ..record.clone()
        };
        let full = Reason::Text("Too many pods");
        bound.top_nodes.rejected.push((full, 3));
        let told = bound.told(&cluster).to_json();
        assert_eq!(
            told["reasons"],
            json!([{"count": 3, "reason": "Too many pods"}])
        );
        let told = record.told(&cluster).to_json();
        assert!(told.to_string().len() <= BYTES_MAX);
        let kept = told["reasons"].as_array().unwrap();
        assert!(kept.len() > 3, "{told}");
        // None of them was cut in the middle.
        let last = kept.last().unwrap();
        let i = last["count"].as_u64().unwrap();
        let whole = format!("node(s) didn't have \"free\" ports {i:0200}");
        assert_eq!(last["reason"], whole);
    }

    #[test]
    fn names_in_records_are_marked() {
        let mut cluster = Snapshot::new();
        let permanent = cluster.names.symbols();
        let [bound, best, other] = ["a", "b", "c"].map(|text| cluster.names.intern(text));
        let pod = pod(&mut cluster);
        let mut records = Records::default();
        let attempt = (&pod, Time::from_secs(1), Duration::from_nanos(1));
        records.add(attempt, Outcome::Bound(bound), |top_nodes| {
            top_nodes.nodes.push((best, None));
        });
        let mut marks = cluster.names.marks(permanent);
        records.mark_names(&mut marks);
        let marked = [bound, best, pod.name, pod.namespace, other].map(|sym| marks.has(sym));
        assert_eq!(marked, [true, true, true, true, false]);
    }

    #[test]
    fn reasons_are_counted() {
        let message = "0/9 nodes are available: 2 Insufficient cpu, 7 node(s) had a, b. \
                       no new claims to deallocate, preemption: 0/9 nodes are available: 9 No victims.";
        let expected = [(2, "Insufficient cpu"), (7, "node(s) had a, b")];
        let expected = expected.map(|(count, reason)| (count, reason.to_owned()));
        assert_eq!(reasons(message), expected);
        assert!(reasons("no nodes available to schedule pods").is_empty());
    }
}
