//! Recorded decisions: a cluster, a pod, and the whole tournament.

use crate::diff::diff;
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use stowplan_bridge::config::profile_from_json;
use stowplan_bridge::convert::{Door, object};
use stowplan_engine::Snapshot;
use stowplan_engine::explain::{Explanation, explain};
use stowplan_engine::framework::{
    Code, Cx, Framework, Nomination, PluginStatus, PostFilterResult, Status,
};
use stowplan_engine::model::{Kind, Object, Pod};
use stowplan_engine::plugins::default_preemption::{Candidate, Preempting, PreemptionReport};
use stowplan_engine::queue::Nominator;

/// Runs one case; returns the differences, none if all is equal.
pub fn run_case(case: &Value) -> Vec<String> {
    match decide(case) {
        Ok(mut got) => {
            let mut expected = case["expect"].clone();
            normalize(&mut expected);
            normalize(&mut got);
            diff(&expected, &got)
        }
        Err(error) => vec![format!("the case cannot be loaded: {error:#}")],
    }
}

/// Decides a case afresh; the answer has the form of a case's `expect`.
pub fn decide(case: &Value) -> Result<Value> {
    Ok(World::load(case)?.record())
}

/// Lists in a case and the kind that they hold.
const LISTS: &[(&str, Kind)] = &[
    ("nodes", Kind::Node),
    ("pods", Kind::Pod),
    ("namespaces", Kind::Namespace),
    ("podDisruptionBudgets", Kind::PodDisruptionBudget),
    ("persistentVolumes", Kind::PersistentVolume),
    ("persistentVolumeClaims", Kind::PersistentVolumeClaim),
    ("storageClasses", Kind::StorageClass),
    ("csiNodes", Kind::CSINode),
    ("csiDrivers", Kind::CSIDriver),
    ("csiStorageCapacities", Kind::CSIStorageCapacity),
    ("volumeAttachments", Kind::VolumeAttachment),
    ("services", Kind::Service),
    ("replicaSets", Kind::ReplicaSet),
    ("statefulSets", Kind::StatefulSet),
    ("replicationControllers", Kind::ReplicationController),
];

/// A case, ready to be decided.
struct World {
    cluster: Snapshot,
    nominator: Nominator,
    framework: Framework,
    pod: Arc<Pod>,
}

impl World {
    fn load(case: &Value) -> Result<Self> {
        let mut cluster = Snapshot::new();
        let mut pending = Vec::new();
        for (list, kind) in LISTS {
            for (i, json) in case["objects"][*list]
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
            {
                let at = || format!("objects.{list}[{i}]");
                match object(&mut door(&mut cluster), *kind, json).with_context(at)? {
                    Object::Pod(pod) if !pod.is_assigned() => pending.push(pod),
                    object => {
                        cluster.upsert(object);
                    }
                }
            }
        }
        let profile = Some(&case["profile"]).filter(|profile| !profile.is_null());
        let framework = profile_from_json(profile, &mut door(&mut cluster)).context("profile")?;
        let Object::Pod(pod) =
            object(&mut door(&mut cluster), Kind::Pod, &case["pod"]).context("pod")?
        else {
            unreachable!("the kind is Pod")
        };
        let mut world = Self {
            cluster,
            nominator: Nominator::default(),
            framework,
            pod,
        };
        world.nominate(pending);
        Ok(world)
    }

    /// Pending pods with a nomination reach the nominator through the queue: finished pods, those
    /// of other schedulers and gated ones never do.
    fn nominate(&mut self, pending: Vec<Arc<Pod>>) {
        for pod in pending {
            let Some(node) = pod.nominated_node_name else {
                continue;
            };
            let preempting = Preempting::default();
            let cx = Cx {
                cluster: &self.cluster,
                nominator: &self.nominator,
                preempting: &preempting,
            };
            let gated = self.framework.run_pre_enqueue(cx, &pod, None).is_some();
            if !pod.finished && pod.scheduler_name == self.pod.scheduler_name && !gated {
                self.nominator.add(pod, node);
            }
        }
    }

