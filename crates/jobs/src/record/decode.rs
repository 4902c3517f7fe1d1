//! Bytes as records.

use super::{BatchRecord, FailureRecord, JobRecord, Outcome, Record, Unique, Until, Why};
use crate::job::State;
use crate::wire::{BadRecord, Reader};
use stowplan_base::Time;

fn time(r: &mut Reader<'_>) -> Result<Time, BadRecord> {
    Ok(Time::from_nanos(r.int()?))
}

fn maybe_time(r: &mut Reader<'_>) -> Result<Option<Time>, BadRecord> {
    let nanos = r.int()?;
    Ok((nanos != 0).then_some(Time::from_nanos(nanos)))
}

fn decode_unique(r: &mut Reader<'_>) -> Result<Unique, BadRecord> {
    let (key, rest) = r.0.split_first_chunk().ok_or(BadRecord)?;
    r.0 = rest;
    let until = match r.u8()? {
        0 => Until::Start,
        1 => Until::Success,
        2 => Until::Expiry,
        _ => return Err(BadRecord),
    };
    let ends = time(r)?;
    Ok(Unique {
        key: *key,
        until,
        ends,
    })
}

fn decode_job<'a>(r: &mut Reader<'a>) -> Result<JobRecord<'a>, BadRecord> {
    let mut job = JobRecord {
        slot: r.n32()?,
        id: r.num()?,
        state: State::of(r.u8()?).ok_or(BadRecord)?,
        priority: r.u8()?,
        retry: i32::try_from(r.int()?).map_err(|_| BadRecord)?,
        reserve_s: r.n32()?,
        since: time(r)?,
        jid: r.text()?,
        queue: r.text()?,
        tenant: r.text()?,
        kind: r.text()?,
        runs: 0,
        crashes: 0,
        expires: None,
        unique: None,
        failures: 0,
        failed_at: None,
        fingerprint: 0,
        delay_ns: 0,
        tracked: false,
        policy: "",
        batch: "",
        body: &[],
    };
    let flags = r.u8()?;
    if flags & 1 != 0 {
        job.runs = u16::try_from(r.num()?).map_err(|_| BadRecord)?;
        job.crashes = r.u8()?;
        job.expires = maybe_time(r)?;
        job.failures = r.n32()?;
        job.failed_at = maybe_time(r)?;
        job.fingerprint = r.word()?;
        job.delay_ns = r.int()?;
        job.tracked = r.u8()? != 0;
        job.policy = r.text()?;
        job.batch = r.text()?;
    }
    if flags & 2 != 0 {
        job.unique = Some(decode_unique(r)?);
    }
    job.body = r.bytes()?;
    Ok(job)
}

fn decode_failure<'a>(r: &mut Reader<'a>) -> Result<FailureRecord<'a>, BadRecord> {
    Ok(FailureRecord {
        slot: r.n32()?,
        id: r.num()?,
        at: time(r)?,
        first: time(r)?,
        count: r.n32()?,
        remaining: i32::try_from(r.int()?).map_err(|_| BadRecord)?,
        next: maybe_time(r)?,
        fingerprint: r.word()?,
        outcome: match r.u8()? {
            0 => Outcome::Retry,
            1 => Outcome::Dead,
            2 => Outcome::Discard,
            3 => Outcome::Copy,
            _ => return Err(BadRecord),
        },
        error: r.bytes()?,
    })
}

fn decode_batch<'a>(r: &mut Reader<'a>) -> Result<BatchRecord<'a>, BadRecord> {
    Ok(BatchRecord {
        bid: r.text()?,
        parent: r.text()?,
        created: time(r)?,
        committed: r.u8()? != 0,
        total: r.num()?,
        pending: r.num()?,
        failed: r.num()?,
        died: r.num()?,
        children: r.num()?,
        complete_state: r.u8()?,
        success_state: r.u8()?,
        death_state: r.u8()?,
        description: r.bytes()?,
        success: r.bytes()?,
        complete: r.bytes()?,
        death: r.bytes()?,
    })
}

impl<'a> Record<'a> {
    /// The record at the front of these bytes, and how long it is.
    pub fn decode(bytes: &'a [u8]) -> Result<(Self, usize), BadRecord> {
        let mut reader = Reader(bytes);
        let record = Self::read(&mut reader)?;
        Ok((record, bytes.len() - reader.0.len()))
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, BadRecord> {
        Ok(match r.u8()? {
            1 => Self::Job(decode_job(r)?),
            2 => Self::Failure(decode_failure(r)?),
            3 => Self::Queued {
                slot: r.n32()?,
                id: r.num()?,
                since: time(r)?,
                why: match r.u8()? {
                    0 => Why::Due,
                    1 => Why::Crash,
                    _ => return Err(BadRecord),
                },
            },
            4 => Self::Reserved {
                slot: r.n32()?,
                id: r.num()?,
                token: r.num()?,
                at: time(r)?,
                until: time(r)?,
                wid: r.text()?,
            },
            5 => Self::Extended {
                slot: r.n32()?,
                id: r.num()?,
                until: time(r)?,
            },
            6 => Self::Acked {
                slot: r.n32()?,
                id: r.num()?,
            },
            7 => Self::Removed {
                slot: r.n32()?,
                id: r.num()?,
            },
            8 => Self::Moved {
                slot: r.n32()?,
                id: r.num()?,
                state: State::of(r.u8()?).ok_or(BadRecord)?,
                at: time(r)?,
            },
            9 => {
                let (name, flags) = (r.text()?, r.u8()?);
                Self::Queue {
                    name,
                    named: flags & 1 != 0,
                    paused: flags & 2 != 0,
                    draining: flags & 4 != 0,
                    running_max: r.n32()?,
                }
            }
            10 => Self::Tenant {
                name: r.text()?,
                weight: r.n32()?,
                running_max: r.n32()?,
                rate_milli: r.num()?,
                burst: r.n32()?,
            },
            11 => {
                let (slot, id) = (r.n32()?, r.num()?);
                Self::Key {
                    slot,
                    id,
                    unique: decode_unique(r)?,
                    jid: r.text()?,
                }
            }
            12 => Self::Batch(decode_batch(r)?),
            13 => Self::BatchGone { bid: r.text()? },
            14 => Self::Periodic {
                name: r.text()?,
                spec: r.bytes()?,
                last: time(r)?,
                gone: r.u8()? != 0,
            },
            15 => Self::Totals {
                processed: r.num()?,
                failures: r.num()?,
                next_id: r.num()?,
                next_token: r.num()?,
                last_since: time(r)?,
            },
            16 => Self::Flush,
            _ => return Err(BadRecord),
        })
    }
}
