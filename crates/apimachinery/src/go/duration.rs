//! Durations as Go reads them: `time.ParseDuration`.

use std::fmt::Write;

/// 2^63: what a number may come to before its sign is known.
const MAX: u64 = 1 << 63;

/// The nanoseconds of a text like `1h30m`; the error is Go's.
pub fn duration(text: &str) -> Result<i64, String> {
    let fault = |what: &str| format!("time: {what} {}", quote(text));
    let invalid = || fault("invalid duration");
    let is_negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut sum = 0_u64;
    while !rest.is_empty() {
        let (number, after) = split(rest, |c| c.is_ascii_digit());
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => split(after, |c| c.is_ascii_digit()),
            None => ("", after),
        };
        if number.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let whole = integer(number).ok_or_else(invalid)?;
        let (unit, after) = split(after, |c| c != '.' && !c.is_ascii_digit());
        if unit.is_empty() {
            return Err(fault("missing unit in duration"));
        }
        let Some(nanos) = nanoseconds(unit) else {
            return Err(fault(&format!("unknown unit {} in duration", quote(unit))));
        };
        let value = whole.checked_mul(nanos).filter(|value| *value <= MAX);
        let value = value.and_then(|value| value.checked_add(part(fraction, nanos)));
        let total = value.and_then(|value| sum.checked_add(value));
        sum = total.filter(|total| *total <= MAX).ok_or_else(invalid)?;
        rest = after;
    }
    match is_negative {
        true => Ok((sum as i64).wrapping_neg()),
        false => i64::try_from(sum).map_err(|_| invalid()),
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

/// What comes after the point, as far as it fits.
fn part(digits: &str, nanos: u64) -> u64 {
    let (mut value, mut scale) = (0_u64, 1_f64);
    for digit in digits.bytes() {
        let next = value.checked_mul(10).map(|v| v + u64::from(digit - b'0'));
        match next.filter(|next| *next <= MAX) {
            Some(next) => value = next,
            None => break,
        }
        scale *= 10.0;
    }
    (value as f64 * (nanos as f64 / scale)) as u64
}

fn nanoseconds(unit: &str) -> Option<u64> {
    Some(match unit {
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
    use super::duration;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, nanos) in [
            ("0", 0),
            ("-0", 0),
            ("1h30m", 5_400_000_000_000),
            ("+1.5s", 1_500_000_000),
            ("-.5us", -500),
            ("1.s", 1_000_000_000),
            ("2µs3ns", 2_003),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            ("0.9223372036854775808h", 3_320_413_933_267),
        ] {
            assert_eq!(duration(text), Ok(nanos), "{text}");
        }
    }

    #[test]
    fn errors_are_those_of_go() {
        for (text, error) in [
            ("", r#"time: invalid duration """#),
            ("abc", r#"time: invalid duration "abc""#),
            ("5", r#"time: missing unit in duration "5""#),
            ("5x", r#"time: unknown unit "x" in duration "5x""#),
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
            assert_eq!(duration(text), Err(error.to_owned()), "{text}");
        }
    }
}
