//! What is in memory of a job: what is needed to decide. The rest is in the log.

use crate::record::Unique;
use smallvec::SmallVec;
use stowplan_base::Time;

/// Where a job is.
///
/// ```text
///            ┌───────────── Due ─────────────┐
///  push ─▶ Scheduled                         ▼
///  push ──────────────────────────────────▶ Queued ──fetch──▶ Reserved ──ack──▶ (gone)
///                                            ▲ ▲                 │ │
///                                            │ └─ worker's crash ┘ │ fail, expired lease
///                                            └─ Due ── Retry ◀─────┤
///                                            ▲                     ▼
///                                            └── redriven ─────── Dead
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// Not there.
    Gone,
    /// Waits for its time.
    Scheduled,
    /// Waits for a worker.
    Queued,
    /// A worker has it.
    Reserved,
    /// Failed, and waits for its next run.
    Retry,
    /// Failed for good, and is kept.
    Dead,
}

impl State {
    pub(crate) fn of(n: u8) -> Option<Self> {
        Some(match n {
            1 => Self::Scheduled,
            2 => Self::Queued,
            3 => Self::Reserved,
            4 => Self::Retry,
            5 => Self::Dead,
            _ => return None,
        })
    }

    /// As people name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Scheduled => "scheduled",
            Self::Queued => "queued",
            Self::Reserved => "working",
            Self::Retry => "retries",
            Self::Dead => "dead",
        }
    }
}

/// Where a record is in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// Its first byte, counted from the beginning of time.
    pub at: u64,
    /// How many bytes it has.
    pub len: u32,
}

/// A job. 80 bytes: there may be ten million.
#[derive(Debug)]
pub(crate) struct Job {
    /// No other job ever has it.
    pub(crate) id: u64,
    /// A keyed hash of its name.
    pub(crate) jid: u64,
    pub(crate) at: u64,
    /// When it was queued, or when it is due.
    pub(crate) since: Time,
    pub(crate) extra: Option<Box<Extra>>,
    pub(crate) len: u32,
    pub(crate) line: u32,
    pub(crate) tenant: u32,
    pub(crate) kind: u32,
    pub(crate) retry: i32,
    pub(crate) reserve_s: u32,
    pub(crate) runs: u16,
    pub(crate) priority: u8,
    pub(crate) state: State,
}

/// What few jobs have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    pub(crate) unique: Option<Unique>,
    pub(crate) batch: Box<str>,
    pub(crate) expires: Option<Time>,
    pub(crate) policy: Box<str>,
    pub(crate) tracked: bool,
    pub(crate) crashes: u8,
    /// How often it failed.
    pub(crate) failures: u32,
    pub(crate) failed_at: Option<Time>,
    pub(crate) fingerprint: u64,
    /// How long it waited the last time.
    pub(crate) delay_ns: i64,
    /// Where its failures are in the log, oldest first.
    pub(crate) history: SmallVec<[Place; 2]>,
}

/// How many of its failures a job keeps.
pub(crate) const HISTORY_MAX: usize = 50;

const CHUNK: usize = 4_096;

/// All jobs, by slot. It grows by chunks, so that nothing is moved.
#[derive(Debug, Default)]
pub(crate) struct Slab {
    chunks: Vec<Vec<Job>>,
    free: Vec<u32>,
    len: u32,
}

impl Slab {
    /// A slot that nothing is in.
    pub(crate) fn vacant(&mut self) -> u32 {
        self.free.pop().unwrap_or(self.len)
    }

    /// Puts a job where the log says that it is.
    pub(crate) fn put(&mut self, slot: u32, job: Job) {
        while self.len <= slot {
            let chunk = self.len as usize / CHUNK;
            if chunk == self.chunks.len() {
                self.chunks.push(Vec::with_capacity(CHUNK));
            }
            self.chunks[chunk].push(Job::vacant());
            self.len += 1;
        }
        self.chunks[slot as usize / CHUNK][slot as usize % CHUNK] = job;
    }

    pub(crate) fn slots(&self) -> u32 {
        self.len
    }

    /// The job in a slot, whatever it is.
    pub(crate) fn at(&self, slot: u32) -> &Job {
        &self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    pub(crate) fn at_mut(&mut self, slot: u32) -> &mut Job {
        &mut self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    /// The job, if it is still the one that is meant.
    pub(crate) fn get(&self, slot: u32, id: u64) -> Option<&Job> {
        let job = (slot < self.len).then(|| self.at(slot))?;
        (job.id == id && job.state != State::Gone).then_some(job)
    }

    /// Forgets what is in a slot.
    pub(crate) fn free(&mut self, slot: u32) {
        *self.at_mut(slot) = Job::vacant();
        self.free.push(slot);
    }

    /// The same, while the log is read: which slots are free is found out afterwards.
    pub(crate) fn clear(&mut self, slot: u32) {
        *self.at_mut(slot) = Job::vacant();
    }

    /// Finds out which slots are free.
    pub(crate) fn find_free(&mut self) {
        let free = (0..self.len).rev().filter(|slot| self.at(*slot).id == 0);
        self.free = free.collect();
    }
}

impl Job {
    fn vacant() -> Self {
        Self {
            id: 0,
            jid: 0,
            at: 0,
            since: Time::default(),
            extra: None,
            len: 0,
            line: 0,
            tenant: 0,
            kind: 0,
            retry: 0,
            reserve_s: 0,
            runs: 0,
            priority: 0,
            state: State::Gone,
        }
    }

    pub(crate) fn extra_mut(&mut self) -> &mut Extra {
        self.extra.get_or_insert_with(Box::default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_million_jobs_have_room() {
        assert!(size_of::<Job>() <= 80);
    }
}
