//! The log forgets what is over: what is not is written again, and the oldest part goes.

use super::*;
use crate::record::{FailureRecord, JobRecord, Outcome};
use crate::wire::BadRecord;

impl Machine {
    /// Jobs from this slot on of which something is in the log before `before`: at most so many slots are looked
    /// at. Gives where to go on, if there are more.
    pub fn old_jobs(
        &self,
        from: u32,
        look: u32,
        before: u64,
        found: &mut Vec<(u32, u64)>,
    ) -> Option<u32> {
        let end = from.saturating_add(look).min(self.jobs.slots());
        for slot in from..end {
            let job = self.jobs.at(slot);
            if job.state == State::Gone {
                continue;
            }
            let old = |extra: &Extra| extra.history.iter().any(|place| place.at < before);
            if job.at < before || job.extra.as_ref().is_some_and(|extra| old(extra)) {
                found.push((slot, job.id));
            }
        }
        (end < self.jobs.slots()).then_some(end)
    }

    /// Writes a job again, as it is now; `read` gives what the log has at a place.
    pub fn rewrite(
        &mut self,
        out: &mut Out,
        slot: u32,
        id: u64,
        read: &mut dyn FnMut(Place) -> Option<Vec<u8>>,
    ) -> Result<(), BadRecord> {
        let Some(job) = self.jobs.get(slot, id) else {
            return Ok(());
        };
        let bytes = read(Place {
            at: job.at,
            len: job.len,
        })
        .ok_or(BadRecord)?;
        let (Record::Job(mut record), _) = Record::decode(&bytes)? else {
            return Err(BadRecord);
        };
        let extra = job.extra.as_deref().cloned().unwrap_or_default();
        let held = self.held.get(&slot).copied();
        // A lease is written after its job.
        let runs = job.runs - u16::from(held.is_some() && job.runs > 0);
        record = JobRecord {
            slot,
            id,
            state: if held.is_some() {
                State::Queued
            } else {
                job.state
            },
            since: job.since,
            runs,
            crashes: extra.crashes,
            failures: extra.failures,
            failed_at: extra.failed_at,
            fingerprint: extra.fingerprint,
            delay_ns: extra.delay_ns,
            ..record
        };
        let failures: Vec<_> = extra
            .history
            .iter()
            .filter_map(|place| read(*place))
            .collect();
        let unique = extra.unique;
        let jid = record.jid;
        self.emit(out, &Record::Job(record));
        for bytes in &failures {
            let (Record::Failure(failure), _) = Record::decode(bytes)? else {
                return Err(BadRecord);
            };
            let outcome = Outcome::Copy;
            self.emit(
                out,
                &Record::Failure(FailureRecord {
                    slot,
                    id,
                    outcome,
                    ..failure
                }),
            );
        }
        if let Some(held) = held {
            let wid = held
                .worker
                .map(|worker| self.workers[worker as usize].wid.clone());
            let wid = wid.as_deref().unwrap_or_default();
            let (token, at, until) = (held.token, held.since, held.until);
            // As it is: nothing changes here.
            out.append(&Record::Reserved {
                slot,
                id,
                token,
                at,
                until,
                wid,
            });
        }
        let key = unique.and_then(|unique| self.key_by_digest.get(&unique.key));
        if key.is_some_and(|at| {
            self.keys[*at as usize]
                .as_ref()
                .is_some_and(|key| key.id == id)
        }) && let Some(unique) = unique
        {
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
        Ok(())
    }

    /// Writes again all that is no job.
    pub fn rewrite_rest(&mut self, out: &mut Out, before: u64) {
        out.append(&Record::Totals {
            processed: self.processed,
            failures: self.failures,
            next_id: self.next_id,
            next_token: self.next_token,
            last_since: self.last_since,
        });
        for line in &self.lines {
            out.append(&Record::Queue {
                name: &line.name,
                named: line.named,
                paused: line.paused,
                draining: line.draining,
                running_max: line.running_max,
            });
        }
        for (tenant, limits) in &self.limits {
            out.append(&Record::Tenant {
                name: self.tenants.text(*tenant),
                weight: limits.weight,
                running_max: limits.running_max,
                rate_milli: (limits.rate * 1e3) as u64,
                burst: limits.burst,
            });
        }
        for key in self.keys.iter_mut().flatten().filter(|key| key.at < before) {
            let (unique, slot, id, jid) = (key.unique, key.slot, key.id, key.jid.clone());
            key.at = out
                .append(&Record::Key {
                    unique,
                    slot,
                    id,
                    jid: &jid,
                })
                .at;
        }
        for (bid, batch) in &self.batches {
            out.append(&Record::Batch(batch.record(bid)));
        }
        self.rewrite_periodic(out);
    }
}
