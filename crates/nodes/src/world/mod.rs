//! All simulated nodes and their pods: pure, without a clock or a network.
//!
//! It is told what the API has ([`World::pod_seen`], [`World::node_seen`]) and that time passes
//! ([`World::advance`]); it says what has to be written ([`World::next_job`], [`World::prepare`]) and is
//! told what became of that ([`World::done`]).

mod faults;
mod jobs;
mod nodes;
mod pods;
mod slab;
#[cfg(test)]
mod tests;
mod timers;

pub use faults::Which;
pub(crate) use jobs::{Job, Outcome};

use crate::behaviour::{Rules, Usage};
use crate::events::{NodeEvent, PodEvent};
use crate::kubelet::PodSim;
use crate::node::{Blocks, NodeSim};
use crate::runtime::PodOrder;
use k8s_openapi::api::core::v1::{Node, Pod};
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use stowplan_base::{Duration, Time};
use stowplan_cache::{Key, Store};
use timers::Timers;

/// The name under which the store of pods files them by their node.
pub(crate) const BY_NODE: &str = "spec.nodeName";

/// How the simulated nodes behave.
#[derive(Clone, Debug)]
pub struct Config {
    /// What pods do that say nothing of it themselves.
    pub rules: Rules,
    /// How long it takes to start a pod of which nothing is said.
    pub start_after: Duration,
    /// Whether a node of ours that somebody deletes is registered again.
    pub reregister: bool,
    /// Whether the taint `node.kubernetes.io/not-ready`, which the API server gives to new nodes, is taken
    /// away: for clusters without a node lifecycle controller.
    pub untaint: bool,
    /// Whether the nodes that we make run their pods for real, by a [runtime](crate::Runtime).
    pub is_real: bool,
    /// What the nodes that we make say of themselves beside what all do: type, whether it holds, reason and
    /// message of conditions.
    pub conditions: Vec<NodeFact>,
}

/// A condition that a node has for as long as it is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeFact {
    /// Its type, such as `stowplan.dev/Isolated`.
    pub name: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// One word.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
}

impl Default for Config {
    /// Pods start within a second.
    fn default() -> Self {
        Self {
            rules: Rules::default(),
            start_after: Duration::from_secs(1),
            reregister: false,
            untaint: false,
            is_real: false,
            conditions: Vec::new(),
        }
    }
}

/// One pod, with what is to be done for it.
pub(crate) struct Entry {
    pub(crate) key: Key,
    pub(crate) node: u32,
    pub(crate) sim: PodSim,
    pub(crate) usage: Usage,
    /// When it is looked at again.
    timer: Option<Time>,
    /// Its status is not yet what the API has.
    is_dirty: bool,
    /// Waits to be written.
    is_queued: bool,
    /// Is being written.
    is_in_flight: bool,
    /// What it had of its node was given back.
    is_freed: bool,
    /// Somebody wants it to go.
    is_deleted: bool,
    /// The API was told that it may go.
    is_gone: bool,
    /// How often a write failed in a row.
    failures: u8,
    /// When the API is asked once more.
    again: Option<Time>,
    /// The version that our last write made.
    written: u64,
    /// When the API was last told again what it already had been told.
    reconciled: Time,
}

/// What happened, to be told.
pub(crate) enum Told {
    Pod(Arc<str>, Arc<Pod>, PodEvent),
    Node(Arc<Node>, NodeEvent),
}

/// All simulated nodes and their pods.
pub(crate) struct World {
    pub(crate) config: Config,
    /// The pods as the API has them.
    store: Arc<Store<Pod>>,
    pub(crate) nodes: Slab<NodeSim>,
    names: BTreeMap<Box<str>, u32>,
    pub(crate) pods: Slab<Entry>,
    keys: BTreeMap<Key, u32>,
    /// Nodes that we were given, by name.
    manifests: BTreeMap<Box<str>, Arc<Node>>,
    blocks: Blocks,
    timers: Timers,
    /// What has to be written of nodes, and of pods; nodes come first.
    node_jobs: VecDeque<Job>,
    pod_jobs: VecDeque<Job>,
    /// What of nodes has to be tried again, and when: the earliest first.
    later: VecDeque<(Time, Job)>,
    /// How many jobs were added and not yet announced.
    fresh: usize,
    told: Vec<Told>,
    /// What a runtime has to do.
    orders: Vec<PodOrder>,
    /// Pods that really run, by their uids.
    uids: BTreeMap<Box<str>, u32>,
    /// The last tick of heartbeats.
    tick: i64,
}

impl World {
    pub(crate) fn new(config: Config, store: Arc<Store<Pod>>) -> Self {
        store.add_index(BY_NODE, |pod| {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
            node.into_iter().collect()
        });
        Self {
            config,
            store,
            nodes: Slab::default(),
            names: BTreeMap::new(),
            pods: Slab::default(),
            keys: BTreeMap::new(),
            manifests: BTreeMap::new(),
            blocks: Blocks::default(),
            timers: Timers::default(),
            node_jobs: VecDeque::new(),
            pod_jobs: VecDeque::new(),
            later: VecDeque::new(),
            fresh: 0,
            told: Vec::new(),
            orders: Vec::new(),
            uids: BTreeMap::new(),
            tick: 0,
        }
    }

    /// The node of this name.
    pub(crate) fn node_id(&self, name: &str) -> Option<u32> {
        self.names.get(name).copied()
    }

    /// The pod of this name.
    pub(crate) fn pod(&self, namespace: &str, name: &str) -> Option<&Entry> {
        let id = self.keys.get(&Key::new(namespace, name))?;
        self.pods.get(*id)
    }

    /// The pod as the API has it, if it is still the one that we know.
    pub(crate) fn object(&self, entry: &Entry) -> Option<Arc<Pod>> {
        let pod = self.store.get(&entry.key.namespace, &entry.key.name)?;
        let is_it = pod.metadata.uid.as_deref() == Some(&entry.sim.uid);
        is_it.then_some(pod)
    }

    /// Lets time pass.
    pub(crate) fn advance(&mut self, now: Time) {
        while let Some(id) = self.timers.pop(now) {
            self.look_at(id, now);
        }
        while self.later.front().is_some_and(|(at, _)| *at <= now)
            && let Some((_, job)) = self.later.pop_front()
        {
            self.push_node_job(job);
        }
        self.heartbeats(now);
    }

    /// When to come back.
    pub(crate) fn next_due(&self) -> Option<Time> {
        let later = self.later.front().map(|(at, _)| *at);
        let due = [self.timers.next(), self.next_tick(), later];
        due.into_iter().flatten().min()
    }

    /// What a runtime has to do since this was last asked.
    pub(crate) fn take_orders(&mut self) -> Vec<PodOrder> {
        std::mem::take(&mut self.orders)
    }

    /// The uids of all pods that the API has.
    pub(crate) fn known_uids(&self) -> BTreeSet<String> {
        let all = self.store.all();
        all.iter()
            .filter_map(|pod| pod.metadata.uid.clone())
            .collect()
    }

    /// What happened since this was last asked.
    pub(crate) fn take_told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }
}
