//! Reports for readers who may not know everything: names are taken out of the data, not out of texts.

use crate::change::Piece;
use crate::report::{NodeReport, Outcome, Report, Verdict};
use crate::spread::Spread;
use std::collections::{BTreeMap, BTreeSet};

/// What stands for a pod that the reader may not know.
pub const HIDDEN_POD: &str = "(a pod that you may not read)";

/// What stands for an error that the reader may not know.
pub const HIDDEN_ERROR: &str = "(an error that may name what you may not read)";

/// What a reader may know beside the pod that he asks about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Readable {
    /// All nodes.
    pub nodes: bool,
    /// All pods.
    pub pods: bool,
    /// All pods of these namespaces.
    pub namespaces: BTreeSet<String>,
}

impl Readable {
    fn has_pod(&self, key: &str) -> bool {
        self.pods || namespace(key).is_some_and(|n| self.namespaces.contains(n))
    }
}

/// The namespace of `namespace/name`.
fn namespace(key: &str) -> Option<&str> {
    key.split_once('/').map(|(namespace, _)| namespace)
}

/// Names for nodes whose names are not told: the same for the same node all over an answer.
pub struct Masks {
    own: Option<String>,
    given: BTreeMap<String, String>,
    next: usize,
}

impl Masks {
    /// The node on which the pod is keeps its name: who reads the pod knows it.
    pub fn new(own: Option<&str>) -> Self {
        Self {
            own: own.map(str::to_owned),
            given: BTreeMap::new(),
            next: 1,
        }
    }

    /// Puts another name in place of a node's.
    pub fn mask(&mut self, node: &mut String) {
        if self.own.as_ref() == Some(node) {
            return;
        }
        if let Some(known) = self.given.get(node) {
            node.clone_from(known);
            return;
        }
        let mut new = format!("node-{}", self.next);
        if self.own.as_ref() == Some(&new) {
            self.next += 1;
            new = format!("node-{}", self.next);
        }
        self.next += 1;
        self.given.insert(std::mem::take(node), new.clone());
        *node = new;
    }
}

impl Report {
    /// The namespaces of the pods that it names, beside the one that is asked about.
    pub fn namespaces(&self) -> BTreeSet<String> {
        let victims = self
            .nodes
            .iter()
            .filter_map(|node| node.preemption.as_ref());
        let victims = victims.flat_map(|p| &p.victims).map(String::as_str);
        let changes = self.what_would_help.iter().flatten();
        let moved = changes.flat_map(|change| &change.pieces);
        let moved = moved.filter_map(|piece| match piece {
            Piece::Pod(key) => Some(key.as_str()),
            _ => None,
        });
        let all = victims.chain(moved).filter_map(namespace);
        all.map(str::to_owned).collect()
    }

    /// Takes out what the reader may not know. How many nodes there are, why they will not do and what
    /// they are worth stays.
    pub fn redact(&mut self, readable: &Readable) {
        self.redact_pods(readable);
        if !readable.nodes {
            self.redact_nodes();
        }
    }

    fn redact_pods(&mut self, readable: &Readable) {
        let own = format!("{}/{}", self.pod.namespace, self.pod.name);
        let hide = |key: &mut String| {
            if *key != own && !readable.has_pod(key) {
                HIDDEN_POD.clone_into(key);
            }
        };
        let nodes = self.nodes.iter_mut();
        let victims = nodes.filter_map(|node| node.preemption.as_mut());
        victims.flat_map(|p| &mut p.victims).for_each(hide);
        for change in self.what_would_help.iter_mut().flatten() {
            for piece in &mut change.pieces {
                if let Piece::Pod(key) = piece {
                    hide(key);
                }
            }
            change.tell();
        }
    }

    fn redact_nodes(&mut self) {
        let mut masks = Masks::new(self.pod.node.as_deref());
        self.spread.iter_mut().for_each(Spread::redact);
        for node in &mut self.nodes {
            masks.mask(&mut node.name);
            node.errors().for_each(hide_error);
        }
        let named = self.narrowed_to.iter_mut().flatten();
        let named = named.chain(&mut self.nominated_node).chain(&mut self.best);
        let room = self.preemption.iter_mut().filter_map(|p| p.node.as_mut());
        named.chain(room).for_each(|node| masks.mask(node));
        let verdicts = self.rejected_by.iter_mut().chain(&mut self.score_error);
        verdicts.for_each(hide_error);
        if let (Outcome::Error, Some(message)) = (self.outcome, &mut self.message) {
            HIDDEN_ERROR.clone_into(message);
        }
        for change in self.what_would_help.iter_mut().flatten() {
            for piece in &mut change.pieces {
                match piece {
                    Piece::Node(node) => masks.mask(node),
                    Piece::Label(value) => "…".clone_into(value),
                    Piece::Text(_) | Piece::Pod(_) => {}
                }
            }
            change.tell();
        }
    }
}

impl NodeReport {
    fn errors(&mut self) -> impl Iterator<Item = &mut Verdict> {
        let tried = self.preemption.iter_mut();
        let tried = tried.filter_map(|tried| tried.rejected_by.as_mut());
        let own = self.rejected_by.iter_mut().chain(&mut self.filters);
        own.chain(tried)
    }
}

