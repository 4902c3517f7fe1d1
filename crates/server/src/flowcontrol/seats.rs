//! Seats, and the queues of those who wait for them.

use super::Flow;
use super::pool::{Held, Pool};
use crate::limits::{QUEUE_LENGTH_MAX, QUEUE_TIME, QUEUED_MAX};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stowplan_base::Env;
use stowplan_env::timeout;
use tokio::sync::oneshot;

/// No request takes more than this part of all seats.
const WIDTH_SHARE: usize = 16;

/// A pool of seats with a queue per flow. A seat that becomes free goes to the flow with the fewest
/// seats among those that wait; within a flow, to who came first.
#[derive(Clone)]
pub(crate) struct Seats {
    pool: Pool,
    /// No request takes more.
    width_max: usize,
    env: Arc<dyn Env>,
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    /// None of them is empty.
    queues: HashMap<Flow, Queue>,
    count: usize,
    /// Counts those who came.
    tickets: u64,
}

#[derive(Default)]
struct Queue {
    waiters: VecDeque<Waiter>,
    /// The ticket of the last one that was served; a queue that is new goes before.
    served: u64,
}

struct Waiter {
    width: usize,
    ticket: u64,
    /// Closed when the one who waits has given up.
    seat: oneshot::Sender<Seat>,
}

/// Seats that somebody holds. When it is dropped, they go to those who wait.
pub(crate) struct Seat {
    held: Option<Held>,
    seats: Seats,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.held.take().is_some() {
            self.seats.serve();
        }
    }
}

impl Seats {
    pub(crate) fn new(total: usize, env: Arc<dyn Env>) -> Self {
        Self {
            pool: Pool::new(total),
            width_max: total.div_ceil(WIDTH_SHARE),
            env,
            waiting: Arc::default(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seat(&self, held: Held) -> Seat {
        Seat {
            held: Some(held),
            seats: self.clone(),
        }
    }

    /// So many seats, but no large part of all. Nothing if the queue is full, or the wait too long.
    pub(crate) async fn take(&self, flow: &Flow, width: usize) -> Option<Seat> {
        let width = width.min(self.width_max);
        let receive = {
            let mut waiting = self.waiting();
            // Nobody overtakes others of his flow.
            if !waiting.queues.contains_key(flow)
                && let Some(held) = self.pool.take(flow, width)
            {
                return Some(self.seat(held));
            }
            waiting.enter(flow, width)?
        };
        // All who were before may have given up.
        self.serve();
        let served = timeout(&*self.env, QUEUE_TIME, receive).await;
        served.ok()?.ok()
    }

    /// Gives free seats to those who wait.
    fn serve(&self) {
        let mut waiting = self.waiting();
        while let Some(flow) = waiting.next(&self.pool) {
            let Some(width) = waiting.width(&flow) else {
                return;
            };
            let Some(held) = self.pool.take(&flow, width) else {
                return;
            };
            let Some(waiter) = waiting.leave(&flow) else {
                return;
            };
            if let Err(mut unwanted) = waiter.seat.send(self.seat(held)) {
                // Back to the pool; others are being served already.
                unwanted.held = None;
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }
}

impl Waiting {
    /// A place at the end of the flow's queue, if there is one.
    fn enter(&mut self, flow: &Flow, width: usize) -> Option<oneshot::Receiver<Seat>> {
        if self.count >= QUEUED_MAX || self.length(flow) >= QUEUE_LENGTH_MAX {
            self.forget_the_gone();
        }
        if self.count >= QUEUED_MAX || self.length(flow) >= QUEUE_LENGTH_MAX {
            return None;
        }
        let (seat, receive) = oneshot::channel();
        self.tickets += 1;
        self.count += 1;
        let queue = self.queues.entry(flow.clone()).or_default();
        queue.waiters.push_back(Waiter {
            width,
            ticket: self.tickets,
            seat,
        });
        Some(receive)
    }

    fn length(&self, flow: &Flow) -> usize {
        self.queues.get(flow).map_or(0, |q| q.waiters.len())
    }

    fn forget_the_gone(&mut self) {
        self.queues.retain(|_, queue| {
            queue.waiters.retain(|waiter| !waiter.seat.is_closed());
            !queue.waiters.is_empty()
        });
        self.count = self.queues.values().map(|q| q.waiters.len()).sum();
    }

    /// The flow whose turn it is.
    fn next(&mut self, pool: &Pool) -> Option<Flow> {
        self.forget_the_gone();
        let turn = |(flow, queue): &(&Flow, &Queue)| {
            let ticket = queue.waiters.front().map_or(u64::MAX, |w| w.ticket);
            (pool.held_by(flow), queue.served, ticket)
        };
        let next = self.queues.iter().min_by_key(turn);
        next.map(|(flow, _)| flow.clone())
    }

    /// How many seats the first of a queue wants.
    fn width(&self, flow: &Flow) -> Option<usize> {
        Some(self.queues.get(flow)?.waiters.front()?.width)
    }

    /// Takes the first out of a queue.
    fn leave(&mut self, flow: &Flow) -> Option<Waiter> {
        let queue = self.queues.get_mut(flow)?;
        let waiter = queue.waiters.pop_front()?;
        queue.served = waiter.ticket;
        if queue.waiters.is_empty() {
            self.queues.remove(flow);
        }
        self.count -= 1;
        Some(waiter)
    }
}
