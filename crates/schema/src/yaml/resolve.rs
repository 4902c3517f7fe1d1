//! What a plain scalar stands for in YAML 1.1, as Go's `yaml.v2` sees it (`resolve.go`).

use serde_json::{Number, Value};

/// What a plain text stands for.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Meaning {
    /// Itself.
    Text,
    /// A date, which stays a text but has to be quoted to be one.
    Timestamp,
    Value(Value),
    /// Infinity or not a number, which JSON lacks.
    NotFinite,
}

pub(super) fn resolve(text: &str) -> Meaning {
    let value = |value: Value| Meaning::Value(value);
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return value(true.into());
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return value(false.into());
        }
        "" | "~" | "null" | "Null" | "NULL" => return value(Value::Null),
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF"
        | "-.inf" | "-.Inf" | "-.INF" => return Meaning::NotFinite,
        _ => {}
    }
    match text.bytes().next() {
        Some(b'.') => float(text).map_or(Meaning::Text, value),
        Some(b'+' | b'-' | b'0'..=b'9') => number(text),
        _ => Meaning::Text,
    }
}

fn number(text: &str) -> Meaning {
    if is_timestamp(text) {
        return Meaning::Timestamp;
    }
    let plain = text.replace('_', "");
    if let Some(number) = integer(&plain) {
        return Meaning::Value(Value::Number(number));
    }
    match float(&plain) {
        Some(number) => Meaning::Value(number),
        None => Meaning::Text,
    }
}

/// Go's `strconv.ParseInt` with base 0, or `ParseUint`.
fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let prefixed = |prefix: &str| {
        let lower = digits.get(..2)?.to_ascii_lowercase();
        (lower == prefix).then(|| digits.get(2..))?
    };
    let (digits, base) = if let Some(digits) = prefixed("0x") {
        (digits, 16)
    } else if let Some(digits) = prefixed("0b") {
        (digits, 2)
    } else if let Some(digits) = prefixed("0o") {
        (digits, 8)
    } else if let (Some(rest), true) = (digits.strip_prefix('0'), digits.len() > 1) {
        (rest, 8)
    } else {
        (digits, 10)
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let number = u64::from_str_radix(digits, base).ok()?;
    match negative {
        true => i64::try_from(-i128::from(number)).ok().map(Number::from),
        // A sign makes it signed.
        false if text.starts_with('+') => i64::try_from(number).ok().map(Number::from),
        false => Some(Number::from(number)),
    }
}

/// A number with a point or an exponent, of the form that Go's pattern allows.
fn float(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (unsigned.get(..at)?, unsigned.get(at + 1..)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let mantissa_fits = digits(whole)
        && fraction.is_none_or(digits)
        && !(whole.is_empty() && fraction.is_none_or(str::is_empty));
    let exponent_fits = exponent.is_none_or(|exponent| {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !unsigned.is_empty() && digits(unsigned)
    });
    if !mantissa_fits || !exponent_fits {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    crate::decode::float(number).map(Value::Number)
}

/// Whether Go takes it for a date: one of four layouts.
fn is_timestamp(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits != 4 || text.as_bytes().get(4) != Some(&b'-') {
        return false;
    }
    let date_end = text.find(['T', 't', ' ']).unwrap_or(text.len());
    let (date, rest) = text.split_at(date_end);
    is_date(date) && (rest.is_empty() || is_time(rest))
}

fn up_to_two_digits(text: &str) -> Option<u32> {
    let fits = matches!(text.len(), 1 | 2) && text.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| text.parse().ok())?
}

fn is_date(date: &str) -> bool {
    let mut parts = date.split('-');
    let year = parts.next().and_then(|year| year.parse::<u32>().ok());
    let month = parts.next().and_then(up_to_two_digits);
    let day = parts.next().and_then(up_to_two_digits);
    let (Some(year), Some(month), Some(day), None) = (year, month, day, parts.next()) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=last).contains(&day)
}

/// `T15:4:5.9Z` or ` 15:4:5.9`.
fn is_time(text: &str) -> bool {
    let (mark, clock) = text.split_at(1);
    let (clock, zoned) = match clock.find(['Z', '+', '-']) {
        Some(at) => {
            let (clock, zone) = clock.split_at(at);
            (clock, Some(zone))
        }
        None => (clock, None),
    };
    let zone_fits = match (mark, zoned) {
        (" ", None) | ("T" | "t", Some("Z")) => true,
        ("T" | "t", Some(zone)) => match zone.get(1..).and_then(|zone| zone.split_once(':')) {
            Some((hours, minutes)) => {
                let two = |text: &str, most| {
                    text.len() == 2 && up_to_two_digits(text).is_some_and(|n| n <= most)
                };
                !zone.starts_with('Z') && two(hours, 24) && two(minutes, 60)
            }
            None => false,
        },
        _ => false,
    };
    let (clock, fraction) = match clock.find(['.', ',']) {
        Some(at) => (clock.get(..at).unwrap_or_default(), clock.get(at + 1..)),
        None => (clock, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<Option<u32>> = clock.split(':').map(up_to_two_digits).collect();
    let [Some(hour), Some(minute), Some(second)] = parts[..] else {
        return false;
    };
    zone_fits && fraction.is_none_or(digits) && hour < 24 && minute < 60 && second < 60
}
