//! Times as texts: RFC 3339 in UTC, as Go's `time.RFC3339Nano` writes it.

use stowplan_base::Time;

const DAY: i64 = 86_400;

/// Days since the epoch as year, month and day: Hinnant's algorithm.
fn civil(days: i64) -> (i64, u32, u32) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = (doy - (153 * mp + 2) / 5 + 1) as u32;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + i64::from(month <= 2), month as u32, day)
}

fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let yoe = year.rem_euclid(400);
    let doy = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468
}

fn two(to: &mut Vec<u8>, n: u32) {
    to.extend_from_slice(&[b'0' + (n / 10) as u8, b'0' + (n % 10) as u8]);
}

/// Appends a time.
pub(crate) fn write(to: &mut Vec<u8>, time: Time) {
    let seconds = time.as_nanos().div_euclid(1_000_000_000);
    let nanos = time.as_nanos().rem_euclid(1_000_000_000) as u32;
    let (year, month, day) = civil(seconds.div_euclid(DAY));
    let of_day = seconds.rem_euclid(DAY) as u32;
    two(to, (year / 100) as u32);
    two(to, (year % 100) as u32);
    to.push(b'-');
    two(to, month);
    to.push(b'-');
    two(to, day);
    to.push(b'T');
    two(to, of_day / 3_600);
    to.push(b':');
    two(to, of_day / 60 % 60);
    to.push(b':');
    two(to, of_day % 60);
    if nanos > 0 {
        to.push(b'.');
        let mut rest = nanos;
        let mut place = 100_000_000;
        while rest > 0 {
            to.push(b'0' + (rest / place) as u8);
            rest %= place;
            place /= 10;
        }
    }
    to.push(b'Z');
}

/// The time as a text.
pub(crate) fn text(time: Time) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes, time);
    String::from_utf8(bytes).unwrap_or_default()
}

/// Reads a time: any zone, any number of decimals.
pub(crate) fn parse(text: &str) -> Option<Time> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| {
        let part = bytes.get(from..to)?;
        let digits = part.iter().all(u8::is_ascii_digit);
        digits.then(|| part.iter().fold(0, |n, b| n * 10 + i64::from(b - b'0')))
    };
    let sign = |at: usize, byte: u8| (bytes.get(at) == Some(&byte)).then_some(());
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    sign(4, b'-')
        .and(sign(7, b'-'))
        .and(sign(10, b'T'))
        .and(sign(13, b':'))
        .and(sign(16, b':'))?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut at = 19;
    let mut nanos = 0;
    if bytes.get(at) == Some(&b'.') {
        let decimals = bytes[at + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if decimals == 0 {
            return None;
        }
        let kept = decimals.min(9);
        nanos = number(at + 1, at + 1 + kept)? * 10_i64.pow(9 - kept as u32);
        at += 1 + decimals;
    }
    let offset = match bytes.get(at)? {
        b'Z' if bytes.len() == at + 1 => 0,
        way @ (b'+' | b'-') if bytes.len() == at + 6 && bytes[at + 3] == b':' => {
            let (hours, minutes) = (number(at + 1, at + 3)?, number(at + 4, at + 6)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 3_600 + minutes * 60) * if *way == b'-' { -1 } else { 1 }
        }
        _ => return None,
    };
    let seconds = days(year, month, day) * DAY + hour * 3_600 + minute * 60 + second - offset;
    // Times that cannot be told are as late, or as early, as can be told.
    let all = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    let all = all.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    i64::try_from(all).ok().map(Time::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read() {
        for (seconds, nanos, expected) in [
            (0, 0, "1970-01-01T00:00:00Z"),
            (1_709_208_000, 120_000_000, "2024-02-29T12:00:00.12Z"),
            (981_173_106, 1, "2001-02-03T04:05:06.000000001Z"),
            (4_102_444_799, 999_999_999, "2099-12-31T23:59:59.999999999Z"),
        ] {
            let time = Time::from_nanos(seconds * 1_000_000_000 + nanos);
            assert_eq!(text(time), expected);
            assert_eq!(parse(expected), Some(time));
        }
        assert_eq!(parse("1970-01-01T02:00:00+02:00"), Some(Time::from_secs(0)));
        assert_eq!(parse("9999-01-01T00:00:00Z"), Some(Time::MAX));
        for bad in [
            "",
            "soon",
            "2024-02-30T00:00:00Z",
            "2024-01-01T00:00:00",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01 00:00:00Z",
            "2024-01-01T00:00:00+0200",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
