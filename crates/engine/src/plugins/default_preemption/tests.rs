use super::*;
use crate::framework::{Code, Nomination};
use crate::model::{PodDisruptionBudget, Selector};
use crate::plugins::registry::default_framework;
use crate::schedule::{Coverage, find_feasible};
use crate::testing::World;
use std::sync::Arc;
use stowplan_base::Time;

/// Nodes `a`, `b`, … with one cpu each.
fn cluster(nodes: &[&str]) -> World {
    let mut world = World::default();
    for name in nodes {
        let mut node = world.node(name, &[]);
        world.set_allocatable(&mut node, &[("cpu", "1")]);
        world.add_node(node);
    }
    world
}

/// A pod on a node, in the namespace `default`, labelled `app: NAME`.
struct Running<'a> {
    name: &'a str,
    node: &'a str,
    priority: i32,
    cpu: &'static str,
    start_secs: i64,
}

fn running<'a>(name: &'a str, node: &'a str, priority: i32, cpu: &'static str) -> Running<'a> {
    Running {
        name,
        node,
        priority,
        cpu,
        start_secs: 0,
    }
}

fn pod(world: &mut World, name: &str, priority: i32, cpu: &'static str) -> Pod {
    let mut pod = world.pod(&format!("default/{name}"), &[("app", name)]);
    world.set_requests(&mut pod, &[("cpu", cpu)]);
    pod.priority = priority;
    pod
}

fn add(world: &mut World, running: &Running<'_>) {
    let mut pod = pod(world, running.name, running.priority, running.cpu);
    pod.start_time = Some(Time::from_secs(running.start_secs));
    world.add_pod(pod, running.node);
}

fn add_budget(world: &mut World, selector: Selector, disruptions_allowed: i32) {
    let budget = PodDisruptionBudget {
        namespace: world.sym("default"),
        name: world.sym(&format!("budget-{}", world.snapshot.budgets.iter().count())),
        selector,
        disruptions_allowed,
        disrupted_pods: Box::default(),
    };
    let budget = Object::PodDisruptionBudget(Arc::new(budget));
    world.snapshot.upsert(budget);
}

fn report(world: &World, pod: &Pod) -> PreemptionReport {
    let framework = default_framework();
    let found = find_feasible(&framework, world.cx(), pod, Coverage::Everything)
        .unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(found.feasible, [0_usize; 0], "the pod must not fit");
    let preemptor = Preemptor {
        framework: &framework,
        cx: world.cx(),
        cycle: &found.cycle,
        pod,
        statuses: &found.diagnosis.statuses,
    };
    match preemptor.why_ineligible() {
        Some(reason) => PreemptionReport::ineligible(reason),
        None => evaluate(preemptor),
    }
}

/// `node: victims (violations)` for each candidate, and who was chosen why.
fn summary(world: &World, report: &PreemptionReport) -> String {
    let names = &world.snapshot.names;
    let mut lines = Vec::new();
    for candidate in &report.candidates {
        let victims: Vec<_> = candidate
            .victims
            .iter()
            .map(|v| names.text(v.name))
            .collect();
        lines.push(format!(
            "{}: {} ({})",
            names.text(candidate.node),
            victims.join(" "),
            candidate.pdb_violations
        ));
    }
    if let Some(rule) = report.decided_by {
        let best = report.best.iter().map(|&i| report.candidates[i].node);
        let best: Vec<_> = best.map(|node| names.text(node)).collect();
        lines.push(format!("{} by {}", best.join(" "), rule.as_str()));
    }
    lines.join("; ")
}

fn message(world: &World, report: &PreemptionReport) -> (Code, String, Nomination) {
    let (verdict, nomination) = report.verdict(world.cx());
    let status = verdict.expect_err("no room");
    (status.code, status.message(&world.snapshot), nomination)
}

#[test]
fn the_important_are_reprieved_first() {
    // upstream: TestDryRunPreemption
    let mut world = cluster(&["a"]);
    add(&mut world, &running("high", "a", 50, "300m"));
    add(&mut world, &running("low", "a", 1, "300m"));
    add(&mut world, &running("mid", "a", 20, "300m"));
    let new = pod(&mut world, "new", 100, "500m");
    let report = report(&world, &new);
    assert_eq!(summary(&world, &report), "a: mid low (0); a by only");
    assert_eq!(
        report.verdict(world.cx()),
        (Ok(()), Nomination::Set(Some(world.sym("a"))))
    );
}

