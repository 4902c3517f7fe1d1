//! Questions to the API server: a few at a time, and each asked once for all callers who have it.

use super::Digest;
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use stowplan_telemetry::Refusal;
use tokio::sync::{OnceCell, Semaphore};

/// How much is asked at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Concurrency {
    /// Questions under way.
    pub(super) asked: usize,
    /// Callers that wait for an answer, with those whose question is under way.
    pub(super) waiting: usize,
}

/// Asks a few questions at a time, and none twice at the same time.
pub(super) struct SingleFlight<V> {
    asked: Semaphore,
    waiting: Semaphore,
    open: Mutex<HashMap<Digest, Weak<Cell<V>>>>,
}

type Cell<V> = OnceCell<Result<V, Refusal>>;

impl<V: Clone> SingleFlight<V> {
    pub(super) fn new(width: Concurrency) -> Self {
        Self {
            asked: Semaphore::new(width.asked),
            waiting: Semaphore::new(width.waiting),
            open: Mutex::new(HashMap::new()),
        }
    }

    /// The answer to a question, which others who have the same one share.
    pub(super) async fn ask(
        &self,
        key: Digest,
        question: impl Future<Output = Result<V, Refusal>>,
    ) -> Result<V, Refusal> {
        let Ok(_waiting) = self.waiting.try_acquire() else {
            return Err(Refusal::Busy);
        };
        let seat = Seat {
            single_flight: self,
            key,
            cell: Some(self.cell(key)),
        };
        let asked = async {
            let _asked = self.asked.acquire().await;
            question.await
        };
        // If whoever asks goes away, the next one who waits asks.
        match &seat.cell {
            Some(cell) => cell.get_or_init(|| asked).await.clone(),
            None => Err(Refusal::Busy),
        }
    }

    /// Whether nothing is asked.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.is_empty()
    }

    fn cell(&self, key: Digest) -> Arc<Cell<V>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cell) = open.get(&key).and_then(Weak::upgrade) {
            return cell;
        }
        let cell = Arc::default();
        open.insert(key, Arc::downgrade(&cell));
        cell
    }
}

/// Somebody who waits for an answer.
struct Seat<'a, V> {
    single_flight: &'a SingleFlight<V>,
    key: Digest,
    /// There until it is dropped.
    cell: Option<Arc<Cell<V>>>,
}

impl<V> Drop for Seat<'_, V> {
    fn drop(&mut self) {
        let open = self.single_flight.open.lock();
        let mut open = open.unwrap_or_else(PoisonError::into_inner);
        // Nobody takes another one meanwhile, and nobody gives one back.
        let last = self
            .cell
            .take()
            .is_some_and(|cell| Arc::strong_count(&cell) == 1);
        if last {
            open.remove(&self.key);
        }
    }
}
