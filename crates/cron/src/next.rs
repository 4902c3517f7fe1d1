//! When a schedule is due.
//!
//! The search goes from field to field, the month first, as robfig/cron's does, so that it ends where that
//! one ends on days when the clock is moved: there, a day may begin at one o'clock.

use crate::Dst;
use crate::field::{Fields, HOURS, STAR};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

const MINUTE_S: i64 = 60;
const HOUR_S: i64 = 3_600;

/// Nothing is looked for after so many years.
const YEARS_MAX: i16 = 5;

/// The second when it is due after this second.
pub(crate) fn next(fields: &Fields, zone: &TimeZone, dst: Dst, after: i64) -> Option<i64> {
    let mut at = shown(fields, zone, after);
    if dst == Dst::Twice || fields.hour & !STAR == HOURS.all() & !STAR {
        return at;
    }
    while let Some(due) = at
        && is_repeated(zone, due, dst)
    {
        at = shown(fields, zone, due);
    }
    match dst {
        Dst::Once => {
            let jumped = jumped_over(fields, zone, after, at);
            [at, jumped].into_iter().flatten().min()
        }
        Dst::Twice | Dst::Skip => at,
    }
}

/// The next second when the clock shows what is wanted. Upstream's `SpecSchedule.Next`.
fn shown(fields: &Fields, zone: &TimeZone, after: i64) -> Option<i64> {
    let mut clock = Clock {
        zone,
        at: after.checked_add(1)?,
        is_begun: false,
    };
    let year_max = clock.shows()?.year().checked_add(YEARS_MAX)?;
    'search: while clock.shows()?.year() <= year_max {
        while !has(fields.month, clock.shows()?.month()) {
            clock.begin(|shows| DateTime::from_parts(shows.date().first_of_month(), MIDNIGHT))?;
            clock.add_month()?;
            if clock.shows()?.month() == 1 {
                continue 'search;
            }
        }
        while !has_day(fields, clock.shows()?.date()) {
            clock.begin(|shows| DateTime::from_parts(shows.date(), MIDNIGHT))?;
            clock.add_day()?;
            if clock.shows()?.day() == 1 {
                continue 'search;
            }
        }
        while !has(fields.hour, clock.shows()?.hour()) {
            clock.begin(|shows| shows.date().at(shows.hour(), 0, 0, 0))?;
            clock.add(HOUR_S)?;
            if clock.shows()?.hour() == 0 {
                continue 'search;
            }
        }
        while !has(fields.minute, clock.shows()?.minute()) {
            clock.begin_minute();
            clock.add(MINUTE_S)?;
            if clock.shows()?.minute() == 0 {
                continue 'search;
            }
        }
        while !has(fields.second, clock.shows()?.second()) {
            clock.is_begun = true;
            clock.add(1)?;
            if clock.shows()?.second() == 0 {
                continue 'search;
            }
        }
        return Some(clock.at);
    }
    None
}

const MIDNIGHT: Time = Time::midnight();

fn has(bits: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| bits & (1 << value) != 0)
}

/// If both kinds of days are restricted, one is enough. Upstream's `dayMatches`.
fn has_day(fields: &Fields, date: Date) -> bool {
    let of_month = has(fields.day_of_month, date.day());
    let of_week = has(fields.day_of_week, date.weekday().to_sunday_zero_offset());
    match (fields.day_of_month | fields.day_of_week) & STAR != 0 {
        true => of_month && of_week,
        false => of_month || of_week,
    }
}

/// A clock on the wall of a zone.
struct Clock<'a> {
    zone: &'a TimeZone,
    /// The second, counted from the epoch.
    at: i64,
    /// Whether smaller fields have been set to where they begin.
    is_begun: bool,
}

impl Clock<'_> {
    fn shows(&self) -> Option<DateTime> {
        let at = Timestamp::from_second(self.at).ok()?;
        Some(self.zone.to_datetime(at))
    }

    fn add(&mut self, seconds: i64) -> Option<()> {
        self.at = self.at.checked_add(seconds)?;
        Some(())
    }

    /// The first time that a field is found wanting, all smaller ones begin anew.
    fn begin(&mut self, to: impl FnOnce(DateTime) -> DateTime) -> Option<()> {
        if !self.is_begun {
            self.is_begun = true;
            self.set(to(self.shows()?))?;
        }
        Some(())
    }

    fn begin_minute(&mut self) {
        if !self.is_begun {
            self.is_begun = true;
            self.at -= self.at.rem_euclid(MINUTE_S);
        }
    }

    /// Go's `time.Date`. Of a time that is shown twice or never, it takes the one that its guess of the offset
    /// leads to.
    fn set(&mut self, shows: DateTime) -> Option<()> {
        let as_utc = Offset::UTC.to_timestamp(shows).ok()?;
        let offset = |at: Timestamp| i64::from(self.zone.to_offset(at).seconds());
        let guess = offset(as_utc);
        self.at = match guess {
            0 => as_utc.as_second(),
            guess => {
                let at = Timestamp::from_second(as_utc.as_second() - guess).ok()?;
                as_utc.as_second() - offset(at)
            }
        };
        Some(())
    }

    /// Go's `AddDate(0, 1, 0)`: the 31st of a month without one is the first of the next.
    fn add_month(&mut self) -> Option<()> {
        let shows = self.shows()?;
        let first = shows.date().last_of_month().tomorrow().ok()?;
        let days = i64::from(shows.day()) - 1;
        let date = first.checked_add(jiff::SignedDuration::from_hours(24 * days));
        self.set(DateTime::from_parts(date.ok()?, shows.time()))
    }

    /// Goes to the next day, at midnight or where the day begins.
    fn add_day(&mut self) -> Option<()> {
        let shows = self.shows()?;
        let date = shows.date().tomorrow().ok()?;
        self.set(DateTime::from_parts(date, shows.time()))?;
        match i64::from(self.shows()?.hour()) {
            0 => Some(()),
            hour if hour > 12 => self.add((24 - hour) * HOUR_S),
            hour => self.add(-hour * HOUR_S),
        }
    }
}

/// Whether the clock shows this time twice, and it does not count.
fn is_repeated(zone: &TimeZone, at: i64, dst: Dst) -> bool {
    let Ok(time) = Timestamp::from_second(at) else {
        return false;
    };
    let shows = zone.to_datetime(time);
    match zone.to_ambiguous_timestamp(shows).offset() {
        AmbiguousOffset::Fold { after, .. } => dst == Dst::Skip || zone.to_offset(time) == after,
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Gap { .. } => false,
    }
}

/// The first jump of the clock after `after` and before `until` that passes over something due.
fn jumped_over(fields: &Fields, zone: &TimeZone, after: i64, until: Option<i64>) -> Option<i64> {
    let from = Timestamp::from_second(after).ok()?;
    let year_max = zone.to_datetime(from).year().checked_add(YEARS_MAX)?;
    for jump in zone.following(from) {
        let at = jump.timestamp();
        let second = at.as_second();
        if until.is_some_and(|until| second >= until) || zone.to_datetime(at).year() > year_max {
            return None;
        }
        let before = Timestamp::from_second(second - 1).ok()?;
        let shown_before = second + i64::from(zone.to_offset(before).seconds());
        let shown_after = second + i64::from(jump.offset().seconds());
        // What the clock would have shown, had it not jumped.
        let missed = shown(fields, &TimeZone::UTC, shown_before - 1);
        if missed.is_some_and(|missed| missed < shown_after) {
            return Some(second);
        }
    }
    None
}