#[test]
fn semantic_25_terminating_pods_are_victims_and_hopeless_nodes_are_not_tried() {
    let mut world = cluster(&["a", "b"]);
    let mut leaving = pod(&mut world, "leaving", 1, "1");
    leaving.terminating = true;
    world.add_pod(leaving, "a");
    let mut tiny = world.node("tiny", &[]);
    world.set_allocatable(&mut tiny, &[("cpu", "100m")]);
    world.add_node(tiny);
    add(&mut world, &running("rival", "b", 100, "1"));
    let new = pod(&mut world, "new", 100, "1");
    let report = report(&world, &new);
    assert_eq!(summary(&world, &report), "a: leaving (0); a by only");
    let rejected: Vec<_> = report.rejected.iter().map(|(at, _)| *at).collect();
    assert_eq!(rejected, [1], "b was tried in vain, tiny was not tried");
    assert!(
        report.preemption(world.cx(), &new).is_none(),
        "nothing left to be done"
    );
}

#[test]
fn victims_that_leave_already_are_counted_and_not_evicted_again() {
    let mut world = cluster(&["a"]);
    let mut leaving = pod(&mut world, "leaving", 1, "500m");
    leaving.terminating = true;
    world.add_pod(leaving, "a");
    add(&mut world, &running("low", "a", 1, "500m"));
    let new = pod(&mut world, "new", 100, "1");
    let report = report(&world, &new);
    let preemption = report.preemption(world.cx(), &new).expect("one to evict");
    assert_eq!((preemption.victims, preemption.evict.len()), (2, 1));
}

#[test]
fn semantic_5_what_each_node_says() {
    let mut world = cluster(&["a", "b", "c", "d"]);
    add(&mut world, &running("peer-a", "a", 100, "1"));
    add(&mut world, &running("peer-b", "b", 100, "500m"));
    add(&mut world, &running("small", "b", 1, "500m"));
    let mut node = world.node("d", &[]);
    node.unschedulable = true;
    world.add_node(node);
    let new = pod(&mut world, "new", 100, "2");
    assert_eq!(
        message(&world, &report(&world, &new)),
        (
            Code::Unschedulable,
            "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
                .to_owned(),
            Nomination::Set(None)
        )
    );
    let new = pod(&mut world, "new", 100, "900m");
    add(&mut world, &running("peer-c", "c", 100, "1"));
    assert_eq!(
        message(&world, &report(&world, &new)).1,
        "preemption: 0/4 nodes are available: 1 Insufficient cpu, 1 Preemption is not helpful for \
         scheduling, 2 No preemption victims found for incoming pod."
    );
}

#[test]
fn semantic_26_budgets_are_drawn_on_in_order_of_importance() {
    let mut world = cluster(&["a"]);
    add(&mut world, &running("one", "a", 30, "300m"));
    add(&mut world, &running("two", "a", 20, "300m"));
    add(&mut world, &running("three", "a", 10, "300m"));
    let everything = Selector::everything();
    add_budget(&mut world, everything, 0);
    add_budget(&mut world, Selector::Nothing, 0);
    let new = pod(&mut world, "new", 100, "400m");
    let unprotected = report(&world, &new);
    assert_eq!(summary(&world, &unprotected), "a: three (0); a by only");

    // `one` uses the budget up though it stays; `two` is protected and comes back before it.
    let app = world.sym("app");
    let exists = crate::model::Requirement {
        key: app,
        op: crate::model::Op::Exists,
        values: Box::default(),
    };
    add_budget(&mut world, Selector::All([exists].into()), 1);
    let new = pod(&mut world, "new", 100, "700m");
    let report = report(&world, &new);
    assert_eq!(summary(&world, &report), "a: one three (1); a by only");
}

#[test]
fn the_five_rules_in_order() {
    // upstream: TestSelectBestCandidate
    let full = |name, node, priority, start_secs| Running {
        start_secs,
        ..running(name, node, priority, "1")
    };
    let half = |name, node, priority| running(name, node, priority, "500m");
    let check = |pods: &[Running<'_>], budget: Option<&str>, expected: &str| {
        let mut world = cluster(&["b", "a"]);
        for pod in pods {
            add(&mut world, pod);
        }
        if let Some(app) = budget {
            let selector = world.selector(&[("app", app)]);
            add_budget(&mut world, selector, 0);
        }
        let new = pod(&mut world, "new", 100, "1");
        let summary = summary(&world, &report(&world, &new));
        assert_eq!(summary.rsplit("; ").next(), Some(expected));
    };
    check(
        &[full("x", "a", 1, 0), full("y", "b", 2, 0)],
        Some("x"),
        "b by pdb",
    );
    check(
        &[full("x", "a", 1, 0), full("y", "b", 2, 0)],
        None,
        "a by highest_priority",
    );
    // Semantic 27: two victims weigh more than one, whatever their priorities.
    check(
        &[half("x", "a", 1), half("x2", "a", -9), full("y", "b", 1, 0)],
        None,
        "b by sum_priorities",
    );
    check(
        &[
            half("x", "a", 1),
            half("x2", "a", i32::MIN),
            full("y", "b", 1, 0),
        ],
        None,
        "b by num_victims",
    );
    // Semantic 28.
    check(
        &[full("x", "a", 1, 5), full("y", "b", 1, 6)],
        None,
        "b by latest_start",
    );
    check(
        &[full("x", "a", 1, 5), full("y", "b", 1, 5)],
        None,
        "a b by tie",
    );
}

