//! Those who look at objects.

use super::Collector;
use futures::StreamExt;
use futures::future::{join, join_all};
use futures::stream::FuturesUnordered;
use std::sync::Arc;
use stowplan_client::WorkQueue;
use stowplan_controllers::garbage_collector::{
    Answer, Attempt, Effects, Identity, ORPHAN, RemoveFinalizer, RemoveOwners, Step, Verdict,
};

/// How many dependents forget their owner side by side.
const SIDE_BY_SIDE: usize = 50;

/// Looks at objects until nobody lets it.
pub(super) async fn run(collector: &Collector, workers: usize) {
    let delete = work(&collector.to_delete, workers, |uid| {
        collector.attempt_to_delete(uid)
    });
    let orphan = work(&collector.to_orphan, workers, |uid| {
        collector.attempt_to_orphan(uid)
    });
    join(delete, orphan).await;
}

async fn work<F: Future<Output = Verdict>>(
    queue: &WorkQueue<Arc<str>>,
    workers: usize,
    look: impl Fn(Arc<str>) -> F,
) {
    let look = &look;
    let all = (0..workers).map(|_| async move {
        while let Some(uid) = queue.get().await {
            match look(uid.clone()).await {
                Verdict::Forget => queue.forget(&uid),
                Verdict::Retry(why) => {
                    tracing::debug!(%uid, why, "it will be looked at again");
                    queue.add_rate_limited(uid.clone());
                }
            }
            queue.done(&uid);
        }
    });
    join_all(all).await;
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
        let forget = |dependent| self.forget(&uid, dependent);
        let mut under_way: FuturesUnordered<_> =
            left.by_ref().take(SIDE_BY_SIDE).map(forget).collect();
        while let Some(outcome) = under_way.next().await {
            if let Err(why) = outcome {
                return Verdict::Retry(why);
            }
            under_way.extend(left.next().map(forget));
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
