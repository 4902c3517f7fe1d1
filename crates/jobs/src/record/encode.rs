//! Records as bytes.

use super::{BatchRecord, FailureRecord, JobRecord, Record, Unique};
use crate::wire::Writer;
use stowplan_base::Time;

impl Record<'_> {
    /// Appends it; nothing but [`Record::decode`] needs to know how.
    pub(crate) fn encode(&self, to: &mut Vec<u8>) {
        let mut w = Writer(to);
        match *self {
            Self::Job(ref job) => encode_job(job, w.u8(1)),
            Self::Failure(ref f) => encode_failure(f, w.u8(2)),
            Self::Queued {
                slot,
                id,
                since,
                why,
            } => {
                job(w.u8(3), slot, id).int(since.as_nanos()).u8(why as u8);
            }
            Self::Reserved {
                slot,
                id,
                token,
                at,
                until,
                wid,
            } => {
                let w = job(w.u8(4), slot, id).num(token).int(at.as_nanos());
                w.int(until.as_nanos()).text(wid);
            }
            Self::Extended { slot, id, until } => {
                job(w.u8(5), slot, id).int(until.as_nanos());
            }
            Self::Acked { slot, id } => drop(job(w.u8(6), slot, id)),
            Self::Removed { slot, id } => drop(job(w.u8(7), slot, id)),
            Self::Moved {
                slot,
                id,
                state,
                at,
            } => {
                job(w.u8(8), slot, id).u8(state as u8).int(at.as_nanos());
            }
            Self::Queue {
                name,
                named,
                paused,
                draining,
                running_max,
            } => {
                let flags = u8::from(named) | u8::from(paused) << 1 | u8::from(draining) << 2;
                w.u8(9).text(name).u8(flags).num(running_max.into());
            }
            Self::Tenant {
                name,
                weight,
                running_max,
                rate_milli,
                burst,
            } => {
                w.u8(10).text(name).num(weight.into());
                w.num(running_max.into()).num(rate_milli).num(burst.into());
            }
            Self::Key {
                ref unique,
                slot,
                id,
                jid,
            } => {
                encode_unique(unique, job(w.u8(11), slot, id)).text(jid);
            }
            Self::Batch(ref batch) => encode_batch(batch, w.u8(12)),
            Self::BatchGone { bid } => drop(w.u8(13).text(bid)),
            Self::Periodic {
                name,
                spec,
                last,
                gone,
            } => {
                w.u8(14)
                    .text(name)
                    .bytes(spec)
                    .int(last.as_nanos())
                    .u8(gone.into());
            }
            Self::Totals {
                processed,
                failures,
                next_id,
                next_token,
                last_since,
            } => {
                w.u8(15).num(processed).num(failures).num(next_id);
                w.num(next_token).int(last_since.as_nanos());
            }
            Self::Flush => drop(w.u8(16)),
        }
    }
}

fn job<'a, 'b>(w: &'a mut Writer<'b>, slot: u32, id: u64) -> &'a mut Writer<'b> {
    w.num(slot.into()).num(id)
}

fn encode_unique<'a, 'b>(unique: &Unique, w: &'a mut Writer<'b>) -> &'a mut Writer<'b> {
    w.0.extend_from_slice(&unique.key);
    w.u8(unique.until as u8).int(unique.ends.as_nanos())
}

fn some_time(time: Option<Time>) -> i64 {
    time.map_or(0, Time::as_nanos)
}

fn encode_job(j: &JobRecord<'_>, w: &mut Writer<'_>) {
    job(w, j.slot, j.id)
        .u8(j.state as u8)
        .u8(j.priority)
        .int(j.retry.into());
    w.num(j.reserve_s.into()).int(j.since.as_nanos());
    w.text(j.jid).text(j.queue).text(j.tenant).text(j.kind);
    let rare = j.runs > 0
        || j.crashes > 0
        || j.expires.is_some()
        || j.unique.is_some()
        || j.failures > 0
        || j.tracked
        || !j.policy.is_empty()
        || !j.batch.is_empty();
    w.u8(u8::from(rare) | u8::from(j.unique.is_some()) << 1);
    if rare {
        w.num(j.runs.into()).u8(j.crashes).int(some_time(j.expires));
        w.num(j.failures.into())
            .int(some_time(j.failed_at))
            .word(j.fingerprint);
        w.int(j.delay_ns)
            .u8(j.tracked.into())
            .text(j.policy)
            .text(j.batch);
    }
    if let Some(unique) = &j.unique {
        encode_unique(unique, w);
    }
    w.bytes(j.body);
}

fn encode_failure(f: &FailureRecord<'_>, w: &mut Writer<'_>) {
    job(w, f.slot, f.id)
        .int(f.at.as_nanos())
        .int(f.first.as_nanos());
    w.num(f.count.into())
        .int(f.remaining.into())
        .int(some_time(f.next));
    w.word(f.fingerprint).u8(f.outcome as u8).bytes(f.error);
}

fn encode_batch(b: &BatchRecord<'_>, w: &mut Writer<'_>) {
    w.text(b.bid)
        .text(b.parent)
        .int(b.created.as_nanos())
        .u8(b.committed.into());
    w.num(b.total)
        .num(b.pending)
        .num(b.failed)
        .num(b.died)
        .num(b.children);
    w.u8(b.complete_state).u8(b.success_state).u8(b.death_state);
    w.bytes(b.description)
        .bytes(b.success)
        .bytes(b.complete)
        .bytes(b.death);
}
