//! What the queue can tell about itself.

use crate::framework::{ClusterEvent, Hint};
use crate::model::Pod;
use std::sync::Arc;

/// The parts of the queue, as metrics name them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// To be tried next.
    Active,
    /// To be tried when their time has come.
    Backoff,
    /// To be tried when something happens.
    Unschedulable,
}

impl Part {
    /// The part as metrics name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Backoff => "backoff",
            Self::Unschedulable => "unschedulable",
        }
    }
}

/// Why a pod enters a part of the queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// Something happened in the cluster.
    Event(ClusterEvent),
    /// Its attempt failed.
    ScheduleAttemptFailure,
    /// Its backoff is over.
    BackoffComplete,
    /// There was nothing else to try.
    PopFromBackoffQ,
}

impl Cause {
    /// The cause as metrics name it.
    pub fn label(&self) -> String {
        match self {
            Self::Event(event) => event.label(),
            Self::ScheduleAttemptFailure => "ScheduleAttemptFailure".to_owned(),
            Self::BackoffComplete => "BackoffComplete".to_owned(),
            Self::PopFromBackoffQ => "PopFromBackoffQ".to_owned(),
        }
    }
}

/// How many pods entered which part of the queue, and why: `scheduler_queue_incoming_pods_total`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Incoming {
    /// In order. There are few: looking through them is the quickest.
    counters: Vec<(Part, Cause, u64)>,
}

impl Incoming {
    pub(super) fn count(&mut self, part: Part, cause: Cause) {
        let mut counters = self.counters.iter_mut();
        match counters.find(|(p, c, _)| (*p, *c) == (part, cause)) {
            Some((.., n)) => *n += 1,
            None => {
                let before = |(p, c, _): &(Part, Cause, u64)| (*p, *c) < (part, cause);
                let at = self.counters.partition_point(before);
                self.counters.insert(at, (part, cause, 1));
            }
        }
    }

    /// The counters that are not 0.
    pub fn iter(&self) -> impl Iterator<Item = (Part, Cause, u64)> + '_ {
        self.counters.iter().copied()
    }
}

/// A hint that was asked.
#[derive(Clone, Debug)]
pub struct AskedHint {
    /// About this event.
    pub event: ClusterEvent,
    /// For this pod.
    pub pod: Arc<Pod>,
    /// The plugin.
    pub plugin: &'static str,
    /// Its answer.
    pub hint: Hint,
}

/// Which events reached the queue and what the plugins said to them, in order.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The events, those that interest nobody included.
    pub events: Vec<ClusterEvent>,
    /// The answers. Plugins that are not asked any more, because the matter is decided, do not appear.
    pub hints: Vec<AskedHint>,
}

impl Trace {
    pub(super) fn hint(
        &mut self,
        event: ClusterEvent,
        pod: &Arc<Pod>,
        plugin: &'static str,
        hint: Hint,
    ) {
        self.hints.push(AskedHint {
            event,
            pod: pod.clone(),
            plugin,
            hint,
        });
    }
}
