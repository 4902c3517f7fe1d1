//! Cuts a failing history down.

use super::event::Event;
use super::replay::{Difference, Replay};
use std::sync::Arc;
use stowplan_engine::model::{Labels, Node, NodeAffinity, Object, Pod, PodRequests};

/// At most so many events are played in search of a shorter history.
const EVENTS_MAX: usize = 3_000_000;

/// A history that fails with its last event.
pub(super) struct Failing {
    pub(super) events: Vec<Event>,
    pub(super) difference: Difference,
}

/// A shorter and simpler history that fails too, as far as one is found. `None` if not even the
/// whole history fails again.
pub(super) fn shrink(events: &[Event], start: impl Fn() -> Replay) -> Option<Failing> {
    let mut search = Search {
        start,
        budget: EVENTS_MAX,
    };
    let mut best = search.failing(events.to_vec())?;
    search.drop_events(&mut best);
    search.simplify(&mut best);
    search.drop_events(&mut best);
    Some(best)
}

struct Search<S> {
    start: S,
    budget: usize,
}

impl<S: Fn() -> Replay> Search<S> {
    /// Plays a history up to its first failure.
    fn failing(&mut self, mut events: Vec<Event>) -> Option<Failing> {
        let mut replay = (self.start)();
        for at in 0..events.len() {
            self.budget = self.budget.saturating_sub(1);
            if let Err(difference) = replay.play(&events[at]) {
                events.truncate(at + 1);
                return Some(Failing { events, difference });
            }
        }
        None
    }

    /// Leaves out half of the events, a quarter, ..., one, as long as that still fails.
    fn drop_events(&mut self, best: &mut Failing) {
        let mut chunk = best.events.len().div_ceil(2);
        loop {
            let before = best.events.len();
            let mut at = 0;
            while at + 1 < best.events.len() && self.budget > 0 {
                let mut fewer = best.events.clone();
                // The last event is the decision that fails.
                fewer.drain(at..(at + chunk).min(best.events.len() - 1));
                match self.failing(fewer) {
                    Some(failing) => *best = failing,
                    None => at += chunk,
                }
            }
            let stuck = chunk == 1 && best.events.len() == before;
            if stuck || self.budget == 0 {
                return;
            }
            chunk = chunk.div_ceil(2);
        }
    }

    /// Takes one field after the other from all pods and nodes: most of them do not matter.
    fn simplify(&mut self, best: &mut Failing) {
        for simpler in POD_FIELDS {
            self.attempt(best, |event| simpler_pod(event, simpler));
        }
        for simpler in NODE_FIELDS {
            self.attempt(best, |event| simpler_node(event, simpler));
        }
    }

    fn attempt(&mut self, best: &mut Failing, simpler: impl Fn(&Event) -> Event) {
        if self.budget == 0 {
            return;
        }
        if let Some(failing) = self.failing(best.events.iter().map(simpler).collect()) {
            *best = failing;
        }
    }
}

const POD_FIELDS: [fn(&mut Pod); 22] = [
    |pod| pod.controller = None,
    |pod| pod.terminating = false,
    |pod| pod.nominated_node_name = None,
    |pod| pod.priority = 0,
    |pod| pod.never_preempts = false,
    |pod| pod.start_time = None,
    |pod| pod.preempted_by_scheduler = false,
    |pod| pod.tolerations = Box::default(),
    |pod| pod.node_selector = Labels::default(),
    |pod| pod.node_affinity = NodeAffinity::default(),
    |pod| pod.pod_affinity = None,
    |pod| pod.pod_anti_affinity = None,
    |pod| pod.affinity_error = None,
    |pod| pod.spread_constraints = Box::default(),
    |pod| pod.spread_constraints = pod.spread_constraints.iter().take(1).cloned().collect(),
    |pod| pod.host_ports = Box::default(),
    |pod| pod.requests = PodRequests::default(),
    |pod| pod.images = Box::default(),
    |pod| pod.volumes = Box::default(),
    |pod| pod.resource_claims = Box::default(),
    |pod| pod.required_features = Box::default(),
    |pod| pod.labels = Labels::default(),
];

const NODE_FIELDS: [fn(&mut Node); 6] = [
    |node| node.labels = Labels::default(),
    |node| node.unschedulable = false,
    |node| node.taints = Box::default(),
    |node| node.conditions = Box::default(),
    |node| node.images = Box::default(),
    |node| node.declared_features = Box::default(),
];

fn simpler_pod(event: &Event, simpler: fn(&mut Pod)) -> Event {
    let simple = |pod: &Arc<Pod>| {
        let mut pod = Pod::clone(pod);
        simpler(&mut pod);
        Arc::new(pod)
    };
    match event {
        Event::Put(Object::Pod(pod)) => Event::Put(Object::Pod(simple(pod))),
        Event::Assume(pod, node) => Event::Assume(simple(pod), *node),
        Event::Nominate(pod, node) => Event::Nominate(simple(pod), *node),
        Event::Churn(pod, times) => Event::Churn(simple(pod), *times),
        Event::Parade(pod, times) => Event::Parade(simple(pod), *times),
        Event::Decide(pod, profile) => Event::Decide(simple(pod), *profile),
        other => other.clone(),
    }
}

fn simpler_node(event: &Event, simpler: fn(&mut Node)) -> Event {
    match event {
        Event::Put(Object::Node(node)) => {
            let mut node = Node::clone(node);
            simpler(&mut node);
            Event::Put(Object::Node(Arc::new(node)))
        }
        other => other.clone(),
    }
}
