//! The binding cycle: what is done for a pod that has a node. Upstream's `bindingCycle`.
//!
//! ```text
//! Permit ──▶ PreBind: each plugin's steps in order ──▶ Bind ──▶ bound: PostBind
//!               │ a request: on when answered             │
//!               │ a wait: on when it has come true        │
//!               └───────── failed ◀───────────────────────┘
//!                            └──▶ Unreserve in reverse order, back to the queue
//! ```
//!
//! One request of a pod is out at a time, so that its steps happen in order wherever they are
//! carried out.

use super::{Effect, Failure, Request, Scheduler, Ticket};
use crate::framework::{
    Command, CycleState, Event, EventType, Nomination, ObjectKey, Outcome, PluginStatus, Point,
    Step, Text,
};
use crate::model::{Object, Pod};
use std::hash::Hash;
use std::sync::Arc;
use stowplan_base::{Marks, Sym, Time};

/// The event of a binding.
const SCHEDULED: EventType = EventType {
    kind: "Normal",
    reason: "Scheduled",
    action: "Binding",
};

/// What is left of a pod's PreBind, and by whose wish; the last comes first.
pub(super) type Steps = Vec<(&'static str, Step)>;

/// Marks the names in steps that are yet to be taken.
pub(super) fn mark_names(steps: &Steps, marks: &mut Marks) {
    for (_, step) in steps {
        match step {
            Step::Wait(wait) => wait.on.hash(marks),
            Step::Command(Command::Patch(patch)) => patch.target.hash(marks),
            Step::Command(Command::Delete(target)) => target.hash(marks),
            Step::Command(Command::Event(event)) => event.regarding.hash(marks),
            Step::Command(Command::Bind { pod, node }) => (pod, node).hash(marks),
            Step::Command(Command::PatchStatus { pod, .. }) => pod.hash(marks),
        }
    }
}

impl Scheduler {
    /// The pod is past Permit: PreBind, then Bind.
    pub(super) fn bind(&mut self, pod: Arc<Pod>, node: Sym, cycle: &CycleState, now: Time) {
        // From here on the pod cannot be rejected any more, it can only fail.
        self.queue.done(&pod.uid);
        let start = self.meter.start();
        let profile = pod.scheduler_name;
        let framework = self.framework_of(&pod);
        if !framework.takes_part(Point::PreBind, cycle, &pod) {
            self.meter.point(start, "PreBindPreFlight", "Skip", profile);
            return self.bind_now(pod, node, now);
        }
        let steps = framework.run_pre_bind(self.cx(), cycle, &pod, node);
        let status = match &steps {
            Ok(steps) if steps.is_empty() => "Skip",
            Ok(_) => "Success",
            Err(error) => error.status.code.as_str(),
        };
        // Who would have something to do at PreBind, and what.
        self.meter.point(start, "PreBindPreFlight", status, profile);
        match steps {
            Ok(steps) if steps.is_empty() => self.bind_now(pod, node, now),
            Ok(steps) => self.begin_pre_bind(&pod, node, steps, now),
            Err(error) => self.broke(&pod, &error, now),
        }
    }

    fn begin_pre_bind(&mut self, pod: &Arc<Pod>, node: Sym, mut steps: Steps, now: Time) {
        self.announce(pod, node);
        for (_, step) in &steps {
            if let Step::Wait(wait) = step {
                self.waits.listen(&pod.uid, &wait.on);
            }
        }
        steps.reverse();
        if self.bindings.get(&pod.uid).is_some() {
            self.steps.insert(pod.uid.clone(), steps);
        }
        self.advance(&pod.uid.clone(), now);
    }

    /// Tells where the pod will be if that takes a while; nothing depends on it
    /// (NominatedNodeNameForExpectation).
    pub(super) fn announce(&mut self, pod: &Arc<Pod>, node: Sym) {
        if pod.nominated_node_name != Some(node) {
            let command = Command::PatchStatus {
                pod: pod.clone(),
                condition: None,
                nomination: Nomination::Set(Some(node)),
            };
            self.effects.push(Request::own(pod, command));
        }
    }

    /// Takes the next step of a pod's binding cycle.
    fn advance(&mut self, uid: &Arc<str>, now: Time) {
        loop {
            let Some(binding) = self.bindings.get(uid) else {
                return;
            };
            let Some((plugin, step)) = self.steps.get_mut(uid).and_then(Vec::pop) else {
                let (pod, node) = (binding.queued.pod.clone(), binding.node);
                return self.bind_now(pod, node, now);
            };
            match step {
                Step::Wait(wait) => {
                    let until = now + wait.timeout;
                    self.waits.begin(uid, wait, plugin, until);
                    if !self.has_come_true(uid, now) {
                        return;
                    }
                }
                Step::Command(command) => {
                    let pod = binding.queued.pod.clone();
                    let point = Point::PreBind;
                    return self.request_step(pod, plugin, point, command);
                }
            }
        }
    }

    fn bind_now(&mut self, pod: Arc<Pod>, node: Sym, now: Time) {
        match self.framework_of(&pod).run_bind(self.cx(), &pod, node) {
            Ok((plugin, command)) => self.request_step(pod, plugin, Point::Bind, command),
            Err(error) => self.broke(&pod, &error, now),
        }
    }

    fn request_step(
        &mut self,
        pod: Arc<Pod>,
        plugin: &'static str,
        point: Point,
        command: Command,
    ) {
        self.effects.push(Effect::Request(Request {
            pod,
            plugin,
            point: Some(point),
            command,
            ticket: Ticket::Step(point, plugin),
        }));
    }

    fn broke(&mut self, pod: &Arc<Pod>, error: &PluginStatus, now: Time) {
        let failure = Failure::Error(error.status.message(&self.cluster));
        self.bind_failed(&pod.uid, failure, now);
    }

    /// Says what came of a [`Request`] for the pod of this uid.
    pub fn answer(&mut self, uid: &Arc<str>, ticket: Ticket, outcome: Outcome, now: Time) {
        match ticket {
            Ticket::Nobody => {}
            Ticket::Step(point, plugin) => {
                self.step_answered(uid, (point, plugin), outcome, now);
            }
            Ticket::Nomination | Ticket::Told(_) | Ticket::Deleted(_) => {
                self.eviction_answered(uid, ticket, &outcome, now);
            }
        }
        self.heed_plugins(now);
    }

    fn step_answered(
        &mut self,
        uid: &Arc<str>,
        (point, plugin): (Point, &'static str),
        outcome: Outcome,
        now: Time,
    ) {
        let binds = point == Point::Bind;
        let told = |reason: &str| format!("running {point:?} plugin {plugin:?}: {reason}");
        match outcome {
            Outcome::Done(_) if binds => self.bound(uid),
            Outcome::Done(written) => {
                if let Some((version, object)) = written {
                    self.waits.wrote(uid, version, object);
                }
                self.advance(uid, now);
            }
            // No answer is not a no: the pod stays where it is assumed to be until a watch tells.
            Outcome::Unknown(reason) if binds && self.is_pending(uid) => {
                self.unsettled.insert(uid.clone(), told(&reason));
            }
            Outcome::NotFound(reason)
            | Outcome::Failed(reason)
            | Outcome::Unknown(reason)
            | Outcome::Refused(reason) => {
                let failure = Failure::Error(told(&reason));
                self.bind_failed(uid, failure, now);
            }
        }
    }

    /// Whether a pod that is being bound is still on no node, as far as the API told.
    fn is_pending(&self, uid: &str) -> bool {
        let Some(binding) = self.bindings.get(uid) else {
            return false;
        };
        let pod = &binding.queued.pod;
        let listed = self.cluster.listed_pod(pod.namespace, pod.name);
        listed.is_some_and(|listed| listed.uid == pod.uid && !listed.is_assigned())
    }

    /// The API told more of a pod of which nobody knew whether it is bound.
    pub(super) fn settle(&mut self, uid: &str, now: Time) {
        if !self.unsettled.contains_key(uid) || self.is_pending(uid) {
            return;
        }
        let (Some(reason), Some(binding)) = (self.unsettled.remove(uid), self.bindings.get(uid))
        else {
            return;
        };
        let pod = &binding.queued.pod;
        let listed = self.cluster.listed_pod(pod.namespace, pod.name);
        let on = listed.filter(|listed| listed.uid == pod.uid);
        match on.and_then(|listed| listed.node_name) == Some(binding.node) {
            true => self.bound(uid),
            false => self.bind_failed(uid, Failure::Error(reason), now),
        }
    }

    /// Whether what a pod waits for holds now. A pod that waits too long fails.
    fn has_come_true(&mut self, uid: &Arc<str>, now: Time) -> bool {
        let Some((wait, plugin, seen)) = self.waits.current(uid) else {
            return false;
        };
        let mut listen = Vec::new();
        let holds = wait.until.check(self.cx(), seen, &mut listen);
        if !listen.is_empty() {
            self.waits.listen(uid, &listen);
        }
        match holds {
            Ok(true) => self.waits.came_true(uid),
            Ok(false) => {}
            Err(error) => {
                let error = format!("running PreBind plugin {plugin:?}: {error}");
                self.bind_failed(uid, Failure::Error(error), now);
                return false;
            }
        }
        holds == Ok(true)
    }

    /// An object changed, or is gone: some may have waited for that.
    pub(super) fn tell_waiting(
        &mut self,
        key: ObjectKey,
        now_is: Option<(u64, Object)>,
        now: Time,
    ) {
        for uid in self.waits.saw(key, now_is.as_ref()) {
            if self.has_come_true(&uid, now) {
                self.advance(&uid, now);
            }
        }
    }

    /// How many pods wait for something at PreBind.
    pub fn waiting_at_pre_bind(&self) -> usize {
        self.waits.waiting()
    }

    /// Fails the pods that waited at PreBind for too long.
    pub(super) fn fail_overdue(&mut self, now: Time) {
        for (uid, plugin, error) in self.waits.overdue(now) {
            let error = format!("running PreBind plugin {plugin:?}: {error}");
            self.bind_failed(&uid, Failure::Error(error), now);
        }
    }

    /// The event that tells of a binding.
    pub(super) fn tell_scheduled(&mut self, pod: &Arc<Pod>, node: Sym) {
        let event = Event {
            regarding: pod.into(),
            says: &SCHEDULED,
            note: Text::Assigned {
                pod: (pod.namespace, pod.name),
                node,
            },
        };
        self.effects.push(Request::own(pod, Command::Event(event)));
    }

    /// Runs PostBind.
    pub(super) fn post_bind(&mut self, pod: &Arc<Pod>, node: Sym) {
        let Some(framework) = self.profiles.of(pod) else {
            return;
        };
        let (start, profile) = (self.meter.start(), pod.scheduler_name);
        if !framework.has(Point::PostBind) {
            self.meter.point(start, "PostBind", "Success", profile);
            return;
        }
        let commands = framework.run_post_bind(self.cx(), pod, node);
        self.meter.point(start, "PostBind", "Success", profile);
        for (plugin, command) in commands {
            self.effects.push(Effect::Request(Request {
                pod: pod.clone(),
                plugin,
                point: Some(Point::PostBind),
                command,
                ticket: Ticket::Nobody,
            }));
        }
    }
}
