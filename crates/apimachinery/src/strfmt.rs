//! The formats that a text can be asked to have.
//!
//! Upstream: `k8s.io/kube-openapi/pkg/validation/strfmt` and the list of formats that
//! `pkg/apiserver/validation/formats.go` lets through; all others are not looked at.

use crate::regexp::matches;
use std::net::{Ipv4Addr, Ipv6Addr};

const TEXT_FORMATS: &[&str] = &[
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8s-short-name",
    "k8s-long-name",
];
const NUMBER_FORMATS: &[&str] = &["int32", "int64", "float", "double"];

/// The format if it is one that is looked at.
pub fn known(format: &str) -> Option<&str> {
    let plain = format.replace('-', "");
    let listed = |list: &[&str]| list.contains(&plain.as_str()) || list.contains(&format);
    (listed(TEXT_FORMATS) || NUMBER_FORMATS.contains(&format)).then_some(format)
}

/// Whether the format is one of texts.
pub fn is_text_format(format: &str) -> bool {
    let plain = format.replace('-', "");
    TEXT_FORMATS.contains(&plain.as_str()) || TEXT_FORMATS.contains(&format)
}

fn hex(text: &str, groups: &[usize]) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == groups.len()
        && parts.iter().zip(groups).all(|(part, length)| {
            part.len() == *length && part.bytes().all(|b| b.is_ascii_hexdigit())
        })
}

fn uuid(text: &str, version: Option<char>) -> bool {
    let plain = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let dashed = hex(text, &[8, 4, 4, 4, 12]);
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    let right = match version {
        None => true,
        Some(version) => {
            let variant = digits.chars().nth(16).is_some_and(|c| "89abAB".contains(c));
            digits.chars().nth(12) == Some(version) && (version == '3' || variant)
        }
    };
    (plain || dashed) && right
}

/// Letters, ASCII digits and symbols (approximately Unicode's categories L and S).
fn in_hostname(c: char) -> bool {
    c.is_alphanumeric() && (c.is_alphabetic() || c.is_ascii_digit())
        || "$+<=>^`|~".contains(c)
        || (!c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace() && !c.is_control())
}

fn hostname(text: &str) -> bool {
    if text.len() > 255 || text.split('.').any(|part| part.len() > 63) {
        return false;
    }
    let labels: Vec<&str> = text.split('.').collect();
    match labels.as_slice() {
        [] => false,
        [only] => {
            let mut chars = only.chars();
            let first = chars.next().is_some_and(in_hostname);
            let rest = chars.as_str();
            let rest = rest.strip_prefix('-').unwrap_or(rest);
            first && rest.chars().all(in_hostname)
        }
        [labels @ .., last] => {
            let fits = |label: &&str| {
                let ends = [label.chars().next(), label.chars().next_back()];
                ends.iter().all(|c| c.is_some_and(in_hostname))
                    && label.chars().all(|c| c == '-' || in_hostname(c))
            };
            labels.iter().all(fits)
                && last.chars().count() >= 2
                && last.chars().all(char::is_alphabetic)
        }
    }
}

fn email(text: &str) -> bool {
    match text.rsplit_once('@') {
        Some((user, host)) => {
            let plain =
                |c: char| !c.is_whitespace() && !c.is_control() && !"<>()[],;:\\\"@".contains(c);
            !user.is_empty()
                && !host.is_empty()
                && user.chars().all(plain)
                && !user.starts_with('.')
                && !user.ends_with('.')
                && !user.contains("..")
                && host.chars().all(plain)
        }
        None => false,
    }
}

fn uri(text: &str) -> bool {
    // Go's url.ParseRequestURI: absolute, or a path that begins with a slash.
    if text.is_empty() || text.bytes().any(|b| b < 0x20 || b == 0x7f || b == b' ') {
        return false;
    }
    if text.starts_with('/') {
        return true;
    }
    let Some((scheme, _)) = text.split_once(':') else {
        return false;
    };
    let mut bytes = scheme.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

fn cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let canonical = !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit());
    let bits: u32 = bits.parse().unwrap_or(u32::MAX);
    canonical
        && (address.parse::<Ipv4Addr>().is_ok_and(|_| bits <= 32)
            || address.parse::<Ipv6Addr>().is_ok_and(|_| bits <= 128))
}

fn date(text: &str) -> bool {
    let number = |range: std::ops::Range<usize>| {
        let part = text.get(range)?;
        part.bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| part.parse::<u32>().ok())?
    };
    let shape = text.len() == 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
    let (Some(year), Some(month), Some(day), true) =
        (number(0..4), number(5..7), number(8..10), shape)
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn date_time(text: &str) -> bool {
    let Some((day, rest)) = text.split_once(['T', 't']).or_else(|| text.split_once(' ')) else {
        return false;
    };
    date(day)
        && matches(
            r"^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[zZ]|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?$",
            rest,
        )
}

