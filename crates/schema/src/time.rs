//! Times as `metav1.Time` and `metav1.MicroTime` read and write them.
//!
//! Upstream: Go's `time.Parse` with the layouts below, quirks and messages included.

use stowplan_base::civil;

/// How a time is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layout {
    /// `2006-01-02T15:04:05Z07:00`: a fraction is read and lost.
    Seconds,
    /// `2006-01-02T15:04:05.000000Z07:00`: exactly six digits.
    Micros,
}

/// A point in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timestamp {
    /// Since the Unix epoch.
    pub(crate) seconds: i64,
    pub(crate) nanos: u32,
}

/// The first second of the year 1, which Go takes for no time at all.
const ZERO_SECONDS: i64 = -62_135_596_800;

const SECONDS_PER_DAY: i64 = 86_400;

impl Layout {
    fn text(self) -> &'static str {
        match self {
            Self::Seconds => "2006-01-02T15:04:05Z07:00",
            Self::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }

    /// Reads a time, or says in Go's words why it is none.
    pub(crate) fn parse(self, text: &str) -> Result<Timestamp, String> {
        let mut reader = Reader {
            layout: self,
            text,
            rest: text.as_bytes(),
        };
        reader.parse()
    }

    /// Writes a time in UTC; nothing for Go's zero time.
    pub(crate) fn print(self, time: Timestamp) -> Option<String> {
        if time.seconds == ZERO_SECONDS && time.nanos == 0 {
            return None;
        }
        let days = time.seconds.div_euclid(SECONDS_PER_DAY);
        let second = time.seconds.rem_euclid(SECONDS_PER_DAY);
        let (year, month, day) = civil::date(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let sign = if year < 0 { "-" } else { "" };
        let year = year.unsigned_abs();
        let whole =
            format!("{sign}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        Some(match self {
            Self::Seconds => format!("{whole}Z"),
            Self::Micros => format!("{whole}.{:06}Z", time.nanos / 1000),
        })
    }
}

fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

struct Reader<'a> {
    layout: Layout,
    text: &'a str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn parse(&mut self) -> Result<Timestamp, String> {
        let year = self.year()?;
        let month = self.number("-", "01", true, 1..=12, "month")?;
        // Whether the month has that day is checked at the end.
        let day = self.number("-", "02", true, 0..=99, "day")?;
        let hour = self.number("T", "15", false, 0..=23, "hour")?;
        let minute = self.number(":", "04", true, 0..=59, "minute")?;
        let second = self.number(":", "05", true, 0..=59, "second")?;
        let nanos = self.fraction()?;
        let offset = self.zone()?;
        if !self.rest.is_empty() {
            let rest = quote(self.rest);
            return Err(self.message(&format!(": extra text: {rest}")));
        }
        if day < 1 || day > days_in(month, year) {
            return Err(self.message(": day out of range"));
        }
        let of_day = hour * 3600 + minute * 60 + second - offset;
        Ok(Timestamp {
            seconds: civil::days(year, month, day) * SECONDS_PER_DAY + of_day,
            nanos,
        })
    }

    fn year(&mut self) -> Result<i64, String> {
        let year = self.rest.get(..4).and_then(digits);
        let year = year.ok_or_else(|| self.cannot(self.rest, "2006"))?;
        self.advance(4);
        Ok(year)
    }

    fn advance(&mut self, by: usize) {
        self.rest = self.rest.get(by..).unwrap_or_default();
    }

    fn prefix(&mut self, prefix: &str) -> Result<(), String> {
        match self.rest.strip_prefix(prefix.as_bytes()) {
            Some(rest) => self.rest = rest,
            None => return Err(self.cannot(self.rest, prefix)),
        }
        Ok(())
    }

    /// One or two digits.
    fn number(
        &mut self,
        prefix: &str,
        element: &str,
        fixed: bool,
        range: std::ops::RangeInclusive<i64>,
        name: &str,
    ) -> Result<i64, String> {
        self.prefix(prefix)?;
        let length = if fixed || self.rest.get(1).is_some_and(u8::is_ascii_digit) {
            2
        } else {
            1
        };
        let number = self.rest.get(..length).and_then(digits);
        let number = number.ok_or_else(|| self.cannot(self.rest, element))?;
        if !range.contains(&number) {
            return Err(self.message(&format!(": {name} out of range")));
        }
        self.advance(length);
        Ok(number)
    }

    fn fraction(&mut self) -> Result<u32, String> {
        let count = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
        let fraction = match self.rest.split_first() {
            Some((b'.' | b',', rest)) => rest,
            _ => &[],
        };
        let length = match self.layout {
            Layout::Seconds => count(fraction),
            Layout::Micros if count(fraction) >= 6 => 6,
            Layout::Micros => return Err(self.cannot(self.rest, ".000000")),
        };
        if length == 0 {
            return Ok(0);
        }
        let kept = length.min(9);
        let number = fraction.get(..kept).and_then(digits).unwrap_or_default();
        self.advance(1 + length);
        let scale = 10_i64.pow(9 - kept as u32);
        Ok(u32::try_from(number * scale).unwrap_or_default())
    }

    /// Seconds east of UTC.
    fn zone(&mut self) -> Result<i64, String> {
        if let Some(rest) = self.rest.strip_prefix(b"Z") {
            self.rest = rest;
            return Ok(0);
        }
        let bad = self.cannot(self.rest, "Z07:00");
        let &[sign, h1, h2, b':', m1, m2, ..] = self.rest else {
            return Err(bad);
        };
        let hours = digits(&[h1, h2]);
        let minutes = hours.and_then(|_| digits(&[m1, m2]));
        // Upstream looks at the range before it looks at errors.
        if hours.is_some_and(|hours| hours > 24) && minutes.is_none_or(|minutes| minutes <= 60) {
            return Err(self.message(": time zone offset hour out of range"));
        }
        if minutes.is_some_and(|minutes| minutes > 60) {
            return Err(self.message(": time zone offset minute out of range"));
        }
        let (Some(hours), Some(minutes)) = (hours, minutes) else {
            return Err(bad);
        };
        self.advance(6);
        match sign {
            b'+' => Ok(hours * 3600 + minutes * 60),
            b'-' => Ok(-(hours * 3600 + minutes * 60)),
            _ => Err(bad),
        }
    }

    fn cannot(&self, value: &[u8], element: &str) -> String {
        let (text, layout) = (quote(self.text.as_bytes()), self.layout.text());
        let value = quote(value);
        format!("parsing time {text} as \"{layout}\": cannot parse {value} as \"{element}\"")
    }

    fn message(&self, message: &str) -> String {
        format!("parsing time {}{message}", quote(self.text.as_bytes()))
    }
}

/// All of them digits, and at least one.
fn digits(text: &[u8]) -> Option<i64> {
    let digit = |number: Option<i64>, byte: &u8| {
        byte.is_ascii_digit()
            .then(|| number.map(|n| n * 10 + i64::from(byte - b'0')))?
    };
    (!text.is_empty()).then(|| text.iter().fold(Some(0), digit))?
}

/// Go's `time.quote`: what is not plain ASCII becomes `\xNN`.
fn quote(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=0x7f => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}
