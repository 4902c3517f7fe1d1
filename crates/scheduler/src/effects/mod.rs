//! Work for the API: single commands of the engine, carried out.
//!
//! Which command comes after which is the engine's business (`stowplan_engine::scheduler`); here each
//! is one request or two. Work on one pod is done in order, for a status that is written late must
//! not undo a binding; work on different pods is done at the same time. A status that waits gives way
//! to the next one.

mod bind;
mod delete;
mod events;
mod patch;
mod status;

pub(crate) use bind::Bind;
pub(crate) use events::{Note, Recorder};
pub(crate) use patch::Patch;
pub(crate) use status::{Condition, Status};
use stowplan_client as requests;
pub(crate) use stowplan_client::Requests;

use crate::extenders::Extender;
use crate::message::Message;
use futures::FutureExt;
use requests::Failed;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use stowplan_api::load::Object as ApiObject;
use stowplan_base::Env;
use stowplan_bridge::effects;
use stowplan_engine::model::Kind;
use stowplan_engine::scheduler::Ticket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// What tells an object from all others.
#[derive(Clone, Debug)]
pub(crate) struct ObjectRef {
    pub(crate) kind: Kind,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    /// Empty if any object of that name is meant.
    pub(crate) uid: Arc<str>,
    pub(crate) resource_version: Arc<str>,
}

impl ObjectRef {
    fn path(&self) -> String {
        effects::path(self.kind, &self.namespace, &self.name)
    }

    /// As the API says it.
    fn not_found(&self) -> NotDone {
        let plural = effects::plural(self.kind);
        NotDone::NotFound(format!("{plural} {:?} not found", &*self.name))
    }
}

/// Something to be done for a pod.
pub(crate) struct Work {
    /// The pod's uid.
    pub(crate) pod: Arc<str>,
    /// Its scheduler.
    pub(crate) scheduler: Arc<str>,
    /// What the answer is about.
    pub(crate) ticket: Ticket,
    pub(crate) task: Task,
}

/// What to do.
pub(crate) enum Task {
    Bind(Bind),
    Patch(Patch),
    Status(Status),
    Delete(ObjectRef),
    Event(ObjectRef, Note),
}

/// What came of it.
pub(crate) struct Answer {
    pub(crate) outcome: Result<Option<ApiObject>, NotDone>,
    /// How long it took.
    pub(crate) took: Duration,
    /// The HTTP status of the API's answer to a binding; 0 if there was none. Nothing if it was not
    /// asked.
    pub(crate) code: Option<u16>,
}

/// Why something was not done. See `Outcome` of the engine.
#[derive(Debug)]
pub(crate) enum NotDone {
    NotFound(String),
    Failed(String),
    Unknown(String),
    Refused(String),
    /// An extender said no to a binding.
    ByExtender(String),
}

