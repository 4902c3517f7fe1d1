//! Text → schedules.

use crate::field::{DAYS_OF_MONTH, DAYS_OF_WEEK, Fields, HOURS, MINUTES, MONTHS, SECONDS};
use crate::hash::Hash;
use crate::{Dst, Schedule, When, time_zone};
use jiff::tz::TimeZone;
use stowplan_apimachinery::go;

const SECOND_NANOS: i64 = 1_000_000_000;

/// Reads the fields of a schedule.
type ReadFields<'a> = dyn FnMut(&[&str]) -> Result<Fields, String> + 'a;

/// A zone, if there is one, and then fields or a descriptor. Upstream's `Parse`.
pub(crate) fn schedule(text: &str, fields: &mut ReadFields<'_>) -> Result<Schedule, String> {
    if text.is_empty() {
        return Err("empty spec string".to_owned());
    }
    let (zone, text) = split_zone(text)?;
    let when = match text.strip_prefix('@') {
        Some(_) => descriptor(text)?,
        None => {
            let parts: Vec<&str> = text.split_whitespace().collect();
            When::Fields(fields(&parts)?)
        }
    };
    Ok(Schedule {
        when,
        zone,
        dst: Dst::default(),
    })
}

fn split_zone(text: &str) -> Result<(TimeZone, &str), String> {
    let named = text.strip_prefix("CRON_TZ=");
    let Some(named) = named.or_else(|| text.strip_prefix("TZ=")) else {
        return Ok((TimeZone::UTC, text));
    };
    let Some((name, rest)) = named.split_once(' ') else {
        // The library's own fault, which upstream catches.
        let equals = text.len() - named.len();
        return Err(format!(
            "invalid schedule format: runtime error: slice bounds out of range [{equals}:-1]"
        ));
    };
    match time_zone(name) {
        Some(zone) => Ok((zone, rest.trim())),
        None => Err(format!(
            "provided bad location {name}: unknown time zone {name}"
        )),
    }
}

fn expect(fields: &[&str], count: usize) -> Result<(), String> {
    match fields.len() == count {
        true => Ok(()),
        false => Err(format!(
            "expected exactly {count} fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        )),
    }
}

/// Minute, hour, day of month, month, day of week.
pub(crate) fn standard(fields: &[&str]) -> Result<Fields, String> {
    read(SECONDS.first(), fields, 5, None)
}

/// Those, after a second.
pub(crate) fn with_seconds(fields: &[&str]) -> Result<Fields, String> {
    let Some((second, others)) = fields.split_first() else {
        expect(fields, 6)?;
        return standard(fields);
    };
    expect(fields, 6)?;
    read(SECONDS.read(second, None)?, others, 5, None)
}

/// Five fields that may contain `H`.
pub(crate) fn hashed(fields: &[&str], hash: &mut Hash) -> Result<Fields, String> {
    read(SECONDS.first(), fields, 5, Some(hash))
}

fn read(
    second: u64,
    fields: &[&str],
    count: usize,
    mut hash: Option<&mut Hash>,
) -> Result<Fields, String> {
    let [minute, hour, day_of_month, month, day_of_week] = fields else {
        return Err(expect(fields, count).err().unwrap_or_default());
    };
    Ok(Fields {
        second,
        minute: MINUTES.read(minute, hash.as_deref_mut())?,
        hour: HOURS.read(hour, hash.as_deref_mut())?,
        day_of_month: DAYS_OF_MONTH.read(day_of_month, hash.as_deref_mut())?,
        month: MONTHS.read(month, hash.as_deref_mut())?,
        day_of_week: DAYS_OF_WEEK.read(day_of_week, hash)?,
    })
}

/// Upstream's `parseDescriptor`.
fn descriptor(text: &str) -> Result<When, String> {
    let yearly = Fields {
        second: SECONDS.first(),
        minute: MINUTES.first(),
        hour: HOURS.first(),
        day_of_month: DAYS_OF_MONTH.first(),
        month: MONTHS.first(),
        day_of_week: DAYS_OF_WEEK.all(),
    };
    let monthly = Fields {
        month: MONTHS.all(),
        ..yearly.clone()
    };
    let daily = Fields {
        day_of_month: DAYS_OF_MONTH.all(),
        ..monthly.clone()
    };
    Ok(When::Fields(match text {
        "@yearly" | "@annually" => yearly,
        "@monthly" => monthly,
        "@weekly" => Fields {
            day_of_week: DAYS_OF_WEEK.first(),
            ..daily
        },
        "@daily" | "@midnight" => daily,
        "@hourly" => Fields {
            hour: HOURS.all(),
            ..daily
        },
        _ => return every(text),
    }))
}

/// `@every` and a duration, of which fractions of seconds are dropped; less than a second is one.
fn every(text: &str) -> Result<When, String> {
    let Some(duration) = text.strip_prefix("@every ") else {
        return Err(format!("unrecognized descriptor: {text}"));
    };
    let nanos = go::duration(duration)
        .map_err(|fault| format!("failed to parse duration {text}: {fault}"))?;
    Ok(When::Every((nanos / SECOND_NANOS).max(1)))
}
