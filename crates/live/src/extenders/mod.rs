//! Extenders: services of others that have a say. Upstream's `pkg/scheduler/extender.go`.
//!
//! They are asked on the engine's thread, which waits for them, as upstream's does: what they answer
//! holds for the cluster as it is at this moment.

mod answers;
mod http;

pub(crate) use http::Extender;

use answers::field;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use stowplan_api::load::Object as ApiObject;
use stowplan_engine::Snapshot;
use stowplan_engine::extended::{Extenders, Filtered};
use stowplan_engine::framework::{Code, Status};
use stowplan_engine::model::Pod;
use stowplan_engine::plugins::default_preemption::Candidate;
use tokio::runtime::Handle;

/// What the scores of extenders are multiplied by: theirs end at 10, those of plugins at 100.
const SCALE: i64 = 10;

/// How long the engine waits for a pod that an extender wants to see.
const READ_PATIENCE: Duration = Duration::from_secs(10);

/// All extenders, and what they want to see.
pub(crate) struct Asked {
    pub(crate) all: Arc<[Extender]>,
    pub(crate) runtime: Handle,
    pub(crate) client: kube::Client,
    /// Whole nodes, for those who do not know them already; empty if everybody does.
    nodes: HashMap<String, Value>,
    /// The pod that was asked about last, by uid and version.
    pod: Option<(Arc<str>, Arc<str>, Value)>,
}

impl Asked {
    pub(crate) fn new(all: Arc<[Extender]>, runtime: Handle, client: kube::Client) -> Self {
        Self {
            all,
            runtime,
            client,
            nodes: HashMap::new(),
            pod: None,
        }
    }

    /// A node is new or changed; it is kept if somebody wants to see it.
    pub(crate) fn node_seen(&mut self, object: &ApiObject) {
        if let ApiObject::Node(node) = object
            && self.all.iter().any(|extender| !extender.knows_nodes())
            && let Ok(value) = serde_json::to_value(node)
        {
            self.nodes.insert(object.name().to_owned(), value);
        }
    }

    /// A node is gone.
    pub(crate) fn node_gone(&mut self, name: &str) {
        self.nodes.remove(name);
    }

    /// Those who bind this pod, if they can, in order.
    pub(crate) fn binders(&self, cluster: &Snapshot, pod: &Pod) -> Vec<usize> {
        let all = self.all.iter().enumerate();
        all.filter(|(_, extender)| extender.binds() && is_interested(extender, cluster, pod))
            .map(|(at, _)| at)
            .collect()
    }

    /// A pod as the API has it.
    fn whole_pod(&mut self, pod: &Pod) -> Result<Value, String> {
        if let Some((uid, version, value)) = &self.pod
            && *uid == pod.uid
            && *version == pod.resource_version
        {
            return Ok(value.clone());
        }
        let value = self.read_pod(pod)?;
        self.pod = Some((pod.uid.clone(), pod.resource_version.clone(), value.clone()));
        Ok(value)
    }

    fn read_pod(&self, pod: &Pod) -> Result<Value, String> {
        let (namespace, name) = (&pod.key.namespace, &pod.key.name);
        let request = ::http::Request::get(format!("/api/v1/namespaces/{namespace}/pods/{name}"));
        let request = request
            .body(Vec::new())
            .map_err(|error| error.to_string())?;
        let answer = self.client.request::<Value>(request);
        let answer = async { tokio::time::timeout(READ_PATIENCE, answer).await };
        let told =
            |error: &dyn std::fmt::Display| format!("cannot read the pod for an extender: {error}");
        let answer = self.runtime.block_on(answer).map_err(|late| told(&late))?;
        answer.map_err(|error| told(&error))
    }

    /// The question about nodes.
    fn question(
        &self,
        extender: &Extender,
        pod: &Value,
        cluster: &Snapshot,
        nodes: &[usize],
    ) -> Value {
        let names = nodes.iter().map(|&at| node_name(cluster, at));
        if extender.knows_nodes() {
            let names: Vec<_> = names.collect();
            return json!({"Pod": pod, "Nodes": null, "NodeNames": names});
        }
        let items: Vec<_> = names.filter_map(|name| self.nodes.get(name)).collect();
        let list = json!({"metadata": {}, "items": items});
        json!({"Pod": pod, "Nodes": list, "NodeNames": null})
    }

    fn filter_by(
        &mut self,
        extender: &Extender,
        cluster: &Snapshot,
        pod: &Pod,
        nodes: &[usize],
    ) -> Result<Filtered, String> {
        let pod = self.whole_pod(pod)?;
        let question = self.question(extender, &pod, cluster, nodes);
        let verb = &extender.config.filter_verb;
        let answer = self.runtime.block_on(extender.ask(verb, &question))?;
        answers::filtered(extender, cluster, nodes, &answer)
    }

