//! What the log holds: the state is what comes of applying these, one after the other.

mod decode;
mod encode;

use crate::job::State;
use stowplan_base::Time;

/// Until when a unique job keeps others out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// Until a worker has it.
    Start,
    /// Until it succeeded.
    Success,
    /// For the whole window, whatever becomes of it.
    Expiry,
}

/// What makes a job unique.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unique {
    /// A digest of the key.
    pub key: [u8; 16],
    /// What ends it early.
    pub until: Until,
    /// The end of its window.
    pub ends: Time,
}

/// A job as a whole: as it was pushed, or as it was when the log was compacted.
#[derive(Clone, Copy, Debug)]
pub struct JobRecord<'a> {
    pub(crate) slot: u32,
    pub(crate) id: u64,
    pub(crate) state: State,
    pub(crate) priority: u8,
    pub(crate) retry: i32,
    pub(crate) reserve_s: u32,
    pub(crate) runs: u16,
    pub(crate) crashes: u8,
    pub(crate) since: Time,
    pub(crate) expires: Option<Time>,
    pub(crate) unique: Option<Unique>,
    pub(crate) failures: u32,
    pub(crate) failed_at: Option<Time>,
    pub(crate) fingerprint: u64,
    pub(crate) delay_ns: i64,
    pub(crate) tracked: bool,
    /// Its name, given by the client.
    pub jid: &'a str,
    /// Where it waits.
    pub queue: &'a str,
    /// Whose it is.
    pub tenant: &'a str,
    /// Its type.
    pub kind: &'a str,
    pub(crate) policy: &'a str,
    pub(crate) batch: &'a str,
    /// What the client sent, without what the server adds: not looked at here.
    pub body: &'a [u8],
}

/// A failure.
#[derive(Clone, Copy, Debug)]
pub struct FailureRecord<'a> {
    pub(crate) slot: u32,
    pub(crate) id: u64,
    /// When it failed.
    pub at: Time,
    /// When it failed for the first time.
    pub first: Time,
    /// How often it had failed before.
    pub count: u32,
    /// How many retries were left.
    pub remaining: i32,
    /// When it was to run again, if it was.
    pub next: Option<Time>,
    pub(crate) fingerprint: u64,
    pub(crate) outcome: Outcome,
    /// What went wrong, in the form that the protocol gave it: not looked at here.
    pub error: &'a [u8],
}

/// What becomes of a job that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It runs again.
    Retry,
    /// It is kept until somebody looks at it.
    Dead,
    /// It is dropped, as its `retry` of 0 asks for.
    Discard,
    /// Already counted: the record was written again when the log was compacted.
    Copy,
}

/// A batch as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchRecord<'a> {
    pub(crate) bid: &'a str,
    pub(crate) parent: &'a str,
    pub(crate) created: Time,
    pub(crate) committed: bool,
    pub(crate) total: u64,
    pub(crate) pending: u64,
    pub(crate) failed: u64,
    pub(crate) died: u64,
    pub(crate) children: u64,
    pub(crate) complete_state: u8,
    pub(crate) success_state: u8,
    pub(crate) death_state: u8,
    pub(crate) description: &'a [u8],
    pub(crate) success: &'a [u8],
    pub(crate) complete: &'a [u8],
    pub(crate) death: &'a [u8],
}

/// One durable change.
#[derive(Clone, Copy, Debug)]
pub enum Record<'a> {
    /// A job that is new, or written again.
    Job(JobRecord<'a>),
    /// It failed.
    Failure(FailureRecord<'a>),
    /// It waits in its queue from now on.
    #[allow(missing_docs)]
    Queued {
        slot: u32,
        id: u64,
        since: Time,
        why: Why,
    },
    /// A worker has it.
    #[allow(missing_docs)]
    Reserved {
        slot: u32,
        id: u64,
        token: u64,
        at: Time,
        until: Time,
        wid: &'a str,
    },
    /// Its lease ends later.
    #[allow(missing_docs)]
    Extended { slot: u32, id: u64, until: Time },
    /// It is done.
    #[allow(missing_docs)]
    Acked { slot: u32, id: u64 },
    /// It is gone without having run.
    #[allow(missing_docs)]
    Removed { slot: u32, id: u64 },
    /// It is dead without having failed, or scheduled anew.
    #[allow(missing_docs)]
    Moved {
        slot: u32,
        id: u64,
        state: State,
        at: Time,
    },
    /// A queue and what it is told.
    #[allow(missing_docs)]
    Queue {
        name: &'a str,
        named: bool,
        paused: bool,
        draining: bool,
        running_max: u32,
    },
    /// What a tenant may take.
    #[allow(missing_docs)]
    Tenant {
        name: &'a str,
        weight: u32,
        running_max: u32,
        rate_milli: u64,
        burst: u32,
    },
    /// A key that keeps others out.
    #[allow(missing_docs)]
    Key {
        unique: Unique,
        slot: u32,
        id: u64,
        jid: &'a str,
    },
    /// A batch.
    Batch(#[allow(private_interfaces)] BatchRecord<'a>),
    /// A batch that is over.
    #[allow(missing_docs)]
    BatchGone { bid: &'a str },
    /// A periodic entry.
    #[allow(missing_docs)]
    Periodic {
        name: &'a str,
        spec: &'a [u8],
        last: Time,
        gone: bool,
    },
    /// What is counted.
    #[allow(missing_docs)]
    Totals {
        processed: u64,
        failures: u64,
        next_id: u64,
        next_token: u64,
        last_since: Time,
    },
    /// Everything is gone.
    Flush,
}

/// Why a job waits in its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// Its time came, or somebody asked for it.
    Due,
    /// Its worker went away.
    Crash,
}
