//! What the API says of pending pods beside what scheduling reads.

use std::collections::HashMap;
use std::hash::Hash;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_api::k8s::apimachinery::pkg::apis::meta::v1 as meta;
use stowplan_api::k8s::jiff::Timestamp;
use stowplan_base::{Marks, Sym, Time};
use stowplan_engine::model::Pod;

/// The generation and the condition `PodScheduled` of every pending pod, to tell whether its status
/// has to be written.
#[derive(Default)]
pub(super) struct Notes(HashMap<(Sym, Sym), Note>);

/// A pending pod.
#[derive(Clone, Default)]
pub(super) struct Note {
    generation: Option<i64>,
    scheduled: Option<core::PodCondition>,
}

const POD_SCHEDULED: &str = "PodScheduled";

impl Notes {
    /// A pod is new or changed.
    pub(super) fn pod_seen(&mut self, given: &core::Pod, pod: &Pod) {
        let key = (pod.namespace, pod.name);
        if pod.is_assigned() {
            self.pod_gone(key);
            return;
        }
        let conditions = given
            .status
            .iter()
            .flat_map(|s| s.conditions.iter().flatten());
        let note = Note {
            generation: given.metadata.generation,
            scheduled: conditions
                .into_iter()
                .find(|condition| condition.type_ == POD_SCHEDULED)
                .cloned(),
        };
        self.0.insert(key, note);
    }

    /// Marks the names of all pods.
    pub(super) fn mark_names(&self, marks: &mut Marks) {
        self.0.keys().for_each(|key| key.hash(marks));
    }

    /// A pod is gone, or not pending any more.
    pub(super) fn pod_gone(&mut self, key: (Sym, Sym)) {
        self.0.remove(&key);
    }

    /// The condition that says why a pod is not scheduled, if that is not what it says already.
    /// Upstream's `UpdatePodCondition`.
    pub(super) fn unscheduled(
        &self,
        pod: &Pod,
        reason: &str,
        message: &str,
        now: Time,
    ) -> Option<core::PodCondition> {
        let note = self.0.get(&(pod.namespace, pod.name));
        let before = note.and_then(|note| note.scheduled.as_ref());
        let before = before.filter(|before| before.status == "False");
        let same = before.is_some_and(|before| {
            before.reason.as_deref() == Some(reason) && before.message.as_deref() == Some(message)
        });
        if same {
            return None;
        }
        let since = before.and_then(|before| before.last_transition_time.clone());
        Some(core::PodCondition {
            type_: POD_SCHEDULED.to_owned(),
            status: "False".to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_transition_time: Some(since.unwrap_or_else(|| time(now))),
            last_probe_time: None,
            observed_generation: note.and_then(|note| note.generation),
        })
    }
}

/// A point in time, as the API writes it.
pub(super) fn time(time: Time) -> meta::Time {
    meta::Time(Timestamp::from_nanosecond(time.as_nanos().into()).unwrap_or_default())
}
