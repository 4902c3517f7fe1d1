//! What is due by the clock.

use super::Scheduler;
use stowplan_base::{Duration, Time};

/// How often pods are released whose backoff is over.
const BACKOFF_FLUSH_PERIOD: Duration = Duration::from_secs(1);
/// How often pods are looked for that waited for too long.
const LEFTOVER_FLUSH_PERIOD: Duration = Duration::from_secs(30);

/// When the queue's two timers fire next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    /// At every whole second.
    backoff_flush: Time,
    /// Every 30 seconds from the start.
    leftover_flush: Time,
}

impl Timers {
    pub(super) fn new(start: Time) -> Self {
        Self {
            backoff_flush: next_whole_second(start),
            leftover_flush: start + LEFTOVER_FLUSH_PERIOD,
        }
    }
}

fn next_whole_second(time: Time) -> Time {
    (time + BACKOFF_FLUSH_PERIOD).truncate_to_second()
}

impl Scheduler {
    /// Lets the time be `now`: fires the timers that are due, each at its own time.
    pub fn tick(&mut self, now: Time) {
        self.reject_overdue(now);
        self.fail_overdue(now);
        loop {
            self.skip_idle_backoff_flushes(now);
            let Timers {
                backoff_flush,
                leftover_flush,
            } = self.timers;
            let due = backoff_flush.min(leftover_flush);
            if due > now {
                break;
            }
            if due == backoff_flush {
                let (queue, mut env) = self.queue_context(due);
                queue.flush_backoff(&mut env);
                self.timers.backoff_flush = backoff_flush + BACKOFF_FLUSH_PERIOD;
            }
            if due == leftover_flush {
                let (queue, mut env) = self.queue_context(due);
                queue.flush_leftover(&mut env);
                self.timers.leftover_flush = leftover_flush + LEFTOVER_FLUSH_PERIOD;
            }
        }
    }

    /// The next time at which [`tick`](Self::tick) may move a pod; `None` if no pod waits.
    pub fn next_tick(&self) -> Option<Time> {
        let release = self
            .queue
            .next_backoff_expiry()
            .map(|expiry| next_whole_second(expiry).max(self.timers.backoff_flush));
        let has_pool = self.queue.pool().next().is_some();
        let leftover = has_pool.then_some(self.timers.leftover_flush);
        [
            release,
            leftover,
            self.next_overdue(),
            self.waits.next_overdue(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// A clock may jump by hours: flushes that would find nothing are passed over.
    fn skip_idle_backoff_flushes(&mut self, now: Time) {
        let until = now.min(self.timers.leftover_flush);
        let useful = match self.queue.next_backoff_expiry() {
            Some(expiry) => next_whole_second(expiry).min(next_whole_second(until)),
            None => next_whole_second(until),
        };
        self.timers.backoff_flush = self.timers.backoff_flush.max(useful);
    }
}
