//! Jobs that are due again and again.

use super::*;
use crate::record::Until;
use crate::wire::{BadRecord, Reader, Writer};
use jiff::Timestamp;
use stowplan_cron::{Dst, Schedule, time_zone};

/// A periodic entry. Each of its times is launched once: the launch and the note that it happened are one change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeriodicSpec<'a> {
    /// Its name.
    pub name: &'a str,
    /// When: as CronJobs say it.
    pub schedule: &'a str,
    /// In which zone; UTC if nothing is said.
    pub zone: &'a str,
    /// What becomes of times that were missed: `skip`, `latest` (also if nothing is said) or `all`.
    pub catch_up: &'a str,
    /// What becomes of times that a clock shows twice or not at all: `once` (also if nothing is said), `twice`
    /// or `skip`.
    pub dst: &'a str,
    /// Whether a time passes while the job of an earlier one is not done.
    pub forbid_overlap: bool,
    /// What to push ([`NewJob::prepare`]). In its body [`PeriodicSpec::JID`] stands for the job's name, and
    /// [`PeriodicSpec::TIME`] for the time.
    pub job: &'a [u8],
}

/// A periodic entry, as it is seen.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct PeriodicView {
    pub name: String,
    pub schedule: String,
    pub zone: String,
    pub last: Option<Time>,
    pub next: Option<Time>,
}

#[derive(Debug)]
pub(super) struct Periodic {
    name: Box<str>,
    spec: Box<[u8]>,
    schedule: Schedule,
    last: Time,
    next: Option<Time>,
    gone: bool,
}

/// How many missed times are launched at most.
const MISSED_MAX: usize = 1_000;

impl<'a> PeriodicSpec<'a> {
    /// Stands for the name of the job.
    pub const JID: &'static str = "\u{1}j";
    /// Stands for the time.
    pub const TIME: &'static str = "\u{1}t";

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut w = Writer(&mut bytes);
        w.text(self.name)
            .text(self.schedule)
            .text(self.zone)
            .text(self.catch_up);
        w.text(self.dst)
            .u8(self.forbid_overlap.into())
            .bytes(self.job);
        bytes
    }

    fn decode(bytes: &'a [u8]) -> Result<Self, BadRecord> {
        let mut r = Reader(bytes);
        Ok(Self {
            name: r.text()?,
            schedule: r.text()?,
            zone: r.text()?,
            catch_up: r.text()?,
            dst: r.text()?,
            forbid_overlap: r.u8()? != 0,
            job: r.bytes()?,
        })
    }

    fn parse(&self) -> Result<Schedule, String> {
        let dst = match self.dst {
            "" | "once" => Dst::Once,
            "twice" => Dst::Twice,
            "skip" => Dst::Skip,
            other => return Err(format!("unknown dst policy {other:?}")),
        };
        if !matches!(self.catch_up, "" | "skip" | "latest" | "all") {
            return Err(format!("unknown catch-up policy {:?}", self.catch_up));
        }
        let schedule = Schedule::parse_hashed(self.schedule, self.name)?.with_dst(dst);
        match self.zone {
            "" => Ok(schedule),
            zone => {
                Ok(schedule.in_zone(time_zone(zone).ok_or(format!("unknown time zone {zone:?}"))?))
            }
        }
    }
}

fn stamp(time: Time) -> Timestamp {
    Timestamp::from_nanosecond(time.as_nanos().into()).unwrap_or_default()
}

fn next(schedule: &Schedule, after: Time) -> Option<Time> {
    let next = schedule.next(stamp(after))?;
    Some(Time::from_secs(next.as_second()))
}

impl Machine {
    /// Makes a periodic entry, or changes it.
    pub fn periodic_set(
        &mut self,
        out: &mut Out,
        now: Time,
        spec: &PeriodicSpec<'_>,
    ) -> Result<(), String> {
        spec.parse()?;
        match Record::decode(spec.job) {
            Ok((Record::Job(_), _)) => {}
            _ => return Err("there is no job in it".to_owned()),
        }
        let (name, bytes) = (spec.name, spec.encode());
        self.emit(
            out,
            &Record::Periodic {
                name,
                spec: &bytes,
                last: now,
                gone: false,
            },
        );
        Ok(())
    }

    /// Ends a periodic entry.
    pub fn periodic_remove(&mut self, out: &mut Out, name: &str) -> bool {
        let there = self
            .periodic
            .iter()
            .any(|entry| *entry.name == *name && !entry.gone);
        if there {
            let last = Time::default();
            self.emit(
                out,
                &Record::Periodic {
                    name,
                    spec: &[],
                    last,
                    gone: true,
                },
            );
        }
        there
    }

