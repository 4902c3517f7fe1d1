//! Those who look at objects.

use super::Collector;
use crate::pool::{self, work};
use futures::StreamExt;
use futures::future::join;
use futures::stream::FuturesUnordered;
use std::sync::Arc;
use stowplan_controllers::garbage_collector::{
    Answer, Attempt, Effects, Identity, ORPHAN, RemoveFinalizer, RemoveOwners, Step, Verdict,
};

/// How many dependents forget their owner side by side.
const SIDE_BY_SIDE: usize = 50;

/// Looks at objects until nobody lets it.
pub(super) async fn run(collector: Arc<Collector>, workers: usize) {
    let delete = work(
        collector.clone(),
        workers,
        |collector| &collector.to_delete,
        |collector, uid| async move { told(collector.attempt_to_delete(uid).await) },
    );
    let orphan = work(
        collector,
        workers,
        |collector| &collector.to_orphan,
        |collector, uid| async move { told(collector.attempt_to_orphan(uid).await) },
    );
    join(delete, orphan).await;
}

fn told(verdict: Verdict) -> pool::Verdict {
    match verdict {
        Verdict::Forget => pool::Verdict::Done,
        Verdict::Retry(why) => pool::Verdict::Retry(why),
    }
}

impl Collector {
    async fn attempt_to_delete(&self, uid: Arc<str>) -> Verdict {
        let attempt = Attempt::new(&self.graph(), &uid);
        let Some(mut attempt) = attempt else {
            return Verdict::Forget;
        };
        let mut request = attempt.start();
        loop {
            let answer = self.ask(&request).await;
            let mut effects = Effects::default();
            let step = attempt.next(answer, &mut self.graph(), &mut effects);
            self.apply(effects);
            match step {
                Step::Ask(next) => request = next,
                Step::Done(verdict) => return verdict,
            }
        }
    }

    /// The dependents forget their owner; then it may go. Upstream's `attemptToOrphanWorker`.
    async fn attempt_to_orphan(&self, uid: Arc<str>) -> Verdict {
        let (owner, dependents) = {
            let graph = self.graph();
            let Some(owner) = graph.identity(&uid).cloned() else {
                return Verdict::Forget;
            };
            (owner, graph.dependents(&uid))
        };
        let mut left = dependents.into_iter();
        let mut under_way = FuturesUnordered::new();
        loop {
            while under_way.len() < SIDE_BY_SIDE
                && let Some(dependent) = left.next()
            {
                under_way.push(self.forget(&uid, dependent));
            }
            match under_way.next().await {
                None => break,
                Some(Ok(())) => {}
                Some(Err(why)) => return Verdict::Retry(why),
            }
        }
        let mut removal = RemoveFinalizer::new(owner, ORPHAN);
        let mut request = removal.start();
        loop {
            match removal.next(self.ask(&request).await) {
                Ok(next) => request = next,
                Err(verdict) => return verdict,
            }
        }
    }

    async fn forget(&self, owner: &Arc<str>, dependent: Identity) -> Result<(), String> {
        let mut removal = RemoveOwners::new(dependent, vec![owner.clone()]);
        let mut request = removal.start();
        loop {
            match removal.next(self.ask(&request).await) {
                Ok(next) => request = next,
                Err(Answer::Done | Answer::NotFound { .. }) => return Ok(()),
                Err(Answer::Failed(why)) => return Err(why),
                Err(answer) => return Err(format!("{answer:?}")),
            }
        }
    }
}
