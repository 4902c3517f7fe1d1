//! `'%s'.format([x])`. Upstream: `cel-go/ext/formatting.go`, which prints numbers as English does.

use crate::functions::shown;
use crate::meter::Meter;
use crate::text::quoted;
use crate::value::Val;

/// A text that is paid for as it grows.
struct Out<'a> {
    text: String,
    meter: &'a Meter,
    paid: usize,
}

impl Out<'_> {
    fn push(&mut self, part: &str) -> Result<(), String> {
        /// How often what was added is paid for.
        const STEP: usize = 4096;
        let length = self.text.len().saturating_add(part.len());
        if length - self.paid > STEP {
            self.meter.makes(length, self.paid)?;
            self.paid = length;
        }
        self.text.push_str(part);
        Ok(())
    }
}

/// Puts values into a text.
pub(crate) fn format(text: &str, with: &[Val], meter: &Meter) -> Result<String, String> {
    let mut out = Out {
        text: String::new(),
        meter,
        paid: 0,
    };
    let mut with = with.iter().enumerate();
    let mut count = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.text.push(c);
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            out.text.push('%');
            continue;
        }
        let Some((_, value)) = with.next() else {
            return Err(format!("index {count} out of range"));
        };
        count += 1;
        let mut places = 6;
        if chars.next_if_eq(&'.').is_some() {
            let mut digits = String::new();
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            /// No number has more places than this to show.
            const PLACES_MAX: usize = 1_000;
            let read = digits.parse::<usize>().map_err(|_| {
                format!(
                    "could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing \"{digits}\": invalid syntax"
                )
            })?;
            places = read.min(PLACES_MAX);
        }
        let clause = chars.next().ok_or("unexpected end of string")?;
        match (clause, value) {
            ('s', Val::List(_) | Val::Map(_)) => inside(value, &mut out)?,
            (clause, value) => {
                let shown = clause_of(clause, places, value);
                out.push(&shown.ok_or_else(|| refusal(clause, value))?)?;
            }
        }
    }
    Ok(out.text)
}

/// What is said of a value that a clause does not show.
fn refusal(clause: char, value: &Val) -> String {
    let rule = match clause {
        's' => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
        }
        'd' => "decimal clause can only be used on integers",
        'f' => "fixed-point clause can only be used on doubles",
        'e' => "scientific clause can only be used on doubles",
        'b' => "only integers and bools can be formatted as binary",
        'x' | 'X' => "only integers, byte buffers, and strings can be formatted as hex",
        'o' => "octal clause can only be used on integers",
        clause => {
            return format!(
                "could not parse formatting clause: unrecognized formatting clause \"{clause}\""
            );
        }
    };
    let kind = value.type_name();
    format!("error during formatting: {rule}, was given {kind}")
}

/// A value as one clause shows it, if it can.
fn clause_of(clause: char, places: usize, value: &Val) -> Option<String> {
    let based = |plain: fn(u64) -> String| match value {
        Val::Int(n) if *n < 0 => Some(format!("-{}", plain(n.unsigned_abs()))),
        Val::Int(n) => Some(plain(n.unsigned_abs())),
        Val::Uint(n) => Some(plain(*n)),
        _ => None,
    };
    let hex = |bytes: &[u8], upper: bool| {
        let digits = bytes.iter().map(|b| match upper {
            true => format!("{b:02X}"),
            false => format!("{b:02x}"),
        });
        digits.collect::<String>()
    };
    match (clause, value) {
        ('s', Val::Optional(_) | Val::Opaque(_)) => None,
        ('s', value) => Some(shown(value)),
        ('d', Val::Int(_) | Val::Uint(_)) => Some(shown(value)),
        ('f', Val::Double(n)) => Some(grouped(&format!("{n:.places$}"))),
        ('e', Val::Double(n)) => Some(scientific(*n)),
        ('b', Val::Bool(b)) => Some(u8::from(*b).to_string()),
        ('b', _) => based(|n| format!("{n:b}")),
        ('o', _) => based(|n| format!("{n:o}")),
        ('x' | 'X', Val::Text(text)) => Some(hex(text.as_bytes(), clause == 'X')),
        ('x' | 'X', Val::Bytes(bytes)) => Some(hex(bytes, clause == 'X')),
        ('x', _) => based(|n| format!("{n:x}")),
        ('X', _) => based(|n| format!("{n:X}")),
        _ => None,
    }
}

/// `1234.5` with commas between thousands.
fn grouped(number: &str) -> String {
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let (sign, digits) = match whole.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", whole),
    };
    let mut out = sign.to_owned();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 && digit.is_ascii_digit() {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// `1.500000×10⁰²`
fn scientific(n: f64) -> String {
    let text = format!("{n:.6e}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ("⁻", exponent),
        None => ("", exponent),
    };
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raise = |c: char| c.to_digit(10).and_then(|d| RAISED.get(d as usize)).copied();
    let exponent: String = format!("{exponent:0>2}")
        .chars()
        .filter_map(raise)
        .collect();
    format!("{digits}×10{sign}{exponent}")
}

/// A value within a list or a map.
fn inside(value: &Val, out: &mut Out<'_>) -> Result<(), String> {
    match value {
        Val::List(list) => {
            out.push("[")?;
            for (i, value) in list.iter().enumerate() {
                out.push(if i > 0 { ", " } else { "" })?;
                inside(value, out)?;
            }
            out.push("]")
        }
        Val::Map(entries) => {
            let mut entries: Vec<(String, &Val)> = entries
                .iter()
                .map(|(key, value)| (one_inside(key), value))
                .collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            out.push("{")?;
            for (i, (key, value)) in entries.iter().enumerate() {
                out.push(if i > 0 { ", " } else { "" })?;
                out.push(key)?;
                out.push(":")?;
                inside(value, out)?;
            }
            out.push("}")
        }
        value => out.push(&one_inside(value)),
    }
}

/// A value within a list or a map that is neither.
fn one_inside(value: &Val) -> String {
    match value {
        Val::Text(text) => quoted(text),
        Val::Bytes(bytes) => format!("b{}", quoted(&String::from_utf8_lossy(bytes))),
        Val::Double(n) => grouped(&format!("{n:.6}")),
        Val::Duration(_) => format!("duration(\"{}\")", shown(value)),
        Val::Time(_) => format!("timestamp(\"{}\")", shown(value)),
        value => shown(value),
    }
}