    /// All periodic entries, by name.
    pub fn periodic(&self) -> Vec<PeriodicView> {
        let entries = self.periodic.iter().filter(|entry| !entry.gone);
        let mut all: Vec<_> = entries
            .filter_map(|entry| {
                let spec = PeriodicSpec::decode(&entry.spec).ok()?;
                Some(PeriodicView {
                    name: spec.name.to_owned(),
                    schedule: spec.schedule.to_owned(),
                    zone: spec.zone.to_owned(),
                    last: Some(entry.last),
                    next: entry.next,
                })
            })
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    pub(super) fn apply_periodic(
        &mut self,
        name: &str,
        spec: &[u8],
        last: Time,
        gone: bool,
        _: Place,
    ) {
        let at = self.periodic.iter().position(|entry| *entry.name == *name);
        if gone {
            if let Some(at) = at {
                self.periodic[at].gone = true;
                self.periodic[at].next = None;
            }
            return;
        }
        let Some(schedule) = PeriodicSpec::decode(spec)
            .ok()
            .and_then(|spec| spec.parse().ok())
        else {
            return;
        };
        let entry = Periodic {
            name: name.into(),
            spec: spec.into(),
            schedule,
            last,
            next: None,
            gone: false,
        };
        let at = match at {
            Some(at) => {
                self.periodic[at] = entry;
                at
            }
            None => {
                self.periodic.push(entry);
                self.periodic.len() - 1
            }
        };
        if self.live {
            self.arm_periodic(at, last);
        }
    }

    /// Sets the timer for an entry's next time; of those that were missed, as many as it asks for are launched.
    pub(super) fn arm_periodic(&mut self, at: usize, now: Time) {
        let entry = &mut self.periodic[at];
        if entry.gone {
            return;
        }
        let spec = PeriodicSpec::decode(&entry.spec);
        let catch_up = spec.map_or("", |spec| spec.catch_up);
        let mut due = next(&entry.schedule, entry.last);
        if catch_up != "all" {
            for _ in 0..MISSED_MAX * 100 {
                let later = due.and_then(|due| next(&entry.schedule, due));
                let missed = match catch_up {
                    "skip" => due.is_some_and(|due| due < now),
                    _ => later.is_some_and(|later| later <= now),
                };
                if !missed {
                    break;
                }
                due = later;
            }
        }
        if catch_up == "all" {
            let after = |time: &Time| next(&entry.schedule, *time);
            let missed = std::iter::successors(due, after).take_while(|time| *time <= now);
            // The last of them.
            let mut last = VecDeque::new();
            for time in missed.take(MISSED_MAX * 100) {
                last.push_back(time);
                if last.len() > MISSED_MAX {
                    last.pop_front();
                }
            }
            due = last.front().copied().or(due);
        }
        entry.next = due;
        if let Some(due) = due {
            self.wheel.set(due, Timer::Periodic(at as u32));
        }
    }

    pub(super) fn launch(&mut self, out: &mut Out, now: Time, at: u32, due: Time) {
        let Some(entry) = self.periodic.get(at as usize) else {
            return;
        };
        if entry.next != Some(due) {
            return;
        }
        let (name, bytes) = (entry.name.clone(), entry.spec.clone());
        let Ok(spec) = PeriodicSpec::decode(&bytes) else {
            return;
        };
        if let Ok((Record::Job(job), _)) = Record::decode(spec.job) {
            let jid = format!("{name}-{}", due.as_millis() / 1_000);
            let body = String::from_utf8_lossy(job.body);
            let body = body.replace(PeriodicSpec::JID, &jid);
            let body = body.replace(PeriodicSpec::TIME, &stamp(now).to_string());
            let (a, b) = (hash(1, name.as_bytes()), hash(2, name.as_bytes()));
            let mut key = [0; 16];
            key[..8].copy_from_slice(&a.to_le_bytes());
            key[8..].copy_from_slice(&b.to_le_bytes());
            let ends = now + Duration::from_secs(30 * 86_400);
            let unique = Unique {
                key,
                until: Until::Success,
                ends,
            };
            let new = NewJob {
                jid: &jid,
                queue: job.queue,
                kind: job.kind,
                tenant: job.tenant,
                priority: job.priority,
                retry: job.retry,
                reserve_s: job.reserve_s,
                at: None,
                expires: None,
                unique: spec.forbid_overlap.then_some(unique),
                batch: "",
                policy: job.policy,
                tracked: job.tracked,
                body: body.as_bytes(),
            };
            // If the one before is not done yet, this time passes.
            let _ = self.push(out, now, &new);
        }
        self.emit(
            out,
            &Record::Periodic {
                name: &name,
                spec: &bytes,
                last: due,
                gone: false,
            },
        );
        // Time may have passed unseen, as if the process was stopped. Of `all` none is left out here.
        if spec.catch_up != "all" {
            self.arm_periodic(at as usize, now);
        }
    }

    pub(super) fn rewrite_periodic(&mut self, out: &mut Out) {
        for entry in self.periodic.iter().filter(|entry| !entry.gone) {
            let (name, last) = (&*entry.name, entry.last);
            out.append(&Record::Periodic {
                name,
                spec: &entry.spec,
                last,
                gone: false,
            });
        }
    }
}
