//! Pods that really run: what is ordered, and what comes of what is told.

mod found;
mod starts;

use crate::admission::requests_of;
use crate::behaviour::Rules;
use crate::events::PodEvent;
use crate::kubelet::testing::{START, pod};
use crate::kubelet::{Cx, PodSim, Stage, specs};
use crate::runtime::{
    Answer, Exit, Found, FoundState, Hook, Order, ProbeKind, Report, RunId, Trouble,
};
use crate::status;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use stowplan_base::{Duration, Time};

struct Life {
    pod: Pod,
    sim: PodSim,
    rules: Rules,
    events: Vec<PodEvent>,
    now: Time,
}

fn run(container: &str, attempt: u32) -> RunId {
    RunId {
        container: container.into(),
        attempt,
    }
}

fn at(seconds: i64) -> Time {
    START + Duration::from_secs(seconds)
}

fn exit(code: i32, since: i64, until: i64) -> Exit {
    Exit {
        since: at(since),
        at: at(until),
        code,
        signal: None,
        reason: None,
        message: String::new(),
    }
}

impl Life {
    fn new(spec: Value) -> Self {
        Self::of(pod(json!({}), spec))
    }

    fn of(pod: Pod) -> Self {
        let rules = Rules::default();
        let mut events = Vec::new();
        let sim = {
            let specs = specs(&pod);
            let cx = Cx {
                pod: &pod,
                specs: &specs,
                rules: &rules,
                slowness: 1.0,
                start_after: Duration::from_secs(1),
                is_real: true,
                events: &mut events,
            };
            let requests = requests_of(&pod);
            let restored = PodSim::restore(&cx, requests.clone(), START);
            restored.unwrap_or_else(|| PodSim::new(&cx, requests, START))
        };
        let mut life = Self {
            pod,
            sim,
            rules,
            events,
            now: START,
        };
        life.at(0);
        life
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut PodSim, &mut Cx<'_>, Time) -> T) -> T {
        let specs = specs(&self.pod);
        let mut cx = Cx {
            pod: &self.pod,
            specs: &specs,
            rules: &self.rules,
            slowness: 1.0,
            start_after: Duration::from_secs(1),
            is_real: true,
            events: &mut self.events,
        };
        act(&mut self.sim, &mut cx, self.now)
    }

    fn at(&mut self, seconds: i64) {
        self.now = at(seconds);
        self.with(|sim, cx, now| sim.advance(cx, now));
    }

    /// Says whether anything can be seen of it.
    fn tell(&mut self, report: Report) -> bool {
        self.with(|sim, cx, now| {
            sim.report(cx, report, now);
            sim.advance(cx, now)
        })
    }

    fn delete(&mut self, grace_s: i64) {
        self.pod.metadata.deletion_grace_period_seconds = Some(grace_s);
        self.with(|sim, cx, now| {
            sim.delete(cx, now);
            sim.advance(cx, now)
        });
    }

    /// What was ordered since this was last asked.
    fn orders(&mut self) -> Vec<Order> {
        std::mem::take(&mut self.sim.real.as_mut().expect("it is real").orders)
    }

    fn status(&self) -> Value {
        let specs = specs(&self.pod);
        status::patch(&self.sim, &self.pod, &specs, Ipv4Addr::LOCALHOST)["status"].take()
    }

