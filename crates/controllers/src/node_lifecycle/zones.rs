//! Zones: how fast their nodes may be given up.

use super::NodeLifecycleOptions;
use super::taints::{self, NOT_READY, UNREACHABLE};
use crate::common::{label, name};
use crate::{Cx, Write};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Nodes with this label do not count for the state of their zone.
pub(super) const EXCLUDED: &str = "node.kubernetes.io/exclude-disruption";

/// How healthy a zone is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Initial,
    Normal,
    PartialDisruption,
    FullDisruption,
}

/// A zone, and its nodes that wait for a NoExecute taint.
#[derive(Debug)]
struct Zone {
    state: State,
    waiting: VecDeque<String>,
    queued: BTreeSet<String>,
    /// Taints per second, and how many of them may be added now.
    rate: f32,
    tokens: f32,
    since: Timestamp,
}

/// All zones.
#[derive(Default, Debug)]
pub(super) struct Zones(BTreeMap<String, Zone>);

/// What a change of the zones' state leads to.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) writes: Vec<Write>,
    /// Nodes answer again after none did: all count as heard of now.
    pub(super) exited: Option<Timestamp>,
}

/// Region and zone of a node. Upstream's `GetZoneKey`.
pub(super) fn of(node: &Node) -> String {
    let first = |keys: [&str; 2]| {
        let mut values = keys.iter().filter_map(|key| label(node, key));
        values.next().unwrap_or_default()
    };
    let region = first([
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/region",
    ]);
    let zone = first([
        "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/zone",
    ]);
    format!("{region}:\u{0}:{zone}")
}

impl Zone {
    fn enqueue(&mut self, node: &str) {
        if self.queued.insert(node.to_owned()) {
            self.waiting.push_back(node.to_owned());
        }
    }

    fn remove(&mut self, node: &str) {
        if self.queued.remove(node) {
            self.waiting.retain(|waiting| waiting != node);
        }
    }

    fn set_rate(&mut self, rate: f32) {
        self.rate = rate;
    }

    /// How many taints may be added now: one at once, more if more than one is allowed per pass.
    fn refill(&mut self, now: Timestamp) {
        let passed = now.duration_since(self.since).as_secs_f32().max(0.0);
        self.since = now;
        let burst = (self.rate * 0.1).max(1.0);
        self.tokens = (self.tokens + passed * self.rate).min(burst);
    }
}

impl Zones {
    /// Knows the zone of a node.
    pub(super) fn add(&mut self, node: &Node, options: &NodeLifecycleOptions, now: Timestamp) {
        self.0.entry(of(node)).or_insert_with(|| Zone {
            state: State::Initial,
            waiting: VecDeque::new(),
            queued: BTreeSet::new(),
            rate: options.eviction_rate,
            tokens: 1.0,
            since: now,
        });
    }

    /// A node is gone.
    pub(super) fn remove(&mut self, node: &str) {
        self.0.values_mut().for_each(|zone| zone.remove(node));
    }

    /// What becomes of the NoExecute taints of a node. Upstream's `processTaintBaseEviction`.
    pub(super) fn mark(&mut self, node: &Node, ready: &str, now: Timestamp) -> Option<Write> {
        let zone = self.0.get_mut(&of(node))?;
        let (wanted, opposite) = match ready {
            "True" => {
                zone.remove(name(node));
                return reachable(node, now);
            }
            "False" => (NOT_READY, UNREACHABLE),
            _ => (UNREACHABLE, NOT_READY),
        };
        // One taint takes the place of the other at once.
        if taints::has(node, opposite, "NoExecute") {
            return taints::swap(node, &[wanted], &[opposite], "NoExecute", now);
        }
        if !taints::has(node, wanted, "NoExecute") {
            zone.enqueue(name(node));
        }
        None
    }

    /// Adds as many taints as zones are allowed now; says whether nodes wait that are allowed later.
    pub(super) fn taint(&mut self, cx: &Cx<'_>) -> (Vec<Write>, bool) {
        let mut writes = Vec::new();
        let mut waits = false;
        for zone in self.0.values_mut() {
            zone.refill(cx.now);
            while zone.rate > 0.0
                && zone.tokens >= 1.0
                && let Some(next) = zone.waiting.pop_front()
            {
                zone.queued.remove(&next);
                let Some(node) = cx.cluster.get::<Node>("", &next) else {
                    continue;
                };
                let (wanted, opposite) = match super::health::ready(&node).map(|r| &*r.status) {
                    Some("False") => (NOT_READY, UNREACHABLE),
                    Some("Unknown") => (UNREACHABLE, NOT_READY),
                    _ => continue,
                };
                zone.tokens -= 1.0;
                writes.extend(taints::swap(
                    &node,
                    &[wanted],
                    &[opposite],
                    "NoExecute",
                    cx.now,
                ));
            }
            waits |= !zone.waiting.is_empty() && zone.rate > 0.0;
        }
        (writes, waits)
    }

    /// Takes in how many nodes of each zone are ready and how many are not. Upstream's
    /// `handleDisruption`.
    pub(super) fn settle(
        &mut self,
        counts: &BTreeMap<String, (usize, usize)>,
        options: &NodeLifecycleOptions,
        cx: &Cx<'_>,
    ) -> Settled {
        let all_were_down = self
            .0
            .values()
            .all(|zone| zone.state == State::FullDisruption);
        self.0.retain(|zone, _| counts.contains_key(zone));
        let new = |zone: &str| {
            let (ready, unready) = counts.get(zone).copied().unwrap_or_default();
            (state(ready, unready, options), ready + unready)
        };
        let all_are_down = self
            .0
            .keys()
            .all(|zone| new(zone).0 == State::FullDisruption);
        if all_are_down && all_were_down {
            return Settled::default();
        }
        if all_are_down {
            for zone in self.0.values_mut() {
                zone.set_rate(0.0);
                zone.state = State::FullDisruption;
            }
            let nodes = cx.cluster.all::<Node>();
            let writes = nodes.iter().filter_map(|node| reachable(node, cx.now));
            return Settled {
                writes: writes.collect(),
                exited: None,
            };
        }
        for (name, zone) in &mut self.0 {
            let (state, size) = new(name);
            if zone.state == state && !all_were_down {
                continue;
            }
            zone.state = state;
            zone.set_rate(match state {
                State::Initial | State::Normal | State::FullDisruption => options.eviction_rate,
                State::PartialDisruption if size > options.large_cluster => {
                    options.secondary_eviction_rate
                }
                State::PartialDisruption => 0.0,
            });
        }
        Settled {
            writes: Vec::new(),
            exited: all_were_down.then_some(cx.now),
        }
    }
}

/// Upstream's `ComputeZoneState`.
fn state(ready: usize, unready: usize, options: &NodeLifecycleOptions) -> State {
    #[expect(
        clippy::cast_precision_loss,
        reason = "upstream reckons in float32, too"
    )]
    let share = unready as f32 / (ready + unready).max(1) as f32;
    match (ready, unready) {
        (0, 1..) => State::FullDisruption,
        (_, 3..) if share >= options.unhealthy_zone => State::PartialDisruption,
        _ => State::Normal,
    }
}

/// A node that can be reached has neither taint.
fn reachable(node: &Node, now: Timestamp) -> Option<Write> {
    taints::swap(node, &[], &[UNREACHABLE, NOT_READY], "NoExecute", now)
}
