//! Schedules as `cron` has them: robfig/cron v3's standard dialect, which CronJobs speak. Validation and
//! controllers read it by the same parser.
//!
//! | upstream (`github.com/robfig/cron/v3`) | here |
//! |---|---|
//! | `ParseStandard` | [`Schedule::parse`] |
//! | `Schedule.Next` | [`Schedule::next`] |
//! | `SpecSchedule`, `ConstantDelaySchedule` | what a [`Schedule`] holds |
//! | – | [`Schedule::parse_hashed`]: `H`, as Jenkins has it |
//! | – | [`Dst`]: what becomes of hours that a clock skips or repeats |
//!
//! Zones come with the program, so that the machine's files do not matter. A schedule without a zone is in
//! UTC: so is every controller that runs in a container.

#![deny(clippy::disallowed_methods)]

mod field;
mod hash;
mod next;
mod parse;
#[cfg(test)]
mod tests;
mod zone;

pub use zone::time_zone;

use field::Fields;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// When something is due, again and again.
#[derive(Clone, Debug)]
pub struct Schedule {
    when: When,
    zone: TimeZone,
    dst: Dst,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum When {
    /// When the clock on the wall shows certain values.
    Fields(Fields),
    /// After so many seconds, whatever the clock shows. Upstream's `ConstantDelaySchedule`.
    Every(i64),
}

/// What becomes of times of day that a clock shows twice or not at all, when daylight saving begins or ends.
/// It matters only to schedules that name hours: those for every hour go on at their pace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dst {
    /// What is shown twice is due twice; what is not shown is not due. robfig/cron's way.
    #[default]
    Twice,
    /// What is shown twice is due the first time; what is not shown is due, once, when the clock has jumped.
    Once,
    /// Neither what is shown twice nor what is not shown is due.
    Skip,
}

impl Schedule {
    /// Reads five fields (minute, hour, day of month, month, day of week) or a descriptor such as `@daily` or
    /// `@every 1h30m`; `TZ=Europe/Berlin` or `CRON_TZ=…` may come before. The error is upstream's.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse::schedule(text, &mut parse::standard)
    }

    /// The same, with a field for seconds before the others.
    pub fn parse_with_seconds(text: &str) -> Result<Self, String> {
        parse::schedule(text, &mut parse::with_seconds)
    }

    /// The same as [`parse`](Self::parse), and `H` in a field stands for a value that depends on `seed` alone:
    /// schedules that say the same are spread over the field's range. `H(0-29)` is a value of a part of the
    /// range, `H/15` every fifteenth from a value below 15 on, `H(0-29)/10` both. In days of the month, `H` is
    /// at most 28.
    pub fn parse_hashed(text: &str, seed: &str) -> Result<Self, String> {
        let mut hash = hash::Hash::of(seed);
        parse::schedule(text, &mut |fields: &[&str]| {
            parse::hashed(fields, &mut hash)
        })
    }

    /// In this zone, unless the text named another one.
    #[must_use]
    pub fn in_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// With this policy for the days when daylight saving begins or ends.
    #[must_use]
    pub fn with_dst(mut self, dst: Dst) -> Self {
        self.dst = dst;
        self
    }

    /// When it is due after this time; `None` if it is not due within five years.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        // A time before the epoch has negative fractions.
        let seconds = after.as_second() - i64::from(after.subsec_nanosecond() < 0);
        let next = match &self.when {
            When::Every(pause) => seconds.checked_add(*pause)?,
            When::Fields(fields) => next::next(fields, &self.zone, self.dst, seconds)?,
        };
        Timestamp::from_second(next).ok()
    }
}
