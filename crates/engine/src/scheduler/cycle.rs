//! One scheduling cycle, from the queue to a node or back. Upstream's `scheduleOnePod`.

use super::attempt::FAILED_SCHEDULING;
use super::{Failure, Request, Scheduler};
use crate::extended::{Extenders, NoExtenders, schedule_extended};
use crate::fast::{Classes, Decision, Path, Refusal};
use crate::framework::{
    Command, CycleState, Diagnosis, Event, Framework, Nomination, PermitDecision, PluginStatus,
    Point, PreemptionReport, Text, WaitingPod,
};
use crate::meter::Start;
use crate::model::Pod;
use crate::queue::{PluginIds, QueuedPod};
use crate::schedule::{Attempt, schedule_pod};
use std::sync::Arc;
use stowplan_base::{Duration, Rng, Sym, Time};

/// The extension points that are one step where a pod is decided from what is kept: Sign stands for
/// finding the pods that are like it.
const KEPT: [(&str, &str); 3] = [KEPT_AND_SCORED[0], KEPT_AND_SCORED[1], KEPT_AND_SCORED[2]];

/// As [`KEPT`], where nodes were compared. Filter succeeds though it leaves no node, as upstream's
/// does.
const KEPT_AND_SCORED: [(&str, &str); 5] = [
    ("Sign", "Success"),
    ("PreFilter", "Success"),
    ("Filter", "Success"),
    ("PreScore", "Success"),
    ("Score", "Success"),
];

/// PostFilter, and what it came to.
fn post_filter(nomination: Nomination) -> (&'static str, &'static str) {
    match nomination {
        Nomination::Set(Some(_)) => ("PostFilter", "Success"),
        _ => ("PostFilter", "Unschedulable"),
    }
}

fn status_of(error: Option<&PluginStatus>) -> &'static str {
    error.map_or("Success", |error| error.status.code.as_str())
}

impl Scheduler {
    /// Tries the next pod, once; `None` if there is none for now. What has to be done about it is
    /// among the [effects](Self::take_effects).
    ///
    /// Of several best nodes `rng` chooses one.
    pub fn schedule_one(&mut self, now: Time, rng: &mut Rng) -> Option<Arc<Pod>> {
        self.schedule_one_extended(now, rng, &mut NoExtenders)
    }

    /// As [`schedule_one`](Self::schedule_one); extenders are asked about the pods that concern
    /// them.
    pub fn schedule_one_extended(
        &mut self,
        now: Time,
        rng: &mut Rng,
        extenders: &mut dyn Extenders,
    ) -> Option<Arc<Pod>> {
        let queued = self.pop_queued(now)?;
        let pod = queued.pod.clone();
        match self.profiles.position(&pod) {
            Some(profile) if !pod.terminating && !self.cluster.is_assumed(&pod.uid) => {
                self.try_pod(queued, profile, now, rng, extenders);
            }
            _ => self.skip(&pod),
        }
        self.heed_plugins(now);
        Some(pod)
    }

    /// Upstream's `skipPodSchedule`: the pod is being deleted, or on its way already.
    fn skip(&mut self, pod: &Arc<Pod>) {
        if pod.terminating {
            let event = Event {
                regarding: pod.into(),
                says: &FAILED_SCHEDULING,
                note: Text::SkipDeleting {
                    pod: (pod.namespace, pod.name),
                },
            };
            self.effects.push(Request::own(pod, Command::Event(event)));
        }
        self.queue.done(&pod.uid);
    }