    /// The decision in the form of a case's `expect`.
    fn record(&self) -> Value {
        let preempting = Preempting::default();
        let cx = Cx {
            cluster: &self.cluster,
            nominator: &self.nominator,
            preempting: &preempting,
        };
        let explanation = explain(&self.framework, cx, &self.pod, false);
        Recorder {
            cluster: &self.cluster,
            framework: &self.framework,
            pod: &self.pod,
        }
        .record(&explanation)
    }
}

fn door(cluster: &mut Snapshot) -> Door<'_> {
    Door {
        names: &mut cluster.names,
        resource_names: &mut cluster.resource_names,
    }
}

/// Turns an explanation into JSON.
struct Recorder<'a> {
    cluster: &'a Snapshot,
    framework: &'a Framework,
    pod: &'a Pod,
}

impl Recorder<'_> {
    fn record(&self, e: &Explanation) -> Value {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
        if let Some(status) = &e.pre_enqueue {
            put("preenqueue", self.status(status));
            return Value::Object(out);
        }
        if e.error.is_some() {
            put("error", json!(true));
        }
        if e.score_error.is_some() {
            put("score_error", json!(true));
        }
        put(
            "prefilter",
            e.pre_filter
                .as_ref()
                .map_or(Value::Null, |status| self.status(status)),
        );
        if let (None, Some(nodes)) = (&e.pre_filter, &e.narrowed_to) {
            put(
                "prefilter_nodes",
                nodes
                    .iter()
                    .map(|name| self.cluster.names.text(*name))
                    .collect(),
            );
        }
        put("skipped_filter", json!(e.skipped_filters));
        put("filter", self.filter(e));
        put("scores", self.scores(e));
        put("skipped_score", json!(e.skipped_scores));
        put(
            "weights",
            self.framework
                .score_weights()
                .into_iter()
                .map(|(name, weight)| (name.to_owned(), json!(weight)))
                .collect(),
        );
        put("total", self.by_node(e, &e.scores.totals));
        put(
            "winners",
            e.best.iter().map(|at| self.node(e, *at)).collect(),
        );
        if let Some(at) = e.nominated {
            put("nominated_shortcut", json!(self.node(e, at)));
        }
        if let Some(message) = &e.message {
            put("message", json!(message));
        }
        if let Some(post_filter) = &e.post_filter {
            put("preemption", self.preemption(self.pod, post_filter));
        }
        Value::Object(out)
    }

    fn node(&self, e: &Explanation, at: usize) -> String {
        self.cluster.names.text(e.nodes[at].node).to_owned()
    }

    fn status(&self, status: &PluginStatus) -> Value {
        let PluginStatus {
            plugin,
            status: Status { code, .. },
        } = status;
        let reasons: Vec<_> = status
            .status
            .reasons()
            .iter()
            .map(|r| r.render(self.cluster))
            .collect();
        json!({ "plugin": plugin, "code": code.as_str(), "reasons": reasons })
    }

    fn filter(&self, e: &Explanation) -> Value {
        if e.pre_filter.is_some() {
            return json!({});
        }
        e.nodes
            .iter()
            .map(|node| {
                let verdict = node
                    .rejected
                    .as_ref()
                    .map_or(Value::Null, |status| self.status(status));
                (self.cluster.names.text(node.node).to_owned(), verdict)
            })
            .collect()
    }

    fn by_node(&self, e: &Explanation, values: &[i64]) -> Value {
        e.feasible
            .iter()
            .zip(values)
            .map(|(at, value)| (self.node(e, *at), json!(value)))
            .collect()
    }

    fn scores(&self, e: &Explanation) -> Value {
        e.scores
            .plugins
            .iter()
            .map(|scores| {
                (
                    scores.plugin.to_owned(),
                    self.by_node(e, &scores.normalized),
                )
            })
            .collect()
    }

    fn preemption(&self, pod: &Pod, result: &PostFilterResult) -> Value {
        let (status, message) = match &result.status {
            Ok(()) => ("Success", String::new()),
            Err(status) => (status.code.as_str(), status.message(self.cluster)),
        };
        let mut out = json!({
            "status": status, "message": message,
            "nominated": "", "victims": [], "pdb_violations": 0, "candidates": {},
        });
        if result.status.is_err()
            && pod.nominated_node_name.is_some()
            && result.nomination == Nomination::Set(None)
        {
            out["nominated_reset"] = json!(true);
        }
        // Recordings of preemptions that broke say no more.
        if let Some(report) = &result.preemption
            && status != Code::Error.as_str()
        {
            self.candidates(report, &mut out);
        }
        out
    }

    fn candidates(&self, report: &PreemptionReport, out: &mut Value) {
        let name = |candidate: &Candidate| self.cluster.names.text(candidate.node).to_owned();
        let victims = |candidate: &Candidate| -> Vec<String> {
            candidate
                .victims
                .iter()
                .map(|pod| pod.key.to_string())
                .collect()
        };
        out["candidates"] = report
            .candidates
            .iter()
            .map(|c| {
                (
                    name(c),
                    json!({"victims": victims(c), "pdb_violations": c.pdb_violations}),
                )
            })
            .collect();
        out["node_status"] = report
            .rejected
            .iter()
            .map(|(at, status)| {
                let node = self.cluster.nodes()[*at].node.name;
                (
                    self.cluster.names.text(node).to_owned(),
                    self.status(status),
                )
            })
            .collect();
        if let Some(decided_by) = report.decided_by {
            out["decided_by"] = json!(decided_by.as_str());
        }
        let best: Vec<_> = report.best.iter().map(|i| &report.candidates[*i]).collect();
        match best[..] {
            [] => {}
            [only] => {
                out["nominated"] = json!(name(only));
                out["victims"] = json!(victims(only));
                out["pdb_violations"] = json!(only.pdb_violations);
            }
            _ => out["nominated_ties"] = best.into_iter().map(name).collect(),
        }
    }
}

