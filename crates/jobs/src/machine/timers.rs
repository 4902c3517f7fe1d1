//! What happens because time passes.

use super::*;
use crate::bucket::Bucket;
use crate::record::Why;

impl Machine {
    /// When [`Machine::tick`] has to be called next.
    pub fn next_timer(&self) -> Option<Time> {
        self.wheel.next()
    }

    /// Time has passed.
    pub fn tick(&mut self, out: &mut Out, now: Time) {
        let mut fired = Vec::new();
        loop {
            self.wheel.advance(now, &mut fired);
            if fired.is_empty() {
                return;
            }
            // What one timer leads to may be due, too.
            for (at, timer) in fired.drain(..) {
                self.fire(out, now, at, timer);
            }
        }
    }

    fn fire(&mut self, out: &mut Out, now: Time, at: Time, timer: Timer) {
        {
            match timer {
                Timer::Due(slot) => self.due(out, now, slot, at),
                Timer::Lease(slot) => self.lease_is_over(out, now, slot, at),
                Timer::Dead(slot) => {
                    let end = self.settings.dead;
                    self.end(out, now, slot, |job| {
                        job.state == State::Dead && job.since + end == at
                    });
                }
                Timer::Expire(slot) => self.end(out, now, slot, |job| {
                    let ends = job.extra.as_ref().and_then(|extra| extra.expires);
                    let waits =
                        matches!(job.state, State::Queued | State::Scheduled | State::Retry);
                    waits && ends == Some(at)
                }),
                Timer::Worker(worker) => self.look_after(out, now, worker),
                Timer::Wait(conn) => self.wait_is_over(out, conn, at),
                Timer::Line(line) => self.serve(out, now, line),
                Timer::Key(at_) => {
                    let key = self.keys.get(at_ as usize).and_then(Option::as_ref);
                    if key.is_some_and(|key| key.unique.ends == at) {
                        self.drop_key(at_);
                    }
                }
                Timer::Periodic(entry) => self.launch(out, now, entry, at),
            }
        }
    }

    /// A scheduled job or a retry comes to its queue, if the queue has retries to spare.
    fn due(&mut self, out: &mut Out, now: Time, slot: u32, at: Time) {
        if slot >= self.jobs.slots() {
            return;
        }
        let job = self.jobs.at(slot);
        if !matches!(job.state, State::Scheduled | State::Retry) || job.since != at {
            return;
        }
        let (id, line, state, jid) = (job.id, job.line, job.state, job.jid);
        if state == State::Retry && self.settings.retry_rate > 0.0 {
            let rate = self.settings.retry_rate;
            let bucket = self.retry_buckets.entry(line);
            let bucket = bucket.or_insert_with(|| {
                let burst = rate.max(1.0);
                Bucket::new(rate, burst, now).unwrap_or_else(|| unreachable!("the rate is not 0"))
            });
            if let Err(later) = bucket.ready(now) {
                self.emit(
                    out,
                    &Record::Moved {
                        slot,
                        id,
                        state,
                        at: later,
                    },
                );
                return;
            }
            bucket.take();
        }
        let tracked = job.extra.as_ref().is_some_and(|extra| extra.tracked);
        let since = self.stamp(now);
        self.emit(
            out,
            &Record::Queued {
                slot,
                id,
                since,
                why: Why::Due,
            },
        );
        if tracked {
            self.track_state(jid, TrackState::Enqueued, now);
        }
        self.serve(out, now, line);
    }

    fn end(&mut self, out: &mut Out, now: Time, slot: u32, over: impl FnOnce(&Job) -> bool) {
        if slot < self.jobs.slots() && over(self.jobs.at(slot)) {
            let id = self.jobs.at(slot).id;
            self.remove(out, now, slot, id);
        }
    }

    /// A job goes without having run.
    pub(super) fn remove(&mut self, out: &mut Out, now: Time, slot: u32, id: u64) {
        let Some(job) = self.jobs.get(slot, id) else {
            return;
        };
        let (dead, first) = (
            job.state == State::Dead,
            job.extra.as_ref().is_none_or(|e| e.failures == 0),
        );
        let batch = job
            .extra
            .as_ref()
            .map_or_else(Box::default, |extra| extra.batch.clone());
        self.emit(out, &Record::Removed { slot, id });
        if !batch.is_empty() && !dead {
            let ended = if first {
                batch::Ended::DiedAtOnce
            } else {
                batch::Ended::Died
            };
            self.batch_job_ended(out, now, &batch, ended);
        }
    }
}
