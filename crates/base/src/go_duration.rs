//! Spans of time as Go writes them: `15s`, `1m30s`, `1.5h`. Go's `time.ParseDuration`.

use crate::Duration;
use std::fmt::{self, Write};
use std::str::FromStr;

/// 2^63: what a number may come to before its sign is known.
const MAX: u64 = 1 << 63;

/// The text is not a duration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DurationError {
    text: String,
    fault: Fault,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Fault {
    Invalid,
    MissingUnit,
    UnknownUnit(String),
}

impl DurationError {
    /// What Go says.
    pub fn as_go(&self) -> String {
        let text = quote(&self.text);
        match &self.fault {
            Fault::Invalid => format!("time: invalid duration {text}"),
            Fault::MissingUnit => format!("time: missing unit in duration {text}"),
            Fault::UnknownUnit(unit) => {
                format!("time: unknown unit {} in duration {text}", quote(unit))
            }
        }
    }
}

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "invalid duration {:?}: expected a number with a unit (ns, us, ms, s, m, h), as in \"1m30s\"",
            self.text
        )
    }
}

impl std::error::Error for DurationError {}

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let fault = |fault| DurationError {
            text: text.to_owned(),
            fault,
        };
        nanoseconds(text).map(Self::from_nanos).map_err(fault)
    }
}

fn nanoseconds(text: &str) -> Result<i64, Fault> {
    let is_negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(Fault::Invalid);
    }
    let mut sum = 0_u64;
    while !rest.is_empty() {
        let (number, after) = split(rest, |c| c.is_ascii_digit());
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => split(after, |c| c.is_ascii_digit()),
            None => ("", after),
        };
        if number.is_empty() && fraction.is_empty() {
            return Err(Fault::Invalid);
        }
        let whole = integer(number).ok_or(Fault::Invalid)?;
        let (name, after) = split(after, |c| c != '.' && !c.is_ascii_digit());
        if name.is_empty() {
            return Err(Fault::MissingUnit);
        }
        let unit = unit(name).ok_or_else(|| Fault::UnknownUnit(name.to_owned()))?;
        let value = whole.checked_mul(unit).filter(|value| *value <= MAX);
        let value = value.and_then(|value| value.checked_add(part(fraction, unit)));
        let total = value.and_then(|value| sum.checked_add(value));
        sum = total.filter(|total| *total <= MAX).ok_or(Fault::Invalid)?;
        rest = after;
    }
    match is_negative {
        true => Ok(sum.wrapping_neg().cast_signed()),
        false => i64::try_from(sum).map_err(|_| Fault::Invalid),
    }
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text.split_at(end)
}

fn integer(digits: &str) -> Option<u64> {
    let value = match digits {
        "" => 0,
        digits => digits.parse().ok()?,
    };
    (value <= MAX).then_some(value)
}

/// What comes after the point, as far as it fits. Go's `leadingFraction`.
fn part(digits: &str, unit: u64) -> u64 {
    let (mut value, mut scale) = (0_u64, 1_f64);
    for digit in digits.bytes() {
        let next = value.checked_mul(10);
        let next = next.and_then(|next| next.checked_add(u64::from(digit - b'0')));
        match next.filter(|next| *next <= MAX) {
            Some(next) => value = next,
            None => break,
        }
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

fn unit(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// How this package of Go's quotes.
fn quote(text: &str) -> String {
    let mut out = String::from('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=0x7f => out.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => drop(write!(out, "\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn reads_and_writes_as_go_does() {
        for (text, nanos, canonical) in [
            ("0", 0, "0s"),
            ("15s", 15 * SECOND, "15s"),
            ("1m30s", 90 * SECOND, "1m30s"),
            ("600s", 600 * SECOND, "10m0s"),
            ("1.5h", 5400 * SECOND, "1h30m0s"),
            ("-1.5s", -SECOND * 3 / 2, "-1.5s"),
            (".5s", SECOND / 2, "500ms"),
            ("+5.s", 5 * SECOND, "5s"),
            ("1h0.25s", 3600 * SECOND + SECOND / 4, "1h0m0.25s"),
            ("1500us", 1_500_000, "1.5ms"),
            ("3ns", 3, "3ns"),
            ("2µs3ns", 2_003, "2.003µs"),
            ("-.5us", -500, "-500ns"),
            (
                "9223372036854775807ns",
                i64::MAX,
                "2562047h47m16.854775807s",
            ),
            (
                "0.9223372036854775808h",
                3_320_413_933_267,
                "55m20.413933267s",
            ),
            ("0.18446744073709551619s", 184_467_440, "184.46744ms"),
            (
                "-9223372036854775808ns",
                i64::MIN,
                "-2562047h47m16.854775808s",
            ),
        ] {
            let parsed = text.parse::<Duration>().unwrap();
            assert_eq!(parsed.as_nanos(), nanos, "{text}");
            assert_eq!(parsed.to_string(), canonical, "{text}");
        }
    }

    #[test]
    fn errors_can_be_said_as_go_says_them() {
        for (text, error) in [
            ("", r#"time: invalid duration """#),
            ("-", r#"time: invalid duration "-""#),
            ("abc", r#"time: invalid duration "abc""#),
            ("5", r#"time: missing unit in duration "5""#),
            ("5 s", r#"time: unknown unit " s" in duration "5 s""#),
            ("1d2h", r#"time: unknown unit "d" in duration "1d2h""#),
            (".s", r#"time: invalid duration ".s""#),
            ("1h-2m", r#"time: unknown unit "h-" in duration "1h-2m""#),
            (
                "9223372036854775808ns",
                r#"time: invalid duration "9223372036854775808ns""#,
            ),
            ("3000000h", r#"time: invalid duration "3000000h""#),
            ("é\n\"", r#"time: invalid duration "\xc3\xa9\x0a\"""#),
        ] {
            let wrong = text.parse::<Duration>().unwrap_err();
            assert_eq!(wrong.as_go(), error);
        }
    }
}
