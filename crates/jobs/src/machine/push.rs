//! New jobs, and keys that keep others out.

use super::*;
use crate::record::{JobRecord, Until};

/// A job that somebody asks for.
#[derive(Clone, Copy, Debug)]
pub struct NewJob<'a> {
    /// Its name.
    pub jid: &'a str,
    /// Where it waits.
    pub queue: &'a str,
    /// Its type.
    pub kind: &'a str,
    /// Whose it is; fairness is among these.
    pub tenant: &'a str,
    /// From 1 to 9; 5 unless it says otherwise, and 9 is served first.
    pub priority: u8,
    /// How many retries it has; 0 drops it at its first failure, less keeps it dead then.
    pub retry: i32,
    /// How long its lease is, in seconds; 0 is the default, which a worker's heartbeats extend.
    pub reserve_s: u32,
    /// Not before that.
    pub at: Option<Time>,
    /// Not after that.
    pub expires: Option<Time>,
    /// What keeps others like it out.
    pub unique: Option<Unique>,
    /// The batch that it belongs to.
    pub batch: &'a str,
    /// When it is run again after a failure: [`Policy`](crate::Policy)'s text, or nothing.
    pub policy: &'a str,
    /// Whether its progress is kept.
    pub tracked: bool,
    /// What a worker gets.
    pub body: &'a [u8],
}

impl<'a> NewJob<'a> {
    fn record(&self, slot: u32, id: u64, state: State, since: Time) -> JobRecord<'a> {
        JobRecord {
            slot,
            id,
            state,
            priority: self.priority.clamp(1, 9),
            retry: self.retry,
            reserve_s: self.reserve_s,
            runs: 0,
            crashes: 0,
            since,
            expires: self.expires,
            unique: self.unique,
            failures: 0,
            failed_at: None,
            fingerprint: 0,
            delay_ns: 0,
            tracked: self.tracked,
            jid: self.jid,
            queue: self.queue,
            tenant: self.tenant,
            kind: self.kind,
            policy: self.policy,
            batch: self.batch,
            body: self.body,
        }
    }

    /// The job as bytes, to be pushed later: the callback of a batch, or what a periodic entry pushes.
    pub fn prepare(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let record = self.record(0, 0, State::Queued, Time::default());
        Record::Job(record).encode(&mut bytes);
        bytes
    }
}

/// Why a job was not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// There is one like it.
    #[error("Job not unique: {jid} is {state}")]
    NotUnique {
        /// The first one.
        jid: String,
        /// What it does.
        state: &'static str,
    },
    /// The queue takes none.
    #[error("queue {0:?} is draining")]
    Draining(String),
    /// The batch is not there, or takes none any more.
    #[error("{0}")]
    Batch(#[from] BatchError),
}

impl Machine {
    /// Takes a job.
    pub fn push(&mut self, out: &mut Out, now: Time, new: &NewJob<'_>) -> Result<(), Error> {
        let known = self.line_by_name.get(new.queue).copied();
        if known.is_some_and(|line| self.lines[line as usize].draining) {
            return Err(Error::Draining(new.queue.to_owned()));
        }
        self.push_anyway(out, now, new)
    }

    /// The same, also if the queue drains.
    pub(super) fn push_anyway(
        &mut self,
        out: &mut Out,
        now: Time,
        new: &NewJob<'_>,
    ) -> Result<(), Error> {
        if let Some(unique) = &new.unique {
            self.check_key(unique, now)?;
        }
        if !new.batch.is_empty() {
            self.check_batch(new.batch)?;
        }
        let due = new.at.filter(|at| *at > now);
        let since = due.unwrap_or_else(|| self.stamp(now));
        let (slot, id) = (self.jobs.vacant(), self.next_id);
        let state = due.map_or(State::Queued, |_| State::Scheduled);
        let record = new.record(slot, id, state, since);
        self.emit(out, &Record::Job(record));
        if let Some(unique) = new.unique {
            let jid = new.jid;
            self.emit(
                out,
                &Record::Key {
                    unique,
                    slot,
                    id,
                    jid,
                },
            );
        }
        if new.tracked {
            let state = if due.is_some() {
                TrackState::Scheduled
            } else {
                TrackState::Enqueued
            };
            self.track(self.hash(new.jid), new.jid, state, now);
        }
        if !new.batch.is_empty() {
            self.joined_batch(out, new.batch);
        }
        if due.is_none() {
            let line = self.jobs.at(slot).line;
            self.serve(out, now, line);
        }
        Ok(())
    }

    fn check_key(&self, unique: &Unique, now: Time) -> Result<(), Error> {
        let at = self.key_by_digest.get(&unique.key);
        let key = at.and_then(|at| self.keys[*at as usize].as_ref());
        match key.filter(|key| key.unique.ends > now) {
            None => Ok(()),
            Some(key) => Err(Error::NotUnique {
                jid: key.jid.to_string(),
                state: self
                    .jobs
                    .get(key.slot, key.id)
                    .map_or("done", |job| job.state.as_str()),
            }),
        }
    }

    pub(super) fn apply_key(
        &mut self,
        unique: Unique,
        slot: u32,
        id: u64,
        jid: &str,
        place: Place,
    ) {
        let key = Key {
            unique,
            slot,
            id,
            jid: jid.into(),
            at: place.at,
        };
        let at = match self.key_by_digest.get(&unique.key) {
            Some(at) => *at,
            None => self.keys_free.pop().unwrap_or_else(|| {
                self.keys.push(None);
                self.keys.len() as u32 - 1
            }),
        };
        self.keys[at as usize] = Some(key);
        self.key_by_digest.insert(unique.key, at);
        if self.live {
            self.wheel.set(unique.ends, Timer::Key(at));
        }
    }

    /// A job came to what ends its key early.
    pub(super) fn release(&mut self, slot: u32, id: u64, reached: Until) {
        let extra = self.jobs.get(slot, id).and_then(|job| job.extra.as_ref());
        let Some(unique) = extra.and_then(|extra| extra.unique) else {
            return;
        };
        let ends = match unique.until {
            Until::Start => true,
            Until::Success => reached == Until::Success,
            Until::Expiry => false,
        };
        if ends && let Some(at) = self.key_by_digest.get(&unique.key).copied() {
            let holder = self.keys[at as usize].as_ref();
            if holder.is_some_and(|key| key.id == id) {
                self.drop_key(at);
            }
        }
    }

    pub(super) fn drop_key(&mut self, at: u32) {
        if let Some(key) = self.keys[at as usize].take() {
            self.key_by_digest.remove(&key.unique.key);
            self.keys_free.push(at);
        }
    }
}
