//! What a worker says of a job that it has: done, failed, not yet.

use super::*;
use crate::policy::Policy;
use crate::record::{FailureRecord, Outcome, Why};

/// What comes of an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ack {
    /// The job is done.
    Done,
    /// Nobody has a job of this name.
    Unknown,
    /// Somebody else has it now: the lease of the one who calls is over.
    Fenced,
}

/// A failure, as a worker tells it.
#[derive(Clone, Copy, Debug)]
pub struct Failed<'a> {
    /// For the record: not looked at.
    pub error: &'a [u8],
    /// The same for failures that are alike.
    pub fingerprint: u64,
}

/// What a lease that ended leaves.
const EXPIRED: Failed<'_> = Failed {
    error: br#""message":"Faktory job reservation expired","errtype":"ReservationExpired""#,
    fingerprint: 1,
};

/// What a job leaves that takes its workers with it.
const POISON: Failed<'_> = Failed {
    error: br#""message":"the workers that ran this job went away","errtype":"PoisonPill""#,
    fingerprint: 2,
};

impl Machine {
    /// The lease of this job that the caller has, by its token or else by who it is: whoever had an earlier
    /// lease of the same job does not have this one.
    fn lease_of(&mut self, who: Who, jid: &str, token: Option<u64>) -> Result<u32, Ack> {
        let Some(slots) = self.by_jid.get(&self.hash(jid)) else {
            return Err(if token.is_some() {
                self.fence()
            } else {
                Ack::Unknown
            });
        };
        let holds = |slot: &&u32| {
            let Some(held) = self.held.get(*slot) else {
                return false;
            };
            match (token, held.worker, who.worker) {
                (Some(token), _, _) => token == held.token,
                (None, Some(holder), Some(caller)) => holder == caller,
                (None, None, None) if held.conn == who.conn => true,
                // Nobody can be late who never had it.
                (None, _, None) => self.jobs.at(**slot).runs == 1,
                _ => false,
            }
        };
        match slots.iter().find(holds) {
            Some(slot) => Ok(*slot),
            None => Err(self.fence()),
        }
    }

    fn fence(&mut self) -> Ack {
        self.fenced += 1;
        Ack::Fenced
    }

    /// A job is done.
    pub fn ack(
        &mut self,
        out: &mut Out,
        now: Time,
        who: Who,
        jid: &str,
        token: Option<u64>,
    ) -> Ack {
        let slot = match self.lease_of(who, jid, token) {
            Ok(slot) => slot,
            Err(why) => return why,
        };
        let job = self.jobs.at(slot);
        let (id, line, kind, jid) = (job.id, job.line, job.kind, job.jid);
        let extra = job.extra.as_ref();
        let tracked = extra.is_some_and(|extra| extra.tracked);
        let batch = extra.map_or_else(Box::default, |extra| extra.batch.clone());
        if let Some(held) = self.held.get(&slot) {
            let took = now.since(held.since);
            self.run_times.entry(kind).or_default().add(took);
        }
        self.emit(out, &Record::Acked { slot, id });
        if tracked {
            self.track_state(jid, TrackState::Success, now);
        }
        if !batch.is_empty() {
            self.batch_job_ended(out, now, &batch, batch::Ended::Success);
        }
        self.serve(out, now, line);
        Ack::Done
    }

    /// A job has failed.
    pub fn fail(
        &mut self,
        out: &mut Out,
        now: Time,
        who: Who,
        jid: &str,
        token: Option<u64>,
        failed: &Failed<'_>,
    ) -> Ack {
        match self.lease_of(who, jid, token) {
            Ok(slot) => {
                self.fail_slot(out, now, slot, failed, false);
                Ack::Done
            }
            Err(why) => why,
        }
    }

