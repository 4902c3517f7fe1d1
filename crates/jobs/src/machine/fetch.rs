//! Jobs for workers, and workers that wait for jobs.

use super::*;
use crate::line::Next;

/// A FETCH that waits.
#[derive(Debug)]
pub(super) struct Waiter {
    conn: u64,
    worker: Option<u32>,
    number: u64,
    until: Time,
    lines: SmallVec<[u32; 2]>,
    /// Queues that did not exist when it came.
    names: SmallVec<[Box<str>; 1]>,
}

/// A job for a worker. What it is about is in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Whose FETCH is answered.
    pub conn: u64,
    /// Where the job is.
    pub job: Place,
    /// Its last failure, if it had one.
    pub failure: Option<Place>,
    /// When it was queued.
    pub queued: Time,
    /// The token of its lease.
    pub token: u64,
}

/// What comes of a FETCH.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fetched {
    /// The job is in [`Out::delivered`].
    Delivered,
    /// The answer comes later, in [`Out::delivered`] or [`Out::empty_handed`].
    Waits,
}

impl Machine {
    /// Gives the first job of the first of these queues that has one, or waits for one.
    pub fn fetch<'a>(
        &mut self,
        out: &mut Out,
        now: Time,
        who: Who,
        queues: impl Iterator<Item = &'a str> + Clone,
    ) -> Fetched {
        let quiet = who
            .worker
            .is_some_and(|worker| self.workers[worker as usize].is_quiet());
        let mut lines: SmallVec<[u32; 2]> = SmallVec::new();
        let mut names: SmallVec<[Box<str>; 1]> = SmallVec::new();
        let queues = (!quiet).then_some(queues).into_iter().flatten();
        for name in queues {
            let Some(line) = self.line_by_name.get(name).copied() else {
                if names.len() < 1_000 && !names.iter().any(|other| **other == *name) {
                    names.push(name.into());
                }
                continue;
            };
            if let Some(slot) = self.next_job(out, now, line) {
                self.deliver(out, now, who, slot);
                return Fetched::Delivered;
            }
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        let until = now + self.settings.wait;
        self.waited += 1;
        for line in &lines {
            self.lines[*line as usize]
                .waiters
                .insert(self.waited, who.conn as u32);
        }
        for name in &names {
            let waiting = self.unmet.entry(name.clone()).or_default();
            waiting.insert(self.waited, who.conn as u32);
        }
        let waiter = Waiter {
            conn: who.conn,
            worker: who.worker,
            number: self.waited,
            until,
            lines,
            names,
        };
        self.wheel.set(until, Timer::Wait(who.conn as u32));
        self.waiters.insert(who.conn as u32, waiter);
        Fetched::Waits
    }

    /// The job whose turn it is; what has expired meanwhile is removed.
    fn next_job(&mut self, out: &mut Out, now: Time, line: u32) -> Option<u32> {
        loop {
            match self.lines[line as usize].next(now, &self.jobs) {
                Next::Job(slot) => {
                    let job = self.jobs.at(slot);
                    let ends = job.extra.as_ref().and_then(|extra| extra.expires);
                    if ends.is_none_or(|ends| ends > now) {
                        return Some(slot);
                    }
                    let (id, tenant) = (job.id, job.tenant);
                    // It has left its queue, and does not run.
                    self.lines[line as usize].ran(tenant);
                    self.remove(out, now, slot, id);
                }
                Next::Later(at) => {
                    self.wheel.set(at, Timer::Line(line));
                    return None;
                }
                Next::Nothing => return None,
            }
        }
    }

    fn deliver(&mut self, out: &mut Out, now: Time, who: Who, slot: u32) {
        let job = self.jobs.at(slot);
        let reserve = match job.reserve_s {
            0 => self.settings.reserve,
            s => Duration::from_secs(i64::from(s.clamp(60, 86_400))),
        };
        let (id, token, queued, jid) = (job.id, self.next_token, job.since, job.jid);
        let failure = job.extra.as_ref().and_then(|extra| extra.history.last());
        let delivery = Delivery {
            conn: who.conn,
            job: Place {
                at: job.at,
                len: job.len,
            },
            failure: failure.copied(),
            queued,
            token,
        };
        let tracked = job.extra.as_ref().is_some_and(|extra| extra.tracked);
        let wid = who
            .worker
            .map(|worker| self.workers[worker as usize].wid.clone());
        let wid = wid.as_deref().unwrap_or_default();
        let until = now + reserve;
        self.emit(
            out,
            &Record::Reserved {
                slot,
                id,
                token,
                at: now,
                until,
                wid,
            },
        );
        if let Some(held) = self.held.get_mut(&slot) {
            (held.conn, held.worker) = (who.conn, who.worker);
        }
        if tracked {
            self.track_state(jid, TrackState::Working, now);
        }
        out.delivered.push(delivery);
    }

    /// Gives jobs of a queue to those who wait for them.
    pub(super) fn serve(&mut self, out: &mut Out, now: Time, line: u32) {
        while let Some((_, conn)) = self.lines[line as usize].waiters.first_key_value() {
            let conn = *conn;
            let Some(slot) = self.next_job(out, now, line) else {
                return;
            };
            if let Some(waiter) = self.end_wait(conn) {
                let who = Who {
                    conn: waiter.conn,
                    worker: waiter.worker,
                };
                self.deliver(out, now, who, slot);
            }
        }
    }

    /// A queue is new: those who wait for its name wait for it.
    pub(super) fn meet(&mut self, line: u32) {
        let Some(waiting) = self.unmet.remove(&self.lines[line as usize].name) else {
            return;
        };
        for conn in waiting.values() {
            if let Some(waiter) = self.waiters.get_mut(conn) {
                waiter.lines.push(line);
            }
        }
        self.lines[line as usize].waiters = waiting;
    }

    pub(super) fn end_wait(&mut self, conn: u32) -> Option<Waiter> {
        let waiter = self.waiters.remove(&conn)?;
        for line in &waiter.lines {
            self.lines[*line as usize].waiters.remove(&waiter.number);
        }
        for name in &waiter.names {
            if let Some(waiting) = self.unmet.get_mut(name) {
                waiting.remove(&waiter.number);
                if waiting.is_empty() {
                    self.unmet.remove(name);
                }
            }
        }
        Some(waiter)
    }

    pub(super) fn wait_is_over(&mut self, out: &mut Out, conn: u32, at: Time) {
        if self
            .waiters
            .get(&conn)
            .is_some_and(|waiter| waiter.until == at)
            && let Some(waiter) = self.end_wait(conn)
        {
            out.empty_handed.push(waiter.conn);
        }
    }
}