/// Makes two recordings comparable: orders that mean nothing are sorted away, and errors count
/// as such, whatever their text.
fn normalize(expect: &mut Value) {
    let Value::Object(fields) = expect else {
        return;
    };
    for key in ["error", "score_error"] {
        if let Some(error) = fields.get_mut(key) {
            *error = json!(true);
        }
    }
    // Nothing else is said of a gated pod, and an error ends the attempt wherever it happens.
    if fields.contains_key("preenqueue") {
        fields.retain(|key, _| key == "preenqueue");
    }
    if fields.contains_key("error") {
        fields.retain(|key, _| key == "error" || key == "score_error");
    }
    drop_empty(fields);
    for key in [
        "winners",
        "prefilter_nodes",
        "skipped_filter",
        "skipped_score",
    ] {
        if let Some(list) = fields.get_mut(key) {
            sort(list);
        }
    }
    sort_reasons(expect);
}

/// An absent field and an empty one say the same, on every level but that of single nodes.
fn drop_empty(fields: &mut Map<String, Value>) {
    if let Some(Value::Object(preemption)) = fields.get_mut("preemption") {
        drop_empty(preemption);
    }
    fields.retain(|_, value| !is_empty(value));
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn sort(list: &mut Value) {
    if let Value::Array(items) = list {
        items.sort_by_key(Value::to_string);
    }
}

/// Reasons compare as multisets: upstream lists scalar resources in map order.
fn sort_reasons(value: &mut Value) {
    let Value::Object(fields) = value else { return };
    for (key, child) in fields {
        if key == "reasons" || key == "nominated_ties" {
            sort(child);
        } else {
            sort_reasons(child);
        }
    }
}