    fn try_pod(
        &mut self,
        queued: QueuedPod,
        profile: usize,
        now: Time,
        rng: &mut Rng,
        extenders: &mut dyn Extenders,
    ) {
        if let Some(top_nodes) = &mut self.top_nodes {
            top_nodes.clear(self.cluster.log().end());
        }
        if self.cluster.nodes().is_empty() {
            let clear = Nomination::Set(None);
            return self.requeue_failed(queued, Failure::NoNodes, clear, now);
        }
        let pod = &queued.pod;
        let start = self.meter.start();
        if extenders.concerns(&self.cluster, pod) {
            let attempt = schedule_extended(self.framework_of(pod), self.cx(), pod, extenders);
            return self.follow(queued, attempt, start, now, rng);
        }
        match self.path {
            Path::Fast => {
                let mut classes = self.classes[profile].take().unwrap_or_default();
                self.try_class(&mut classes, profile, queued, now, rng);
                self.classes[profile] = Some(classes);
            }
            Path::Plain => {
                let attempt = schedule_pod(self.framework_of(pod), self.cx(), pod);
                self.follow(queued, attempt, start, now, rng);
            }
        }
    }

    /// As the plain path, from what is kept about pods like this one.
    fn try_class(
        &mut self,
        classes: &mut Classes,
        profile: usize,
        queued: QueuedPod,
        now: Time,
        rng: &mut Rng,
    ) {
        let pod = &queued.pod;
        let start = self.meter.start();
        let profile_name = pod.scheduler_name;
        let attempt = match classes.decide(self.framework_of(pod), self.cx(), pod) {
            Decision::Placed(ties) => {
                let at = ties.nth(rng.below(ties.len()));
                let at = at.expect("there are as many ties as were counted");
                let decided = self.meter.start();
                let mut has_scored = ties.is_scored();
                if let Some(mut top_nodes) = self.top_nodes.take() {
                    ties.top_nodes(self.framework_of(pod), self.cx(), &mut top_nodes);
                    // A single node is not scored.
                    has_scored &= top_nodes.nodes.len() > 1;
                    self.top_nodes = Some(top_nodes);
                    let framework = self.framework_of(pod);
                    let evaluated = framework.evaluated(ties.cycle(), has_scored);
                    self.note_evaluated(profile, evaluated);
                }
                let points = match has_scored {
                    true => &KEPT_AND_SCORED[..],
                    false => &KEPT[..],
                };
                self.meter
                    .points_until(start, decided, points, profile_name);
                return self.place(queued, at, ties.cycle(), now);
            }
            Decision::Nowhere => {
                let start = self.meter.points(start, &KEPT, profile_name);
                if self.top_nodes.is_some() {
                    let evaluated = self
                        .framework_of(pod)
                        .evaluated(classes.last_cycle(), false);
                    self.note_evaluated(profile, evaluated);
                }
                let refusal = classes.refuse(self.framework_of(pod), self.cx(), pod);
                let failure = Failure::Rejected {
                    unschedulable: self.profiles.ids(&refusal.unschedulable_plugins),
                    pending: self.profiles.ids(&refusal.pending_plugins),
                    message: refusal.message.into(),
                };
                let Refusal {
                    nomination,
                    preemption,
                    ..
                } = refusal;
                if self.framework_of(pod).has_post_filters() {
                    let point = post_filter(nomination);
                    self.meter.points(start, &[point], profile_name);
                }
                return self.refuse(queued, failure, nomination, preemption, now);
            }
            Decision::Plain => schedule_pod(self.framework_of(pod), self.cx(), pod),
        };
        self.follow(queued, attempt, start, now, rng);
    }

    /// Does what follows from an attempt.
    fn follow(
        &mut self,
        queued: QueuedPod,
        attempt: Attempt,
        start: Start,
        now: Time,
        rng: &mut Rng,
    ) {
        let pod = &queued.pod;
        if self.meter.is_on() {
            let points = self.points_of(pod, &attempt);
            self.meter.points(start, &points, pod.scheduler_name);
        }
        match attempt {
            Attempt::Placed(placement) => {
                let at = placement.best[rng.below(placement.best.len())];
                if let Some(mut top_nodes) = self.top_nodes.take() {
                    top_nodes.take_best(self.cx(), placement.best.iter().copied());
                    self.top_nodes = Some(top_nodes);
                    let evaluated = self.framework_of(pod).evaluated(&placement.cycle, true);
                    if let Some(profile) = self.profiles.position(pod) {
                        self.note_evaluated(profile, evaluated);
                    }
                }
                self.place(queued, at, &placement.cycle, now);
            }
            Attempt::Unschedulable {
                diagnosis,
                nomination,
                preemption,
            } => {
                let failure = Failure::rejected(&diagnosis, &mut self.profiles, &self.cluster);
                self.refuse(queued, failure, nomination, preemption, now);
            }
            Attempt::Error(error) => {
                let failure = self.failure_of(&error);
                self.requeue_failed(queued, failure, Nomination::Set(None), now);
            }
        }
    }

