//! The queue: what it knows, and how what it decides becomes a record and a change.

mod apply;
mod batch;
mod compact;
mod fetch;
mod finish;
mod periodic;
mod push;
mod queues;
mod replay;
mod sets;
mod timers;
mod views;
mod workers;

pub use batch::{BatchError, BatchSpec, BatchStatus, CallbackState};
pub use fetch::{Delivery, Fetched};
pub use finish::{Ack, Failed};
pub use periodic::{PeriodicSpec, PeriodicView};
pub use push::{Error, NewJob};
pub use sets::Filter;
pub use views::{JobView, Lease, QueueView, Totals, Track, TrackState, WorkerView};
pub use workers::WorkerState;

use crate::job::{Extra, Job, Place, Slab, State};
use crate::line::{Limits, Line};
use crate::record::{Record, Unique};
use crate::wheel::Wheel;
use batch::Batch;
use fetch::Waiter;
use periodic::Periodic;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stowplan_base::{Duration, Lookup, Names, Rng, Sym, Time};
use views::RunTimes;
use workers::Worker;

/// How the queue behaves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// The lease of a job that does not say how long it may take.
    pub reserve: Duration,
    /// How long a FETCH waits.
    pub wait: Duration,
    /// A worker that is not heard of for so long is gone.
    pub beat: Duration,
    /// How long a worker that lost its last connection may take to come back to its jobs.
    pub reclaim: Duration,
    /// How many workers a job may take with it before it is dead.
    pub crashes_max: u8,
    /// How long dead jobs are kept.
    pub dead: Duration,
    /// How many retries of a queue may begin per second; 0 is any number.
    pub retry_rate: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            reserve: Duration::from_secs(1_800),
            wait: Duration::from_secs(2),
            beat: Duration::from_secs(60),
            reclaim: Duration::from_secs(15),
            crashes_max: 3,
            dead: Duration::from_secs(180 * 86_400),
            retry_rate: 0.0,
        }
    }
}

/// What a call leads to: records that have to be durable before anybody hears of it, and what is to be told.
#[derive(Debug, Default)]
pub struct Out {
    /// Records, one after the other.
    pub log: Vec<u8>,
    /// Where the first byte of `log` will be.
    pub base: u64,
    /// Jobs for connections that wait.
    pub delivered: Vec<Delivery>,
    /// Connections whose FETCH ends without a job.
    pub empty_handed: Vec<u64>,
    /// Workers whose connections have to be closed.
    pub reaped: Vec<u32>,
}

impl Out {
    /// Whether somebody is to be told something.
    pub fn has_told(&self) -> bool {
        !(self.delivered.is_empty() && self.empty_handed.is_empty() && self.reaped.is_empty())
    }

    fn append(&mut self, record: &Record<'_>) -> Place {
        let from = self.log.len();
        record.encode(&mut self.log);
        Place {
            at: self.base + from as u64,
            len: (self.log.len() - from) as u32,
        }
    }
}

/// Who calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Who {
    /// The connection; its lower half is small and used again, the whole is not.
    pub conn: u64,
    /// The worker, if it said who it is.
    pub worker: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Timer {
    /// A scheduled job or a retry.
    Due(u32),
    Lease(u32),
    /// The end of a dead job.
    Dead(u32),
    Expire(u32),
    Worker(u32),
    Wait(u32),
    /// A queue that had to wait for a token.
    Line(u32),
    Key(u32),
    Periodic(u32),
}

/// A lease, as the machine keeps it.
#[derive(Clone, Copy, Debug)]
struct Held {
    token: u64,
    worker: Option<u32>,
    conn: u64,
    since: Time,
    until: Time,
}

/// A key that keeps others out.
#[derive(Clone, Debug)]
struct Key {
    unique: Unique,
    slot: u32,
    id: u64,
    jid: Box<str>,
    at: u64,
}

