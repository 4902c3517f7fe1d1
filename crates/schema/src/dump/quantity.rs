//! What Go prints of a `resource.Quantity`: how it is kept, which depends on how it was written.

/// Beyond so many digits a number is not kept in 64 bits. Upstream's `maxInt64Factors`.
const DIGITS_MAX: i32 = 18;

/// What large numbers are kept in: billionths.
const SCALE: i32 = 9;

/// A quantity as it is read.
struct Parts<'a> {
    is_negative: bool,
    /// The digits before and after the point; zeros in front of them are gone.
    number: &'a str,
    fraction: &'a str,
    /// 2 or 10 to this power.
    exponent: i32,
    format: &'static str,
}

/// Reads a quantity. Upstream's `parseQuantityString` and `interpret`.
fn parts(text: &str) -> Option<Parts<'_>> {
    let is_negative = text.starts_with('-');
    let digits = text.trim_start_matches(['-', '+']).trim_start_matches('0');
    let end = digits.find(|c: char| !c.is_ascii_digit());
    let (number, rest) = digits.split_at(end.unwrap_or(digits.len()));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => {
            let end = rest.find(|c: char| !c.is_ascii_digit());
            rest.split_at(end.unwrap_or(rest.len()))
        }
        None => ("", rest),
    };
    let (exponent, format) = match suffix {
        "" => (0, "DecimalSI"),
        "n" => (-9, "DecimalSI"),
        "u" => (-6, "DecimalSI"),
        "m" => (-3, "DecimalSI"),
        "k" => (3, "DecimalSI"),
        "M" => (6, "DecimalSI"),
        "G" => (9, "DecimalSI"),
        "T" => (12, "DecimalSI"),
        "P" => (15, "DecimalSI"),
        "E" => (18, "DecimalSI"),
        "Ki" => (10, "BinarySI"),
        "Mi" => (20, "BinarySI"),
        "Gi" => (30, "BinarySI"),
        "Ti" => (40, "BinarySI"),
        "Pi" => (50, "BinarySI"),
        "Ei" => (60, "BinarySI"),
        other => (
            other.strip_prefix(['e', 'E'])?.parse().ok()?,
            "DecimalExponent",
        ),
    };
    Some(Parts {
        is_negative,
        number: if number.is_empty() { "0" } else { number },
        fraction,
        exponent,
        format,
    })
}

fn length(text: &str) -> i32 {
    i32::try_from(text.len()).unwrap_or(i32::MAX)
}

/// As a number of 64 bits, its scale, and the text if that is kept. Upstream's `ParseQuantity`, first half.
fn small<'a>(text: &'a str, parts: &Parts<'_>) -> Option<(i64, i32, &'a str)> {
    let digits = length(parts.number) + length(parts.fraction);
    let is_binary = parts.format == "BinarySI";
    let (room, scale, factor) = match is_binary {
        true if parts.fraction.is_empty() => {
            let room = 15 - digits - parts.exponent * 3 / 10 - 1;
            (
                room,
                0,
                1_i64.checked_shl(u32::try_from(parts.exponent).ok()?)?,
            )
        }
        true => return None,
        false => (
            DIGITS_MAX - digits,
            parts.exponent - length(parts.fraction),
            1,
        ),
    };
    if room < 0 || scale < -SCALE {
        return None;
    }
    let shifted = format!("{}{}", parts.number, parts.fraction);
    let value: i64 = shifted.parse().ok()?;
    let amount = value.checked_mul(factor)?;
    let is_canonical = match is_binary {
        true => parts.exponent % 10 == 0 && value & 7 != 0,
        false => scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0'),
    };
    let amount = if parts.is_negative { -amount } else { amount };
    Some((amount, scale, if is_canonical { text } else { "" }))
}

/// In billionths, as two words of 64 bits.
fn large(parts: &Parts<'_>) -> Option<u128> {
    let shifted: u128 = format!("{}{}", parts.number, parts.fraction).parse().ok()?;
    let power = SCALE - length(parts.fraction);
    let (tens, twos) = match parts.format {
        "BinarySI" => (power, u32::try_from(parts.exponent).ok()?),
        _ => (power.checked_add(parts.exponent)?, 0),
    };
    let factor = 10_u128.checked_pow(u32::try_from(tens).ok()?)?;
    let factor = factor.checked_mul(1_u128.checked_shl(twos)?)?;
    shifted.checked_mul(factor)
}

/// Prints a quantity.
pub(super) fn dump(out: &mut String, text: &str) {
    let parts = parts(text);
    let small = match (text, &parts) {
        ("", _) => Some((0, 0, "", "")),
        ("0", _) => Some((0, 0, "0", "DecimalSI")),
        (text, Some(parts)) => {
            let small = small(text, parts);
            small.map(|(value, scale, text)| (value, scale, text, parts.format))
        }
        (_, None) => Some((0, 0, "", "")),
    };
    let (value, scale, kept, format) = small.unwrap_or((0, 0, "", ""));
    let fields = format!(
        "{{i:(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}} \
         d:(resource.infDecAmount){{Dec:(*inf.Dec)"
    );
    out.push_str(&fields);
    let mut format = format;
    match (small, &parts) {
        (None, Some(parts)) => {
            format = parts.format;
            let words = large(parts).unwrap_or_default();
            let (high, low) = (words >> 64, words & u128::from(u64::MAX));
            let words = match high {
                0 => low.to_string(),
                high => format!("{low} {high}"),
            };
            let is_negative = parts.is_negative;
            out.push_str(&format!(
                "{{unscaled:(big.Int){{neg:(bool){is_negative} abs:(big.nat)[{words}]}} \
                 scale:(inf.Scale){SCALE}}}"
            ));
        }
        _ => out.push_str("<nil>"),
    }
    out.push_str(&format!(
        "}} s:(string){kept} Format:(resource.Format){format}}}"
    ));
}