/// Reasons are about nodes of a kind; errors name things.
fn hide_error(verdict: &mut Verdict) {
    if verdict.code == "Error" {
        verdict.reasons = vec![HIDDEN_ERROR.to_owned()];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Change;
    use crate::spread::SpreadDomain;
    use serde_json::json;

    fn report() -> Report {
        let verdict =
            |code: &str, why: &str| json!({"plugin": "P", "code": code, "reasons": [why]});
        let mut report: Report = serde_json::from_value(json!({
            "apiVersion": "stowplan.dev/v1", "kind": "Explanation",
            "pod": {"namespace": "mine", "name": "p", "priority": 0, "schedulerName": "s",
                "state": "Bound", "node": "node-2", "requests": {}},
            "outcome": "FitsNowhere",
            "message": "0/3 nodes are available: 3 Insufficient cpu.",
            "scoreError": verdict("Error", "on secret-a"),
            "narrowedTo": ["secret-b", "node-2"],
            "nominatedNode": "secret-a",
            "best": ["secret-b"],
            "feasible": 0, "totalNodes": 3, "skippedFilters": [], "skippedScores": [],
            "nodes": [
                {"name": "secret-a", "feasible": false, "rejectedBy": verdict("Unschedulable", "full"),
                 "filters": [verdict("Error", "broke on secret-a")], "scores": [],
                 "preemption": {"victims": ["theirs/v", "mine/w", "ours/x"], "pdbViolations": 1}},
                {"name": "node-2", "feasible": true, "filters": [], "scores": []},
                {"name": "secret-b", "feasible": false, "filters": [], "scores": [],
                 "preemption": {"victims": [], "pdbViolations": 0,
                                "rejectedBy": verdict("Error", "no victim on secret-b")}},
            ],
            "preemption": {"node": "secret-a"},
        }))
        .expect("a report");
        let text = |text: &'static str| Piece::Text(text.into());
        report.what_would_help = Some(vec![Change::of(
            "Evict",
            vec![
                text("move "),
                Piece::Pod("theirs/v".to_owned()),
                text(" and "),
                Piece::Pod("ours/x".to_owned()),
                text(" away from "),
                Piece::Node("secret-a".to_owned()),
                text(" and all with hostname="),
                Piece::Label("secret-c".to_owned()),
            ],
            1,
        )]);
        report.spread = vec![spread()];
        report
    }

    fn spread() -> Spread {
        let domain = SpreadDomain {
            name: "secret-a".to_owned(),
            pods: 2,
            nodes: 1,
            counts: true,
            skew: 3,
            taint: Some("secret:NoSchedule".to_owned()),
        };
        Spread {
            topology_key: "kubernetes.io/hostname".to_owned(),
            max_skew: 1,
            min_domains: 1,
            when_unsatisfiable: "DoNotSchedule".into(),
            node_affinity_policy: "Honor".into(),
            node_taints_policy: "Ignore".into(),
            minimum: 0,
            counted_domains: 1,
            domains: vec![domain],
            drift: None,
        }
    }

    #[test]
    fn who_may_know_nothing_is_told_no_names() {
        let mut told = report();
        assert_eq!(
            told.namespaces().into_iter().collect::<Vec<_>>(),
            ["mine", "ours", "theirs"]
        );
        told.redact(&Readable::default());
        let text = serde_json::to_string(&told).expect("JSON");
        for name in ["secret", "theirs", "ours/x", "mine/w"] {
            assert!(!text.contains(name), "{name}: {text}");
        }
        let names: Vec<_> = told.nodes.iter().map(|n| n.name.as_str()).collect();
        assert_eq!(names, ["node-1", "node-2", "node-3"]);
        assert_eq!(told.best, ["node-3"]);
        assert_eq!(
            told.narrowed_to,
            Some(vec!["node-3".to_owned(), "node-2".to_owned()])
        );
        assert_eq!(told.nominated_node.as_deref(), Some("node-1"));
        let preemption = told.preemption.expect("was tried");
        assert_eq!(preemption.node.as_deref(), Some("node-1"));
        assert_eq!(
            told.message.as_deref(),
            Some("0/3 nodes are available: 3 Insufficient cpu.")
        );
        let first = &told.nodes[0];
        let rejected = first.rejected_by.as_ref().expect("was rejected");
        assert_eq!(rejected.reasons, ["full"]);
        let tried = first.preemption.as_ref().expect("was tried");
        assert_eq!((tried.victims.len(), tried.pdb_violations), (3, 1));
        let changes = told.what_would_help.expect("one");
        let expected =
            format!("move {HIDDEN_POD} and {HIDDEN_POD} away from node-1 and all with hostname=…");
        assert_eq!(changes[0].change, expected);
    }

    #[test]
    fn who_may_know_some_is_told_these() {
        let mut told = report();
        told.redact(&Readable {
            nodes: true,
            pods: false,
            namespaces: ["ours".to_owned()].into(),
        });
        assert_eq!(told.nodes[0].name, "secret-a");
        let tried = told.nodes[0].preemption.as_ref().expect("was tried");
        assert_eq!(tried.victims, [HIDDEN_POD, HIDDEN_POD, "ours/x"]);
        let changes = told.what_would_help.expect("one");
        let expected = format!(
            "move {HIDDEN_POD} and ours/x away from secret-a and all with hostname=secret-c"
        );
        assert_eq!(changes[0].change, expected);
        let mut all = report();
        let before = serde_json::to_value(&all).expect("JSON");
        all.redact(&Readable {
            nodes: true,
            pods: true,
            ..Readable::default()
        });
        assert_eq!(serde_json::to_value(&all).expect("JSON"), before);
    }
}
