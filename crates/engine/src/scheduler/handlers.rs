//! Changes of objects. Upstream's `pkg/scheduler/eventhandlers.go`.

use super::attempt::on_node;
use super::{Scheduler, node_events, pod_events};
use crate::framework::{Action, ClusterEvent, EventResource, ObjectKey};
use crate::model::{Kind, Node, Object, Pod};
use crate::queue::InFlightEvent;
use std::sync::Arc;
use stowplan_base::{Sym, Time};

/// A pending pod is gone, or on a node.
const UNSCHEDULED_POD_DELETE: ClusterEvent =
    ClusterEvent::new(EventResource::UnschedulablePod, Action::DELETE);

/// A change of an object in the API.
#[derive(Clone, Debug)]
pub enum Change {
    /// The object is new or changed; this is what it is now.
    Upsert(Object),
    /// The object is gone.
    Delete {
        /// Its kind.
        kind: Kind,
        /// Its namespace; empty for cluster-scoped kinds.
        namespace: Sym,
        /// Its name.
        name: Sym,
    },
}

impl Change {
    /// Which object changes, and what it is then.
    fn news(&self) -> (ObjectKey, Option<Object>) {
        match self {
            Self::Upsert(object) => {
                let (namespace, name) = object.key();
                ((object.kind(), namespace, name), Some(object.clone()))
            }
            Self::Delete {
                kind,
                namespace,
                name,
            } => ((*kind, *namespace, *name), None),
        }
    }
}

impl Scheduler {
    /// Takes a change of an object: the cluster follows, and pods that it might help wake up.
    pub fn apply(&mut self, change: Change, now: Time) {
        self.apply_version(change, 0, now);
    }

    /// As [`apply`](Self::apply), of an object whose version is known: who waits for it at PreBind
    /// is not misled by what was said before it was written.
    pub fn apply_version(&mut self, change: Change, version: u64, now: Time) {
        if self.waits.is_empty() && self.unsettled.is_empty() {
            self.take_in(change, now);
        } else {
            self.take_in_and_tell(change, version, now);
        }
        self.heed_plugins(now);
    }

    /// As [`take_in`](Self::take_in), while pods wait for something at PreBind.
    #[cold]
    fn take_in_and_tell(&mut self, change: Change, version: u64, now: Time) {
        let (key, object) = change.news();
        let unsettled = self.unsettled_pod(key);
        self.take_in(change, now);
        self.tell_waiting(key, object.map(|object| (version, object)), now);
        if let Some(uid) = unsettled {
            self.settle(&uid, now);
        }
    }

    /// The uid of the pod of this name, if nobody knows whether it is bound.
    fn unsettled_pod(&self, (kind, namespace, name): ObjectKey) -> Option<Arc<str>> {
        let is_meant = |uid: &&Arc<str>| {
            let binding = self.bindings.get(*uid);
            let id = binding.map(|binding| (binding.queued.pod.namespace, binding.queued.pod.name));
            id == Some((namespace, name))
        };
        let mut unsettled = self.unsettled.keys();
        match kind {
            Kind::Pod => unsettled.find(is_meant).cloned(),
            _ => None,
        }
    }

    // Mostly nobody waits: then taking in a change costs no call.
    #[inline(always)]
    fn take_in(&mut self, change: Change, now: Time) {
        self.meter.change_begins();
        match change {
            Change::Upsert(Object::Pod(pod)) => self.upsert_pod(pod, now),
            Change::Upsert(Object::Node(node)) => self.upsert_node(node, now),
            Change::Upsert(object) => self.upsert_other(object, now),
            Change::Delete {
                kind: Kind::Pod,
                namespace,
                name,
            } => self.delete_pod(namespace, name, now),
            Change::Delete {
                kind,
                namespace,
                name,
            } => self.delete_other(kind, namespace, name, now),
        }
        self.meter.change_ends();
    }

    /// Something happened: tells the queue.
    pub(super) fn happened(
        &mut self,
        event: ClusterEvent,
        old: Option<Object>,
        new: Option<Object>,
        now: Time,
        concerns: impl Fn(&Pod) -> bool,
    ) {
        let (queue, mut env) = self.queue_context(now);
        queue.move_all(&mut env, InFlightEvent { event, old, new }, concerns);
        self.meter.event(event);
    }

