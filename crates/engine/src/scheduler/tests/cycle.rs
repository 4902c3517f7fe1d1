//! Whole scheduling cycles.

use super::Rig;
use crate::explain::explain;
use crate::fast::{TOP_NODES_MAX, TopNodes};
use crate::framework::{Command, Cx, Nomination, Outcome, Point};
use crate::model::Object;
use crate::scheduler::attempt::on_node;
use crate::scheduler::{Effect, Failure};
use std::sync::Arc;
use stowplan_base::Rng;

impl Rig {
    fn schedule(&mut self) -> Vec<Effect> {
        let mut rng = Rng::new(1);
        self.scheduler.schedule_one(self.now, &mut rng);
        self.scheduler.take_effects()
    }

    fn cpu(&mut self, name: &str, amount: &str, priority: i32) {
        self.create(name, |world, pod| {
            world.set_requests(pod, &[("cpu", amount)]);
            pod.priority = priority;
        });
    }
}

#[test]
fn a_pod_that_fits_is_assumed_and_bound() {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.cpu("p", "1", 0);
    let effects = rig.schedule();
    let [Effect::Request(request)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(
        (request.plugin, request.point),
        ("DefaultBinder", Some(Point::Bind))
    );
    let (pod, node) = effects[0].as_bind().expect("a binding");
    assert_eq!(rig.scheduler.cluster.node_of_pod(&pod.uid), Some(node));
    assert!(rig.in_flight().is_empty(), "past Permit");
    assert_eq!(rig.place("p"), "assumed");

    // What is assumed takes up room at once.
    rig.cpu("q", "4", 0);
    let effects = rig.schedule();
    assert!(
        matches!(&effects[..], [Effect::Failed { .. }, ..]),
        "{effects:?}"
    );

    let bound = on_node(pod, node);
    rig.upsert(Object::Pod(bound.clone()));
    let (ticket, done) = (request.ticket, Outcome::Done(None));
    rig.scheduler.answer(&bound.uid, ticket, done, rig.now);
    let effects = rig.scheduler.take_effects();
    let [Effect::Bound { node: on, .. }, Effect::Request(told)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(*on, node);
    let Command::Event(event) = &told.command else {
        panic!("{told:?}");
    };
    let note = event.note.render(&rig.scheduler.cluster.names);
    assert_eq!(note, "Successfully assigned default/p to n");
    assert_eq!(rig.place("p"), "nowhere");
    assert!(rig.scheduler.cluster.pod(&bound.uid).is_some());
}

#[test]
fn a_pod_that_fits_nowhere_goes_back_with_its_message() {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.cpu("p", "8", 0);
    let effects = rig.schedule();
    let [Effect::Failed { pod, failure }, ..] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(&*pod.key.name, "p");
    assert!(failure.is_rejection());
    let message = failure.message();
    assert!(
        message.starts_with("0/1 nodes are available: 1 Insufficient cpu."),
        "{message}"
    );
    assert_eq!(rig.place("p"), "unschedulable");
    assert_eq!(rig.plugins("p"), ["NodeResourcesFit"]);
}

#[test]
fn without_nodes_a_pod_backs_off_as_after_an_error() {
    let mut rig = Rig::new();
    rig.pending("p");
    let effects = rig.schedule();
    let [Effect::Failed { failure, .. }, ..] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(*failure, Failure::NoNodes);
    assert_eq!(failure.message(), "no nodes available to schedule pods");
    assert_eq!(rig.place("p"), "error_backoff");
}

#[test]
fn preemption_evicts_nominates_and_wakes_the_preemptor() {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.assigned("victim", "n", |world, pod| {
        world.set_requests(pod, &[("cpu", "4")]);
    });
    rig.at(1_000).cpu("p", "2", 10);
    let effects = rig.schedule();
    let [
        Effect::Request(told),
        Effect::Failed { .. },
        _,
        Effect::Request(status),
    ] = &effects[..]
    else {
        panic!("{effects:?}");
    };
    let node = rig.sym("n");
    let Command::PatchStatus { nomination, .. } = &status.command else {
        panic!("{status:?}");
    };
    assert_eq!(*nomination, Nomination::Set(Some(node)));
    let preemption = rig
        .scheduler
        .preemption("default/p")
        .expect("it is going on");
    assert_eq!(&*preemption.evict[0].key.name, "victim");
    assert_eq!(rig.nominated("n"), ["p"]);
    assert_eq!(rig.place("p"), "unschedulable");

    let uid: Arc<str> = "default/p".into();
    rig.scheduler
        .answer(&uid, told.ticket, Outcome::Done(None), rig.now);
    let effects = rig.scheduler.take_effects();
    let [Effect::Request(deletion)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert!(
        matches!(&deletion.command, Command::Delete(target) if *target.uid == *"default/victim")
    );
    rig.delete_pod("victim");
    assert_eq!(rig.place("p"), "backoff", "the deletion wakes it");
    rig.scheduler
        .answer(&uid, deletion.ticket, Outcome::Done(None), rig.now);
    let effects = rig.scheduler.take_effects();
    assert!(
        matches!(
            &effects[..],
            [Effect::Request(_), Effect::Preempted { failed: false, .. }]
        ),
        "{effects:?}"
    );
    let effects = rig.schedule();
    assert!(effects[0].as_bind().is_some(), "{effects:?}");
    assert!(rig.nominated("n").is_empty());
}

#[test]
fn a_terminating_pod_is_not_tried() {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.create("p", |_, pod| pod.terminating = true);
    let effects = rig.schedule();
    let [Effect::Request(told)] = &effects[..] else {
        panic!("{effects:?}");
    };
    let Command::Event(event) = &told.command else {
        panic!("{told:?}");
    };
    let note = event.note.render(&rig.scheduler.cluster.names);
    assert_eq!(note, "skip schedule deleting pod: default/p");
    assert!(rig.in_flight().is_empty());
    assert_eq!(rig.place("p"), "nowhere");
}

#[test]
fn a_failed_binding_is_told_and_retried() {
    let mut rig = Rig::new();
    rig.node("n", |_, _| {});
    rig.at(1_000).cpu("p", "1", 0);
    rig.schedule();
    let error = Failure::Error("conflict".into());
    rig.scheduler.bind_failed("default/p", error, rig.now);
    let effects = rig.scheduler.take_effects();
    assert!(
        matches!(
            &effects[..],
            [Effect::BindFailed { .. }, Effect::Failed { .. }, ..]
        ),
        "{effects:?}"
    );
    assert_eq!(rig.place("p"), "error_backoff");
    rig.at(3_000);
    assert!(rig.schedule()[0].as_bind().is_some());
}

#[test]
fn ties_follow_the_seed() {
    let choice = |seed| {
        let mut rig = Rig::new();
        for name in ["a", "b", "c", "d"] {
            rig.node(name, |_, _| {});
        }
        rig.cpu("p", "1", 0);
        rig.scheduler.schedule_one(rig.now, &mut Rng::new(seed));
        let effects = rig.scheduler.take_effects();
        let (_, node) = effects[0].as_bind().expect("a binding");
        node
    };
    assert_eq!(choice(7), choice(7));
    assert!((0..20).any(|seed| choice(seed) != choice(7)));
}

#[test]
fn the_top_nodes_are_the_best_of_the_tournament() {
    let mut rig = Rig::new();
    rig.scheduler.note_top_nodes();
    for i in 0..24 {
        rig.node(&format!("n{i}"), |world, node| {
            let cpu = (2 + i % 5).to_string();
            world.set_allocatable(node, &[("cpu", &cpu), ("memory", "8Gi")]);
            node.unschedulable = i % 6 == 1;
            if i % 3 == 0 {
                let key = world.sym("odd");
                let taint = crate::model::Taint {
                    key,
                    value: key,
                    effect: crate::model::Effect::PreferNoSchedule,
                };
                node.taints = [taint].into();
            }
        });
    }
    let mut told = TopNodes::default();
    // The second and third are decided from what is kept, after changes.
    for name in ["p", "q", "r"] {
        rig.cpu(name, "1", 0);
        let pod = rig.listed(name);
        let effects = rig.schedule();
        assert!(effects[0].as_bind().is_some(), "{effects:?}");
        rig.scheduler.swap_top_nodes(&mut told);
        let then = rig.scheduler.cluster.rewound(told.position).unwrap();
        let cx = Cx {
            cluster: &then,
            ..rig.scheduler.cx()
        };
        let framework = rig.scheduler.profiles.of(&pod).unwrap();
        let explanation = explain(framework, cx, &pod, false);
        assert_eq!(told.tied, explanation.best.len());
        assert_eq!(told.nodes.len(), TOP_NODES_MAX);
        for (at, (node, total)) in told.nodes.iter().enumerate() {
            let position = then.node_position(*node).unwrap();
            let rank = explanation.feasible.binary_search(&position).unwrap();
            assert_eq!(*total, Some(explanation.scores.totals[rank]));
            let scores = &told.scores[at * told.plugins.len()..][..told.plugins.len()];
            for ((plugin, weight), score) in told.plugins.iter().zip(scores) {
                let plugins = explanation.scores.plugins.iter();
                let same = plugins
                    .clone()
                    .find(|scores| scores.plugin == *plugin)
                    .unwrap();
                let expected = (same.weight, same.normalized[rank]);
                assert_eq!((*weight, i64::from(*score)), expected, "{plugin}");
            }
        }
        assert!(
            told.plugins
                .iter()
                .any(|(name, _)| *name == "TaintToleration")
        );
        let mut totals = explanation.scores.totals.clone();
        totals.sort_unstable_by(|a, b| b.cmp(a));
        let best: Vec<_> = told.nodes.iter().map(|(_, total)| total.unwrap()).collect();
        assert_eq!(best, totals[..TOP_NODES_MAX]);
        let rejected: Vec<_> = told
            .rejected
            .iter()
            .map(|(reason, nodes)| (reason.render(&then), *nodes))
            .collect();
        assert_eq!(rejected, [("node(s) were unschedulable".to_owned(), 4)]);
    }
}