/// Whether a text has a format.
pub fn fits(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
        "uri" => uri(text),
        "email" => email(text),
        "hostname" => hostname(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok() && text.contains(':'),
        "cidr" => cidr(text),
        "mac" => matches(
            r"^(?:[0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}[:-]){4,18}[0-9A-Fa-f]{2}$|^(?:[0-9A-Fa-f]{4}\.){2,9}[0-9A-Fa-f]{4}$",
            text,
        ),
        "uuid" => uuid(text, None),
        "uuid3" => uuid(text, Some('3')),
        "uuid4" => uuid(text, Some('4')),
        "uuid5" => uuid(text, Some('5')),
        "isbn" => isbn10(text) || isbn13(text),
        "isbn10" => isbn10(text),
        "isbn13" => isbn13(text),
        "creditcard" => luhn(text),
        "ssn" => matches(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$", text),
        "hexcolor" => matches(r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$", text),
        "rgbcolor" => matches(
            r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$",
            text,
        ),
        "byte" => matches(
            r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$",
            text,
        ),
        "date" => date(text),
        "duration" => duration(text),
        "datetime" => date_time(text),
        "k8sshortname" => crate::names::dns1123_label(text).is_empty(),
        "k8slongname" => crate::names::dns1123_subdomain(text).is_empty(),
        _ => true,
    }
}

fn duration(text: &str) -> bool {
    matches(
        r"^[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$",
        text,
    ) || matches(
        r"^\s*((\d+)\s*(nanosecond|nanoseconds|ns|microsecond|microseconds|us|µs|millisecond|milliseconds|milli|millis|ms|second|seconds|sec|secs|s|minute|minutes|min|mins|m|hour|hours|hr|hrs|h|day|days|d|week|weeks|wk|wks|w))(\s*(\d+)\s*(nanosecond|nanoseconds|ns|microsecond|microseconds|us|µs|millisecond|milliseconds|milli|millis|ms|second|seconds|sec|secs|s|minute|minutes|min|mins|m|hour|hours|hr|hrs|h|day|days|d|week|weeks|wk|wks|w))*\s*$",
        text,
    )
}

fn digits(text: &str) -> Vec<char> {
    text.chars().filter(|c| !matches!(c, '-' | ' ')).collect()
}

fn isbn10(text: &str) -> bool {
    let digits = digits(text);
    let value = |(i, c): (usize, &char)| match c {
        'X' | 'x' if i == 9 => Some(10 * (i as u32 + 1)),
        c => c.to_digit(10).map(|d| d * (i as u32 + 1)),
    };
    let sum: Option<u32> = digits.iter().enumerate().map(value).sum();
    digits.len() == 10 && sum.is_some_and(|sum| sum % 11 == 0)
}

fn isbn13(text: &str) -> bool {
    let digits = digits(text);
    let value = |(i, c): (usize, &char)| c.to_digit(10).map(|d| d * if i % 2 == 0 { 1 } else { 3 });
    let sum: Option<u32> = digits.iter().enumerate().map(value).sum();
    digits.len() == 13 && sum.is_some_and(|sum| sum % 10 == 0)
}

fn luhn(text: &str) -> bool {
    let digits = digits(text);
    let value = |(i, c): (usize, &char)| {
        c.to_digit(10).map(|d| match i % 2 {
            0 => d,
            _ if d > 4 => d * 2 - 9,
            _ => d * 2,
        })
    };
    let sum: Option<u32> = digits.iter().rev().enumerate().map(value).sum();
    (13..=19).contains(&digits.len()) && sum.is_some_and(|sum| sum % 10 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_formats_or_not() {
        for (format, good, bad) in [
            ("date-time", "2026-01-02T03:04:05Z", "2026-13-02T03:04:05Z"),
            ("date", "2024-02-29", "2023-02-29"),
            ("ipv4", "10.0.0.1", "10.0.0.256"),
            ("ipv6", "::1", "1.2.3.4"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
            ("email", "a@example.com", "a.example.com"),
            ("hostname", "a.example.com", "-a"),
            ("uri", "https://example.com/x", "not a uri"),
            ("byte", "aGk=", "a"),
            ("mac", "00:11:22:33:44:55", "00:11"),
            ("isbn", "9783161484100", "9783161484101"),
            ("creditcard", "4111111111111111", "4111111111111112"),
            ("hexcolor", "#fff", "#ffff"),
            ("duration", "1h30m", "soon"),
        ] {
            assert!(fits(format, good), "{format} {good}");
            assert!(!fits(format, bad), "{format} {bad}");
        }
        assert_eq!(known("date-time"), Some("date-time"));
        assert_eq!(known("something"), None);
    }
}
