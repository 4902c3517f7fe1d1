//! Pods that come, change and go.

use super::{Entry, Told, World};
use crate::admission::{admit, requests_of};
use crate::behaviour::Usage;
use crate::events::PodEvent;
use crate::kubelet::{Cx, PodSim, Spec, Stage, specs};
use crate::node::Fault;
use crate::runtime::{Order, PodOrder, PodReport};
use crate::status::differs;
use k8s_openapi::api::core::v1::Pod;
use std::sync::Arc;
use stowplan_base::{Duration, Time};
use stowplan_cache::Key;

/// How often at most the API is told again what somebody else overwrote.
const RECONCILE: Duration = Duration::from_secs(10);

/// What a pod uses of which nothing is said: a part of what it requests.
const USAGE: Usage = Usage::Fraction(0.3);

fn version(pod: &Pod) -> u64 {
    let version = pod.metadata.resource_version.as_deref();
    version
        .and_then(|version| version.parse().ok())
        .unwrap_or(0)
}

/// Reason and message with which the API says that the pod failed.
fn failed_by_others(pod: &Pod) -> Option<(&str, &str)> {
    let status = pod
        .status
        .as_ref()
        .filter(|one| one.phase.as_deref() == Some("Failed"))?;
    Some((
        status.reason.as_deref().unwrap_or_default(),
        status.message.as_deref().unwrap_or_default(),
    ))
}

impl Entry {
    /// Hands on what a runtime has to do for the pod.
    fn drain_orders(&mut self, pod: Option<&Arc<Pod>>, orders: &mut Vec<PodOrder>) {
        let Some(real) = &mut self.sim.real else {
            return;
        };
        let uid = &self.sim.uid;
        orders.extend(real.orders.drain(..).map(|what| PodOrder {
            uid: uid.clone(),
            pod: pod.cloned(),
            what,
        }));
    }
}

impl World {
    /// A pod is new or changed.
    pub(crate) fn pod_seen(&mut self, pod: &Arc<Pod>, now: Time) {
        let spec = pod.spec.as_ref();
        let name = spec
            .and_then(|spec| spec.node_name.as_deref())
            .unwrap_or_default();
        let Some(node) = self.node_id(name) else {
            return;
        };
        if self.nodes.get(node).is_none_or(|node| node.is_silent()) {
            return;
        }
        let key = Key::of(&**pod);
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let known = self.keys.get(&key).copied();
        match known.and_then(|id| Some((id, self.pods.get(id)?))) {
            Some((id, entry)) if *entry.sim.uid == *uid => self.pod_changed(id, pod, now),
            Some((id, _)) => {
                self.forget(id, None);
                self.pod_came(key, node, pod, now);
            }
            None => self.pod_came(key, node, pod, now),
        }
    }

    /// A pod is gone.
    pub(crate) fn pod_gone(&mut self, pod: &Pod) {
        let known = self.keys.get(&Key::of(pod)).copied();
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        if let Some(id) = known
            && self
                .pods
                .get(id)
                .is_some_and(|entry| *entry.sim.uid == *uid)
        {
            self.forget(id, Some(pod));
        }
    }

