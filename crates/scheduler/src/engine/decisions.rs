//! Decisions, told to those who ask.

use super::Engine;
use super::records::timestamp;
use crate::permissions::Found;
use std::sync::Arc;
use stowplan_api::load::Object as ApiObject;
use stowplan_base::{Duration, Sym};
use stowplan_engine::Snapshot;
use stowplan_engine::explain::explain;
use stowplan_engine::framework::{Cx, Framework};
use stowplan_engine::model::{Object, Pod};
use stowplan_engine::remedy::{Remedies, remedies};
use stowplan_report::{Moment, Outcome, Report, State};
use stowplan_telemetry::DecisionAnswer;

/// Explaining whole tournaments takes at most one of so many parts of the engine's time.
const SHARE: i64 = 10;

/// The pod that is asked about, and what is known of it.
struct Question {
    /// The pod, off its node.
    pod: Arc<Pod>,
    state: State,
    /// When it was tried last.
    last_attempt: Option<String>,
    /// The cluster of the decision, where that is remembered.
    then: Option<Snapshot>,
    note: &'static str,
}

impl Engine {
    /// What is remembered of the last attempt of a pod, or of one that is gone and left nobody of
    /// its name.
    pub(super) fn decision(&self, namespace: &str, name: &str) -> DecisionAnswer<Found> {
        let key = self.key(namespace, name);
        let record = key.and_then(|key| {
            let record = self.state.records.get(key)?;
            let listed = self.scheduler.cluster().listed_pod(key.0, key.1);
            let is_another = listed.is_some_and(|listed| listed.uid != record.pod.uid);
            (!is_another).then_some(record)
        });
        match record {
            Some(record) => {
                DecisionAnswer::Found(Found::Decision(record.told(self.scheduler.cluster())))
            }
            None => DecisionAnswer::Unknown,
        }
    }

    /// The whole tournament of a pod: that of its last attempt if the cluster can be rewound that
    /// far, else one that is played now.
    pub(super) fn tournament(&mut self, namespace: &str, name: &str) -> DecisionAnswer<Found> {
        self.in_turn(|engine| {
            let question = engine.key(namespace, name);
            let question = question.and_then(|key| engine.question(key));
            question.and_then(|question| engine.play(&question))
        })
    }

    /// The whole tournament of a pod that does not exist, as things are now.
    pub(super) fn what_if(&mut self, given: &ApiObject) -> DecisionAnswer<Found> {
        self.in_turn(|engine| {
            let Ok(Some(Object::Pod(pod))) = engine.convert(given) else {
                return None;
            };
            engine.play(&Question {
                pod: off_its_node(&pod),
                state: State::Imagined,
                last_attempt: None,
                then: None,
                note: "this pod does not exist: this is the cluster as it is now",
            })
        })
    }

    /// Plays a tournament, if there is time for one.
    fn in_turn(&mut self, play: impl FnOnce(&mut Self) -> Option<Report>) -> DecisionAnswer<Found> {
        let start = self.clock.now();
        if start < self.state.rests_until {
            return DecisionAnswer::Busy;
        }
        let report = play(self);
        let now = self.clock.now();
        let took = (now - start).as_nanos();
        self.state.rests_until = now + Duration::from_nanos(took.saturating_mul(SHARE - 1));
        match report {
            Some(report) => DecisionAnswer::Found(Found::Tournament(Box::new(report))),
            None => DecisionAnswer::Unknown,
        }
    }

    fn key(&self, namespace: &str, name: &str) -> Option<(Sym, Sym)> {
        let names = &self.scheduler.cluster().names;
        Some((names.get(namespace)?, names.get(name)?))
    }

    fn question(&self, key: (Sym, Sym)) -> Option<Question> {
        let cluster = self.scheduler.cluster();
        let listed = cluster.listed_pod(key.0, key.1)?;
        let node = listed
            .node_name
            .or_else(|| cluster.node_of_pod(&listed.uid));
        let state = match node {
            Some(node) => State::Bound(cluster.names.text(node).to_owned()),
            None => State::Pending,
        };
        let record = self.state.records.get(key);
        let record = record.filter(|record| record.pod.uid == listed.uid);
        let then = record.and_then(|record| cluster.rewound(record.top_nodes.position));
        let note = match (&record, &then) {
            (_, Some(_)) => "",
            (Some(_), None) => {
                "too much has changed since the pod was last tried: this is the cluster as it is now"
            }
            (None, None) => "no attempt is remembered: this is the cluster as it is now",
        };
        let pod = match &record {
            Some(record) => record.pod.clone(),
            None => listed.clone(),
        };
        Some(Question {
            pod: off_its_node(&pod),
            state,
            last_attempt: record.map(|record| timestamp(record.start)),
            then,
            note,
        })
    }

    fn play(&mut self, question: &Question) -> Option<Report> {
        let pod = &question.pod;
        // A pod that is on a node by now must not stand in its own way.
        let without = || {
            let mut cluster = self.scheduler.cluster().clone();
            cluster.remove_pod(&pod.uid);
            cluster
        };
        let now;
        let other = match &question.then {
            Some(then) => Some(then),
            None if self.scheduler.cluster().pod(&pod.uid).is_some() => {
                now = without();
                Some(&now)
            }
            None => None,
        };
        let explanation = match other {
            Some(cluster) => {
                let cx = Cx {
                    cluster,
                    ..self.scheduler.cx()
                };
                explain(self.scheduler.profiles().of(pod)?, cx, pod, true)
            }
            None => self.scheduler.explain(pod, true)?,
        };
        let fits_now = question.then.is_some() && explanation.best.is_empty() && self.fits_now(pod);
        let framework = self.scheduler.profiles().of(pod)?;
        let cluster = other.unwrap_or_else(|| self.scheduler.cluster());
        let mut report = Report::new(cluster, framework, pod, &question.state, &explanation);
        let mut note = question.note.to_owned();
        let waits = matches!(question.state, State::Pending | State::Imagined);
        if waits && report.outcome != Outcome::Fits {
            match fits_now {
                true => {
                    "the cluster has changed since: it fits now, and will be tried again"
                        .clone_into(&mut note);
                }
                false => {
                    report.suggest(self.scheduler.cluster(), &self.remedies(framework, pod));
                }
            }
        }
        report.moment = Some(Moment {
            at_decision: question.then.is_some(),
            last_attempt: question.last_attempt.clone(),
            note,
        });
        Some(report)
    }

    /// What would make a pending pod fit as things are now.
    fn remedies(&self, framework: &Framework, pod: &Pod) -> Remedies {
        remedies(framework, self.scheduler.cx(), pod)
    }

    fn fits_now(&mut self, pod: &Pod) -> bool {
        let explanation = self.scheduler.explain(pod, false);
        explanation.is_some_and(|explanation| !explanation.best.is_empty())
    }

    /// Answers the caller, who may have given up.
    pub(super) fn tell(
        &mut self,
        namespace: &str,
        name: &str,
        whole: bool,
        answer: tokio::sync::oneshot::Sender<DecisionAnswer<Found>>,
    ) {
        let told = match whole {
            true => self.tournament(namespace, name),
            false => self.decision(namespace, name),
        };
        let _ = answer.send(told);
    }
}

/// The pod as if it were on no node yet.
fn off_its_node(pod: &Arc<Pod>) -> Arc<Pod> {
    match pod.node_name {
        None => pod.clone(),
        Some(_) => Arc::new(Pod {
            node_name: None,
            nominated_node_name: None,
            ..Pod::clone(pod)
        }),
    }
}
