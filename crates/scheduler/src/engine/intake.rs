//! What arrives: changes of objects, and what came of work.

use super::Engine;
use crate::effects::{Answer, NotDone};
use crate::message::Message;
use std::sync::Arc;
use stowplan_api::load::Object as ApiObject;
use stowplan_base::Sym;
use stowplan_bridge::convert::{Interner, api_object};
use stowplan_engine::framework::{Outcome, Point};
use stowplan_engine::model::{Kind, Object};
use stowplan_engine::scheduler::{Change, Failure, Ticket};

impl Engine {
    pub(super) fn take(&mut self, message: Message) {
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
            Message::Answered {
                uid,
                ticket,
                answer,
            } => self.answered(&uid, ticket, answer),
            Message::Tell {
                namespace,
                name,
                whole,
                answer,
            } => self.tell(&namespace, &name, whole, answer),
            Message::WhatIf { pod, answer } => {
                let _ = answer.send(self.what_if(&pod));
            }
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
        let now = self.clock.now();
        let change = Change::Upsert(converted);
        self.scheduler.apply_version(change, version(given), now);
    }

    /// An object as the engine has it.
    pub(super) fn convert(&mut self, given: &ApiObject) -> Result<Option<Object>, String> {
        let cluster = self.scheduler.cluster_mut();
        let mut interner = Interner {
            names: &mut cluster.names,
            resource_names: &mut cluster.resource_names,
        };
        api_object(&mut interner, given).map_err(|error| error.to_string())
    }

    fn delete(&mut self, kind: Kind, namespace: &str, name: &str) {
        self.observer.gone(kind, namespace, name);
        if kind == Kind::Node {
            self.extenders.node_gone(name);
        }
        let (namespace, name) = (self.sym(namespace), self.sym(name));
        if kind == Kind::Pod {
            self.state.notes.pod_gone((namespace, name));
            self.extenders.pod_gone((namespace, name));
        }
        let change = Change::Delete {
            kind,
            namespace,
            name,
        };
        self.scheduler.apply(change, self.clock.now());
    }

    /// Something was done for a pod, or was not.
    fn answered(&mut self, uid: &Arc<str>, ticket: Ticket, answer: Answer) {
        let now = self.clock.now();
        let Answer {
            outcome,
            took,
            code,
        } = answer;
        if let Ticket::Step(Point::Bind, _) = ticket
            && let Some(progress) = self.state.bindings.get_mut(uid)
        {
            progress.steps.bind = Some(took);
            progress.steps.code = code;
        }
        let outcome = match outcome {
            Ok(written) => Outcome::Done(written.and_then(|written| {
                let object = self.convert(&written).ok()??;
                Some((version(&written), object))
            })),
            Err(NotDone::NotFound(reason)) => Outcome::NotFound(reason),
            Err(NotDone::Failed(reason)) => Outcome::Failed(reason),
            Err(NotDone::Unknown(reason)) => Outcome::Unknown(reason),
            Err(NotDone::Refused(reason)) => Outcome::Refused(reason),
            // It took the place of the plugin that would have bound the pod.
            Err(NotDone::ByExtender(reason)) => {
                let failure = Failure::Error(reason);
                return self.scheduler.bind_failed(uid, failure, now);
            }
        };
        self.scheduler.answer(uid, ticket, outcome, now);
    }

    pub(super) fn sym(&mut self, text: &str) -> Sym {
        self.scheduler.cluster_mut().names.intern(text)
    }
}

/// `metadata.resourceVersion`, which API servers count up.
fn version(object: &ApiObject) -> u64 {
    let version = object.metadata().resource_version.as_deref();
    version.and_then(|text| text.parse().ok()).unwrap_or(0)
}
