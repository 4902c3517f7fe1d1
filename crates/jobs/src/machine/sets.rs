//! Jobs that are looked for, and what is done with them.

use super::*;
use crate::record::Why;

/// Which jobs are meant. What it does not say does not matter.
#[derive(Clone, Copy, Default, Debug)]
pub struct Filter<'a> {
    /// Where they stand.
    pub state: Option<State>,
    /// Their names: one of these.
    pub jids: &'a [&'a str],
    /// Their queue.
    pub queue: Option<&'a str>,
    /// Their type.
    pub kind: Option<&'a str>,
    /// Whose they are.
    pub tenant: Option<&'a str>,
    /// How they failed.
    pub fingerprint: Option<u64>,
}

impl Machine {
    /// The jobs that are meant, the first due (or queued, or dead) first: at most so many. It looks at all jobs.
    pub fn select(&self, filter: &Filter<'_>, max: usize) -> Vec<(u32, u64)> {
        let hashes: BTreeSet<u64> = filter.jids.iter().map(|jid| self.hash(jid)).collect();
        let line = filter
            .queue
            .map(|name| self.line_by_name.get(name).copied());
        let kind = filter
            .kind
            .map(|name| self.kinds.get(name).map(Sym::number));
        let tenant = filter
            .tenant
            .map(|name| self.tenants.get(name).map(Sym::number));
        let is = |wanted: Option<Option<u32>>, have: u32| wanted.is_none_or(|w| w == Some(have));
        let meant = |job: &Job| {
            let failed = job.extra.as_ref().map_or(0, |extra| extra.fingerprint);
            job.state != State::Gone
                && filter.state.is_none_or(|state| state == job.state)
                && (hashes.is_empty() || hashes.contains(&job.jid))
                && is(line, job.line)
                && is(kind, job.kind)
                && is(tenant, job.tenant)
                && filter.fingerprint.is_none_or(|wanted| wanted == failed)
        };
        let slots = (0..self.jobs.slots()).filter(|slot| meant(self.jobs.at(*slot)));
        let mut found: Vec<u32> = slots.collect();
        found.sort_by_key(|slot| self.jobs.at(*slot).since);
        found.truncate(max);
        found
            .into_iter()
            .map(|slot| (slot, self.jobs.at(slot).id))
            .collect()
    }

    /// A job that is scheduled, failed or dead waits in its queue from now on.
    pub fn requeue(&mut self, out: &mut Out, now: Time, slot: u32, id: u64) -> bool {
        let Some(job) = self.jobs.get(slot, id) else {
            return false;
        };
        if !matches!(job.state, State::Scheduled | State::Retry | State::Dead) {
            return false;
        }
        let line = job.line;
        self.batch_job_revived(out, slot);
        let since = self.stamp(now);
        self.emit(
            out,
            &Record::Queued {
                slot,
                id,
                since,
                why: Why::Due,
            },
        );
        self.serve(out, now, line);
        true
    }

    /// The same, at a certain time.
    pub fn reschedule(&mut self, out: &mut Out, now: Time, slot: u32, id: u64, at: Time) -> bool {
        if at <= now {
            return self.requeue(out, now, slot, id);
        }
        let state = self.jobs.get(slot, id).map(|job| job.state);
        if !matches!(state, Some(State::Scheduled | State::Retry | State::Dead)) {
            return false;
        }
        self.batch_job_revived(out, slot);
        let state = State::Scheduled;
        self.emit(
            out,
            &Record::Moved {
                slot,
                id,
                state,
                at,
            },
        );
        true
    }

    /// A job that does not run is dead from now on.
    pub fn kill(&mut self, out: &mut Out, now: Time, slot: u32, id: u64) -> bool {
        let Some(job) = self.jobs.get(slot, id) else {
            return false;
        };
        if !matches!(job.state, State::Scheduled | State::Retry | State::Queued) {
            return false;
        }
        let extra = job.extra.as_deref().cloned().unwrap_or_default();
        let state = State::Dead;
        self.emit(
            out,
            &Record::Moved {
                slot,
                id,
                state,
                at: now,
            },
        );
        if !extra.batch.is_empty() {
            let ended = match extra.failures {
                0 => batch::Ended::DiedAtOnce,
                _ => batch::Ended::Died,
            };
            self.batch_job_ended(out, now, &extra.batch, ended);
        }
        true
    }

    /// A job that does not run is gone.
    pub fn discard(&mut self, out: &mut Out, now: Time, slot: u32, id: u64) -> bool {
        let state = self.jobs.get(slot, id).map(|job| job.state);
        if matches!(state, None | Some(State::Reserved)) {
            return false;
        }
        self.remove(out, now, slot, id);
        true
    }
}