    fn pod_came(&mut self, key: Key, node: u32, pod: &Arc<Pod>, now: Time) {
        let specs = specs(pod);
        let requests = requests_of(pod);
        let mut events = Vec::new();
        let Some(home) = self.nodes.get_mut(node) else {
            return;
        };
        let cx = Cx {
            pod,
            specs: &specs,
            rules: &self.config.rules,
            slowness: home.slowness(),
            start_after: self.config.start_after,
            is_real: home.is_real,
            events: &mut events,
        };
        let phase = pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        let restored = PodSim::restore(&cx, requests.clone(), now);
        let is_new = restored.is_none();
        let is_over = matches!(phase, Some("Succeeded" | "Failed"));
        let mut sim = match restored {
            Some(sim) => sim,
            // Somebody else says that it is over.
            None if is_over => {
                let mut sim = PodSim::new(&cx, requests.clone(), now);
                sim.stage = Stage::Finished;
                sim.end_at_once();
                sim
            }
            None => match admit(pod, &requests, &home.object, &home.room) {
                Ok(()) => PodSim::new(&cx, requests.clone(), now),
                Err(refusal) => {
                    cx.events.push(PodEvent {
                        is_warning: true,
                        reason: refusal.reason.clone().into(),
                        message: refusal.message.clone(),
                        container: None,
                    });
                    PodSim::rejected(&cx, &refusal.reason, &refusal.message, now)
                }
            },
        };
        let is_real = home.is_real;
        let is_rejected = is_new && !is_over && sim.stage == Stage::Finished;
        let is_alive = sim.stage != Stage::Finished;
        if is_alive {
            home.room.take(pod, &sim.requests);
            match sim.ip {
                // Processes have the addresses of the machine.
                _ if home.is_real => sim.ip = Some(home.host),
                Some(ip) => home.cidr.mark(ip),
                None => sim.ip = home.cidr.allocate(),
            }
        }
        let rule = self.config.rules.of(pod);
        let entry = Entry {
            key: key.clone(),
            node,
            sim,
            usage: rule.and_then(|rule| rule.usage).unwrap_or(USAGE),
            timer: None,
            is_dirty: is_rejected,
            is_queued: false,
            is_in_flight: false,
            is_freed: !is_alive,
            is_deleted: false,
            is_gone: false,
            failures: 0,
            again: None,
            written: 0,
            reconciled: Time::default(),
        };
        let id = self.pods.insert(entry);
        if let Some(home) = self.nodes.get_mut(node) {
            home.pods.insert(id);
        }
        self.keys.insert(key, id);
        if is_real {
            let uid = pod.metadata.uid.as_deref().unwrap_or_default();
            self.uids.insert(uid.into(), id);
            self.take_orders_of(id, Some(pod));
        }
        self.tell(node, pod, events);
        self.pod_changed(id, pod, now);
    }

    /// A pod that we know is shown again: what it wants may be another, or what is said of it.
    fn pod_changed(&mut self, id: u32, pod: &Arc<Pod>, now: Time) {
        let Some(entry) = self.pods.get_mut(id) else {
            return;
        };
        let generation = pod.metadata.generation.unwrap_or_default();
        if generation != entry.sim.generation {
            entry.sim.generation = generation;
            let requests = requests_of(pod);
            let home = self.nodes.get_mut(entry.node);
            if let Some(home) = home.filter(|_| !entry.is_freed && requests != entry.sim.requests) {
                home.room.change(&entry.sim.requests, &requests);
            }
            entry.sim.requests = requests;
        }
        let rule = self.config.rules.of(pod);
        entry.usage = rule.and_then(|rule| rule.usage).unwrap_or(USAGE);
        let is_newest = version(pod) >= entry.written;
        entry.is_deleted |= pod.metadata.deletion_timestamp.is_some();
        let specs = specs(pod);
        self.step(id, pod, &specs, is_newest, now);
        let Some(entry) = self.pods.get_mut(id) else {
            return;
        };
        let is_idle = !entry.is_dirty && !entry.is_in_flight && is_newest;
        let is_finished_by_others = entry.sim.stage == Stage::Finished && entry.sim.signature == 0;
        if is_idle && !is_finished_by_others && differs(&entry.sim, pod, &specs) {
            let again = entry.reconciled + RECONCILE;
            match now >= again {
                true => {
                    entry.reconciled = now;
                    entry.is_dirty = true;
                }
                false => {
                    entry.again = Some(again);
                    let at = [entry.timer, entry.again].into_iter().flatten().min();
                    self.timers.set(id, &mut entry.timer, at);
                }
            }
        }
        self.enqueue(id);
    }

    /// A pod's time has come.
    pub(super) fn look_at(&mut self, id: u32, now: Time) {
        let Some(entry) = self.pods.get_mut(id) else {
            return;
        };
        entry.timer = None;
        self.look(id, now);
    }

    fn look(&mut self, id: u32, now: Time) {
        let Some(entry) = self.pods.get_mut(id) else {
            return;
        };
        entry.again = entry.again.filter(|again| *again > now);
        let fault = self.nodes.get(entry.node).and_then(|node| node.fault);
        if fault == Some(Fault::Fail) {
            return;
        }
        let Some(pod) = self.pods.get(id).and_then(|entry| self.object(entry)) else {
            return;
        };
        if matches!(fault, Some(Fault::Partition)) {
            // It does not know what others want now, but goes on.
            let specs = specs(&pod);
            return self.step(id, &pod, &specs, false, now);
        }
        self.pod_changed(id, &pod, now);
    }

