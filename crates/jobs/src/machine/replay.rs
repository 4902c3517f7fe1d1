//! The log is read again.

use super::*;
use crate::wire::BadRecord;

/// More leases than can be told of while one sync of the log runs.
const TOKENS_LOST_MAX: u64 = 1 << 20;

impl Machine {
    /// Begins to read the log: see [`Machine::replay`].
    pub fn begin_replay(&mut self) {
        self.live = false;
    }

    /// Applies the records of some bytes of the log, the first of which is at `at`.
    pub fn replay(&mut self, mut at: u64, mut bytes: &[u8]) -> Result<(), BadRecord> {
        while !bytes.is_empty() {
            let (record, len) = Record::decode(bytes)?;
            let place = Place {
                at,
                len: len as u32,
            };
            self.apply(&record, place);
            at += len as u64;
            bytes = &bytes[len..];
        }
        Ok(())
    }

    /// The log is read: finds out all that follows from it. Workers have some time to come back to their jobs.
    pub fn end_replay(&mut self, now: Time) {
        self.live = true;
        self.jobs.find_free();
        let mut queued = Vec::new();
        for slot in 0..self.jobs.slots() {
            let job = self.jobs.at(slot);
            match job.state {
                State::Gone => {}
                State::Queued => queued.push(slot),
                _ => self.derive(slot),
            }
        }
        queued.sort_by_key(|slot| self.jobs.at(*slot).since);
        for slot in queued {
            self.derive(slot);
        }
        for slot in self.leased_slots.clone() {
            let job = self.jobs.at(slot);
            let (line, tenant, jid) = (job.line, job.tenant, job.jid);
            let limits = self.limits_of(tenant);
            self.lines[line as usize].run(tenant, limits, now);
            self.by_jid.or_insert_with(jid, SmallVec::new).push(slot);
            if let Some(held) = self.held.get(&slot) {
                self.wheel.set(held.until, Timer::Lease(slot));
            }
        }
        for at in 0..self.workers.len() {
            self.workers[at].gone = Some(now);
            let back = now + self.settings.beat.max(self.settings.reclaim);
            self.workers[at].back_until = back;
            self.wheel.set(back, Timer::Worker(at as u32));
            self.let_go(at as u32);
        }
        self.find_batches_over(now);
        for at in 0..self.keys.len() {
            if let Some(key) = &self.keys[at] {
                self.wheel.set(key.unique.ends, Timer::Key(at as u32));
            }
        }
        for at in 0..self.periodic.len() {
            self.arm_periodic(at, now);
        }
    }

    /// Leases that were told of, and whose records were lost with power, may have had the next tokens: these are
    /// left out.
    pub fn skip_tokens(&mut self, out: &mut Out) {
        let totals = Record::Totals {
            processed: self.processed,
            failures: self.failures,
            next_id: self.next_id,
            next_token: self.next_token + TOKENS_LOST_MAX,
            last_since: self.last_since,
        };
        self.emit(out, &totals);
    }

    /// What follows from a job's state, but for leases.
    fn derive(&mut self, slot: u32) {
        let job = self.jobs.at(slot);
        if let Some(ends) = job.extra.as_ref().and_then(|extra| extra.expires) {
            self.wheel.set(ends, Timer::Expire(slot));
        }
        self.derive_place(slot);
    }

    pub(super) fn derive_place(&mut self, slot: u32) {
        let job = self.jobs.at(slot);
        let (state, since) = (job.state, job.since);
        let (line, tenant, priority) = (job.line, job.tenant, job.priority);
        match state {
            State::Queued => {
                let limits = self.limits_of(tenant);
                self.lines[line as usize].join(slot, tenant, priority, limits, since);
            }
            State::Scheduled | State::Retry => self.wheel.set(since, Timer::Due(slot)),
            State::Dead => self
                .wheel
                .set(since + self.settings.dead, Timer::Dead(slot)),
            State::Gone | State::Reserved => {}
        }
    }
}
