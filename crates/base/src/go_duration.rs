//! Spans of time as Go writes them: `15s`, `1m30s`, `1.5h`.

use crate::Duration;
use std::fmt;
use std::str::FromStr;

const SECOND: i64 = 1_000_000_000;

/// The text is not a duration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DurationError(String);

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "invalid duration {:?}: expected a number with a unit (ns, us, ms, s, m, h), as in \"1m30s\"",
            self.0
        )
    }
}

impl std::error::Error for DurationError {}

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let error = || DurationError(text.to_owned());
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let negative = text.starts_with('-');
        if unsigned == "0" {
            return Ok(Self::ZERO);
        }
        let mut rest = unsigned;
        let mut nanos: i128 = 0;
        while !rest.is_empty() {
            let (whole, after) = digits(rest);
            let (fraction, after) = match after.strip_prefix('.') {
                Some(after) => digits(after),
                None => ("", after),
            };
            let end = after
                .find(|c: char| c == '.' || c.is_ascii_digit())
                .unwrap_or(after.len());
            let (name, after) = after.split_at(end);
            if whole.is_empty() && fraction.is_empty() {
                return Err(error());
            }
            let unit = unit(name).ok_or_else(error)?;
            nanos = add(nanos, whole, fraction, unit).ok_or_else(error)?;
            rest = after;
        }
        if unsigned.is_empty() {
            return Err(error());
        }
        let signed = if negative { -nanos } else { nanos };
        let nanos = i64::try_from(signed).map_err(|_| error())?;
        Ok(Self::from_nanos(nanos))
    }
}

fn digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn unit(name: &str) -> Option<i64> {
    Some(match name {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3600 * SECOND,
        _ => return None,
    })
}

/// Adds `whole.fraction` units; `None` if that is too much.
fn add(nanos: i128, whole: &str, fraction: &str, unit: i64) -> Option<i128> {
    let unit = i128::from(unit);
    let whole: i128 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    // No unit has more than 13 decimals of nanoseconds.
    let fraction = &fraction[..fraction.len().min(18)];
    let part = match fraction.len() {
        0 => 0,
        places => fraction.parse::<i128>().ok()? * unit / 10_i128.pow(u32::try_from(places).ok()?),
    };
    let nanos = nanos
        .checked_add(whole.checked_mul(unit)?)?
        .checked_add(part)?;
    (nanos <= i128::from(i64::MAX) + 1).then_some(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for text in [
            "",
            "-",
            "5",
            "s",
            ".s",
            "5 s",
            "5d",
            "1m-5s",
            "9223372036854775808ns",
            "3000000h",
        ] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }
}
