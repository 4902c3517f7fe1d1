//! What a record changes. This is the only place where durable state changes.

use super::*;
use crate::job::HISTORY_MAX;
use crate::record::{FailureRecord, JobRecord, Outcome, Until, Why};

impl Machine {
    pub(super) fn apply(&mut self, record: &Record<'_>, place: Place) {
        match *record {
            Record::Job(ref job) => self.apply_job(job, place),
            Record::Failure(ref failure) => self.apply_failure(failure, place),
            Record::Queued {
                slot,
                id,
                since,
                why,
            } => {
                if self.jobs.get(slot, id).is_some() {
                    self.leave(slot);
                    let crash = u8::from(why == Why::Crash);
                    let job = self.jobs.at_mut(slot);
                    job.since = since;
                    if crash > 0 {
                        job.extra_mut().crashes += crash;
                    }
                    self.last_since = self.last_since.max(since);
                    let line = job.line as usize;
                    self.lines[line].named = true;
                    self.enter(slot, State::Queued);
                }
            }
            Record::Reserved {
                slot,
                id,
                token,
                at,
                until,
                wid,
            } => {
                self.apply_reserved(
                    slot,
                    id,
                    Held {
                        token,
                        worker: None,
                        conn: 0,
                        since: at,
                        until,
                    },
                    wid,
                );
            }
            Record::Extended { slot, id, until } => {
                if self.jobs.get(slot, id).is_some()
                    && let Some(held) = self.held.get_mut(&slot)
                {
                    held.until = until;
                    if self.live {
                        self.wheel.set(until, Timer::Lease(slot));
                    }
                }
            }
            Record::Acked { slot, id } => {
                self.processed += 1;
                self.release(slot, id, Until::Success);
                self.forget(slot, id);
            }
            Record::Removed { slot, id } => {
                self.release(slot, id, Until::Success);
                self.forget(slot, id);
            }
            Record::Moved {
                slot,
                id,
                state,
                at,
            } => {
                if self.jobs.get(slot, id).is_some() {
                    self.leave(slot);
                    self.jobs.at_mut(slot).since = at;
                    self.enter(slot, state);
                }
            }
            Record::Queue {
                name,
                named,
                paused,
                draining,
                running_max,
            } => {
                let line = self.line(name);
                let line = &mut self.lines[line as usize];
                (line.named, line.paused) = (named, paused);
                (line.draining, line.running_max) = (draining, running_max);
            }
            Record::Tenant {
                name,
                weight,
                running_max,
                rate_milli,
                burst,
            } => {
                let rate = rate_milli as f64 / 1e3;
                let limits = Limits {
                    weight,
                    running_max,
                    rate,
                    burst,
                };
                self.limits.insert(self.tenants.intern(name), limits);
            }
            Record::Key {
                unique,
                slot,
                id,
                jid,
            } => self.apply_key(unique, slot, id, jid, place),
            Record::Batch(ref batch) => self.apply_batch(batch, place),
            Record::BatchGone { bid } => drop(self.batches.remove(bid)),
            Record::Periodic {
                name,
                spec,
                last,
                gone,
            } => {
                self.apply_periodic(name, spec, last, gone, place);
            }
            Record::Totals {
                processed,
                failures,
                next_id,
                next_token,
                last_since,
            } => {
                (self.processed, self.failures) = (processed, failures);
                self.next_id = self.next_id.max(next_id);
                self.next_token = self.next_token.max(next_token);
                self.last_since = self.last_since.max(last_since);
            }
            Record::Flush => self.apply_flush(),
        }
    }

    pub(super) fn line(&mut self, name: &str) -> u32 {
        if let Some(line) = self.line_by_name.get(name) {
            return *line;
        }
        let line = self.lines.len() as u32;
        self.lines.push(Line::new(name));
        self.line_by_name.insert(name.into(), line);
        self.meet(line);
        line
    }

    fn apply_job(&mut self, record: &JobRecord<'_>, place: Place) {
        let slot = record.slot;
        if self.live && self.jobs.get(slot, record.id).is_some() {
            // Written again, as it is.
            let job = self.jobs.at_mut(slot);
            self.bytes = self.bytes + u64::from(place.len) - u64::from(job.len);
            (job.at, job.len) = (place.at, place.len);
            if let Some(extra) = &mut job.extra {
                extra.history.clear();
            }
            return;
        }
        if slot < self.jobs.slots() && self.jobs.at(slot).id != 0 {
            // The log is read: a later copy takes the place of an earlier one.
            let id = self.jobs.at(slot).id;
            self.forget(slot, id);
        }
        let rare = record.unique.is_some()
            || record.expires.is_some()
            || record.failures > 0
            || record.crashes > 0
            || record.tracked
            || !record.batch.is_empty()
            || !record.policy.is_empty();
        let extra = rare.then(|| Extra {
            unique: record.unique,
            batch: record.batch.into(),
            expires: record.expires,
            policy: record.policy.into(),
            tracked: record.tracked,
            crashes: record.crashes,
            failures: record.failures,
            failed_at: record.failed_at,
            fingerprint: record.fingerprint,
            delay_ns: record.delay_ns,
            history: SmallVec::new(),
        });
        let line = self.line(record.queue);
        self.lines[line as usize].named = true;
        let job = Job {
            id: record.id,
            jid: self.hash(record.jid),
            at: place.at,
            len: place.len,
            since: record.since,
            extra: extra.map(Box::new),
            line,
            tenant: self.tenants.intern(record.tenant).number(),
            kind: self.kinds.intern(record.kind).number(),
            retry: record.retry,
            reserve_s: record.reserve_s,
            runs: record.runs,
            priority: record.priority,
            state: State::Gone,
        };
        self.jobs.put(slot, job);
        self.bytes += u64::from(place.len);
        self.next_id = self.next_id.max(record.id + 1);
        if record.state == State::Queued {
            self.last_since = self.last_since.max(record.since);
        }
        self.enter(slot, record.state);
    }

