//! What a script observes, in the form of a recording's `expect`.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};
use stowplan_base::Time;
use stowplan_engine::framework::Hint;
use stowplan_engine::model::PodKey;
use stowplan_engine::queue::{AskedHint, InFlightEntry, Incoming, QueuedPod, Trace};
use stowplan_engine::scheduler::Scheduler;

/// What was recorded of one step, as far as it is compared outright.
pub(super) fn expected(expect: &Value) -> Value {
    let mut expect = expect.clone();
    let Some(fields) = expect.as_object_mut() else {
        return expect;
    };
    // Hints are compared apart; why an event was ignored or left pods out is an explanation.
    fields.remove("hints");
    if let Some(events) = fields.get_mut("events").and_then(Value::as_array_mut) {
        for event in events {
            *event = event["event"].take();
        }
    }
    expect
}

/// An answer to a hint, by event, pod and plugin.
pub(super) type Answers = BTreeMap<[String; 3], VecDeque<String>>;

/// The recorded answers to hints, in order.
pub(super) fn recorded_hints(hints: &Value) -> Answers {
    let mut answers = Answers::new();
    let text = |hint: &Value, field: &str| hint[field].as_str().unwrap_or_default().to_owned();
    for hint in hints.as_array().into_iter().flatten() {
        let key = ["event", "pod", "plugin"].map(|field| text(hint, field));
        answers
            .entry(key)
            .or_default()
            .push_back(text(hint, "hint"));
    }
    answers
}

/// The hints that were answered otherwise than recorded, or should not have been asked. Fewer may
/// be asked: all rejecting plugins were, for the recording.
pub(super) fn wrong_hints(recorded: &Value, asked: &[AskedHint]) -> Vec<String> {
    let mut recorded = recorded_hints(recorded);
    let mut wrong = Vec::new();
    for hint in asked {
        let key = [
            hint.event.label(),
            hint.pod.key.to_string(),
            hint.plugin.to_owned(),
        ];
        let expected = recorded.get_mut(&key).and_then(VecDeque::pop_front);
        let got = match &hint.hint {
            Hint::Queue => "Queue",
            Hint::Skip => "Skip",
            Hint::Error(_) => "Error",
        };
        let expected = expected.as_deref().unwrap_or("not to be asked");
        if expected != got {
            let [event, pod, plugin] = key;
            wrong.push(format!(
                "hints: {plugin} about {event} for {pod}: expected {expected}, got {got} ({:?})",
                hint.hint
            ));
        }
    }
    wrong
}

/// What happened in one step, besides the state that it left.
#[derive(Default)]
pub(super) struct Step {
    pub(super) popped: Option<PodKey>,
    pub(super) blocked: bool,
    pub(super) trace: Trace,
}

/// Reads times as a recording writes them.
pub(super) struct Observer {
    pub(super) epoch: Time,
}

impl Observer {
    /// The state after a step, in the form of `expect`.
    pub(super) fn state(&self, scheduler: &Scheduler, before: &Incoming, step: &Step) -> Value {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
        if let Some(popped) = &step.popped {
            put("popped", json!(popped.to_string()));
        }
        if step.blocked {
            put("blocked", json!(true));
        }
        if !step.trace.events.is_empty() {
            put(
                "events",
                step.trace.events.iter().map(|e| e.label()).collect(),
            );
        }
        let incoming = increase(before, scheduler.queue().incoming());
        if !incoming.is_empty() {
            put("incoming", Value::Object(incoming));
        }
        self.put_queues(scheduler, &mut put);
        put_in_flight(scheduler, &mut put);
        put("nominated", nominated(scheduler));
        put("pods", self.pods(scheduler));
        Value::Object(out)
    }

    fn put_queues(
        &self,
        scheduler: &Scheduler,
        put: &mut impl FnMut(&str, Value) -> Option<Value>,
    ) {
        let queue = scheduler.queue();
        let profiles = scheduler.profiles();
        let key = |pod: &QueuedPod| pod.pod.key.to_string();
        put(
            "active",
            queue
                .active(profiles, scheduler.cx())
                .into_iter()
                .map(key)
                .collect(),
        );
        let until = |(pod, expiry): (&QueuedPod, Time)| json!({"pod": key(pod), "until": self.millis(expiry)});
        put(
            "backoff",
            queue
                .backoff(profiles, scheduler.cx())
                .into_iter()
                .map(until)
                .collect(),
        );
        let mut errors: Vec<_> = queue.error_backoff();
        errors.sort_by_key(|(pod, expiry)| (*expiry, key(pod)));
        put("error_backoff", errors.into_iter().map(until).collect());
        let mut pool: Vec<_> = queue.pool().collect();
        pool.sort_by_key(|pod| key(pod));
        let (gated, unschedulable): (Vec<_>, Vec<_>) =
            pool.into_iter().partition(|pod| pod.is_gated());
        put("gated", gated.into_iter().map(key).collect());
        put(
            "unschedulable",
            unschedulable.into_iter().map(key).collect(),
        );
    }

