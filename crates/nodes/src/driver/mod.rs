//! Runs the simulated nodes: informers in, requests out.

mod inbox;
mod log_reader;
mod writers;

use crate::events::EventSink;
use crate::node::{Fault, NodeSim};
use crate::observe::{self, LogsWanted, NodeUsage, PodUsage};
use crate::runtime::{Reports, Runtime};
use crate::world::{Config, Told, Which, World};
use inbox::{Inbox, Message};
use k8s_openapi::api::core::v1::{Node, Pod};
pub use log_reader::LogReader;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stowplan_base::{Env, Time};
use stowplan_client::{Informers, Requests};
use tokio::sync::{Notify, Semaphore};

/// How much is taken in at a time, before others may look.
const BATCH: usize = 256;

/// What simulated nodes need to run.
pub struct Settings {
    /// How they behave.
    pub config: Config,
    /// Nodes that there have to be, beside those that the API has.
    pub nodes: Vec<Node>,
    /// The clock.
    pub env: Arc<dyn Env>,
    /// Who is told what happens.
    pub events: Arc<dyn EventSink>,
    /// How many requests are sent at a time.
    pub writers: usize,
    /// Who runs containers, if they are not simulated.
    pub runtime: Option<Arc<dyn Runtime>>,
}

/// Simulated nodes: a handle, for as many as want one.
#[derive(Clone)]
pub struct Nodes(Arc<Shared>);

struct Shared {
    world: Mutex<World>,
    env: Arc<dyn Env>,
    events: Arc<dyn EventSink>,
    wanted: Mutex<Vec<Node>>,
    /// One permit per job that nobody has taken yet.
    jobs: Semaphore,
    /// Something changed: time to look.
    wake: Notify,
    /// Something has to be written: those who follow a log look again.
    moved: Notify,
    writers: usize,
    runtime: Option<Arc<dyn Runtime>>,
}

impl Shared {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets others know what came of a change: events, and jobs.
    fn announce(&self, mut world: MutexGuard<'_, World>) {
        let fresh = world.take_fresh();
        let told = world.take_told();
        let orders = world.take_orders();
        drop(world);
        for order in orders {
            if let Some(runtime) = &self.runtime {
                runtime.order(order);
            }
        }
        self.jobs.add_permits(fresh);
        if fresh > 0 {
            self.moved.notify_waiters();
        }
        for told in told {
            match told {
                Told::Pod(node, pod, event) => self.events.pod(&node, &pod, event),
                Told::Node(node, event) => self.events.node(&node, event),
            }
        }
    }
}

impl Nodes {
    /// Simulated nodes that read from these informers. They do nothing until they [run](Self::run).
    pub fn new(informers: &Informers, settings: Settings) -> Self {
        let store = informers.cluster().of::<Pod>();
        Self(Arc::new(Shared {
            world: Mutex::new(World::new(settings.config, store)),
            env: settings.env,
            events: settings.events,
            wanted: Mutex::new(settings.nodes),
            jobs: Semaphore::new(0),
            wake: Notify::new(),
            moved: Notify::new(),
            writers: settings.writers.max(1),
            runtime: settings.runtime,
        }))
    }

    /// Simulates, until this is dropped.
    pub async fn run(&self, informers: &Informers, requests: Arc<Requests>) {
        let shared = &self.0;
        let inbox = Arc::new(Inbox::default());
        let nodes = informers.of::<Node>();
        let pods = informers.of::<Pod>();
        nodes.synced().await;
        pods.synced().await;
        if let Some(runtime) = &shared.runtime {
            let told = inbox.clone();
            let reports = Reports::new(move |report| told.push(Message::Report(report)));
            let known = shared.world().known_uids();
            runtime.begin(reports, known);
        }
        // Nodes come first: pods are nobody's without them.
        inbox::listen(&inbox, &nodes, &pods);
        self.take_in(&inbox);
        let wanted = shared
            .wanted
            .lock()
            .map(|mut all| std::mem::take(&mut *all));
        self.add(&wanted.unwrap_or_default());
        let _writers = writers::start(shared.clone(), &requests);
        loop {
            self.take_in(&inbox);
            let pause = self.turn();
            tokio::select! {
                biased;
                () = inbox.changed() => {}
                () = shared.wake.notified() => {}
                () = shared.env.sleep(pause) => {}
            }
        }
    }