/// A job queue. One thread owns it; see the module.
#[derive(Debug)]
pub struct Machine {
    settings: Settings,
    /// Keys the hash of names.
    seed: u64,
    rng: Rng,
    /// Whether what is derived is kept up to date: not while the log is read.
    live: bool,
    jobs: Slab,
    counts: BTreeMap<State, u64>,
    lines: Vec<Line>,
    line_by_name: Lookup<Box<str>, u32>,
    tenants: Names,
    limits: BTreeMap<Sym, Limits>,
    kinds: Names,
    /// How long jobs of a type take.
    run_times: BTreeMap<u32, RunTimes>,
    held: Lookup<u32, Held>,
    /// Slots of leased jobs by the hash of the job's name.
    by_jid: Lookup<u64, SmallVec<[u32; 1]>>,
    workers: Vec<Worker>,
    worker_by_wid: Lookup<Box<str>, u32>,
    workers_free: Vec<u32>,
    waiters: Lookup<u32, Waiter>,
    waited: u64,
    /// Who waits for queues that do not exist, by name.
    unmet: BTreeMap<Box<str>, BTreeMap<u64, u32>>,
    wheel: Wheel<Timer>,
    keys: Vec<Option<Key>>,
    key_by_digest: Lookup<[u8; 16], u32>,
    keys_free: Vec<u32>,
    batches: BTreeMap<Box<str>, Batch>,
    batches_over: VecDeque<(Time, Box<str>)>,
    tracks: Lookup<u64, Track>,
    periodic: Vec<Periodic>,
    leased_slots: BTreeSet<u32>,
    retry_buckets: BTreeMap<u32, crate::bucket::Bucket>,
    next_id: u64,
    next_token: u64,
    last_since: Time,
    processed: u64,
    failures: u64,
    reclaimed: u64,
    fenced: u64,
    /// How long the records of jobs are that are there.
    bytes: u64,
}

impl Machine {
    /// An empty queue. `seed` makes its chances, and keys its hashes, so that nobody can foresee either.
    pub fn new(settings: Settings, seed: u64, now: Time) -> Self {
        Self {
            settings,
            seed,
            rng: Rng::new(seed),
            live: true,
            jobs: Slab::default(),
            counts: BTreeMap::new(),
            lines: Vec::new(),
            line_by_name: Lookup::new(),
            tenants: Names::default(),
            limits: BTreeMap::new(),
            kinds: Names::default(),
            run_times: BTreeMap::new(),
            held: Lookup::new(),
            by_jid: Lookup::new(),
            workers: Vec::new(),
            worker_by_wid: Lookup::new(),
            workers_free: Vec::new(),
            waiters: Lookup::new(),
            waited: 0,
            unmet: BTreeMap::new(),
            wheel: Wheel::new(now),
            keys: Vec::new(),
            key_by_digest: Lookup::new(),
            keys_free: Vec::new(),
            batches: BTreeMap::new(),
            batches_over: VecDeque::new(),
            tracks: Lookup::new(),
            periodic: Vec::new(),
            leased_slots: BTreeSet::new(),
            retry_buckets: BTreeMap::new(),
            next_id: 1,
            next_token: 1,
            last_since: Time::default(),
            processed: 0,
            failures: 0,
            reclaimed: 0,
            fenced: 0,
            bytes: 0,
        }
    }

    /// Writes a record down, and changes what it says.
    fn emit(&mut self, out: &mut Out, record: &Record<'_>) -> Place {
        let place = out.append(record);
        self.apply(record, place);
        place
    }

    /// A time at which no other job was queued.
    fn stamp(&mut self, now: Time) -> Time {
        now.max(self.last_since + Duration::from_nanos(1))
    }

    fn hash(&self, text: &str) -> u64 {
        hash(self.seed, text.as_bytes())
    }

    fn count(&self, state: State) -> u64 {
        self.counts.get(&state).copied().unwrap_or(0)
    }

    fn limits_of(&self, tenant: u32) -> Limits {
        if self.limits.is_empty() {
            return Limits::default();
        }
        let sym = Sym::from_number(tenant);
        self.limits.get(&sym).copied().unwrap_or_default()
    }
}

/// A keyed hash: who does not know the key cannot make names that collide.
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product as u64) ^ ((product >> 64) as u64)
    };
    let mut state = fold(
        seed ^ 0x9e37_79b9_7f4a_7c15,
        bytes.len() as u64 ^ 0xe703_7ed1_a0b4_28db,
    );
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = fold(
            state ^ u64::from_le_bytes(word),
            seed | 0x8ebc_6af0_9c88_c6e3,
        );
    }
    fold(state, 0xa076_1d64_78bd_642f ^ seed)
}