    fn pods(&self, scheduler: &Scheduler) -> Value {
        let mut entries = everywhere(scheduler);
        // The plain key belongs to the pod that waits, else to the first by uid.
        let is_away = |place: &str| ["in_flight", "assumed"].contains(&place);
        entries.sort_by_key(|(pod, place)| (is_away(place), pod.pod.uid.clone()));
        let mut pods = Map::new();
        for (pod, place) in entries {
            let mut key = pod.pod.key.to_string();
            if pods.contains_key(&key) {
                key = format!("{key} (old {})", pod.pod.uid);
            }
            pods.insert(key, self.pod(scheduler, pod, place));
        }
        Value::Object(pods)
    }

    fn pod(&self, scheduler: &Scheduler, pod: &QueuedPod, place: &str) -> Value {
        let profiles = scheduler.profiles();
        let mut out = json!({
            "queue": place,
            "attempts": pod.attempts,
            "unschedulable_count": pod.unschedulable_count,
            "consecutive_errors": pod.consecutive_errors,
            "timestamp": self.millis(pod.timestamp),
            "initial_attempt": pod.initial_attempt.map(|time| self.millis(time)),
        });
        let sets = [
            ("plugins", pod.unschedulable_plugins),
            ("pending", pod.pending_plugins),
        ];
        for (field, plugins) in sets {
            if !plugins.is_empty() {
                out[field] = json!(profiles.names(plugins));
            }
        }
        if let Some(plugin) = pod.gating_plugin {
            out["gated_by"] = json!(profiles.name(plugin));
        }
        if pod.flushed {
            out["flushed"] = json!(true);
        }
        out
    }

    fn millis(&self, time: Time) -> i64 {
        time.as_millis() - self.epoch.as_millis()
    }
}

/// All pods that the scheduler has to do with, and where they are.
fn everywhere(scheduler: &Scheduler) -> Vec<(&QueuedPod, &'static str)> {
    let queue = scheduler.queue();
    let profiles = scheduler.profiles();
    let mut entries = Vec::new();
    for pod in queue.active(profiles, scheduler.cx()) {
        entries.push((pod, "active"));
    }
    for (pod, _) in queue.backoff(profiles, scheduler.cx()) {
        entries.push((pod, "backoff"));
    }
    for (pod, _) in queue.error_backoff() {
        entries.push((pod, "error_backoff"));
    }
    for pod in queue.pool() {
        let place = if pod.is_gated() {
            "gated"
        } else {
            "unschedulable"
        };
        entries.push((pod, place));
    }
    // A pod that is deleted on its way to a node can be popped again; recordings show it once, and
    // only as long as it is in flight.
    let is_shown = |pod: &QueuedPod| {
        let uid = &pod.pod.uid;
        queue.is_in_flight(uid) && scheduler.bindings().all(|b| b.queued.pod.uid != *uid)
    };
    for pod in scheduler.attempts().filter(|pod| is_shown(pod)) {
        entries.push((pod, "in_flight"));
    }
    for binding in scheduler.bindings() {
        entries.push((&binding.queued, "assumed"));
    }
    entries
}

fn put_in_flight(scheduler: &Scheduler, put: &mut impl FnMut(&str, Value) -> Option<Value>) {
    let mut pods = Vec::new();
    let mut entries = Vec::new();
    for entry in scheduler.queue().in_flight() {
        match entry {
            InFlightEntry::Pod(pod) => {
                pods.push(pod.key.to_string());
                entries.push(format!("pod {}", pod.key));
            }
            InFlightEntry::Event(happening) => entries.push(happening.event.label()),
        }
    }
    put("in_flight", json!(pods));
    put("in_flight_events", json!(entries));
}

fn nominated(scheduler: &Scheduler) -> Value {
    let names = &scheduler.cluster().names;
    let nodes = scheduler.nominator().iter();
    nodes
        .map(|(node, pods)| {
            let pods = pods.iter().map(|pod| json!(pod.key.to_string()));
            (names.text(node).to_owned(), pods.collect::<Value>())
        })
        .collect()
}

fn increase(before: &Incoming, after: &Incoming) -> Map<String, Value> {
    let before: BTreeMap<_, _> = before
        .iter()
        .map(|(part, cause, count)| ((part, cause), count))
        .collect();
    let mut out = Map::new();
    for (part, cause, count) in after.iter() {
        let more = count - before.get(&(part, cause)).unwrap_or(&0);
        if more > 0 {
            out.insert(format!("{}/{}", part.as_str(), cause.label()), json!(more));
        }
    }
    out
}
