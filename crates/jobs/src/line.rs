//! A queue: who is next.
//!
//! Tenants take turns by weight (start-time fair queueing): each has a clock that one job moves on by
//! `SCALE / weight`, and the one whose clock is behind is next. Of a tenant's jobs, priority decides, and
//! age: a step of priority is worth [`AGEING`].

use crate::bucket::Bucket;
use crate::job::Slab;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stowplan_base::{Duration, Lookup, Time};

/// How much sooner a job is served for one step of priority.
pub const AGEING: Duration = Duration::from_secs(60);

/// What a job of a tenant of weight 1 moves its clock on by.
const SCALE: u64 = 1 << 20;

/// What a tenant may take of each queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// Its share, in relation to the others'.
    pub weight: u32,
    /// How many of its jobs may run at once; 0 is any number.
    pub running_max: u32,
    /// How many may begin per second; 0 is any number.
    pub rate: f64,
    /// How many of these at once.
    pub burst: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            weight: 1,
            running_max: 0,
            rate: 0.0,
            burst: 1,
        }
    }
}

/// One tenant's part of a queue.
#[derive(Debug)]
struct Share {
    tenant: u32,
    limits: Limits,
    bucket: Option<Bucket>,
    running: u32,
    waiting: usize,
    clock: u64,
    /// Whether it stands among those that may be next.
    standing: bool,
    /// By priority.
    levels: SmallVec<[(u8, VecDeque<u32>); 1]>,
}

/// A queue.
#[derive(Debug, Default)]
pub(crate) struct Line {
    pub(crate) name: Box<str>,
    /// Whether it is listed; it is not once it was removed, until a job comes.
    pub(crate) named: bool,
    pub(crate) paused: bool,
    pub(crate) draining: bool,
    pub(crate) running_max: u32,
    pub(crate) running: u32,
    pub(crate) waiting: usize,
    /// Who waits for a job of it, in the order in which they came.
    pub(crate) waiters: BTreeMap<u64, u32>,
    shares: Vec<Share>,
    vacant: Vec<u32>,
    by_tenant: Lookup<u32, u32>,
    standing: BTreeSet<(u64, u32)>,
    clock: u64,
}

/// What comes of asking for a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Job(u32),
    /// Nothing before that.
    Later(Time),
    Nothing,
}

impl Line {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    fn share(&mut self, tenant: u32, limits: Limits, now: Time) -> u32 {
        if let Some(at) = self.by_tenant.get(&tenant) {
            return *at;
        }
        if self.vacant.is_empty() && self.shares.len() >= 64 {
            self.sweep();
        }
        let share = Share {
            tenant,
            limits,
            bucket: Bucket::new(limits.rate, limits.burst.into(), now),
            running: 0,
            waiting: 0,
            clock: 0,
            standing: false,
            levels: SmallVec::new(),
        };
        let at = match self.vacant.pop() {
            Some(at) => {
                self.shares[at as usize] = share;
                at
            }
            None => {
                self.shares.push(share);
                self.shares.len() as u32 - 1
            }
        };
        self.by_tenant.insert(tenant, at);
        at
    }

    /// Lets tenants go that have nothing here, and whose clock says nothing any more.
    fn sweep(&mut self) {
        for (at, share) in self.shares.iter().enumerate() {
            let idle = share.waiting == 0 && share.running == 0;
            let known = self.by_tenant.get(&share.tenant) == Some(&(at as u32));
            if idle && known && share.bucket.is_none() && share.clock <= self.clock {
                self.by_tenant.remove(&share.tenant);
                self.vacant.push(at as u32);
            }
        }
    }

    /// A job joins at the end of its level.
    pub(crate) fn join(&mut self, slot: u32, tenant: u32, priority: u8, limits: Limits, now: Time) {
        let at = self.share(tenant, limits, now);
        let share = &mut self.shares[at as usize];
        let level = share.levels.iter().position(|(p, _)| *p == priority);
        let level = level.unwrap_or_else(|| {
            share.levels.push((priority, VecDeque::new()));
            share.levels.len() - 1
        });
        share.levels[level].1.push_back(slot);
        share.waiting += 1;
        self.waiting += 1;
        self.stand(at);
    }

    fn stand(&mut self, at: u32) {
        let share = &mut self.shares[at as usize];
        let full = share.limits.running_max > 0 && share.running >= share.limits.running_max;
        if share.standing || share.waiting == 0 || full {
            return;
        }
        share.standing = true;
        share.clock = share.clock.max(self.clock);
        self.standing.insert((share.clock, at));
    }