impl From<Failed> for NotDone {
    fn from(failed: Failed) -> Self {
        match &failed {
            Failed::Fenced => Self::Refused(failed.message()),
            failed if failed.is_open() => Self::Unknown(failed.message()),
            failed if failed.code() == Some(404) => Self::NotFound(failed.message()),
            failed => Self::Failed(failed.message()),
        }
    }
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
struct PodQueues(HashMap<Arc<str>, VecDeque<Work>>);

/// Carries out work until no more can come and all of it is done.
pub(crate) async fn carry_out(tools: Arc<Tools>, mut work: mpsc::UnboundedReceiver<Work>) {
    let mut queues = PodQueues::default();
    let mut tasks = JoinSet::new();
    let mut open = true;
    while open || !tasks.is_empty() {
        tokio::select! {
            biased;
            next = work.recv(), if open => match next {
                Some(Work { scheduler, task: Task::Event(regarding, note), .. }) => {
                    tools.recorder.record(&scheduler, &regarding, &note);
                }
                Some(next) => {
                    if let Some(next) = queues.enter(next) {
                        tasks.spawn(next.carry_out(tools.clone()));
                    }
                }
                None => open = false,
            },
            Some(done) = tasks.join_next() => {
                if let Ok(Some(uid)) = done
                    && let Some(next) = queues.leave(&uid)
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
        let lane = self.lane().cloned();
        let start = tools.env().monotonic();
        let mut code = None;
        let outcome = match catch_panic(self.task.carry_out(&tools, &mut code)).await {
            Ok(outcome) => outcome,
            Err(Panicked) => match &self.task {
                // It may have been bound before that. Others wait for this lane, whatever happens.
                Task::Bind(bind) => catch_panic(bind.find_out(&tools, "the binding broke", true))
                    .await
                    .unwrap_or_else(|Panicked| {
                        Err(NotDone::Unknown("the binding broke".to_owned()))
                    }),
                _ => Err(NotDone::Failed("the request broke".to_owned())),
            },
        };
        if let Err(error) = &outcome {
            tracing::debug!(pod = %self.pod, ?error, "not done");
        }
        if self.ticket != Ticket::Nobody {
            tools.tell(Message::Answered {
                uid: self.pod,
                ticket: self.ticket,
                answer: Answer {
                    outcome,
                    took: tools.env().monotonic().since(start),
                    code,
                },
            });
        }
        lane
    }

    /// The pod whose other work has to wait; evictions for a pod are in nobody's way.
    fn lane(&self) -> Option<&Arc<str>> {
        match self.ticket {
            Ticket::Nobody | Ticket::Step(..) => Some(&self.pod),
            Ticket::Nomination | Ticket::Told(_) | Ticket::Deleted(_) => None,
        }
    }
}

impl Task {
    /// Whether there is nothing to be done.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::Status(status) => status.status.is_empty() && status.condition.is_none(),
            _ => false,
        }
    }

    async fn carry_out(
        &self,
        tools: &Tools,
        code: &mut Option<u16>,
    ) -> Result<Option<ApiObject>, NotDone> {
        match self {
            Self::Bind(bind) => bind.carry_out(tools, code).await,
            Self::Patch(patch) => patch.carry_out(tools).await,
            Self::Status(status) => status.carry_out(tools).await,
            Self::Delete(object) => delete::carry_out(tools, object).await,
            // Events are told as they come.
            Self::Event(..) => Ok(None),
        }
    }
}

/// Some work panicked; the panic itself is told by the hook for panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Panicked;

/// What comes of some work, even if it panics: the caller must hear of it.
async fn catch_panic<T>(work: impl Future<Output = T>) -> Result<T, Panicked> {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .map_err(|_| Panicked)
}

impl PodQueues {
    /// The work, if it can be done now.
    fn enter(&mut self, work: Work) -> Option<Work> {
        let Some(uid) = work.lane().cloned() else {
            return Some(work);
        };
        let Some(lane) = self.0.get_mut(&uid) else {
            self.0.insert(uid, VecDeque::new());
            return Some(work);
        };
        match (lane.back_mut().map(|back| &mut back.task), work) {
            (
                Some(Task::Status(before)),
                Work {
                    task: Task::Status(after),
                    ..
                },
            ) => before.give_way(after),
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn status(uid: &str, fields: Value) -> Work {
        let Value::Object(fields) = fields else {
            panic!("an object")
        };
        let pod = ObjectRef {
            kind: Kind::Pod,
            namespace: "n".into(),
            name: "p".into(),
            uid: uid.into(),
            resource_version: "1".into(),
        };
        Work {
            pod: uid.into(),
            scheduler: "s".into(),
            ticket: Ticket::Nobody,
            task: Task::Status(Status {
                pod,
                status: fields,
                condition: None,
            }),
        }
    }

    #[tokio::test]
    async fn a_panic_is_told_as_an_outcome() {
        assert_eq!(catch_panic(async { 1 }).await, Ok(1));
        let broken = catch_panic(async { panic!("as planned") });
        assert_eq!(broken.await, Err::<(), _>(Panicked));
    }

    #[test]
    fn work_on_a_pod_waits_for_earlier_work_on_it() {
        let mut queues = PodQueues::default();
        assert!(queues.enter(status("a", json!({"x": 1}))).is_some());
        assert!(queues.enter(status("b", json!({}))).is_some());
        assert!(queues.enter(status("a", json!({"x": 2, "y": 2}))).is_none());
        assert!(queues.enter(status("a", json!({"x": 3}))).is_none());
        let Some(Task::Status(next)) = queues.leave("a").map(|work| work.task) else {
            panic!("the status that waited")
        };
        assert_eq!(Value::from(next.status), json!({"x": 3, "y": 2}));
        assert!(queues.leave("a").is_none());
        assert!(queues.enter(status("a", json!({}))).is_some());
    }
}