    fn fail_slot(
        &mut self,
        out: &mut Out,
        now: Time,
        slot: u32,
        failed: &Failed<'_>,
        poison: bool,
    ) {
        let job = self.jobs.at(slot);
        let (id, retry, line, jid) = (job.id, job.retry, job.line, job.jid);
        let extra = job.extra.as_deref().cloned().unwrap_or_default();
        let count = extra.failures;
        let outcome = match retry {
            _ if poison => Outcome::Dead,
            0 => Outcome::Discard,
            _ if i64::from(count) < i64::from(retry) => Outcome::Retry,
            _ => Outcome::Dead,
        };
        let next = (outcome == Outcome::Retry).then(|| {
            let policy = Policy::parse(&extra.policy).unwrap_or_default();
            let last = Duration::from_nanos(extra.delay_ns);
            now + policy.delay(count, last, &mut self.rng)
        });
        let record = FailureRecord {
            slot,
            id,
            at: now,
            first: extra.failed_at.unwrap_or(now),
            count,
            remaining: retry
                .saturating_sub(i32::try_from(count).unwrap_or(i32::MAX))
                .max(0),
            next,
            fingerprint: failed.fingerprint,
            outcome,
            error: failed.error,
        };
        self.emit(out, &Record::Failure(record));
        if extra.tracked {
            let state = match outcome {
                Outcome::Retry => TrackState::Failed,
                _ => TrackState::Dead,
            };
            self.track_state(jid, state, now);
        }
        if !extra.batch.is_empty() {
            let ended = match outcome {
                Outcome::Retry if count == 0 => batch::Ended::FailedOnce,
                Outcome::Retry => batch::Ended::FailedAgain,
                _ if count == 0 => batch::Ended::DiedAtOnce,
                _ => batch::Ended::Died,
            };
            self.batch_job_ended(out, now, &extra.batch, ended);
        }
        self.serve(out, now, line);
    }

    /// A lease is over, unless its worker still says that it lives and the job did not ask for a time.
    pub(super) fn lease_is_over(&mut self, out: &mut Out, now: Time, slot: u32, at: Time) {
        let Some(held) = self
            .held
            .get(&slot)
            .copied()
            .filter(|held| held.until == at)
        else {
            return;
        };
        let job = self.jobs.at(slot);
        let alive = held.worker.is_some_and(|worker| self.is_alive(worker, now));
        if alive && job.reserve_s == 0 {
            let (id, until) = (job.id, now + self.settings.reserve);
            self.emit(out, &Record::Extended { slot, id, until });
            return;
        }
        self.fail_slot(out, now, slot, &EXPIRED, false);
    }

    /// A worker went away with this job: somebody else gets it, unless too many went that way.
    pub(super) fn reclaim(&mut self, out: &mut Out, now: Time, slot: u32) {
        let job = self.jobs.at(slot);
        let crashes = job.extra.as_ref().map_or(0, |extra| extra.crashes) + 1;
        self.reclaimed += 1;
        if crashes >= self.settings.crashes_max {
            self.fail_slot(out, now, slot, &POISON, true);
            return;
        }
        let (id, line) = (job.id, job.line);
        let since = self.stamp(now);
        self.emit(
            out,
            &Record::Queued {
                slot,
                id,
                since,
                why: Why::Crash,
            },
        );
        self.serve(out, now, line);
    }

    /// Whether the caller has a lease of this job ([`Ack::Done`]).
    pub fn has_lease(&mut self, who: Who, jid: &str, token: Option<u64>) -> Ack {
        self.lease_of(who, jid, token)
            .map_or_else(|why| why, |_| Ack::Done)
    }

    /// A lease ends later, or sooner.
    pub fn extend(
        &mut self,
        out: &mut Out,
        who: Who,
        jid: &str,
        token: Option<u64>,
        until: Time,
    ) -> Ack {
        match self.lease_of(who, jid, token) {
            Ok(slot) => {
                let id = self.jobs.at(slot).id;
                self.emit(out, &Record::Extended { slot, id, until });
                Ack::Done
            }
            Err(why) => why,
        }
    }
}
