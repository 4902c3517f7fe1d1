//! A scheduler with the default profile, driven step by step as the recorded scripts do it.
//!
//! The tests named `semantic_NN_…` are the numbered semantics of the queue oracle.

mod binding;
mod cycle;
mod events;
mod evictions;
mod fair_queue;
mod gates;
mod hints;
mod in_flight;
mod joined;
mod nominations;
mod permit;
mod sweep;
mod time;
mod unsettled;

use super::{Change, Failure, Scheduler};
use crate::Snapshot;
use crate::framework::Nomination;
use crate::model::{Kind, Node, Object, Pod};
use crate::plugins::registry::default_framework;
use crate::queue::{InFlightEntry, Profiles, QueueConfig, QueuePart, QueuedPod};
use crate::testing::World;
use std::sync::Arc;
use stowplan_base::{Sym, Time};

/// When the timers start: not at a whole second, as upstream's never do.
const START_MS: i64 = 934;

/// A scheduler and its clock. Pods are in the namespace `default`; their uid is their key unless
/// set.
struct Rig {
    scheduler: Scheduler,
    /// Lends its builders; the cluster is the scheduler's.
    world: World,
    now: Time,
    version: u64,
}

impl Rig {
    fn new() -> Self {
        Self::with_profiles(vec![default_framework()])
    }

    fn with_profiles(frameworks: Vec<crate::framework::Framework>) -> Self {
        let mut cluster = Snapshot::new();
        let profiles = Profiles::new(frameworks, &mut cluster.names);
        let now = Time::from_millis(START_MS);
        Self {
            scheduler: Scheduler::new(cluster, profiles, QueueConfig::default(), now),
            world: World::default(),
            now,
            version: 0,
        }
    }

    /// Builds something out of the scheduler's own names.
    fn build<T>(&mut self, make: impl FnOnce(&mut World) -> T) -> T {
        std::mem::swap(&mut self.world.snapshot, &mut self.scheduler.cluster);
        let made = make(&mut self.world);
        std::mem::swap(&mut self.world.snapshot, &mut self.scheduler.cluster);
        made
    }

    fn sym(&mut self, text: &str) -> Sym {
        self.scheduler.cluster.names.intern(text)
    }

    /// Lets the time be so many milliseconds.
    fn at(&mut self, ms: i64) -> &mut Self {
        self.now = Time::from_millis(ms);
        self.scheduler.tick(self.now);
        self
    }

    fn upsert(&mut self, object: Object) {
        self.scheduler.apply(Change::Upsert(object), self.now);
    }

    fn upsert_pod(&mut self, mut pod: Pod) {
        self.version += 1;
        pod.resource_version = self.version.to_string().into();
        self.upsert(Object::Pod(Arc::new(pod)));
    }

    /// A new pod.
    fn create(&mut self, name: &str, change: impl FnOnce(&mut World, &mut Pod)) {
        let pod = self.build(|world| {
            let mut pod = world.pod(&format!("default/{name}"), &[]);
            change(world, &mut pod);
            pod
        });
        self.upsert_pod(pod);
    }

    /// A new pending pod without anything.
    fn pending(&mut self, name: &str) {
        self.create(name, |_, _| {});
    }

    /// A new pod on a node.
    fn assigned(&mut self, name: &str, node: &str, change: impl FnOnce(&mut World, &mut Pod)) {
        self.create(name, |world, pod| {
            pod.node_name = Some(world.sym(node));
            change(world, pod);
        });
    }

    /// Changes a pod in the API.
    fn update(&mut self, name: &str, change: impl FnOnce(&mut World, &mut Pod)) {
        let mut pod = (*self.listed(name)).clone();
        self.build(|world| change(world, &mut pod));
        self.upsert_pod(pod);
    }

    fn delete(&mut self, kind: Kind, namespace: &str, name: &str) {
        let change = Change::Delete {
            kind,
            namespace: self.sym(namespace),
            name: self.sym(name),
        };
        self.scheduler.apply(change, self.now);
    }

    fn delete_pod(&mut self, name: &str) {
        self.delete(Kind::Pod, "default", name);
    }

    /// Creates or replaces a node: 4 cpus, 8Gi and 110 pods unless changed.
    fn node(&mut self, name: &str, change: impl FnOnce(&mut World, &mut Node)) {
        let node = self.build(|world| {
            let mut node = world.node(name, &[("kubernetes.io/hostname", name)]);
            world.set_allocatable(&mut node, &[("cpu", "4"), ("memory", "8Gi")]);
            change(world, &mut node);
            node
        });
        self.upsert(Object::Node(Arc::new(node)));
    }

    fn id(&mut self, name: &str) -> (Sym, Sym) {
        (self.sym("default"), self.sym(name))
    }

    fn activate(&mut self, name: &str) {
        let id = self.id(name);
        self.scheduler.activate(&[id], self.now);
    }

    fn listed(&mut self, name: &str) -> Arc<Pod> {
        let (namespace, name) = self.id(name);
        let pod = self.scheduler.cluster.listed_pod(namespace, name);
        pod.expect("the pod is listed").clone()
    }