    /// The extension points that an attempt passed which looked at every node.
    fn points_of(&self, pod: &Pod, attempt: &Attempt) -> Vec<(&'static str, &'static str)> {
        let framework = self.framework_of(pod);
        match attempt {
            Attempt::Placed(placement) => {
                let evaluated = framework.evaluated(&placement.cycle, true);
                let points = match evaluated.has_scored() {
                    true => &KEPT_AND_SCORED[1..],
                    false => &KEPT[1..],
                };
                points.to_vec()
            }
            Attempt::Unschedulable {
                diagnosis,
                nomination,
                ..
            } => {
                let mut points = match diagnosis.pre_filter_message.is_empty() {
                    true => KEPT[1..].to_vec(),
                    false => vec![("PreFilter", diagnosis.statuses.get(0).status.code.as_str())],
                };
                if framework.has_post_filters() {
                    points.push(post_filter(*nomination));
                }
                points
            }
            Attempt::Error(error) => vec![("Filter", error.status.code.as_str())],
        }
    }

    /// The pod fits nowhere. If others can make room, they are asked to.
    fn refuse(
        &mut self,
        queued: QueuedPod,
        failure: Failure,
        nomination: Nomination,
        preemption: Option<PreemptionReport>,
        now: Time,
    ) {
        let pod = &queued.pod;
        let preemption = preemption.and_then(|report| report.preemption(self.cx(), pod));
        if let Some(preemption) = preemption {
            let pod = pod.clone();
            self.preempt(&pod, preemption, now);
        }
        self.requeue_failed(queued, failure, nomination, now);
    }

    /// Assume, Reserve, Permit, and on to binding, on the node at this position.
    fn place(&mut self, queued: QueuedPod, at: usize, cycle: &CycleState, now: Time) {
        let node = self.cluster.nodes()[at].node.name;
        let pod = queued.pod.clone();
        if let Err(queued) = self.assume_queued(queued, node, Some(at)) {
            let failure = Failure::Error(format!("pod {} is on a node already", pod.key));
            return self.requeue_failed(queued, failure, Nomination::Set(None), now);
        }
        let waits = match self.reserve_and_permit(&pod, cycle, node) {
            Ok(waits) => waits,
            Err(status) => {
                let failure = self.failure_of(&status);
                return self.give_up(&pod.uid, failure, now);
            }
        };
        // Who lets others go is not kept waiting by them.
        self.heed_plugins(now);
        if waits.is_empty() {
            return self.bind(pod, node, cycle, now);
        }
        let holders = waits
            .into_iter()
            .map(|(plugin, span)| (plugin, (now + span, span)));
        self.announce(&pod, node);
        self.underway.handle.insert(WaitingPod {
            pod,
            node,
            cycle: cycle.clone(),
            holders: holders.collect(),
        });
    }

    /// The plugins that hold the assumed pod at Permit and for how long, or the one that rejects it.
    fn reserve_and_permit(
        &mut self,
        pod: &Pod,
        cycle: &CycleState,
        node: Sym,
    ) -> Result<Vec<(&'static str, Duration)>, PluginStatus> {
        let (start, profile) = (self.meter.start(), pod.scheduler_name);
        let framework = self.framework_of(pod);
        if framework.takes_part(Point::Reserve, cycle, pod) {
            let objects = framework.run_reserve(self.cx(), cycle, pod, node);
            let status = status_of(objects.as_ref().err());
            self.meter.point(start, "Reserve", status, profile);
            self.reserve(&pod.uid, objects?);
        } else {
            self.meter.point(start, "Reserve", "Success", profile);
        }
        let start = self.meter.start();
        let waits = self.framework_of(pod).run_permit(self.cx(), pod, node);
        let status = match &waits {
            Ok(waits) if !waits.is_empty() => "Wait",
            waits => status_of(waits.as_ref().err()),
        };
        self.meter.point(start, "Permit", status, profile);
        waits
    }

