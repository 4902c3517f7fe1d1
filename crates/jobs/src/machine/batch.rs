//! Batches: jobs that belong together, and what is to run when they are done.

use super::*;
use crate::record::BatchRecord;

/// Whether a callback has run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CallbackState {
    /// Its time has not come.
    #[default]
    Pending,
    /// It was pushed.
    Enqueued,
    /// It is done.
    Done,
}

/// What a batch is asked to be.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchSpec<'a> {
    /// Its name, made by whoever calls.
    pub bid: &'a str,
    /// The batch that it is part of.
    pub parent: &'a str,
    /// For people.
    pub description: &'a [u8],
    /// What to push when all jobs succeeded.
    pub success: &'a [u8],
    /// What to push when all jobs have run at least once.
    pub complete: &'a [u8],
    /// What to push when the first job is dead.
    pub death: &'a [u8],
}

/// A batch cannot do that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BatchError {
    /// There is none of this name.
    #[error("No such batch")]
    Unknown,
    /// It is over.
    #[error("Batch has already been processed")]
    Over,
}

/// A batch, as it is seen.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct BatchStatus {
    pub bid: String,
    pub parent: String,
    pub description: Vec<u8>,
    pub created: Time,
    pub total: u64,
    pub pending: u64,
    pub failed: u64,
    pub complete: CallbackState,
    pub success: CallbackState,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    parent: Box<str>,
    created: Time,
    committed: bool,
    total: u64,
    /// Jobs that have neither succeeded nor died.
    pending: u64,
    /// Jobs whose last run failed.
    failed: u64,
    died: u64,
    /// Batches in it that have not succeeded.
    children: u64,
    complete_state: CallbackState,
    success_state: CallbackState,
    death_state: CallbackState,
    description: Box<[u8]>,
    success: Box<[u8]>,
    complete: Box<[u8]>,
    death: Box<[u8]>,
}

/// How a run of a job of a batch ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ended {
    Success,
    FailedOnce,
    FailedAgain,
    Died,
    DiedAtOnce,
}

impl Batch {
    pub(super) fn record<'a>(&'a self, bid: &'a str) -> BatchRecord<'a> {
        BatchRecord {
            bid,
            parent: &self.parent,
            created: self.created,
            committed: self.committed,
            total: self.total,
            pending: self.pending,
            failed: self.failed,
            died: self.died,
            children: self.children,
            complete_state: self.complete_state as u8,
            success_state: self.success_state as u8,
            death_state: self.death_state as u8,
            description: &self.description,
            success: &self.success,
            complete: &self.complete,
            death: &self.death,
        }
    }
}

fn callback(n: u8) -> CallbackState {
    match n {
        0 => CallbackState::Pending,
        1 => CallbackState::Enqueued,
        _ => CallbackState::Done,
    }
}

/// What stands where a job's batch does, if the job is a callback of that batch: which one, and the batch.
const COMPLETE: &str = "\u{1}c";
const SUCCESS: &str = "\u{1}s";
const DEATH: &str = "\u{1}d";

/// How long a batch that succeeded can be asked for.
const KEPT: Duration = Duration::from_secs(86_400);

impl Machine {
    pub(super) fn apply_batch(&mut self, record: &BatchRecord<'_>, _: Place) {
        let batch = Batch {
            parent: record.parent.into(),
            created: record.created,
            committed: record.committed,
            total: record.total,
            pending: record.pending,
            failed: record.failed,
            died: record.died,
            children: record.children,
            complete_state: callback(record.complete_state),
            success_state: callback(record.success_state),
            death_state: callback(record.death_state),
            description: record.description.into(),
            success: record.success.into(),
            complete: record.complete.into(),
            death: record.death.into(),
        };
        self.batches.insert(record.bid.into(), batch);
    }

    fn change(&mut self, out: &mut Out, bid: &str, change: impl FnOnce(&mut Batch)) {
        let Some(mut batch) = self.batches.get(bid).cloned() else {
            return;
        };
        change(&mut batch);
        self.emit(out, &Record::Batch(batch.record(bid)));
    }

    /// Opens a batch.
    pub fn batch_new(
        &mut self,
        out: &mut Out,
        now: Time,
        spec: &BatchSpec<'_>,
    ) -> Result<(), BatchError> {
        if !spec.parent.is_empty() {
            self.check_batch(spec.parent)?;
        }
        let batch = Batch {
            parent: spec.parent.into(),
            created: now,
            description: spec.description.into(),
            success: spec.success.into(),
            complete: spec.complete.into(),
            death: spec.death.into(),
            ..Batch::default()
        };
        self.forget_batches(out, now);
        self.emit(out, &Record::Batch(batch.record(spec.bid)));
        self.change(out, spec.parent, |parent| parent.children += 1);
        Ok(())
    }

    fn forget_batches(&mut self, out: &mut Out, now: Time) {
        while let Some((since, bid)) = self.batches_over.front().cloned() {
            if since + KEPT > now {
                return;
            }
            self.batches_over.pop_front();
            self.emit(out, &Record::BatchGone { bid: &bid });
        }
    }

    pub(super) fn find_batches_over(&mut self, now: Time) {
        let over = |batch: &Batch| batch.success_state != CallbackState::Pending;
        let batches = self.batches.iter().filter(|(_, batch)| over(batch));
        self.batches_over = batches.map(|(bid, _)| (now, bid.clone())).collect();
    }

    pub(super) fn check_batch(&self, bid: &str) -> Result<(), BatchError> {
        if bid.starts_with('\u{1}') {
            return Ok(());
        }
        let batch = self.batches.get(bid).ok_or(BatchError::Unknown)?;
        let over =
            batch.committed && batch.pending == 0 && batch.complete_state != CallbackState::Pending;
        if over { Err(BatchError::Over) } else { Ok(()) }
    }