    /// A runtime tells something of a pod.
    pub(crate) fn reported(&mut self, report: PodReport, now: Time) {
        let Some(id) = self.uids.get(&report.uid).copied() else {
            return;
        };
        let Some(pod) = self.pods.get(id).and_then(|entry| self.object(entry)) else {
            return;
        };
        let Some(entry) = self.pods.get_mut(id) else {
            return;
        };
        let node = entry.node;
        let mut events = Vec::new();
        let specs = specs(&pod);
        let mut cx = Cx {
            pod: &pod,
            specs: &specs,
            rules: &self.config.rules,
            slowness: 1.0,
            start_after: self.config.start_after,
            is_real: true,
            events: &mut events,
        };
        entry.sim.report(&mut cx, report.what, now);
        entry.drain_orders(Some(&pod), &mut self.orders);
        self.tell(node, &pod, events);
        self.look(id, now);
    }

    fn take_orders_of(&mut self, id: u32, pod: Option<&Arc<Pod>>) {
        if let Some(entry) = self.pods.get_mut(id) {
            entry.drain_orders(pod, &mut self.orders);
        }
    }

    /// Lets a pod live up to now. What others say of it counts if it is the newest that there is.
    fn step(&mut self, id: u32, pod: &Arc<Pod>, specs: &[Spec<'_>], is_newest: bool, now: Time) {
        let Some(entry) = self.pods.get_mut(id) else {
            return;
        };
        let Some(home) = self.nodes.get(entry.node) else {
            return;
        };
        let mut events = Vec::new();
        let mut cx = Cx {
            pod,
            specs,
            rules: &self.config.rules,
            slowness: home.slowness(),
            start_after: self.config.start_after,
            is_real: home.is_real,
            events: &mut events,
        };
        let is_over = entry.sim.stage == Stage::Finished && entry.sim.signature == 0;
        if !is_over || entry.is_dirty {
            let mut changed = entry.sim.advance(&mut cx, now);
            if let Some((reason, message)) = failed_by_others(pod).filter(|_| is_newest) {
                entry.sim.overrule(&mut cx, reason, message, now);
                changed |= entry.sim.advance(&mut cx, now);
            }
            if entry.is_deleted && !home.is_silent() {
                entry.sim.delete(&mut cx, now);
                changed |= entry.sim.advance(&mut cx, now);
            }
            entry.is_dirty |= changed;
        }
        entry.drain_orders(Some(pod), &mut self.orders);
        let next = [entry.sim.next(&cx), entry.again]
            .into_iter()
            .flatten()
            .min();
        self.timers.set(id, &mut entry.timer, next);
        let node = entry.node;
        if entry.sim.stage == Stage::Finished && !entry.is_freed {
            entry.is_freed = true;
            let (requests, ip) = (entry.sim.requests.clone(), entry.sim.ip);
            if let Some(home) = self.nodes.get_mut(node) {
                home.room.free(Some(pod), &requests);
                if let Some(ip) = ip.filter(|_| !home.is_real) {
                    home.cidr.free(ip);
                }
            }
        }
        self.tell(node, pod, events);
    }

    fn tell(&mut self, node: u32, pod: &Arc<Pod>, events: Vec<PodEvent>) {
        if events.is_empty() {
            return;
        }
        let Some(name) = self
            .nodes
            .get(node)
            .map(|node| Arc::<str>::from(&*node.name))
        else {
            return;
        };
        for event in events {
            self.told.push(Told::Pod(name.clone(), pod.clone(), event));
        }
    }

    /// Nothing more is known of a pod.
    pub(super) fn forget(&mut self, id: u32, pod: Option<&Pod>) {
        let Some(mut entry) = self.pods.remove(id) else {
            return;
        };
        self.timers.set(id, &mut entry.timer, None);
        self.keys.remove(&entry.key);
        if entry.sim.real.is_some() {
            self.uids.remove(&entry.sim.uid);
            self.orders.push(PodOrder {
                uid: entry.sim.uid.clone(),
                pod: None,
                what: Order::Forget,
            });
        }
        if let Some(home) = self.nodes.get_mut(entry.node) {
            home.pods.remove(&id);
            if !entry.is_freed {
                home.room.free(pod, &entry.sim.requests);
                if let Some(ip) = entry.sim.ip.filter(|_| !home.is_real) {
                    home.cidr.free(ip);
                }
            }
        }
    }
}
