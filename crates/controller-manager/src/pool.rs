//! Workers that share what they know.

use futures::FutureExt;
use std::fmt::Debug;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use stowplan_client::WorkQueue;
use tokio::task::JoinSet;

/// What comes of looking at a key.
pub(crate) enum Verdict {
    /// Nothing is left to do.
    Done,
    /// It has to be looked at again after this long.
    After(Duration),
    /// It has to be looked at again after a pause that grows, for this reason.
    Retry(String),
}

/// Looks at keys until the queue is closed, as many at a time as there are workers.
pub(crate) async fn work<T, K, F>(
    shared: Arc<T>,
    workers: usize,
    queue: fn(&T) -> &WorkQueue<K>,
    look: fn(Arc<T>, K) -> F,
) where
    T: Send + Sync + 'static,
    K: Clone + Ord + Debug + Send + 'static,
    F: Future<Output = Verdict> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for _ in 0..workers {
        let shared = shared.clone();
        tasks.spawn(async move {
            let queue = queue(&shared);
            while let Some(key) = queue.get().await {
                let looked = AssertUnwindSafe(look(shared.clone(), key.clone()));
                match looked.catch_unwind().await {
                    Ok(Verdict::Done) => queue.forget(&key),
                    Ok(Verdict::After(span)) => queue.add_after(key.clone(), span),
                    Ok(Verdict::Retry(why)) => {
                        tracing::debug!(?key, why, "it will be looked at again");
                        queue.add_rate_limited(key.clone());
                    }
                    // The hook for panics has told of it.
                    Err(_) => queue.add_rate_limited(key.clone()),
                }
                queue.done(&key);
            }
        });
    }
    while tasks.join_next().await.is_some() {}
}
