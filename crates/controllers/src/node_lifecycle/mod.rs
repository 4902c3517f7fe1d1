//! Watches over nodes: those that are not heard of any more are marked and tainted, zone by zone.
//!
//! Upstream: `pkg/controller/nodelifecycle`.
//!
//! One key is a node (taints that follow from conditions), one is a pod (a pod that lands on a dead node is
//! not ready), and `MONITOR` is a look at all nodes every five seconds, which also adds NoExecute taints
//! at the rate that a zone is allowed.

mod health;
mod taints;
#[cfg(test)]
mod tests;
mod zones;

use crate::common::{name, namespace};
use crate::taint_eviction::{BY_NODE, by_node};
use crate::{Controller, Cx, Delta, Event, Key, Plan, Watches, Write};
use health::Health;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use zones::Zones;

/// The key under which all nodes are looked at. Nodes have no namespace, and pods have a name.
const MONITOR: &str = "monitor";

/// How often tainting is tried while nodes wait for it. Upstream's `NodeEvictionPeriod`.
const TAINT_PERIOD: Duration = Duration::from_millis(100);

/// How long things take, and how fast nodes may be given up. Upstream's flags and defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeLifecycleOptions {
    /// `--node-monitor-period`.
    pub monitor_period: Duration,
    /// `--node-monitor-grace-period`.
    pub monitor_grace: Duration,
    /// `--node-startup-grace-period`.
    pub startup_grace: Duration,
    /// `--node-eviction-rate`: nodes per second in a healthy zone.
    pub eviction_rate: f32,
    /// `--secondary-node-eviction-rate`: nodes per second in a large zone that is not healthy.
    pub secondary_eviction_rate: f32,
    /// `--large-cluster-size-threshold`.
    pub large_cluster: usize,
    /// `--unhealthy-zone-threshold`.
    pub unhealthy_zone: f32,
}

impl Default for NodeLifecycleOptions {
    fn default() -> Self {
        Self {
            monitor_period: Duration::from_secs(5),
            monitor_grace: Duration::from_secs(50),
            startup_grace: Duration::from_secs(60),
            eviction_rate: 0.1,
            secondary_eviction_rate: 0.01,
            large_cluster: 50,
            unhealthy_zone: 0.55,
        }
    }
}

/// `node-lifecycle-controller`.
#[derive(Default)]
pub struct NodeLifecycle {
    options: NodeLifecycleOptions,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    known: BTreeMap<String, Known>,
    zones: Zones,
    monitored: Option<Timestamp>,
}

/// What is remembered of a node.
struct Known {
    node: Arc<Node>,
    health: Option<Health>,
    /// Its pods have to be told once more that it is not ready.
    retry: bool,
}

impl NodeLifecycle {
    /// With these settings.
    pub fn new(options: NodeLifecycleOptions) -> Self {
        Self {
            options,
            state: Arc::default(),
        }
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Controller for NodeLifecycle {
    fn watch(&self, watches: &mut Watches) {
        watches.index::<Pod>(BY_NODE, by_node);
        watches.on_each::<Node>();
        watches.reads::<Lease>();
        watches.on::<Pod>(|_, delta, keys| {
            let before = delta.before().and_then(|pod| by_node(pod).pop());
            let now = by_node(delta.object()).pop();
            if now.is_some() && now != before && !matches!(delta, Delta::Deleted(_)) {
                keys.add_object(&**delta.object());
            }
        });
        watches.at_start(Key::new(MONITOR, ""));
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        if key.name.is_empty() {
            return self.monitor(cx);
        }
        if !key.namespace.is_empty() {
            return self.new_pod(cx, key);
        }
        let Some(node) = cx.cluster.get::<Node>("", &key.name) else {
            return Plan::nothing();
        };
        let writes = [
            taints::by_conditions(&node, cx.now),
            taints::beta_labels(&node),
        ];
        Plan::sequence(writes.into_iter().flatten().collect())
    }

    fn component(&self) -> Option<&'static str> {
        Some("node-controller")
    }
}

impl NodeLifecycle {
    /// A pod that has come to a node that is not ready is not ready.
    fn new_pod(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let Some(pod) = cx.cluster.get::<Pod>(&key.namespace, &key.name) else {
            return Plan::nothing();
        };
        let node = by_node(&pod).pop().unwrap_or_default();
        let Some(node) = cx.cluster.get::<Node>("", &node) else {
            return Plan::nothing();
        };
        let is_known = locked(&self.state).known.contains_key(name(&*node));
        match health::ready(&node) {
            Some(ready) if is_known && ready.status != "True" => {
                Plan::parallel(not_ready(&pod, cx).into_iter().collect())
            }
            _ => Plan::nothing(),
        }
    }

