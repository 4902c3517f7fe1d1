//! The text of a quantity, taken apart.

use super::ParseQuantityError;

/// The parts of a quantity's text. Upstream's `parseQuantityString`
/// (`k8s.io/apimachinery/pkg/api/resource/quantity.go`).
#[derive(Clone, Copy, Debug)]
pub struct QuantityParts<'a> {
    /// Whether there is a minus in front.
    pub negative: bool,
    /// Sign and digits as written; it may be that there are no digits.
    pub number: &'a str,
    /// The digits in front of the point, without zeros before them; at least one.
    pub whole: &'a str,
    /// The digits behind the point.
    pub fraction: &'a str,
    /// What stands behind the digits.
    pub unit: QuantityUnit,
}

/// The unit behind the digits of a quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuantityUnit {
    /// A power of ten, by a letter: `k`.
    Ten(i32),
    /// A power of two: `Ki`.
    Two(u32),
    /// A power of ten, in digits: `e3`.
    Exponent(i32),
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

impl<'a> QuantityParts<'a> {
    /// Takes a text apart.
    pub fn of(text: &'a str) -> Result<Self, ParseQuantityError> {
        if text.is_empty() {
            return Err(ParseQuantityError::Format);
        }
        let signed = text.strip_prefix(['-', '+']).unwrap_or(text);
        let negative = text.starts_with('-');
        let significant = signed.trim_start_matches('0');
        let (whole, mut rest) = significant.split_at(digits(significant));
        let mut fraction = "";
        if let Some(behind) = rest.strip_prefix('.') {
            (fraction, rest) = behind.split_at(digits(behind));
        }
        let letters = rest.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
        let exponent = letters.strip_prefix(['-', '+']).unwrap_or(letters);
        if !exponent.bytes().all(|b| b.is_ascii_digit()) {
            return Err(ParseQuantityError::Format);
        }
        Ok(Self {
            negative,
            number: &text[..text.len() - rest.len()],
            whole: if whole.is_empty() { "0" } else { whole },
            fraction,
            unit: QuantityUnit::of(rest).ok_or(ParseQuantityError::Suffix)?,
        })
    }
}

impl QuantityUnit {
    fn of(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "n" => Self::Ten(-9),
            "u" => Self::Ten(-6),
            "m" => Self::Ten(-3),
            "" => Self::Ten(0),
            "k" => Self::Ten(3),
            "M" => Self::Ten(6),
            "G" => Self::Ten(9),
            "T" => Self::Ten(12),
            "P" => Self::Ten(15),
            "E" => Self::Ten(18),
            "Ki" => Self::Two(10),
            "Mi" => Self::Two(20),
            "Gi" => Self::Two(30),
            "Ti" => Self::Two(40),
            "Pi" => Self::Two(50),
            "Ei" => Self::Two(60),
            _ => {
                let exponent = suffix.strip_prefix(['e', 'E'])?.parse::<i64>().ok()?;
                // Upstream cuts off what does not fit.
                Self::Exponent(exponent as i32)
            }
        })
    }
}