    /// The state of the first container, of which there is nothing but a reason or a code.
    fn state(&self) -> String {
        let status = &self.status()["containerStatuses"][0];
        let state = &status["state"];
        let phase = self.status()["phase"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let restarts = &status["restartCount"];
        let what = match (&state["running"], &state["terminated"], &state["waiting"]) {
            (Value::Object(_), _, _) if status["ready"] == true => "ready".to_owned(),
            (Value::Object(_), _, _) => "running".to_owned(),
            (_, Value::Object(ended), _) => {
                format!(
                    "{} {}",
                    ended["reason"].as_str().unwrap_or_default(),
                    ended["exitCode"]
                )
            }
            (_, _, waiting) => waiting["reason"].as_str().unwrap_or_default().to_owned(),
        };
        format!("{phase}: {what} ({restarts})")
    }

    /// A pod whose first container runs since the start.
    fn running(spec: Value) -> Self {
        let mut life = Self::new(spec);
        life.tell(Report::Prepared(Vec::new()));
        life.tell(Report::Started(run("c", 0), at(0)));
        life.orders();
        life
    }
}

fn one(policy: &str, more: Value) -> Value {
    let mut container = json!({"name": "c", "image": "busybox"});
    for (key, value) in more.as_object().into_iter().flatten() {
        container[key] = value.clone();
    }
    json!({"restartPolicy": policy, "containers": [container]})
}

#[test]
fn nothing_is_foreseen_all_is_ordered_and_told() {
    let mut life = Life::new(one("Never", json!({"command": ["sleep", "1"]})));
    assert_eq!(life.orders(), [Order::Prepare]);
    life.at(100);
    assert_eq!(life.state(), "Pending: ContainerCreating (0)");
    life.tell(Report::Prepared(Vec::new()));
    assert_eq!(life.orders(), [Order::Start(run("c", 0))]);
    life.at(200);
    assert_eq!(life.orders(), []);
    assert_eq!(life.state(), "Pending: ContainerCreating (0)");
    life.tell(Report::Started(run("c", 0), at(200)));
    assert_eq!(life.state(), "Running: ready (0)");
    life.at(1_000);
    assert_eq!(life.state(), "Running: ready (0)");
    life.tell(Report::Exited(run("c", 0), exit(3, 200, 999)));
    assert_eq!(life.state(), "Failed: Error 3 (0)");
    let ended = &life.status()["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(ended["finishedAt"], "2027-01-15T08:16:39Z");
    assert_eq!(life.orders(), [Order::Release]);
    assert_eq!(life.sim.stage, Stage::Finished);
}

#[test]
fn an_end_that_is_told_before_its_start_counts_for_both_and_only_once() {
    let mut life = Life::new(one("OnFailure", json!({})));
    life.tell(Report::Prepared(Vec::new()));
    life.at(1);
    life.tell(Report::Exited(run("c", 0), exit(0, 0, 1)));
    assert_eq!(life.state(), "Succeeded: Completed 0 (0)");
    life.tell(Report::Started(run("c", 0), at(0)));
    life.tell(Report::Exited(run("c", 0), exit(1, 0, 1)));
    assert_eq!(life.state(), "Succeeded: Completed 0 (0)");
}

#[test]
fn restarts_follow_the_policy_and_the_pauses() {
    let mut life = Life::running(one("Always", json!({})));
    life.at(1);
    life.tell(Report::Exited(run("c", 0), exit(1, 0, 1)));
    assert_eq!(life.orders(), [Order::Start(run("c", 1))]);
    assert_eq!(life.state(), "Running: Error 1 (0)");
    life.tell(Report::Started(run("c", 1), at(1)));
    assert_eq!(life.state(), "Running: ready (1)");
    life.tell(Report::Exited(run("c", 1), exit(1, 1, 1)));
    assert_eq!(life.orders(), []);
    assert_eq!(life.state(), "Running: CrashLoopBackOff (1)");
    life.at(10);
    assert_eq!(life.orders(), []);
    life.at(11);
    assert_eq!(life.orders(), [Order::Start(run("c", 2))]);
    let status = life.status();
    let message = status["containerStatuses"][0]["lastState"]["terminated"]["exitCode"].clone();
    assert_eq!(message, 1);
}

#[test]
fn a_stop_is_a_hook_a_signal_and_a_kill() {
    let hook = json!({"lifecycle": {"preStop": {"exec": {"command": ["true"]}}}});
    let mut life = Life::running(one("Always", hook));
    life.at(5);
    life.delete(30);
    assert_eq!(life.orders(), [Order::Hook(run("c", 0), Hook::PreStop, 30)]);
    life.at(8);
    life.tell(Report::HookEnded(run("c", 0), Hook::PreStop, true));
    assert_eq!(life.orders(), [Order::Stop(run("c", 0))]);
    life.at(34);
    assert_eq!(life.orders(), []);
    life.at(35);
    assert_eq!(life.orders(), [Order::Kill(run("c", 0))]);
    assert_eq!(life.sim.stage, Stage::Ending);
    life.tell(Report::Exited(run("c", 0), exit(137, 0, 35)));
    assert_eq!(life.sim.stage, Stage::Finished);
    assert_eq!(life.orders(), [Order::Release]);
    // A hook that takes longer than there is time for.
    let hook = json!({"lifecycle": {"preStop": {"exec": {"command": ["sleep", "99"]}}}});
    let mut life = Life::running(one("Always", hook));
    life.delete(5);
    life.orders();
    life.at(5);
    assert_eq!(life.orders(), [Order::Stop(run("c", 0))]);
    life.at(7);
    assert_eq!(life.orders(), [Order::Kill(run("c", 0))]);
}

#[test]
fn a_pod_that_goes_while_it_is_being_started_is_stopped_once_it_is() {
    let mut life = Life::new(one("Always", json!({})));
    life.tell(Report::Prepared(Vec::new()));
    life.orders();
    life.delete(30);
    assert_eq!(life.sim.stage, Stage::Ending);
    assert_eq!(life.orders(), []);
    life.at(1);
    life.tell(Report::Started(run("c", 0), at(1)));
    assert_eq!(life.orders(), [Order::Stop(run("c", 0))]);
    life.tell(Report::Exited(run("c", 0), exit(0, 1, 1)));
    assert_eq!(life.sim.stage, Stage::Finished);
}

#[test]
fn sidecars_start_before_and_stop_after_what_they_serve() {
    let mut life = Life::new(json!({
        "restartPolicy": "Never",
        "initContainers": [
            {"name": "a", "restartPolicy": "Always"},
            {"name": "i"},
            {"name": "b", "restartPolicy": "Always"},
        ],
        "containers": [{"name": "c"}],
    }));
    life.tell(Report::Prepared(Vec::new()));
    assert_eq!(life.orders(), [Order::Prepare, Order::Start(run("a", 0))]);
    life.tell(Report::Started(run("a", 0), at(0)));
    assert_eq!(life.orders(), [Order::Start(run("i", 0))]);
    life.tell(Report::Exited(run("i", 0), exit(0, 0, 0)));
    assert_eq!(life.orders(), [Order::Start(run("b", 0))]);
    life.tell(Report::Started(run("b", 0), at(0)));
    assert_eq!(life.orders(), [Order::Start(run("c", 0))]);
    life.tell(Report::Started(run("c", 0), at(0)));
    assert_eq!(life.state(), "Running: ready (0)");
    life.delete(30);
    assert_eq!(life.orders(), [Order::Stop(run("c", 0))]);
    life.at(1);
    life.tell(Report::Exited(run("c", 0), exit(143, 0, 1)));
    life.at(1);
    assert_eq!(life.orders(), [Order::Stop(run("b", 0))]);
    life.at(2);
    life.tell(Report::Exited(run("b", 0), exit(143, 0, 2)));
    life.at(2);
    assert_eq!(life.orders(), [Order::Stop(run("a", 0))]);
    life.at(30);
    assert_eq!(life.orders(), [Order::Kill(run("a", 0))]);
    life.tell(Report::Exited(run("a", 0), exit(137, 0, 30)));
    assert_eq!(life.sim.stage, Stage::Finished);
}

#[test]
fn probes_are_asked_by_period_and_count_up_to_their_thresholds() {
    let probe = |period: i32, failures: i32| json!({"exec": {"command": ["true"]}, "periodSeconds": period, "failureThreshold": failures});
    let all = json!({"startupProbe": probe(1, 3), "readinessProbe": probe(5, 2), "livenessProbe": probe(2, 2)});
    let mut life = Life::running(one("Always", all));
    let ask = |kind| Order::Probe(run("c", 0), kind);
    let (good, bad) = (|| Answer::Good, || Answer::Bad("no".to_owned()));
    let answer = |kind, answer| Report::Probed(run("c", 0), kind, answer);
    assert_eq!(life.state(), "Running: running (0)");
    life.at(1);
    assert_eq!(life.orders(), [ask(ProbeKind::Startup)]);
    // Nobody asks twice at a time.
    life.at(2);
    assert_eq!(life.orders(), []);
    life.tell(answer(ProbeKind::Startup, bad()));
    assert_eq!(life.orders(), [ask(ProbeKind::Startup)]);
    life.tell(answer(ProbeKind::Startup, good()));
    assert_eq!(life.orders(), [ask(ProbeKind::Readiness)]);
    life.tell(answer(ProbeKind::Readiness, good()));
    assert_eq!(life.state(), "Running: ready (0)");
    life.at(4);
    assert_eq!(life.orders(), [ask(ProbeKind::Liveness)]);
    life.tell(answer(ProbeKind::Liveness, bad()));
    life.at(6);
    assert_eq!(life.orders(), [ask(ProbeKind::Liveness)]);
    life.tell(answer(ProbeKind::Liveness, good()));
    life.at(7);
    assert_eq!(life.orders(), [ask(ProbeKind::Readiness)]);
    life.tell(answer(ProbeKind::Readiness, bad()));
    assert_eq!(life.state(), "Running: ready (0)");
    life.at(8);
    life.tell(answer(ProbeKind::Liveness, bad()));
    life.at(10);
    // Who could not ask knows nothing.
    let not_asked = Answer::NotAsked("exec: \"x\": not found".to_owned());
    life.tell(answer(ProbeKind::Liveness, not_asked));
    assert!(!life.orders().contains(&Order::Stop(run("c", 0))));
    life.at(12);
    life.tell(answer(ProbeKind::Liveness, bad()));
    assert_eq!(life.orders().last(), Some(&Order::Stop(run("c", 0))));
    assert!(
        life.events.iter().any(|event| {
            event.message == "Container c failed liveness probe, will be restarted"
        })
    );
    let errored = "Liveness probe errored and resulted in unknown state: exec: \"x\": not found";
    assert!(life.events.iter().any(|event| event.message == errored));
    life.tell(Report::Exited(run("c", 0), exit(143, 0, 12)));
    assert_eq!(life.orders(), [Order::Start(run("c", 1))]);
    life.tell(Report::Started(run("c", 1), at(12)));
    assert_eq!(life.state(), "Running: running (1)");
}