    /// Does what is due. Says how long there is nothing to do then.
    fn turn(&self) -> Duration {
        let now = self.now();
        let mut world = self.0.world();
        world.advance(now);
        let due = world.next_due();
        self.0.announce(world);
        match due {
            Some(due) => due.since(now).max(Duration::from_millis(1)),
            None => Duration::from_secs(3_600),
        }
    }

    fn take_in(&self, inbox: &Inbox) {
        loop {
            let batch = inbox.take(BATCH);
            if batch.is_empty() {
                return;
            }
            let now = self.0.env.now();
            let mut world = self.0.world();
            for message in batch {
                message.tell(&mut world, now);
            }
            self.0.announce(world);
        }
    }

    /// More nodes. Those that there are already are brought up to date.
    pub fn add(&self, nodes: &[Node]) {
        let mut world = self.0.world();
        world.want_nodes(nodes);
        self.0.announce(world);
    }

    /// A node is not registered again when somebody deletes it.
    pub fn forget(&self, node: &str) {
        self.0.world().unwant_node(node);
    }

    /// Nodes fail: no heartbeats, no reports, nothing on them goes on. Says how many these are.
    pub fn fail(&self, which: Which<'_>) -> usize {
        self.set_fault(which, Some(Fault::Fail))
    }

    /// Nodes are cut off: what is on them goes on, and is reported once they are back.
    pub fn partition(&self, which: Which<'_>) -> usize {
        self.set_fault(which, Some(Fault::Partition))
    }

    /// Nodes take so many times longer for all that they begin from now on.
    pub fn slow(&self, which: Which<'_>, factor: f64) -> usize {
        let is_sane = factor.is_finite() && factor > 0.0;
        self.set_fault(which, is_sane.then_some(Fault::Slow(factor)))
    }

    /// Nodes are well again.
    pub fn recover(&self, which: Which<'_>) -> usize {
        self.set_fault(which, None)
    }

    fn set_fault(&self, which: Which<'_>, fault: Option<Fault>) -> usize {
        let now = self.0.env.now();
        let mut world = self.0.world();
        let count = world.set_faults(which, fault, now);
        self.0.announce(world);
        self.0.wake.notify_one();
        count
    }

    /// Whether this is one of the simulated nodes.
    pub fn has(&self, node: &str) -> bool {
        self.0.world().node_id(node).is_some()
    }

    /// Whether the pods of this node really run.
    pub fn is_real(&self, node: &str) -> bool {
        self.is(node, |node| node.is_real)
    }

    /// Whether anything is heard of this node: it did not fail, and is not cut off.
    pub fn is_heard(&self, node: &str) -> bool {
        self.is(node, |node| !node.is_silent())
    }

    fn is(&self, node: &str, so: impl FnOnce(&NodeSim) -> bool) -> bool {
        let world = self.0.world();
        let id = world.node_id(node);
        id.and_then(|id| world.nodes.get(id)).is_some_and(so)
    }

    /// How many nodes, and pods on them, there are.
    pub fn counts(&self) -> (usize, usize) {
        let world = self.0.world();
        (world.nodes.len(), world.pods.len())
    }

    /// What a container would have written, from the first line that is wanted. If there is no log, says
    /// why, in kubelet's words.
    pub fn logs(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        wanted: &LogsWanted,
    ) -> Result<LogReader, String> {
        LogReader::new(self, [namespace, pod, container], wanted)
    }

    /// Whether a container runs now.
    pub fn runs(&self, namespace: &str, pod: &str, container: &str) -> bool {
        let world = self.0.world();
        observe::runs(&world, namespace, pod, container)
    }

    /// What all pods use now.
    pub fn pod_usage(&self) -> Vec<PodUsage> {
        let now = self.now();
        observe::pod_usage(&self.0.world(), now)
    }

    /// What all nodes use now: their pods, and a little for themselves.
    pub fn node_usage(&self) -> Vec<NodeUsage> {
        let now = self.now();
        observe::node_usage(&self.0.world(), now)
    }

    fn now(&self) -> Time {
        self.0.env.now()
    }
}
