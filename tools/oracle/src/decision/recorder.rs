//! Decisions in the form of a case's `expect`.

use serde_json::{Map, Value, json};
use stowplan_engine::Snapshot;
use stowplan_engine::explain::Explanation;
use stowplan_engine::framework::{Candidate, PreemptionReport};
use stowplan_engine::framework::{
    Code, Diagnosis, Framework, Nomination, PluginStatus, PostFilterResult, Status,
};
use stowplan_engine::model::Pod;
use stowplan_engine::schedule::Attempt;

/// Turns explanations and attempts into JSON.
pub(super) struct Recorder<'a> {
    pub(super) cluster: &'a Snapshot,
    pub(super) framework: &'a Framework,
    pub(super) pod: &'a Pod,
}

impl Recorder<'_> {
    /// All of an explanation.
    pub(super) fn explanation(&self, e: &Explanation) -> Value {
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
            put("preemption", self.post_filter(post_filter));
        }
        Value::Object(out)
    }

    /// What there is to an attempt: less than to an explanation.
    pub(super) fn attempt(&self, attempt: &Attempt) -> Value {
        let nodes = self.cluster.nodes();
        let name = |at: &usize| self.cluster.names.text(nodes[*at].node.name);
        match attempt {
            Attempt::Error(_) => json!({"error": true}),
            Attempt::Placed(placement) => {
                json!({"winners": placement.best.iter().map(name).collect::<Vec<_>>()})
            }
            Attempt::Unschedulable {
                diagnosis,
                nomination,
                preemption,
            } => {
                let mut out = self.diagnosis(diagnosis);
                if self.framework.has_post_filters() {
                    let preemption = self.preemption(*nomination, preemption.as_ref());
                    out["preemption"] = preemption;
                    out["preemption"]["message"] = json!(diagnosis.post_filter_message);
                }
                out
            }
        }
    }

    fn diagnosis(&self, diagnosis: &Diagnosis) -> Value {
        let mut out = json!({"message": diagnosis.message(self.cluster)});
        let verdict = |at: usize| self.status(diagnosis.statuses.get(at));
        let nodes = self.cluster.nodes().iter().enumerate();
        if diagnosis.pre_filter_message.is_empty() {
            let name = |name| self.cluster.names.text(name).to_owned();
            out["filter"] = nodes
                .map(|(at, node)| (name(node.node.name), verdict(at)))
                .collect();
        } else {
            // Every node has it.
            out["prefilter"] = nodes.map(|(at, _)| verdict(at)).next().into();
        }
        out
    }

    fn node(&self, e: &Explanation, at: usize) -> String {
        self.cluster.names.text(e.nodes[at].node).to_owned()
    }

    pub(super) fn status(&self, status: &PluginStatus) -> Value {
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

    fn post_filter(&self, result: &PostFilterResult) -> Value {
        let (status, message) = match &result.status {
            Ok(()) => ("Success", String::new()),
            Err(status) => (status.code.as_str(), status.message(self.cluster)),
        };
        // Recordings of preemptions that broke say no more.
        let broke = status == Code::Error.as_str();
        let report = result.preemption.as_ref().filter(|_| !broke);
        let mut out = self.preemption(result.nomination, report);
        out["status"] = json!(status);
        out["message"] = json!(message);
        out
    }

    fn preemption(&self, nomination: Nomination, report: Option<&PreemptionReport>) -> Value {
        let mut out = json!({
            "nominated": "", "victims": [], "pdb_violations": 0, "candidates": {},
        });
        if self.pod.nominated_node_name.is_some() && nomination == Nomination::Set(None) {
            out["nominated_reset"] = json!(true);
        }
        if let Some(report) = report {
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
