//! Times as the API prints them.

use std::time::{Duration, UNIX_EPOCH};
pub(crate) use stowplan_base::civil::parse_seconds;
use stowplan_base::{Time, civil};

/// `metav1.Time`: RFC 3339 in UTC, to the second.
pub(crate) fn seconds(time: Time) -> String {
    let mut text = to_second(time);
    text.push('Z');
    text
}

/// `metav1.MicroTime`: with six digits after the second.
pub(crate) fn micros(time: Time) -> String {
    let mut text = to_second(time);
    text.push('.');
    digits(
        &mut text,
        time.as_nanos().rem_euclid(1_000_000_000) / 1_000,
        6,
    );
    text.push('Z');
    text
}

/// As HTTP headers have it: `Fri, 02 Jan 2026 03:04:05 GMT`.
pub(crate) fn http_date(time: Time) -> String {
    let seconds = u64::try_from(time.as_nanos() / 1_000_000_000).unwrap_or_default();
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Every request asks for the time more than once, so this does without `format!`.
fn to_second(time: Time) -> String {
    let seconds = time.as_nanos().div_euclid(1_000_000_000);
    let (year, month, day) = civil::date(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let mut text = String::with_capacity("2026-01-02T03:04:05.000000Z".len());
    digits(&mut text, year, 4);
    for (separator, number) in [
        ('-', month),
        ('-', day),
        ('T', second / 3_600),
        (':', second / 60 % 60),
        (':', second % 60),
    ] {
        text.push(separator);
        digits(&mut text, number, 2);
    }
    text
}

/// Appends the last digits of a number.
fn digits(text: &mut String, number: i64, count: u32) {
    for place in (0..count).rev() {
        let digit = number / 10_i64.pow(place) % 10;
        text.push(char::from(b'0' + u8::try_from(digit).unwrap_or_default()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_and_read_back() {
        for (secs, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_767_323_045, "2026-01-02T03:04:05Z"),
        ] {
            assert_eq!(seconds(Time::from_secs(secs)), text);
            assert_eq!(parse_seconds(text), Some(secs));
        }
        let date = http_date(Time::from_secs(1_767_323_045));
        assert_eq!(date, "Fri, 02 Jan 2026 03:04:05 GMT");
        let time = Time::from_nanos(1_500_000_000);
        assert_eq!(micros(time), "1970-01-01T00:00:01.500000Z");
        assert_eq!(parse_seconds("yesterday"), None);
    }
}