    fn preempt_by(
        &mut self,
        extender: &Extender,
        cluster: &Snapshot,
        pod: &Pod,
        candidates: &[Candidate],
    ) -> Result<Vec<Candidate>, String> {
        let whole = self.whole_pod(pod)?;
        let mut victims = Map::new();
        for candidate in candidates {
            let pods: Result<Vec<_>, _> = candidate
                .victims
                .iter()
                .map(|victim| match extender.knows_nodes() {
                    true => Ok(json!({"UID": &*victim.uid})),
                    false => self.read_pod(victim),
                })
                .collect();
            let entry = json!({"Pods": pods?, "NumPDBViolations": candidate.pdb_violations});
            victims.insert(cluster.names.text(candidate.node).to_owned(), entry);
        }
        let key = match extender.knows_nodes() {
            true => "NodeNameToMetaVictims",
            false => "NodeNameToVictims",
        };
        let mut question = json!({"Pod": whole});
        question[key] = Value::from(victims);
        let verb = &extender.config.preempt_verb;
        let answer = self.runtime.block_on(extender.ask(verb, &question))?;
        answers::candidates(extender, cluster, &answer)
    }
}

impl Extenders for Asked {
    fn concerns(&self, cluster: &Snapshot, pod: &Pod) -> bool {
        let mut all = self.all.iter();
        all.any(|extender| is_interested(extender, cluster, pod))
    }

    fn filter(
        &mut self,
        cluster: &Snapshot,
        pod: &Pod,
        nodes: &[usize],
    ) -> Result<Filtered, String> {
        let mut left = Filtered {
            nodes: nodes.to_vec(),
            failed: Vec::new(),
        };
        for extender in self.all.clone().iter() {
            let asked = !extender.config.filter_verb.is_empty();
            if left.nodes.is_empty() || !asked || !is_interested(extender, cluster, pod) {
                continue;
            }
            match self.filter_by(extender, cluster, pod, &left.nodes) {
                Ok(filtered) => {
                    left.nodes = filtered.nodes;
                    left.failed.extend(filtered.failed);
                }
                Err(error) if extender.config.ignorable => {
                    tracing::info!(extender = extender.url(), error, "an extender is ignored");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(left)
    }

    fn prioritize(&mut self, cluster: &Snapshot, pod: &Pod, nodes: &[usize]) -> Vec<i64> {
        let mut totals = vec![0_i64; nodes.len()];
        let all = self.all.clone();
        let asked = all.iter().filter(|extender| {
            !extender.config.prioritize_verb.is_empty() && is_interested(extender, cluster, pod)
        });
        let asked: Vec<_> = asked.collect();
        if asked.is_empty() {
            return totals;
        }
        let Ok(whole) = self.whole_pod(pod) else {
            return totals;
        };
        let questions: Vec<_> = asked
            .into_iter()
            .map(|extender| (extender, self.question(extender, &whole, cluster, nodes)))
            .collect();
        let answers = questions
            .iter()
            .map(|(extender, question)| extender.ask(&extender.config.prioritize_verb, question));
        let answers = self.runtime.block_on(futures::future::join_all(answers));
        for ((extender, _), answer) in questions.iter().zip(answers) {
            // Who cannot say has no wishes.
            let Ok(Value::Array(scores)) = answer else {
                continue;
            };
            let scores: HashMap<&str, i64> = scores
                .iter()
                .filter_map(|entry| {
                    let host = field(entry, "Host").as_str()?;
                    Some((host, field(entry, "Score").as_i64()?))
                })
                .collect();
            for (total, &at) in totals.iter_mut().zip(nodes) {
                let score = scores.get(node_name(cluster, at)).copied().unwrap_or(0);
                let weighted = score.saturating_mul(extender.config.weight);
                *total = total.saturating_add(weighted.saturating_mul(SCALE));
            }
        }
        totals
    }

    fn preempt(
        &mut self,
        cluster: &Snapshot,
        pod: &Pod,
        mut candidates: Vec<Candidate>,
    ) -> Result<Vec<Candidate>, String> {
        for extender in self.all.clone().iter() {
            let asked = !extender.config.preempt_verb.is_empty();
            if candidates.is_empty() || !asked || !is_interested(extender, cluster, pod) {
                continue;
            }
            let left = self.preempt_by(extender, cluster, pod, &candidates);
            let ignorable = extender.config.ignorable;
            let mut left = match left {
                Ok(left) => left,
                Err(_) if ignorable => continue,
                Err(error) => return Err(error),
            };
            if let Some(empty) = left.iter().find(|c| c.victims.is_empty())
                && !ignorable
            {
                let node = cluster.names.text(empty.node);
                return Err(format!("expected at least one victim pod on node {node:?}"));
            }
            left.retain(|candidate| !candidate.victims.is_empty());
            candidates = left;
        }
        Ok(candidates)
    }
}

/// Upstream's `IsInterested`: an extender without resources of its own looks at every pod.
fn is_interested(extender: &Extender, cluster: &Snapshot, pod: &Pod) -> bool {
    let managed = &extender.config.managed_resources;
    let mut asked = pod.requests.spec.iter();
    managed.is_empty()
        || asked.any(|(name, _)| {
            let name = cluster.names.text(name);
            managed.iter().any(|resource| resource.name == name)
        })
}

fn node_name(cluster: &Snapshot, at: usize) -> &str {
    cluster.names.text(cluster.nodes()[at].node.name)
}

/// Why a node is out.
fn verdict(message: &str, is_final: bool) -> Status {
    let code = match is_final {
        true => Code::UnschedulableAndUnresolvable,
        false => Code::Unschedulable,
    };
    Status::made(code, message)
}