    /// Wakes all pods that an event might help, without any object being involved.
    pub fn move_all(&mut self, event: ClusterEvent, now: Time) {
        self.happened(event, None, None, now, |_| true);
    }

    fn upsert_pod(&mut self, new: Arc<Pod>, now: Time) {
        let id = (new.namespace, new.name);
        let listed = self.cluster.listed_pod(id.0, id.1);
        // Finished pods are out of the scheduler's sight, and another uid is another pod.
        let replaces = listed.is_some_and(|old| old.uid != new.uid);
        if new.finished || replaces {
            self.delete_pod(id.0, id.1, now);
        }
        if new.finished {
            return;
        }
        match self.cluster.list_pod(new.clone()) {
            Some(old) => self.update_pod(old, new, now),
            None => self.add_pod(new, now),
        }
    }

    fn add_pod(&mut self, pod: Arc<Pod>, now: Time) {
        if pod.is_assigned() {
            self.add_assigned_pod(pod, now);
        } else if self.profiles.handles(&pod) {
            let (queue, mut env) = self.queue_context(now);
            queue.add(&mut env, pod);
            self.meter.event(ClusterEvent::UNSCHEDULED_POD_ADD);
        }
    }

    fn update_pod(&mut self, old: Arc<Pod>, new: Arc<Pod>, now: Time) {
        if old.is_assigned() {
            self.update_assigned_pod(old, new, now);
        } else if new.is_assigned() {
            self.add_assigned_pod(new, now);
            if self.profiles.handles(&old) {
                let (queue, mut env) = self.queue_context(now);
                queue.delete(&mut env, &old);
                self.meter.event(UNSCHEDULED_POD_DELETE);
            }
        } else if self.profiles.handles(&old) {
            self.update_pending_pod(old, new, now);
        }
    }

    fn delete_pod(&mut self, namespace: Sym, name: Sym, now: Time) {
        let Some(pod) = self.cluster.unlist_pod(namespace, name) else {
            return;
        };
        if pod.is_assigned() {
            self.cluster.remove_pod(&pod.uid);
            self.assigned_pod_deleted(pod, now, |_| true);
        } else if self.profiles.handles(&pod) {
            self.delete_pending_pod(pod, now);
        }
    }

    fn add_assigned_pod(&mut self, pod: Arc<Pod>, now: Time) {
        if let Some(node) = pod.node_name {
            self.cluster.confirm_pod(&pod, node);
        }
        let event = ClusterEvent::ASSIGNED_POD_ADD;
        self.happened(event, None, Some(Object::Pod(pod)), now, |_| true);
    }

    fn update_assigned_pod(&mut self, old: Arc<Pod>, new: Arc<Pod>, now: Time) {
        if self.cluster.is_confirmed(&old.uid) {
            self.cluster.upsert(Object::Pod(new.clone()));
        }
        let (before, after) = (Object::Pod(old.clone()), Object::Pod(new.clone()));
        for event in pod_events(&old, &new) {
            let (before, after) = (Some(before.clone()), Some(after.clone()));
            self.happened(event, before, after, now, |_| true);
        }
    }

    fn assigned_pod_deleted(&mut self, pod: Arc<Pod>, now: Time, concerns: impl Fn(&Pod) -> bool) {
        let event = ClusterEvent::ASSIGNED_POD_DELETE;
        self.happened(event, Some(Object::Pod(pod)), None, now, concerns);
    }

    fn update_pending_pod(&mut self, old: Arc<Pod>, new: Arc<Pod>, now: Time) {
        // A resync; simulated objects have no version.
        if old.resource_version == new.resource_version && !new.resource_version.is_empty() {
            return;
        }
        if self.cluster.is_assumed(&new.uid) {
            if new.terminating && !old.terminating {
                self.assumed_pod_deleted(&new.uid, now);
            }
            return;
        }
        let events = pod_events(&old, &new);
        let (queue, mut env) = self.queue_context(now);
        queue.update(&mut env, &old, &new, events);
        self.meter.event(ClusterEvent::UNSCHEDULED_POD_UPDATE);
        let was_nominated = old.nominated_node_name.is_some();
        if was_nominated && old.nominated_node_name != new.nominated_node_name {
            self.nomination_dropped(old, now);
        }
    }