    /// A batch takes more jobs.
    pub fn batch_open(&mut self, out: &mut Out, bid: &str) -> Result<(), BatchError> {
        self.check_batch(bid)?;
        self.change(out, bid, |batch| batch.committed = false);
        Ok(())
    }

    /// All jobs of a batch are there: its callbacks run when these are done.
    pub fn batch_commit(&mut self, out: &mut Out, now: Time, bid: &str) -> Result<(), BatchError> {
        self.batches.get(bid).ok_or(BatchError::Unknown)?;
        self.change(out, bid, |batch| batch.committed = true);
        self.look_at_batch(out, now, bid);
        Ok(())
    }

    pub(super) fn joined_batch(&mut self, out: &mut Out, bid: &str) {
        if bid.starts_with('\u{1}') {
            return;
        }
        self.change(out, bid, |batch| {
            batch.total += 1;
            batch.pending += 1;
        });
    }

    pub(super) fn batch_job_ended(&mut self, out: &mut Out, now: Time, bid: &str, ended: Ended) {
        if bid.starts_with('\u{1}') {
            let (which, bid) = bid.split_at(2);
            if ended == Ended::Success {
                self.change(out, bid, |batch| match which {
                    COMPLETE => batch.complete_state = CallbackState::Done,
                    SUCCESS => batch.success_state = CallbackState::Done,
                    _ => batch.death_state = CallbackState::Done,
                });
            }
            return;
        }
        self.change(out, bid, |batch| match ended {
            Ended::Success => batch.pending = batch.pending.saturating_sub(1),
            Ended::FailedOnce => batch.failed += 1,
            Ended::FailedAgain => {}
            Ended::Died | Ended::DiedAtOnce => {
                batch.pending = batch.pending.saturating_sub(1);
                batch.failed += u64::from(ended == Ended::DiedAtOnce);
                batch.died += 1;
            }
        });
        self.look_at_batch(out, now, bid);
    }

    /// A dead job of a batch is to run again: what was counted when it died is taken back.
    pub(super) fn batch_job_revived(&mut self, out: &mut Out, slot: u32) {
        let job = self.jobs.at(slot);
        let Some(extra) = job.extra.as_ref().filter(|_| job.state == State::Dead) else {
            return;
        };
        let (bid, never_failed) = (extra.batch.clone(), extra.failures == 0);
        self.change(out, &bid, |batch| {
            batch.pending += 1;
            batch.died = batch.died.saturating_sub(1);
            if never_failed {
                batch.failed = batch.failed.saturating_sub(1);
            }
        });
    }

    /// Pushes the callbacks whose time has come.
    fn look_at_batch(&mut self, out: &mut Out, now: Time, bid: &str) {
        let Some(batch) = self.batches.get(bid) else {
            return;
        };
        let mut next = batch.clone();
        let mut due: Vec<(&str, Box<[u8]>)> = Vec::new();
        let mut fire = |which, state: &mut CallbackState, body: &[u8]| {
            if *state == CallbackState::Pending {
                *state = if body.is_empty() {
                    CallbackState::Done
                } else {
                    CallbackState::Enqueued
                };
                due.push((which, body.into()));
            }
        };
        let over = batch.committed && batch.pending == 0;
        if batch.died > 0 {
            fire(DEATH, &mut next.death_state, &batch.death);
        }
        let ran = batch.committed && batch.pending.saturating_sub(batch.failed) == 0;
        if over || ran {
            fire(COMPLETE, &mut next.complete_state, &batch.complete);
        }
        let succeeded = over && batch.died == 0 && batch.children == 0;
        let first = succeeded && batch.success_state == CallbackState::Pending;
        if succeeded {
            fire(SUCCESS, &mut next.success_state, &batch.success);
        }
        if due.is_empty() {
            return;
        }
        let parent = batch.parent.clone();
        self.change(out, bid, |batch| *batch = next);
        for (which, body) in due.into_iter().filter(|(_, body)| !body.is_empty()) {
            self.push_prepared(out, now, &body, &format!("{which}{bid}"));
        }
        if first && !parent.is_empty() {
            self.change(out, &parent, |parent| {
                parent.children = parent.children.saturating_sub(1)
            });
            self.look_at_batch(out, now, &parent);
        }
        if first {
            self.batches_over.push_back((now, bid.into()));
        }
    }

    /// Pushes what whoever made the batch prepared ([`NewJob::prepare`]).
    fn push_prepared(&mut self, out: &mut Out, now: Time, bytes: &[u8], batch: &str) {
        let Ok((Record::Job(job), _)) = Record::decode(bytes) else {
            return;
        };
        let new = NewJob {
            jid: job.jid,
            queue: job.queue,
            kind: job.kind,
            tenant: job.tenant,
            priority: job.priority,
            retry: job.retry,
            reserve_s: job.reserve_s,
            at: None,
            expires: job.expires,
            unique: None,
            batch,
            policy: job.policy,
            tracked: job.tracked,
            body: job.body,
        };
        // It is neither unique nor a job of the batch: nothing keeps it out.
        let _ = self.push_anyway(out, now, &new);
    }

    /// A batch, if it is there.
    pub fn batch(&self, bid: &str) -> Option<BatchStatus> {
        let batch = self.batches.get(bid)?;
        Some(BatchStatus {
            bid: bid.to_owned(),
            parent: batch.parent.to_string(),
            description: batch.description.to_vec(),
            created: batch.created,
            total: batch.total,
            pending: batch.pending,
            failed: batch.failed,
            complete: batch.complete_state,
            success: batch.success_state,
        })
    }
}