#[test]
fn semantic_29_who_may_not_preempt() {
    // upstream: TestPodEligibleToPreemptOthers
    let mut world = cluster(&["a", "b"]);
    add(&mut world, &running("x", "a", 1, "1"));
    add(&mut world, &running("y", "b", 1, "1"));
    let mut new = pod(&mut world, "new", 100, "1");
    new.never_preempts = true;
    assert_eq!(
        message(&world, &report(&world, &new)),
        (
            Code::Unschedulable,
            "preemption: not eligible due to preemptionPolicy=Never.".to_owned(),
            Nomination::Keep
        )
    );
    new.never_preempts = false;
    new.nominated_node_name = Some(world.sym("a"));
    assert_eq!(report(&world, &new).ineligible, None);

    let mut leaving = pod(&mut world, "x", 1, "1");
    leaving.terminating = true;
    world.add_pod(leaving.clone(), "a");
    assert_eq!(
        report(&world, &new).ineligible,
        None,
        "somebody else deleted it"
    );
    leaving.preempted_by_scheduler = true;
    world.add_pod(leaving.clone(), "a");
    assert_eq!(
        message(&world, &report(&world, &new)),
        (
            Code::Unschedulable,
            "preemption: not eligible due to a terminating pod on the nominated node.".to_owned(),
            Nomination::Keep
        )
    );
    leaving.priority = 100;
    world.add_pod(leaving.clone(), "a");
    assert_eq!(report(&world, &new).ineligible, None, "not for this pod");
    leaving.priority = 1;
    world.add_pod(leaving, "a");
    let mut cordoned = world.node("a", &[]);
    world.set_allocatable(&mut cordoned, &[("cpu", "100m")]);
    world.add_node(cordoned);
    assert_eq!(
        report(&world, &new).ineligible,
        None,
        "the node became hopeless"
    );
}

#[test]
fn semantic_30_nominated_pods_count_in_the_dry_run() {
    let mut world = cluster(&["a", "b"]);
    add(&mut world, &running("x", "a", 1, "1"));
    add(&mut world, &running("y", "b", 1, "1"));
    let mut promised = pod(&mut world, "promised", 100, "500m");
    promised.nominated_node_name = Some(world.sym("a"));
    let mut lesser = pod(&mut world, "lesser", 50, "500m");
    lesser.nominated_node_name = Some(world.sym("b"));
    let (a, b) = (world.sym("a"), world.sym("b"));
    world.underway.nominator.add(Arc::new(promised), a);
    world.underway.nominator.add(Arc::new(lesser), b);
    let new = pod(&mut world, "new", 100, "1");
    let report = report(&world, &new);
    assert_eq!(summary(&world, &report), "b: y (0); b by only");

    let preemption = report
        .preemption(world.cx(), &new)
        .expect("something to do");
    let names =
        |pods: &[Arc<Pod>]| -> Vec<String> { pods.iter().map(|pod| pod.key.to_string()).collect() };
    assert_eq!(preemption.node, b);
    assert_eq!(names(&preemption.evict), ["default/y"]);
    assert_eq!(names(&preemption.denominate), ["default/lesser"]);
}

#[test]
fn queue_36_a_preemptor_waits_until_the_last_victim_is_leaving() {
    // upstream: TestIsPodRunningPreemption
    let mut world = cluster(&["a"]);
    let mut victim = pod(&mut world, "victim", 1, "1");
    let waiting = pod(&mut world, "waiting", 100, "1");
    let plugin = DefaultPreemption::new(DefaultPreemptionArgs::default());
    let gated = |world: &World| plugin.pre_enqueue(world.cx(), &waiting).is_err();

    assert!(!gated(&world));
    world.underway.preempting.start(&waiting.uid);
    assert!(gated(&world));
    world.snapshot.list_pod(Arc::new(victim.clone()));
    world
        .underway
        .preempting
        .last_victim(&waiting.uid, victim.namespace, victim.name);
    assert!(gated(&world));
    victim.terminating = true;
    world.snapshot.list_pod(Arc::new(victim.clone()));
    assert!(!gated(&world));
    world.snapshot.unlist_pod(victim.namespace, victim.name);
    assert!(!gated(&world));
    world.underway.preempting.end(&waiting.uid);
    world.underway.preempting.start(&waiting.uid);
    assert!(gated(&world), "the last victim is forgotten");
}