    /// A job that waits here is gone.
    pub(crate) fn lose(&mut self, slot: u32, jobs: &Slab) {
        let job = jobs.at(slot);
        let Some(at) = self.by_tenant.get(&job.tenant) else {
            return;
        };
        let share = &mut self.shares[*at as usize];
        let mut levels = share.levels.iter_mut();
        let Some((_, level)) = levels.find(|(priority, _)| *priority == job.priority) else {
            return;
        };
        // No two jobs were queued at the same time.
        let place = level.partition_point(|other| jobs.at(*other).since < job.since);
        if level.get(place) == Some(&slot) {
            level.remove(place);
            share.waiting -= 1;
            self.waiting -= 1;
            if share.waiting == 0 && share.standing {
                share.standing = false;
                self.standing.remove(&(share.clock, *at));
            }
        }
    }

    /// Whose turn it is.
    pub(crate) fn next(&mut self, now: Time, jobs: &Slab) -> Next {
        if self.paused || (self.running_max > 0 && self.running >= self.running_max) {
            return Next::Nothing;
        }
        let mut later = Next::Nothing;
        let mut passed: SmallVec<[(u64, u32); 4]> = SmallVec::new();
        let mut found = None;
        while let Some((clock, at)) = self.standing.pop_first() {
            let share = &mut self.shares[at as usize];
            share.standing = false;
            if let Some(Err(when)) = share.bucket.as_mut().map(|b| b.ready(now)) {
                if let Next::Later(first) = later {
                    later = Next::Later(first.min(when));
                } else {
                    later = Next::Later(when);
                }
                passed.push((clock, at));
                continue;
            }
            if let Some(slot) = share.pop(jobs) {
                found = Some((slot, at));
                break;
            }
        }
        for (clock, at) in passed {
            self.shares[at as usize].standing = true;
            self.standing.insert((clock, at));
        }
        let Some((slot, at)) = found else {
            return later;
        };
        self.take(at);
        Next::Job(slot)
    }

    fn take(&mut self, at: u32) {
        let share = &mut self.shares[at as usize];
        if let Some(bucket) = &mut share.bucket {
            bucket.take();
        }
        self.clock = self.clock.max(share.clock);
        share.clock += (SCALE / u64::from(share.limits.weight.max(1))).max(1);
        share.running += 1;
        share.waiting -= 1;
        self.running += 1;
        self.waiting -= 1;
        self.stand(at);
    }

    /// A job runs that did not come out of here: the log said so.
    pub(crate) fn run(&mut self, tenant: u32, limits: Limits, now: Time) {
        let at = self.share(tenant, limits, now);
        self.shares[at as usize].running += 1;
        self.running += 1;
    }

    /// A job has run.
    pub(crate) fn ran(&mut self, tenant: u32) {
        self.running = self.running.saturating_sub(1);
        if let Some(at) = self.by_tenant.get(&tenant).copied() {
            let share = &mut self.shares[at as usize];
            share.running = share.running.saturating_sub(1);
            self.stand(at);
        }
    }

    /// A tenant may take more or less from now on.
    pub(crate) fn limit(&mut self, tenant: u32, limits: Limits, now: Time) {
        let Some(at) = self.by_tenant.get(&tenant).copied() else {
            return;
        };
        let share = &mut self.shares[at as usize];
        share.limits = limits;
        share.bucket = Bucket::new(limits.rate, limits.burst.into(), now);
        if share.standing {
            share.standing = false;
            self.standing.remove(&(share.clock, at));
        }
        self.stand(at);
    }

    /// Since when its oldest job waits.
    pub(crate) fn oldest(&self, jobs: &Slab) -> Option<Time> {
        let shares = self.shares.iter().filter(|share| share.waiting > 0);
        let levels = shares.flat_map(|share| &share.levels);
        let heads = levels.filter_map(|(_, level)| level.front().map(|slot| jobs.at(*slot).since));
        heads.min()
    }

    /// Forgets all that waits; gives their slots.
    pub(crate) fn empty(&mut self) -> Vec<u32> {
        let mut all = Vec::new();
        for share in &mut self.shares {
            for (_, level) in share.levels.drain(..) {
                all.extend(level);
            }
            share.waiting = 0;
            share.standing = false;
        }
        self.standing.clear();
        self.waiting = 0;
        all
    }
}

impl Share {
    fn pop(&mut self, jobs: &Slab) -> Option<u32> {
        let rank = |(priority, level): &(u8, VecDeque<u32>)| {
            let since = jobs.at(*level.front()?).since.as_nanos();
            Some(since - i64::from(*priority) * AGEING.as_nanos())
        };
        let ranked = self.levels.iter().enumerate();
        let ranked = ranked.filter_map(|(i, level)| Some((rank(level)?, i)));
        let (_, best) = ranked.min()?;
        let level = &mut self.levels[best].1;
        let slot = level.pop_front();
        if level.is_empty() && (level.capacity() > 1_024 || self.levels.len() > 4) {
            self.levels.swap_remove(best);
        }
        slot
    }
}
