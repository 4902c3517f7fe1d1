//! One controller at work.

use futures::future::join_all;
use jiff::Timestamp;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use stowplan_base::Env;
use stowplan_cache::Cluster;
use stowplan_client::{Failed, Key, Recorder, Requests, V1Event, WorkQueue, run_workers};
use stowplan_controllers::{Controller, Cx, Event, Failure, Order, Outcome, Plan, Write};

/// A controller, and what it stands on.
pub(crate) struct Runner {
    pub(crate) name: &'static str,
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) requests: Arc<Requests>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) env: Arc<dyn Env>,
    pub(crate) queue: Arc<WorkQueue<Key>>,
    pub(crate) controller: Arc<dyn Controller>,
}

/// Why a key has to be looked at again.
#[derive(Debug)]
struct Again(String);

impl fmt::Display for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Runner {
    /// Looks at keys for as long as it is let.
    pub(crate) async fn run(&self) {
        let workers = self.controller.workers();
        run_workers(&self.queue, workers, |key| self.look_at(key)).await;
    }

    async fn look_at(&self, key: Key) -> Result<(), Again> {
        // One who does not lead looks again when it does, and forgets nothing until then.
        if !self.requests.may_act() {
            self.queue.add_after(key, Duration::from_secs(1));
            return Ok(());
        }
        let mut plan = self.decide(|cx| self.controller.sync(cx, &key));
        let (mut again, mut failed) = (None::<Duration>, None);
        loop {
            let Plan {
                events,
                reads,
                writes,
                order,
                then,
                requeue_after,
                error,
            } = plan;
            events.into_iter().for_each(|event| self.tell(event));
            again = [again, requeue_after].into_iter().flatten().min();
            failed = failed.or(error);
            let mut outcomes = join_all(reads.iter().map(|path| self.read(path))).await;
            outcomes.extend(self.carry_out(writes, order).await);
            let failure = outcomes.iter().find_map(Outcome::failure);
            failed = failed.or_else(|| failure.map(|failure| failure.message.clone()));
            match then {
                Some(then) => plan = self.decide(|cx| then(cx, &outcomes)),
                None => break,
            }
        }
        if let Some(error) = failed {
            tracing::debug!(controller = self.name, %key, error, "it did not go well");
            return Err(Again(error));
        }
        if let Some(span) = again {
            self.queue.add_after(key, span);
        }
        Ok(())
    }

    /// Lets the controller decide at the present time.
    fn decide(&self, decide: impl FnOnce(&Cx<'_>) -> Plan) -> Plan {
        let nanos = self.env.now().as_nanos().into();
        decide(&Cx {
            cluster: &self.cluster,
            now: Timestamp::from_nanosecond(nanos).unwrap_or_default(),
            random: &|| self.env.random(),
        })
    }

    async fn read(&self, path: &str) -> Outcome {
        let answer = self.requests.get(path).await;
        Outcome::Answered(answer.map_err(|failed| failure(&failed)))
    }

    async fn carry_out(&self, writes: Vec<Write>, order: Order) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(writes.len());
        let mut writes = writes.into_iter();
        let mut size = match order {
            Order::Parallel => writes.len(),
            Order::Sequence | Order::SlowStart => 1,
        };
        while writes.len() > 0 {
            let batch = writes.by_ref().take(size).map(|write| self.write(write));
            let came: Vec<Outcome> = join_all(batch).await;
            let is_broken = came.iter().any(|outcome| outcome.failure().is_some());
            outcomes.extend(came);
            if is_broken {
                break;
            }
            if order == Order::SlowStart {
                size *= 2;
            }
        }
        outcomes.extend(writes.map(|_| Outcome::Skipped));
        outcomes
    }

    async fn write(&self, mut write: Write) -> Outcome {
        let body = std::mem::take(&mut write.body);
        let method = write.method.as_str();
        let sent = self
            .requests
            .change_by(method, &write.path, write.content_type, body);
        let outcome = match sent.await {
            Ok(answer) => match str::from_utf8(&answer) {
                Ok(text) => write.answered(&self.cluster, Ok(text)),
                Err(error) => Outcome::Failed(Failure {
                    message: error.to_string(),
                    ..Failure::default()
                }),
            },
            Err(failed) => write.answered(&self.cluster, Err(failure(&failed))),
        };
        if let Some(event) = write.told(&outcome) {
            self.tell(event);
        }
        outcome
    }

    fn tell(&self, event: Event) {
        self.recorder.record(V1Event {
            about: event.about,
            event_type: event.event_type,
            reason: event.reason.into(),
            field_path: None,
            message: event.message,
            component: self.controller.component().unwrap_or(self.name).into(),
            host: "".into(),
        });
    }
}

fn failure(failed: &Failed) -> Failure {
    let status = failed.status();
    let details = status.and_then(|status| status.details.as_ref());
    let causes = details.iter().flat_map(|details| &details.causes);
    Failure {
        code: failed.code().unwrap_or(0),
        reason: status
            .map(|status| status.reason.clone())
            .unwrap_or_default(),
        message: failed.message(),
        causes: causes.map(|cause| cause.reason.clone()).collect(),
    }
}