    fn apply_failure(&mut self, record: &FailureRecord<'_>, place: Place) {
        let slot = record.slot;
        if self.jobs.get(slot, record.id).is_none() {
            if record.outcome != Outcome::Copy {
                (self.processed, self.failures) = (self.processed + 1, self.failures + 1);
            }
            return;
        }
        if record.outcome != Outcome::Copy {
            (self.processed, self.failures) = (self.processed + 1, self.failures + 1);
            self.leave(slot);
        }
        let extra = self.jobs.at_mut(slot).extra_mut();
        extra.history.push(place);
        if extra.history.len() > HISTORY_MAX {
            extra.history.remove(1);
        }
        if record.outcome == Outcome::Copy {
            return;
        }
        extra.failures = record.count + 1;
        extra.failed_at = Some(record.first);
        extra.fingerprint = record.fingerprint;
        extra.delay_ns = record.next.map_or(0, |next| (next - record.at).as_nanos());
        self.jobs.at_mut(slot).since = record.next.unwrap_or(record.at);
        match record.outcome {
            Outcome::Retry => self.enter(slot, State::Retry),
            Outcome::Dead => {
                self.jobs.at_mut(slot).since = record.at;
                self.enter(slot, State::Dead);
            }
            Outcome::Discard | Outcome::Copy => {
                // It has left already: count it once more, to be let go.
                self.enter(slot, State::Retry);
                self.release(slot, record.id, Until::Success);
                self.forget(slot, record.id);
            }
        }
    }

    fn apply_reserved(&mut self, slot: u32, id: u64, mut held: Held, wid: &str) {
        self.next_token = self.next_token.max(held.token + 1);
        if self.jobs.get(slot, id).is_none() {
            return;
        }
        if !self.live && self.jobs.at(slot).state == State::Reserved {
            self.leave(slot);
        } else {
            self.uncount(State::Queued);
        }
        let job = self.jobs.at_mut(slot);
        job.state = State::Reserved;
        job.runs = job.runs.saturating_add(1);
        let jid = job.jid;
        *self.counts.entry(State::Reserved).or_default() += 1;
        if !wid.is_empty() {
            let worker = self.worker(wid, held.since);
            self.workers[worker as usize].leases.insert(slot);
            held.worker = Some(worker);
        }
        if self.live {
            self.wheel.set(held.until, Timer::Lease(slot));
            self.by_jid.or_insert_with(jid, SmallVec::new).push(slot);
        }
        self.held.insert(slot, held);
        self.leased_slots.insert(slot);
        self.release(slot, id, Until::Start);
    }

    fn uncount(&mut self, state: State) {
        if let Some(count) = self.counts.get_mut(&state) {
            *count = count.saturating_sub(1);
        }
    }

    /// A job is no longer where it was.
    fn leave(&mut self, slot: u32) {
        let state = self.jobs.at(slot).state;
        if state == State::Gone {
            return;
        }
        self.uncount(state);
        match state {
            State::Queued if self.live => {
                let line = self.jobs.at(slot).line as usize;
                self.lines[line].lose(slot, &self.jobs);
            }
            State::Reserved => self.unhold(slot),
            _ => {}
        }
        self.jobs.at_mut(slot).state = State::Gone;
    }

    fn unhold(&mut self, slot: u32) {
        self.leased_slots.remove(&slot);
        if let Some(held) = self.held.remove(&slot)
            && let Some(worker) = held.worker
        {
            self.workers[worker as usize].leases.remove(&slot);
            self.let_go(worker);
        }
        if !self.live {
            return;
        }
        let job = self.jobs.at(slot);
        let (jid, line, tenant) = (job.jid, job.line, job.tenant);
        if let Some(slots) = self.by_jid.get_mut(&jid) {
            slots.retain(|other| *other != slot);
            if slots.is_empty() {
                self.by_jid.remove(&jid);
            }
        }
        self.lines[line as usize].ran(tenant);
    }

    fn enter(&mut self, slot: u32, state: State) {
        *self.counts.entry(state).or_default() += 1;
        let job = self.jobs.at_mut(slot);
        job.state = state;
        if !self.live {
            return;
        }
        if state != State::Dead {
            let expires = job.extra.as_ref().and_then(|extra| extra.expires);
            expires
                .into_iter()
                .for_each(|ends| self.wheel.set(ends, Timer::Expire(slot)));
        }
        self.derive_place(slot);
    }

    fn leave_for_good(&mut self, slot: u32) {
        self.leave(slot);
        self.bytes -= u64::from(self.jobs.at(slot).len);
    }

    /// A job is no more.
    fn forget(&mut self, slot: u32, id: u64) {
        if self.jobs.get(slot, id).is_none() {
            return;
        }
        self.leave_for_good(slot);
        match self.live {
            true => self.jobs.free(slot),
            false => self.jobs.clear(slot),
        }
    }

    fn apply_flush(&mut self) {
        self.jobs = Slab::default();
        self.bytes = 0;
        self.counts.clear();
        for line in &mut self.lines {
            let mut fresh = Line::new(&line.name);
            fresh.waiters = std::mem::take(&mut line.waiters);
            *line = fresh;
        }
        self.held = Lookup::new();
        self.by_jid = Lookup::new();
        self.leased_slots.clear();
        self.workers
            .iter_mut()
            .for_each(|worker| worker.leases.clear());
        self.keys.clear();
        self.keys_free.clear();
        self.key_by_digest = Lookup::new();
        self.batches.clear();
        self.tracks = Lookup::new();
        (self.processed, self.failures) = (0, 0);
    }
}
