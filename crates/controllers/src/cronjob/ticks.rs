//! Which time is due. Upstream: `pkg/controller/cronjob/utils.go`.

use super::options::{CatchUp, Options};
use crate::common::created_at;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::CronJob;
use std::time::Duration;

/// How long after its time a CronJob is looked at, so that its time has come on every clock. Upstream's
/// `nextScheduleDelta`.
const DELTA: SignedDuration = SignedDuration::from_millis(100);

/// So late may a Job be launched that is not made up for, unless `startingDeadlineSeconds` says.
const SKIPPED_AFTER_S: i64 = 30;

/// More missed times than this are told.
const MISSED_MAX: i64 = 100;

/// How many times were missed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Missed {
    None,
    Few,
    Many,
}

/// The times of a CronJob, seen from now.
pub(super) struct Ticks<'a> {
    options: &'a Options,
    now: Timestamp,
    /// What is due is due after this.
    earliest: Timestamp,
    deadline: Option<SignedDuration>,
}

/// The last time that was due.
struct Recent {
    at: Option<Timestamp>,
    missed: Missed,
}

impl<'a> Ticks<'a> {
    pub(super) fn new(
        cron_job: &CronJob,
        options: &'a Options,
        since: Option<Timestamp>,
        now: Timestamp,
    ) -> Self {
        let last = cron_job.status.as_ref();
        let last = last.and_then(|status| status.last_schedule_time.as_ref());
        let last = last.map(|at| at.0).or_else(|| created_at(cron_job));
        let given = cron_job.spec.starting_deadline_seconds;
        let deadline_s = match options.catch_up {
            CatchUp::Skip => Some(given.unwrap_or(SKIPPED_AFTER_S)),
            CatchUp::Latest | CatchUp::All => given,
        };
        Self {
            options,
            now,
            earliest: last.unwrap_or(now).max(since.unwrap_or(Timestamp::MIN)),
            deadline: deadline_s.map(SignedDuration::from_secs),
        }
    }

    fn next(&self, after: Timestamp) -> Option<Timestamp> {
        self.options.schedule.next(after)
    }

    /// What is too late to be launched now was due before this.
    fn earliest_in_time(&self) -> Timestamp {
        let deadline = self.deadline;
        let deadline = deadline.and_then(|deadline| self.now.checked_sub(deadline).ok());
        self.earliest.max(deadline.unwrap_or(Timestamp::MIN))
    }

    /// Upstream's `mostRecentScheduleTime`.
    fn most_recent(&self, earliest: Timestamp) -> Result<Recent, String> {
        let none = Recent {
            at: None,
            missed: Missed::None,
        };
        let never = || "time difference between two schedules is less than 1 second".to_owned();
        let first = self.next(earliest).ok_or_else(never)?;
        if self.now < first {
            return Ok(none);
        }
        let second = self.next(first).ok_or_else(never)?;
        if self.now < second {
            return Ok(Recent {
                at: Some(first),
                ..none
            });
        }
        let between = second.as_second() - first.as_second();
        if between < 1 {
            return Err(never());
        }
        // About so many were missed: it is not looked at each of them.
        let missed = self.now.duration_since(first).as_secs() / between + 1;
        let before = first.checked_add(SignedDuration::from_secs((missed - 2) * between));
        let mut at = None;
        let mut last = before.unwrap_or(earliest);
        while let Some(next) = self.next(last)
            && next <= self.now
        {
            at = Some(next);
            last = next;
        }
        let missed = match missed > MISSED_MAX {
            true => Missed::Many,
            false => Missed::Few,
        };
        Ok(Recent { at, missed })
    }

    /// The time that is to be made good now. Upstream's `nextScheduleTime`.
    pub(super) fn due(&self) -> Result<Option<(Timestamp, Missed)>, String> {
        let earliest = self.earliest_in_time();
        let recent = self.most_recent(earliest)?;
        let at = match self.options.catch_up {
            CatchUp::Skip | CatchUp::Latest => recent.at,
            CatchUp::All => self.next(earliest).filter(|first| *first <= self.now),
        };
        Ok(at.map(|at| (at, recent.missed)))
    }

    pub(super) fn is_too_late(&self, due: Timestamp) -> bool {
        self.deadline
            .and_then(|deadline| due.checked_add(deadline).ok())
            .is_some_and(|until| until < self.now)
    }

    /// How long until the next time. Upstream's `nextScheduleTimeDuration`.
    pub(super) fn until_next(&self) -> Option<Duration> {
        let base = match self.most_recent(self.earliest) {
            Err(_) => self.now,
            Ok(Recent { at: Some(at), .. }) => at,
            Ok(recent) if recent.missed == Missed::None => self.earliest,
            Ok(_) => self.now,
        };
        until_after(self.options, base, self.now)
    }
}

/// How long until the first time after another.
pub(super) fn until_after(options: &Options, at: Timestamp, now: Timestamp) -> Option<Duration> {
    let next = options.schedule.next(at)?.checked_add(DELTA).ok()?;
    Some(Duration::try_from(next.duration_since(now)).unwrap_or(Duration::ZERO))
}
