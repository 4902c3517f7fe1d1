//! What arrives: changes of objects, and what came of work.

use super::Engine;
use super::awaited::version;
use super::records::Outcome;
use crate::message::Message;
use crate::observer::{BindFailed, Bound, Steps};
use std::sync::Arc;
use stowplan_api::load::Object as ApiObject;
use stowplan_base::Sym;
use stowplan_bridge::convert::{Door, api_object};
use stowplan_engine::model::{Kind, Object};
use stowplan_engine::queue::QueuedPod;
use stowplan_engine::scheduler::{Change, Failure};

impl Engine {
    pub(super) fn take(&mut self, message: Message) {
        let now = self.clock.now();
        match message {
            Message::Upsert(object, room) => {
                self.upsert(&object);
                drop(room);
            }
            Message::Delete {
                kind,
                namespace,
                name,
            } => self.delete(kind, &namespace, &name),
            Message::Synced(kind) => {
                self.state.synced.insert(kind);
                if self.state.synced.len() == Kind::ALL.len() {
                    self.observer.synced();
                }
            }
            Message::Bound { uid, steps } => self.bound(&uid, steps),
            Message::BindFailed {
                uid,
                error,
                elsewhere,
                steps,
            } => match elsewhere && self.is_pending(&uid) {
                // Once the watch tells where the pod is, nothing is left to be written about it.
                true => drop(self.state.elsewhere.insert(uid, (error, steps))),
                false => self.bind_failed(&uid, error, steps),
            },
            Message::LastVictim {
                preemptor,
                namespace,
                name,
            } => {
                let (namespace, name) = (self.sym(&namespace), self.sym(&name));
                self.scheduler
                    .preemption_at_last_victim(&preemptor, namespace, name);
            }
            Message::PreemptionEnded {
                preemptor,
                namespace,
                name,
                failed,
                took,
            } => {
                self.observer.preempted(failed, took);
                let key = (self.sym(&namespace), self.sym(&name));
                self.scheduler
                    .preemption_ended(&preemptor, key, failed, now);
            }
            Message::VolumesWritten(written) => self.volumes_written(written),
            Message::Tell {
                namespace,
                name,
                whole,
                answer,
            } => self.tell(&namespace, &name, whole, answer),
            Message::Wake | Message::Stop => {}
        }
    }

    fn upsert(&mut self, given: &ApiObject) {
        self.observer.seen(given);
        let converted = match self.convert(given) {
            Ok(Some(object)) => object,
            Ok(None) => return,
            Err(error) => {
                tracing::error!(object = given.title(), %error, "an object cannot be read");
                return;
            }
        };
        if let (ApiObject::Pod(given), Object::Pod(pod)) = (given, &converted) {
            self.state.notes.pod_seen(given, pod);
        }
        self.extenders.seen(given, &converted);
        let (namespace, name) = converted.key();
        let key = (converted.kind(), namespace, name);
        let now = self.clock.now();
        let uid = match &converted {
            Object::Pod(pod) if pod.is_assigned() => Some(pod.uid.clone()),
            _ => None,
        };
        let awaited = matches!(key.0, Kind::PersistentVolume | Kind::PersistentVolumeClaim)
            .then(|| (version(given), converted.clone()));
        self.scheduler.apply(Change::Upsert(converted), now);
        self.note_awaited(key, awaited.as_ref());
        if let Some(uid) = uid {
            self.settle_elsewhere(&uid);
        }
    }

    /// An object as the engine has it.
    pub(super) fn convert(&mut self, given: &ApiObject) -> Result<Option<Object>, String> {
        let cluster = self.scheduler.cluster_mut();
        let mut door = Door {
            names: &mut cluster.names,
            resource_names: &mut cluster.resource_names,
        };
        api_object(&mut door, given).map_err(|error| error.to_string())
    }

    fn delete(&mut self, kind: Kind, namespace: &str, name: &str) {
        self.observer.gone(kind, namespace, name);
        if kind == Kind::Node {
            self.extenders.node_gone(name);
        }
        let (namespace, name) = (self.sym(namespace), self.sym(name));
        let mut uid = None;
        if kind == Kind::Pod {
            self.state.notes.pod_gone((namespace, name));
            self.extenders.pod_gone((namespace, name));
            let pod = self.scheduler.cluster().listed_pod(namespace, name);
            uid = pod.map(|pod| pod.uid.clone());
        }
        let change = Change::Delete {
            kind,
            namespace,
            name,
        };
        self.scheduler.apply(change, self.clock.now());
        self.note_awaited((kind, namespace, name), None);
        if let Some(uid) = uid {
            self.settle_elsewhere(&uid);
        }
    }

    /// Whether a pod that is being bound is still on no node, as far as the watch told.
    fn is_pending(&self, uid: &str) -> bool {
        let Some(binding) = self.scheduler.binding(uid) else {
            return false;
        };
        let pod = &binding.queued.pod;
        let listed = self.scheduler.cluster().listed_pod(pod.namespace, pod.name);
        listed.is_some_and(|listed| listed.uid == pod.uid && !listed.is_assigned())
    }

    /// The watch caught up with somebody else's binding.
    fn settle_elsewhere(&mut self, uid: &Arc<str>) {
        if let Some((error, steps)) = self.state.elsewhere.remove(uid) {
            self.bind_failed(uid, error, steps);
        }
    }

    fn bound(&mut self, uid: &Arc<str>, steps: Steps) {
        let times = self.state.bindings.remove(uid);
        self.state.awaited.end(uid);
        if let Some(binding) = self.scheduler.binding(uid) {
            let now = self.clock.now();
            let (start, decided) = times.unwrap_or((now, now));
            let names = &self.scheduler.cluster().names;
            self.observer.bound(&Bound {
                pod: &binding.queued.pod,
                node: names.text(binding.node),
                profile: names.text(binding.queued.pod.scheduler_name),
                flushed: is_flushed(&binding.queued),
                attempts: binding.queued.attempts,
                start,
                decided,
                steps,
                initial_attempt: binding.queued.initial_attempt,
                now,
            });
            let outcome = Outcome::Bound(binding.node);
            self.state.records.settle(&binding.queued.pod, outcome);
        }
        self.scheduler.bound(uid);
    }

    fn bind_failed(&mut self, uid: &Arc<str>, error: String, steps: Steps) {
        let times = self.state.bindings.remove(uid);
        self.state.awaited.end(uid);
        if let Some(binding) = self.scheduler.binding(uid) {
            let pod = &binding.queued.pod;
            let now = self.clock.now();
            let (start, decided) = times.unwrap_or((now, now));
            self.observer.bind_failed(&BindFailed {
                pod,
                profile: self.scheduler.cluster().names.text(pod.scheduler_name),
                error: &error,
                steps,
                start,
                decided,
                now,
            });
            let outcome = Outcome::Error(error.as_str().into());
            self.state.records.settle(pod, outcome);
        }
        let failure = Failure::Error(error);
        self.scheduler.bind_failed(uid, failure, self.clock.now());
    }

    pub(super) fn sym(&mut self, text: &str) -> Sym {
        self.scheduler.cluster_mut().names.intern(text)
    }
}

/// Whether nothing but time woke the pod since its last failure.
fn is_flushed(queued: &QueuedPod) -> bool {
    queued
        .flush_timestamp
        .is_some_and(|at| at >= queued.timestamp)
}