    /// Does what plugins said about pods that wait at Permit.
    #[inline]
    pub(super) fn heed_plugins(&mut self, now: Time) {
        // Mostly nobody said anything: that must cost nothing.
        if self.underway.handle.has_decisions() {
            self.apply_permit_decisions(now);
        }
    }

    #[cold]
    fn apply_permit_decisions(&mut self, now: Time) {
        while self.underway.handle.has_decisions() {
            for said in self.underway.handle.take_decisions() {
                match said {
                    PermitDecision::Allow { uid, plugin } => self.allow(&uid, plugin, now),
                    PermitDecision::Reject {
                        uid,
                        plugin,
                        message,
                    } => self.reject(&uid, plugin, &message, now),
                }
            }
        }
    }

    /// A plugin lets a pod go on that it held at Permit.
    fn allow(&mut self, uid: &str, plugin: &str, now: Time) {
        let Some(waiting) = self.underway.handle.get_mut(uid) else {
            return;
        };
        waiting.holders.remove(plugin);
        if waiting.holders.is_empty()
            && let Some(waiting) = self.underway.handle.remove(uid)
        {
            self.bind(waiting.pod, waiting.node, &waiting.cycle, now);
        }
    }

    /// A plugin gives a pod back that it held at Permit.
    pub(super) fn reject(&mut self, uid: &str, plugin: &'static str, message: &str, now: Time) {
        if self.underway.handle.remove(uid).is_some() {
            let failure = Failure::Rejected {
                unschedulable: self.profiles.ids([&plugin]),
                pending: PluginIds::NONE,
                message: format!("0/1 nodes are available: 1 {message}.").into(),
            };
            self.bind_failed(uid, failure, now);
        }
    }

    /// Gives back the pods that waited at Permit for too long.
    pub(super) fn reject_overdue(&mut self, now: Time) {
        let first = |waiting: &WaitingPod| {
            let holders = waiting.holders.iter();
            let (plugin, wait) = holders.min_by_key(|(_, (until, _))| *until)?;
            Some((waiting.pod.uid.clone(), *plugin, *wait))
        };
        let overdue: Vec<_> = self
            .underway
            .handle
            .waiting_pods()
            .filter_map(first)
            .filter(|(_, _, (until, _))| *until <= now)
            .collect();
        for (uid, plugin, (until, span)) in overdue {
            let message =
                format!("rejected due to timeout after waiting {span} at plugin {plugin}");
            self.reject(&uid, plugin, &message, until);
        }
        self.heed_plugins(now);
    }

    /// When the first pod has waited at Permit for too long.
    pub(super) fn next_overdue(&self) -> Option<Time> {
        let waiting = self.underway.handle.waiting_pods();
        waiting
            .flat_map(|waiting| waiting.holders.values())
            .map(|(until, _)| *until)
            .min()
    }

    pub(super) fn framework_of(&self, pod: &Pod) -> &Framework {
        self.profiles
            .of(pod)
            .expect("only pods of known profiles are queued")
    }

    /// What a verdict of Reserve or Permit on one node, or an error, means to the attempt.
    fn failure_of(&mut self, status: &PluginStatus) -> Failure {
        if !status.status.is_rejected() {
            return Failure::Error(status.status.message(&self.cluster));
        }
        let mut diagnosis = Diagnosis::new(1);
        diagnosis.statuses.set(0, status.clone());
        diagnosis.add_plugin_status(status);
        Failure::rejected(&diagnosis, &mut self.profiles, &self.cluster)
    }
}