    /// A look at all nodes, if it is time, and as many taints as zones are allowed.
    fn monitor(&self, cx: &Cx<'_>) -> Plan {
        let state = self.state.clone();
        let options = self.options.clone();
        let is_due = {
            let period = options.monitor_period;
            let state = locked(&state);
            let last = state.monitored;
            last.is_none_or(|last| {
                let passed = Duration::try_from(cx.now.duration_since(last));
                passed.unwrap_or_default() >= period
            })
        };
        if !is_due {
            return taint_pass(cx, &state, &options);
        }
        let (plan, seen) = look(cx, &mut locked(&state), &options);
        plan.then(move |cx, _| {
            let plan = settle(cx, &mut locked(&state), &options, seen);
            plan.then(move |cx, _| taint_pass(cx, &state, &options))
        })
    }
}

/// What was seen of a node before its conditions were changed.
struct Seen {
    name: String,
    was_ready: bool,
}

/// First step: who is new, who is gone, who has not been heard of.
fn look(cx: &Cx<'_>, state: &mut State, options: &NodeLifecycleOptions) -> (Plan, Vec<Seen>) {
    state.monitored = Some(cx.now);
    let nodes = cx.cluster.all::<Node>();
    let mut plan = Plan::parallel(Vec::new());
    for node in &nodes {
        state.zones.add(node, options, cx.now);
        let name = name(&**node).to_owned();
        let known = state.known.entry(name.clone()).or_insert_with(|| {
            let message = format!("Node {name} event: Registered Node {name} in Controller");
            plan.events
                .push(Event::normal(&**node, "RegisteredNode", message));
            Known {
                node: node.clone(),
                health: None,
                retry: false,
            }
        });
        known.node = node.clone();
    }
    if state.known.len() > nodes.len() {
        state.known.retain(|name, known| {
            let is_there = cx.cluster.get::<Node>("", name).is_some();
            if !is_there {
                let message = format!("Node {name} event: Removing Node {name} from Controller");
                plan.events
                    .push(Event::normal(&*known.node, "RemovingNode", message));
                state.zones.remove(name);
            }
            is_there
        });
    }
    let mut seen = Vec::with_capacity(nodes.len());
    for node in &nodes {
        let lease = cx.cluster.get::<Lease>("kube-node-lease", name(&**node));
        let Some(known) = state.known.get_mut(name(&**node)) else {
            continue;
        };
        let was_ready = health::ready(node).is_some_and(|ready| ready.status == "True");
        let health = Health::observed(known.health.take(), node, lease.as_deref(), cx.now);
        if health.is_silent(node, options, cx.now) {
            plan.writes.extend(health::unknown(node, cx.now));
        }
        known.health = Some(health);
        seen.push(Seen {
            name: name(&**node).to_owned(),
            was_ready,
        });
    }
    (plan, seen)
}

/// Second step, when conditions are up to date: taints that come or go at once, pods that are not ready,
/// the state of zones.
fn settle(cx: &Cx<'_>, state: &mut State, options: &NodeLifecycleOptions, seen: Vec<Seen>) -> Plan {
    let mut plan = Plan::parallel(Vec::new());
    let mut conditions: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for Seen { name, was_ready } in seen {
        let Some(node) = cx.cluster.get::<Node>("", &name) else {
            continue;
        };
        let ready = health::ready(&node);
        let is_ready = ready.is_some_and(|ready| ready.status == "True");
        if !node
            .metadata
            .labels
            .iter()
            .flatten()
            .any(|(key, _)| key == zones::EXCLUDED)
        {
            let counts = conditions.entry(zones::of(&node)).or_default();
            match is_ready {
                true => counts.0 += 1,
                false => counts.1 += 1,
            }
        }
        let Some(ready) = ready else { continue };
        plan.writes
            .extend(state.zones.mark(&node, &ready.status, cx.now));
        let Some(known) = state.known.get_mut(&name) else {
            continue;
        };
        if !is_ready && (was_ready || known.retry) {
            if was_ready {
                let message = format!("Node {name} status is now: NodeNotReady");
                plan.events
                    .push(Event::normal(&*node, "NodeNotReady", message));
            }
            let pods = cx.cluster.of::<Pod>().indexed(BY_NODE, &name);
            let marks: Vec<Write> = pods.iter().filter_map(|pod| not_ready(pod, cx)).collect();
            // Looked at once more: what fails now is found then.
            known.retry = !marks.is_empty();
            plan.writes.extend(marks);
        }
    }
    let reachable = state.zones.settle(&conditions, options, cx);
    if let Some(now) = reachable.exited {
        for known in state.known.values_mut() {
            known
                .health
                .iter_mut()
                .for_each(|health| health.seen_at(now));
        }
    }
    plan.writes.extend(reachable.writes);
    plan
}

/// Third step: as many NoExecute taints as zones are allowed now.
fn taint_pass(cx: &Cx<'_>, state: &Mutex<State>, options: &NodeLifecycleOptions) -> Plan {
    let mut state = locked(state);
    let (writes, waits) = state.zones.taint(cx);
    let plan = Plan::parallel(writes);
    let left = state.monitored.map(|last| {
        let passed = Duration::try_from(cx.now.duration_since(last)).unwrap_or_default();
        options.monitor_period.saturating_sub(passed)
    });
    let left = left
        .unwrap_or(options.monitor_period)
        .max(Duration::from_millis(1));
    plan.requeue_after(if waits { left.min(TAINT_PERIOD) } else { left })
}

/// Takes the readiness of a pod back.
fn not_ready(pod: &Pod, cx: &Cx<'_>) -> Option<Write> {
    let ready = crate::common::pod_condition(pod, "Ready")?;
    if ready.status == "False" {
        return None;
    }
    let mut ready = ready.clone();
    "False".clone_into(&mut ready.status);
    ready.last_transition_time = Some(crate::common::time(cx.now));
    let key = Key::new(namespace(pod), name(pod));
    let patch = json!({"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [ready]}});
    let about = pod.clone();
    let write = Write::strategic_merge::<Pod>(&key, "/status", &patch).tolerating(&[404, 409]);
    Some(write.telling(move |outcome| {
        outcome
            .is_done()
            .then(|| Event::warning(&about, "NodeNotReady", "Node is not ready"))
    }))
}
