//! What has come up, so that the check cannot rot unseen.

use super::event::Event;
use std::collections::BTreeMap;
use stowplan_engine::explain::Explanation;
use stowplan_engine::fast::Stats;
use stowplan_engine::framework::{Code, Cx, Nomination};
use stowplan_engine::model::{Kind, Pod};
use stowplan_engine::schedule::Attempt;

/// So often at least must something come up: (what, least, whose).
pub(super) type Wanted = (&'static str, u64, &'static [&'static str]);

/// What must come up in a usual run over small clusters.
pub(super) const WANTED: &[Wanted] = &[
    ("placed", 1000, &["one best", "tie"]),
    ("placed", 100, &["nominated"]),
    ("placed", 500, &["with volumes"]),
    ("unschedulable", 1000, &[""]),
    ("narrowed", 100, &[""]),
    ("assume", 1000, &[""]),
    ("nominate", 100, &[""]),
    ("denominate", 100, &[""]),
    ("churn", 100, &[""]),
    ("parade", 20, &[""]),
    ("class", 20_000, &["warm"]),
    ("class", 1000, &["opened"]),
    (
        "rejected by Filter",
        50,
        &[
            "DynamicResources",
            "InterPodAffinity",
            "NodeAffinity",
            "NodeDeclaredFeatures",
            "NodeName",
            "NodePorts",
            "NodeResourcesFit",
            "NodeUnschedulable",
            "NodeVolumeLimits",
            "PodTopologySpread",
            "TaintToleration",
            "VolumeBinding",
            "VolumeRestrictions",
            "VolumeZone",
        ],
    ),
    (
        "rejected by PreFilter",
        50,
        &[
            "DynamicResources",
            "InterPodAffinity",
            "VolumeBinding",
            "VolumeRestrictions",
            "VolumeZone",
        ],
    ),
    (
        "error",
        2,
        &[
            "DynamicResources",
            "InterPodAffinity",
            "NodeAffinity",
            "PodTopologySpread",
            "VolumeBinding",
        ],
    ),
    (
        "scored by",
        50,
        &[
            "ImageLocality",
            "InterPodAffinity",
            "NodeAffinity",
            "NodeResourcesBalancedAllocation",
            "NodeResourcesFit",
            "PodTopologySpread",
            "TaintToleration",
        ],
    ),
    ("preemption", 500, &["nominates"]),
    ("preemption", 50, &["violates a budget"]),
    ("preemption", 2, &["error"]),
    (
        "preemption decided by",
        20,
        &[
            "only",
            "pdb",
            "highest_priority",
            "sum_priorities",
            "latest_start",
            "tie",
        ],
    ),
    (
        "preemption ineligible",
        10,
        &[
            "not eligible due to preemptionPolicy=Never.",
            "not eligible due to a terminating pod on the nominated node.",
        ],
    ),
];

/// How often something came up: (what, whose).
#[derive(Clone, Default, Debug)]
pub(super) struct Coverage(BTreeMap<(&'static str, &'static str), u64>);

impl Coverage {
    pub(super) fn count(&mut self, what: &'static str, whose: &'static str) {
        *self.0.entry((what, whose)).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (key, n) in &other.0 {
            *self.0.entry(*key).or_default() += n;
        }
    }

    fn get(&self, what: &'static str, whose: &'static str) -> u64 {
        self.0.get(&(what, whose)).copied().unwrap_or(0)
    }

    pub(super) fn comparisons(&self) -> u64 {
        self.get("comparison", "")
    }

    pub(super) fn event(&mut self, event: &Event) {
        let (what, whose) = match event {
            Event::Put(object) => ("put", object.kind().as_str()),
            Event::Remove(kind, ..) => ("remove", kind.as_str()),
            Event::RemovePod(_) => ("remove", "Pod"),
            Event::Assume(..) => ("assume", ""),
            Event::Nominate(..) => ("nominate", ""),
            Event::Denominate(_) => ("denominate", ""),
            Event::Churn(..) => ("churn", ""),
            Event::Parade(..) => ("parade", ""),
            Event::Decide(..) => ("comparison", ""),
        };
        self.count(what, whose);
    }

    pub(super) fn attempt(&mut self, attempt: &Attempt, cx: Cx<'_>, pod: &Pod) {
        match attempt {
            Attempt::Error(status) => self.count("error", status.plugin),
            Attempt::Placed(placement) => {
                let single = placement.best.len() == 1;
                self.count("placed", if single { "one best" } else { "tie" });
                if !pod.volumes.is_empty() {
                    self.count("placed", "with volumes");
                }
                let nominated = pod
                    .nominated_node_name
                    .and_then(|node| cx.cluster.node_position(node));
                if nominated.is_some() && placement.best.first().copied() == nominated {
                    self.count("placed", "nominated");
                }
            }
            Attempt::Unschedulable {
                diagnosis,
                nomination,
                preemption,
            } => {
                self.count("unschedulable", "");
                if !diagnosis.pre_filter_message.is_empty() {
                    let by = diagnosis.statuses.get(0).plugin;
                    self.count("rejected by PreFilter", by);
                }
                let statuses = &diagnosis.statuses;
                for at in (0..statuses.len()).filter(|at| statuses.is_explicit(*at)) {
                    self.count("rejected by Filter", statuses.get(at).plugin);
                }
                let absent = (0..statuses.len()).find(|at| !statuses.is_explicit(*at));
                if absent.is_some() && diagnosis.pre_filter_message.is_empty() {
                    self.count("narrowed", "");
                }
                if let Nomination::Set(Some(_)) = nomination {
                    self.count("preemption", "nominates");
                }
                let Some(report) = preemption else { return };
                if let Some(reason) = report.ineligible {
                    self.count("preemption ineligible", reason);
                }
                if report.candidates.iter().any(|c| c.pdb_violations > 0) {
                    self.count("preemption", "violates a budget");
                }
                let errors = |code| code == Code::Error;
                if report.rejected.iter().any(|(_, s)| errors(s.status.code)) {
                    self.count("preemption", "error");
                }
                if let Some(rule) = report.decided_by {
                    self.count("preemption decided by", rule.as_str());
                }
            }
        }
    }

    pub(super) fn classes(&mut self, stats: Stats) {
        let Stats {
            warm,
            opened,
            evicted,
            plain,
            alike,
            each,
        } = stats;
        for (whose, n) in [
            ("warm", warm),
            ("opened", opened),
            ("evicted", evicted),
            ("plain", plain),
            ("alike", alike),
            ("each", each),
        ] {
            *self.0.entry(("class", whose)).or_default() += n;
        }
    }

    /// Which plugins told feasible nodes apart.
    pub(super) fn scores(&mut self, explanation: &Explanation) {
        for scores in &explanation.scores.plugins {
            let first = scores.normalized.first();
            if scores.normalized.iter().any(|score| Some(score) != first) {
                self.count("scored by", scores.plugin);
            }
        }
    }

    /// What came up less often than it should.
    pub(super) fn missing(&self, wanted: &[Wanted]) -> Vec<String> {
        let each = |(what, least, whose): &Wanted| {
            let rare = whose.iter().filter(|whose| self.get(what, whose) < *least);
            let line = |whose: &&str| format!("{what} {whose}: less than {least} times");
            rare.map(line).collect::<Vec<_>>()
        };
        wanted.iter().flat_map(each).collect()
    }

    /// The kinds of objects that did not come and go.
    pub(super) fn missing_kinds(&self) -> Vec<String> {
        let seen = |kind: &&'static str| self.get("put", kind) > 0 && self.get("remove", kind) > 0;
        let kinds = Kind::ALL.iter().map(|kind| kind.as_str());
        let missing = kinds.filter(|kind| !seen(kind));
        missing
            .map(|kind| format!("{kind} did not come and go"))
            .collect()
    }
}

impl std::fmt::Display for Coverage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for ((what, whose), n) in &self.0 {
            writeln!(f, "{n:>10} {what} {whose}")?;
        }
        Ok(())
    }
}
