//! When a CronJob runs: five fields, or a word.
//!
//! Upstream: `github.com/robfig/cron/v3`, whose messages are shown to users.

use super::time_zone;
use stowplan_apimachinery::go;

/// The lowest and highest value of a field, and names that stand for values.
struct Bounds {
    min: u64,
    max: u64,
    names: &'static [&'static str],
}

const FIELDS: [Bounds; 5] = [
    Bounds {
        min: 0,
        max: 59,
        names: &[],
    },
    Bounds {
        min: 0,
        max: 23,
        names: &[],
    },
    Bounds {
        min: 1,
        max: 31,
        names: &[],
    },
    Bounds {
        min: 1,
        max: 12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    Bounds {
        min: 0,
        max: 6,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

/// Says what is wrong with a schedule, if anything is.
pub(super) fn check(text: &str) -> Result<(), String> {
    let mut text = text;
    if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
        let (zone, rest) = match text.split_once(' ') {
            Some((zone, rest)) => (zone, rest),
            None => return Err(missing_blank(text)),
        };
        let zone = zone.split_once('=').map_or("", |(_, zone)| zone);
        if !time_zone::is_known(zone) {
            return Err(format!(
                "provided bad location {zone}: unknown time zone {zone}"
            ));
        }
        text = rest.trim();
    }
    if text.starts_with('@') {
        return check_word(text);
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "expected exactly {} fields, found {}: [{}]",
            FIELDS.len(),
            fields.len(),
            fields.join(" ")
        ));
    }
    for (field, bounds) in fields.into_iter().zip(&FIELDS) {
        for range in field.split(',').filter(|range| !range.is_empty()) {
            check_range(range, bounds)?;
        }
    }
    Ok(())
}

/// The library's own fault, which upstream catches.
fn missing_blank(text: &str) -> String {
    let equals = text.find('=').unwrap_or_default() + 1;
    format!("invalid schedule format: runtime error: slice bounds out of range [{equals}:-1]")
}

fn check_word(word: &str) -> Result<(), String> {
    match word {
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly" => {
            Ok(())
        }
        _ => match word.strip_prefix("@every ") {
            Some(duration) => go::duration(duration)
                .map(drop)
                .map_err(|fault| format!("failed to parse duration {word}: {fault}")),
            None => Err(format!("unrecognized descriptor: {word}")),
        },
    }
}

fn check_range(text: &str, bounds: &Bounds) -> Result<(), String> {
    let mut parts = text.split('/');
    let (range, step) = (parts.next().unwrap_or_default(), parts.next());
    let ends: Vec<&str> = range.split('-').collect();
    let (start, mut end) = match ends.as_slice() {
        ["*" | "?", ..] => (bounds.min, bounds.max),
        [one] => {
            let value = value_of(one, bounds)?;
            (value, value)
        }
        [first, last] => (value_of(first, bounds)?, value_of(last, bounds)?),
        [first, ..] => {
            value_of(first, bounds)?;
            return Err(format!("too many hyphens: {text}"));
        }
        [] => (bounds.min, bounds.max),
    };
    let step = match step {
        None => 1,
        Some(step) if parts.next().is_none() => {
            let step = number(step)?;
            if ends.len() == 1 {
                end = bounds.max;
            }
            step
        }
        Some(_) => return Err(format!("too many slashes: {text}")),
    };
    let (min, max) = (bounds.min, bounds.max);
    if start < min {
        return Err(format!(
            "beginning of range ({start}) below minimum ({min}): {text}"
        ));
    }
    if end > max {
        return Err(format!(
            "end of range ({end}) above maximum ({max}): {text}"
        ));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {text}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn value_of(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let lower = text.to_lowercase();
    match bounds.names.iter().position(|name| *name == lower) {
        // Months count from one, days of the week from zero.
        Some(at) => Ok(bounds.min + at as u64),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let why = match text.parse::<i64>() {
        Ok(value) if value < 0 => {
            return Err(format!("negative number ({value}) not allowed: {text}"));
        }
        Ok(value) => return Ok(value.unsigned_abs()),
        Err(_) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            "value out of range"
        }
        Err(_) => "invalid syntax",
    };
    let quoted = go::quote(text);
    Err(format!(
        "failed to parse int from {text}: strconv.Atoi: parsing {quoted}: {why}"
    ))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn good_schedules() {
        for text in [
            "*/5 * * * *",
            "0 0 1 1 *",
            "15,45 2-6 * * mon-fri",
            "? * * JAN sun",
            "@hourly",
            "@every 1h30m",
            "TZ=Europe/Berlin 0 0 * * *",
            "5/10 * * * *",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn bad_schedules() {
        for (text, fault) in [
            ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
            ("61 * * * *", "end of range (61) above maximum (59): 61"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            (
                "5-2 * * * *",
                "beginning of range (5) beyond end of range (2): 5-2",
            ),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            (
                "*/0 * * * *",
                "step of range should be a positive number: */0",
            ),
            (
                "a b c d e",
                "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax",
            ),
            ("@never", "unrecognized descriptor: @never"),
            (
                "@every x",
                "failed to parse duration @every x: time: invalid duration \"x\"",
            ),
            (
                "@every 5",
                "failed to parse duration @every 5: time: missing unit in duration \"5\"",
            ),
            (
                "TZ=Mars/X 0 0 * * *",
                "provided bad location Mars/X: unknown time zone Mars/X",
            ),
        ] {
            assert_eq!(check(text), Err(fault.to_owned()), "{text}");
        }
    }
}
