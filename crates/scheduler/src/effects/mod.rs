//! Work for the API: what the engine decided, carried out.
//!
//! Work on one pod is done in order, for a status that is written late must not undo a binding; work
//! on different pods is done at the same time. A status that waits gives way to the next one.

mod bind;
mod events;
mod preempt;
mod status;
mod volumes;

pub(crate) use events::{Note, Recorder};
use stowplan_client as requests;
pub(crate) use stowplan_client::Requests;

use crate::extenders::Extender;
use crate::message::Message;
use futures::FutureExt;
use serde_json::{Map, Value};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Env;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// What tells a pod from all others, in all versions.
#[derive(Clone, Debug)]
pub(crate) struct PodRef {
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) uid: Arc<str>,
    pub(crate) resource_version: Arc<str>,
}

/// Something to be done.
pub(crate) enum Work {
    Bind(Bind),
    Status(Status),
    Preempt(Preempt),
}

/// A pod goes to a node.
pub(crate) struct Bind {
    pub(crate) pod: PodRef,
    pub(crate) scheduler: Arc<str>,
    pub(crate) node: Arc<str>,
    /// Whether the node is written to the status first.
    pub(crate) nominate: bool,
    /// The extenders that bind the pod, the first that can.
    pub(crate) binders: Vec<usize>,
    /// What has to be written, and to come true, before the binding.
    pub(crate) volumes: Vec<VolumeWrite>,
    pub(crate) volumes_timeout: Duration,
}

/// A change of a volume or claim.
pub(crate) enum VolumeWrite {
    /// The volume is given to the claim.
    Volume {
        name: Arc<str>,
        claim: ClaimKey,
        bound_by_controller: bool,
    },
    /// A volume for the claim is to be made for the pod's node.
    Claim(ClaimKey),
}

/// What tells a claim from all others.
#[derive(Clone)]
pub(crate) struct ClaimKey {
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) uid: Arc<str>,
}

/// A pod's status says why it is not scheduled.
pub(crate) struct Status {
    pub(crate) pod: PodRef,
    pub(crate) scheduler: Arc<str>,
    /// What changes in the status; nothing if it is empty.
    pub(crate) status: Map<String, Value>,
    /// An event that tells of it.
    pub(crate) note: Option<Note>,
}

/// Pods make room for another.
pub(crate) struct Preempt {
    pub(crate) pod: PodRef,
    pub(crate) scheduler: Arc<str>,
    pub(crate) node: Arc<str>,
    pub(crate) victims: Vec<PodRef>,
    pub(crate) denominate: Vec<PodRef>,
}

/// What all work is done with.
pub(crate) struct Tools {
    pub(crate) requests: Requests,
    pub(crate) recorder: Recorder,
    pub(crate) engine: mpsc::UnboundedSender<Message>,
    pub(crate) extenders: Arc<[Extender]>,
}

impl Tools {
    /// The time, and timers.
    fn env(&self) -> &dyn Env {
        &**self.requests.env()
    }

    fn tell(&self, message: Message) {
        // Nobody listens if everything is being stopped.
        let _ = self.engine.send(message);
    }
}

/// What waits for earlier work on the same pod; a pod is here while something is done about it.
#[derive(Default)]
struct Lanes(HashMap<Arc<str>, VecDeque<Work>>);

/// Carries out work until no more can come and all of it is done.
pub(crate) async fn carry_out(tools: Arc<Tools>, mut work: mpsc::UnboundedReceiver<Work>) {
    let mut lanes = Lanes::default();
    let mut tasks = JoinSet::new();
    let mut open = true;
    while open || !tasks.is_empty() {
        tokio::select! {
            biased;
            next = work.recv(), if open => match next {
                Some(next) => {
                    if let Some(next) = lanes.enter(next) {
                        tasks.spawn(next.carry_out(tools.clone()));
                    }
                }
                None => open = false,
            },
            Some(done) = tasks.join_next() => {
                if let Ok(Some(uid)) = done
                    && let Some(next) = lanes.leave(&uid)
                {
                    tasks.spawn(next.carry_out(tools.clone()));
                }
            }
        }
    }
}

impl Work {
    /// Does it; returns whose lane is free then.
    async fn carry_out(self, tools: Arc<Tools>) -> Option<Arc<str>> {
        let uid = self.lane().cloned();
        let done = async {
            match self {
                Self::Bind(bind) => bind.carry_out(&tools).await,
                Self::Status(status) => status.carry_out(&tools).await,
                Self::Preempt(preempt) => preempt.carry_out(&tools).await,
            }
        };
        // Others wait for this lane, whatever becomes of the work.
        let _ = unbroken(done).await;
        uid
    }

    /// The pod whose other work has to wait; evictions for a pod are in nobody's way.
    fn lane(&self) -> Option<&Arc<str>> {
        match self {
            Self::Bind(bind) => Some(&bind.pod.uid),
            Self::Status(status) => Some(&status.pod.uid),
            Self::Preempt(_) => None,
        }
    }
}

/// Some work panicked; the panic itself is told by the hook for panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Broke;

/// What comes of some work, even if it panics: whoever waits for it must be told.
async fn unbroken<T>(work: impl Future<Output = T>) -> Result<T, Broke> {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .map_err(|_| Broke)
}

impl Lanes {
    /// The work, if it can be done now.
    fn enter(&mut self, work: Work) -> Option<Work> {
        let Some(uid) = work.lane().cloned() else {
            return Some(work);
        };
        let Some(lane) = self.0.get_mut(&uid) else {
            self.0.insert(uid, VecDeque::new());
            return Some(work);
        };
        match (lane.back_mut(), work) {
            (Some(Work::Status(before)), Work::Status(after)) => before.give_way(after),
            (_, work) => lane.push_back(work),
        }
        None
    }

    /// The next work on this pod.
    fn leave(&mut self, uid: &str) -> Option<Work> {
        let next = self.0.get_mut(uid)?.pop_front();
        if next.is_none() {
            self.0.remove(uid);
        }
        next
    }
}

impl Status {
    /// What was not written yet is written together with what comes after.
    fn give_way(&mut self, after: Self) {
        self.pod = after.pod;
        self.status.extend(after.status);
        self.note = after.note;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(uid: &str, fields: Value) -> Work {
        let Value::Object(fields) = fields else {
            panic!("an object")
        };
        Work::Status(Status {
            pod: PodRef {
                namespace: "n".into(),
                name: "p".into(),
                uid: uid.into(),
                resource_version: "1".into(),
            },
            scheduler: "s".into(),
            status: fields,
            note: None,
        })
    }

    #[tokio::test]
    async fn a_panic_is_told_as_an_outcome() {
        assert_eq!(unbroken(async { 1 }).await, Ok(1));
        let broken = unbroken(async { panic!("as planned") });
        assert_eq!(broken.await, Err::<(), _>(Broke));
    }

    #[test]
    fn work_on_a_pod_waits_for_earlier_work_on_it() {
        let mut lanes = Lanes::default();
        assert!(lanes.enter(status("a", json!({"x": 1}))).is_some());
        assert!(lanes.enter(status("b", json!({}))).is_some());
        assert!(lanes.enter(status("a", json!({"x": 2, "y": 2}))).is_none());
        assert!(lanes.enter(status("a", json!({"x": 3}))).is_none());
        let Some(Work::Status(next)) = lanes.leave("a") else {
            panic!("the status that waited")
        };
        assert_eq!(Value::from(next.status), json!({"x": 3, "y": 2}));
        assert!(lanes.leave("a").is_none());
        assert!(lanes.enter(status("a", json!({}))).is_some());
    }
}
