//! Extenders: services of others that have a say. Upstream's `pkg/scheduler/extender.go`.
//!
//! They are asked on the engine's thread, which waits for them, as upstream's does: what they answer
//! holds for the cluster as it is at this moment.

mod answers;
mod http;
mod kept;

pub(crate) use http::{Extender, No};

use answers::field;
use kept::ExtenderObjects;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use stowplan_api::load::Object as ApiObject;
use stowplan_base::Sym;
use stowplan_engine::Snapshot;
use stowplan_engine::extended::{Extenders, Filtered};
use stowplan_engine::framework::Candidate;
use stowplan_engine::framework::{Code, Status};
use stowplan_engine::model::{Object, Pod};
use tokio::runtime::Handle;

/// What the scores of extenders are multiplied by: theirs end at 10, those of plugins at 100.
const SCALE: i64 = 10;

/// All extenders, and what they want to see.
pub(crate) struct HttpExtenders {
    pub(crate) all: Arc<[Extender]>,
    pub(crate) runtime: Handle,
    kept: ExtenderObjects,
}

impl HttpExtenders {
    pub(crate) fn new(all: Arc<[Extender]>, runtime: Handle) -> Self {
        Self {
            kept: ExtenderObjects::new(&all),
            all,
            runtime,
        }
    }

    /// An object is new or changed; it is kept if somebody wants to see it.
    pub(crate) fn seen(&mut self, given: &ApiObject, converted: &Object) {
        match (given, converted) {
            (ApiObject::Node(node), _) => self.kept.node_seen(given.name(), node),
            (ApiObject::Pod(given), Object::Pod(pod)) => self.kept.pod_seen(given, pod),
            _ => {}
        }
    }

    /// A node is gone.
    pub(crate) fn node_gone(&mut self, name: &str) {
        self.kept.node_gone(name);
    }

    /// A pod is gone.
    pub(crate) fn pod_gone(&mut self, key: (Sym, Sym)) {
        self.kept.pod_gone(key);
    }

    /// Whether any of them wants to be asked this about the pod, and who.
    fn interested<'a>(
        &'a self,
        pod: &'a Pod,
        asked: impl Fn(&Extender) -> bool + 'a,
    ) -> impl Iterator<Item = usize> + 'a {
        let all = self.all.iter().enumerate();
        all.filter(move |(at, extender)| asked(extender) && self.kept.is_interested(*at, pod))
            .map(|(at, _)| at)
    }

    /// Those who bind this pod, if they can, in order.
    pub(crate) fn binders(&self, pod: &Pod) -> Vec<usize> {
        self.interested(pod, Extender::binds).collect()
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
        let items: Vec<_> = names.filter_map(|name| self.kept.node(name)).collect();
        let list = json!({"metadata": {}, "items": items});
        json!({"Pod": pod, "Nodes": list, "NodeNames": null})
    }

    fn filter_by(
        &self,
        extender: &Extender,
        cluster: &Snapshot,
        pod: &Pod,
        nodes: &[usize],
    ) -> Result<Filtered, String> {
        let pod = self.kept.whole(pod)?;
        let question = self.question(extender, &pod, cluster, nodes);
        let verb = &extender.config.filter_verb;
        let answer = self.runtime.block_on(extender.ask(verb, &question))?;
        answers::filtered(extender, cluster, nodes, &answer)
    }

    fn preempt_by(
        &self,
        extender: &Extender,
        cluster: &Snapshot,
        pod: &Pod,
        candidates: &[Candidate],
    ) -> Result<Vec<Candidate>, String> {
        let whole = self.kept.whole(pod)?;
        let mut victims = Map::new();
        for candidate in candidates {
            let node = cluster.names.text(candidate.node);
            // The watch may not have told yet that it is there.
            let on_node = |mut pod: Value| {
                pod["spec"]["nodeName"] = node.into();
                pod
            };
            let pods: Result<Vec<_>, _> = candidate
                .victims
                .iter()
                .map(|victim| match extender.knows_nodes() {
                    true => Ok(json!({"UID": &*victim.uid})),
                    false => self.kept.whole(victim).map(on_node),
                })
                .collect();
            let entry = json!({"Pods": pods?, "NumPDBViolations": candidate.pdb_violations});
            victims.insert(node.to_owned(), entry);
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

impl Extenders for HttpExtenders {
    fn concerns(&self, _cluster: &Snapshot, pod: &Pod) -> bool {
        self.interested(pod, |_| true).next().is_some()
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
        for at in self.interested(pod, |e| !e.config.filter_verb.is_empty()) {
            if left.nodes.is_empty() {
                break;
            }
            let extender = &self.all[at];
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
        let asked = self.interested(pod, |e| !e.config.prioritize_verb.is_empty());
        let asked: Vec<_> = asked.map(|at| &self.all[at]).collect();
        if asked.is_empty() {
            return totals;
        }
        let Ok(whole) = self.kept.whole(pod) else {
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
        for at in self.interested(pod, |e| !e.config.preempt_verb.is_empty()) {
            if candidates.is_empty() {
                break;
            }
            let extender = &self.all[at];
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