    fn pop(&mut self) -> Option<String> {
        let pod = self.scheduler.pop(self.now)?;
        Some(pod.key.name.to_string())
    }

    /// Creates a pod and pops it.
    fn popped(&mut self, name: &str, change: impl FnOnce(&mut World, &mut Pod)) {
        self.create(name, change);
        assert_eq!(self.pop().as_deref(), Some(name));
    }

    fn fail(&mut self, name: &str, failure: Failure, nomination: Nomination) {
        let uid = format!("default/{name}");
        self.scheduler.fail(&uid, failure, nomination, self.now);
    }

    fn rejected(&mut self, unschedulable: &[&'static str], pending: &[&'static str]) -> Failure {
        Failure::Rejected {
            unschedulable: self.scheduler.plugin_ids(unschedulable),
            pending: self.scheduler.plugin_ids(pending),
            message: "".into(),
        }
    }

    /// These plugins reject the popped pod.
    fn reject(&mut self, name: &str, plugins: &[&'static str]) {
        let failure = self.rejected(plugins, &[]);
        self.fail(name, failure, Nomination::Keep);
    }

    /// These plugins leave the popped pod waiting.
    fn leave_pending(&mut self, name: &str, plugins: &[&'static str]) {
        let failure = self.rejected(&[], plugins);
        self.fail(name, failure, Nomination::Keep);
    }

    fn error(&mut self, name: &str) {
        self.fail(name, Failure::Error("broken".into()), Nomination::Keep);
    }

    /// Creates a pod that these plugins rejected once.
    fn unschedulable(
        &mut self,
        name: &str,
        plugins: &[&'static str],
        change: impl FnOnce(&mut World, &mut Pod),
    ) {
        self.popped(name, change);
        self.reject(name, plugins);
        assert_eq!(self.place(name), "unschedulable");
    }

    fn assume(&mut self, name: &str, node: &str) {
        let node = self.sym(node);
        let uid = format!("default/{name}");
        let assumed = self.scheduler.assume(&uid, node);
        assert!(assumed.is_some(), "{name} can be assumed");
    }

    /// Where a pod is.
    fn place(&mut self, name: &str) -> &'static str {
        let id = self.id(name);
        match self.scheduler.queue.get(id) {
            Some((QueuePart::Active, _)) => "active",
            Some((QueuePart::Backoff, _)) => "backoff",
            Some((QueuePart::ErrorBackoff, _)) => "error_backoff",
            Some((QueuePart::Unschedulable, _)) => "unschedulable",
            Some((QueuePart::Gated, _)) => "gated",
            None if self.scheduler.attempts().any(|pod| pod.id() == id) => "in_flight",
            None if self.scheduler.bindings().any(|b| b.queued.id() == id) => "assumed",
            None => "nowhere",
        }
    }

    fn queued(&mut self, name: &str) -> &QueuedPod {
        let id = self.id(name);
        let (_, pod) = self.scheduler.queue.get(id).expect("the pod waits");
        pod
    }

    fn plugins(&mut self, name: &str) -> Vec<&'static str> {
        let plugins = self.queued(name).unschedulable_plugins;
        self.scheduler.profiles.names(plugins)
    }

    fn expiry_ms(&mut self, name: &str) -> i64 {
        let pod = self.queued(name).clone();
        let expiry = self.scheduler.queue.config().backoff_expiry(&pod);
        expiry.expect("the pod backs off").as_millis()
    }

    /// How often pods entered a part of the queue for a cause: `active/NodeAdd`.
    fn incoming(&self, what: &str) -> u64 {
        let counters = self.scheduler.queue.incoming().iter();
        counters
            .filter(|(part, cause, _)| format!("{}/{}", part.as_str(), cause.label()) == what)
            .map(|(_, _, count)| count)
            .sum()
    }

    /// The list of pods in flight and events.
    fn in_flight(&self) -> Vec<String> {
        let entries = self.scheduler.queue.in_flight();
        entries
            .map(|entry| match entry {
                InFlightEntry::Pod(pod) => format!("pod {}", pod.key.name),
                InFlightEntry::Event(event_in_flight) => event_in_flight.event.label(),
            })
            .collect()
    }

    fn nominated(&mut self, node: &str) -> Vec<String> {
        let node = self.sym(node);
        let pods = self.scheduler.underway.nominator.pods_on(node).iter();
        pods.map(|pod| pod.key.name.to_string()).collect()
    }

    /// The events that reach the queue while `act` runs.
    fn events(&mut self, act: impl FnOnce(&mut Self)) -> Vec<String> {
        self.scheduler.queue.start_trace();
        act(self);
        let trace = self.scheduler.queue.take_trace().unwrap_or_default();
        trace.events.iter().map(|event| event.label()).collect()
    }

    fn override_with(&mut self, node: &str) -> Nomination {
        let node = self.sym(node);
        Nomination::Set(Some(node).filter(|node| !node.is_empty()))
    }
}