    fn delete_pending_pod(&mut self, pod: Arc<Pod>, now: Time) {
        let (queue, mut env) = self.queue_context(now);
        queue.delete(&mut env, &pod);
        self.meter.event(UNSCHEDULED_POD_DELETE);
        self.underway.preempting.end(&pod.uid);
        if self.cluster.is_assumed(&pod.uid) {
            self.assumed_pod_deleted(&pod.uid, now);
        } else if pod.nominated_node_name.is_some() {
            self.nomination_dropped(pod, now);
        }
    }

    /// Pods of lower or equal priority took the nominated pod for present: it is as if it left.
    fn nomination_dropped(&mut self, pod: Arc<Pod>, now: Time) {
        let priority = pod.priority;
        self.assigned_pod_deleted(pod, now, |other| other.priority <= priority);
    }

    /// A pod is deleted on its way to a node: the binding will fail, but what was kept for the pod
    /// is free at once.
    fn assumed_pod_deleted(&mut self, uid: &str, now: Time) {
        let (Some(pod), Some(node)) = (self.cluster.pod(uid), self.cluster.node_of_pod(uid)) else {
            return;
        };
        let pod = on_node(pod, node);
        let is_waiting = self.waits_at_permit(uid);
        if !is_waiting {
            self.cluster.remove_pod(uid);
        }
        self.assigned_pod_deleted(pod, now, |_| true);
        if is_waiting {
            self.reject(uid, "", "removed", now);
        }
    }

    fn upsert_node(&mut self, new: Arc<Node>, now: Time) {
        let after = Object::Node(new.clone());
        let Some(Object::Node(old)) = self.cluster.upsert(after.clone()) else {
            let event = ClusterEvent::new(EventResource::Node, Action::ADD);
            return self.happened(event, None, Some(after), now, |_| true);
        };
        for event in node_events(&old, &new) {
            let before = Object::Node(old.clone());
            self.happened(event, Some(before), Some(after.clone()), now, |_| true);
        }
    }

    fn upsert_other(&mut self, new: Object, now: Time) {
        let old = self.cluster.upsert(new.clone());
        let action = match old {
            Some(_) => Action::UPDATE,
            None => Action::ADD,
        };
        self.other_changed(new.kind(), action, old, Some(new), now);
    }

    fn delete_other(&mut self, kind: Kind, namespace: Sym, name: Sym, now: Time) {
        if let Some(old) = self.cluster.remove(kind, namespace, name) {
            self.other_changed(kind, Action::DELETE, Some(old), None, now);
        }
    }

    /// Tells the queue, if some plugin wants to know this of that kind.
    fn other_changed(
        &mut self,
        kind: Kind,
        action: Action,
        old: Option<Object>,
        new: Option<Object>,
        now: Time,
    ) {
        let Some(resource) = event_resource(kind) else {
            return;
        };
        if kind == Kind::Node || self.profiles.actions(resource).intersects(action) {
            let event = ClusterEvent::new(resource, action);
            self.happened(event, old, new, now, |_| true);
        }
    }
}

/// How events name a kind; `None` if it has no events.
fn event_resource(kind: Kind) -> Option<EventResource> {
    match kind {
        Kind::Pod => Some(EventResource::Pod),
        Kind::Node => Some(EventResource::Node),
        Kind::PersistentVolume => Some(EventResource::PersistentVolume),
        Kind::PersistentVolumeClaim => Some(EventResource::PersistentVolumeClaim),
        Kind::StorageClass => Some(EventResource::StorageClass),
        Kind::CSINode => Some(EventResource::CSINode),
        Kind::CSIDriver => Some(EventResource::CSIDriver),
        Kind::CSIStorageCapacity => Some(EventResource::CSIStorageCapacity),
        Kind::VolumeAttachment => Some(EventResource::VolumeAttachment),
        Kind::ResourceClaim => Some(EventResource::ResourceClaim),
        Kind::ResourceSlice => Some(EventResource::ResourceSlice),
        Kind::DeviceClass => Some(EventResource::DeviceClass),
        Kind::Namespace
        | Kind::PodDisruptionBudget
        | Kind::Service
        | Kind::ReplicationController
        | Kind::ReplicaSet
        | Kind::StatefulSet => None,
    }
}
