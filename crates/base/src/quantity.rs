//! Kubernetes quantities: `1500m`, `2Gi`, `1e3`.

mod parts;

pub use parts::{QuantityParts, QuantityUnit};

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// An exact amount, kept in billionths: the finest grain that a quantity can have.
///
/// Amounts beyond ±1.7·10^29 saturate; anything finer than a billionth is rounded away from zero,
/// as upstream does (`k8s.io/apimachinery/pkg/api/resource`, v0.36.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Quantity {
    nanos: i128,
}

const NANO: i128 = 1_000_000_000;

/// Why a text is no quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParseQuantityError {
    /// It does not look like one.
    Format,
    /// The digits cannot be read.
    Numeric,
    /// Digits, but the unit behind them is unknown.
    Suffix,
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            Self::Numeric => "unable to parse numeric part of quantity",
            Self::Suffix => "unable to parse quantity's suffix",
        })
    }
}

impl std::error::Error for ParseQuantityError {}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0 };

    /// A whole number of units.
    pub const fn from_units(units: i64) -> Self {
        Self {
            nanos: units as i128 * NANO,
        }
    }

    /// A number of thousandths.
    pub const fn from_millis(millis: i64) -> Self {
        Self {
            nanos: millis as i128 * (NANO / 1000),
        }
    }

    /// Upstream's `Value()`: whole units, rounded away from zero.
    pub fn value(self) -> i64 {
        self.scaled(NANO)
    }

    /// Upstream's `MilliValue()`: thousandths, rounded away from zero.
    pub fn milli_value(self) -> i64 {
        self.scaled(NANO / 1000)
    }

    /// Upstream's `AsApproximateFloat64()`.
    pub fn as_f64(self) -> f64 {
        self.nanos as f64 / NANO as f64
    }

    /// Whether it is exactly nothing.
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Whether it is below nothing.
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    fn scaled(self, unit: i128) -> i64 {
        let whole = self.nanos / unit;
        let rest = self.nanos % unit;
        let rounded = whole + rest.signum();
        i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX })
    }
}

impl Add for Quantity {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
        }
    }
}

impl AddAssign<&Quantity> for Quantity {
    fn add_assign(&mut self, more: &Self) {
        *self = *self + *more;
    }
}

impl Sub for Quantity {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_sub(other.nanos),
        }
    }
}

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = QuantityParts::of(text)?;
        // Where upstream finds nothing to read it reads 0.
        if !parts.number.bytes().any(|b| b.is_ascii_digit()) {
            return Err(ParseQuantityError::Format);
        }
        let nanos = magnitude(parts.whole, parts.fraction, parts.unit);
        Ok(Self {
            nanos: if parts.negative { -nanos } else { nanos },
        })
    }
}

/// `whole.fraction` units in billionths, saturating above and rounded up below.
fn magnitude(whole: &str, fraction: &str, unit: QuantityUnit) -> i128 {
    let mut digits: i128 = 0;
    let mut inexact = false;
    // Powers of ten still owed: the unit's, the billionths', less one per fractional digit.
    let (mut owed, factor) = match unit {
        QuantityUnit::Ten(exponent) => (exponent + 9, 1),
        QuantityUnit::Two(exponent) => (9, 1_i128 << exponent),
        // Beyond a thousand the amount saturates or vanishes.
        QuantityUnit::Exponent(exponent) => (exponent.clamp(-1000, 1000) + 9, 1),
    };
    for (i, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        let after_point = i >= whole.len();
        if digits > i128::MAX / 100 / factor {
            // No room: a digit left of the point weighs ten times more, one right of it is dust.
            inexact |= digit != b'0';
            owed += i32::from(!after_point);
        } else {
            digits = digits * 10 + i128::from(digit - b'0');
            owed -= i32::from(after_point);
        }
    }
    digits *= factor;
    if digits == 0 && !inexact {
        return 0;
    }
    for _ in 0..owed.max(0) {
        digits = digits.saturating_mul(10);
    }
    for _ in owed.min(0)..0 {
        inexact |= digits % 10 != 0;
        digits /= 10;
    }
    digits.saturating_add(i128::from(inexact))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(text: &str) -> i128 {
        text.parse::<Quantity>().expect(text).nanos
    }

    #[test]
    fn suffixes() {
        for (text, expected) in [
            ("0", 0),
            ("1", NANO),
            ("1n", 1),
            ("1u", 1000),
            ("100m", NANO / 10),
            ("1.5", NANO * 3 / 2),
            (".5", NANO / 2),
            ("5.", NANO * 5),
            ("1k", 1000 * NANO),
            ("1Ki", 1024 * NANO),
            ("1.5Gi", 1_610_612_736 * NANO),
            ("1E", 1_000_000_000_000_000_000 * NANO),
            ("1e3", 1000 * NANO),
            ("1E3", 1000 * NANO),
            ("1e-3", NANO / 1000),
            ("-2", -2 * NANO),
            ("+2", 2 * NANO),
            ("0.1Ki", 102_400_000_000),
        ] {
            assert_eq!(nanos(text), expected, "{text}");
        }
    }

    #[test]
    fn rounding_is_away_from_zero() {
        assert_eq!(nanos("0.1n"), 1);
        assert_eq!(nanos("-0.1n"), -1);
        assert_eq!("1.0001".parse::<Quantity>().unwrap().milli_value(), 1001);
        assert_eq!("1m".parse::<Quantity>().unwrap().value(), 1);
        assert_eq!("-1500m".parse::<Quantity>().unwrap().value(), -2);
    }

    #[test]
    fn huge_amounts_saturate() {
        assert_eq!("1e1000".parse::<Quantity>().unwrap().value(), i64::MAX);
        assert_eq!(
            "99999999999999999999999999999999999999999"
                .parse::<Quantity>()
                .unwrap()
                .value(),
            i64::MAX
        );
        assert_eq!(
            "0.00000000000000000000000000000000000000000000001"
                .parse::<Quantity>()
                .unwrap()
                .nanos,
            1
        );
    }

    #[test]
    fn bad_texts_are_refused() {
        for text in [
            "", "-", "m", "1x", "1 Gi", "1.2.3", "1Gib", "--1", "1e", "0x10", "1,5", "é",
        ] {
            assert!(text.parse::<Quantity>().is_err(), "{text:?}");
        }
        let wrong = |text: &str| text.parse::<Quantity>().unwrap_err();
        assert_eq!(wrong("1x"), ParseQuantityError::Format);
        assert_eq!(wrong("1kk"), ParseQuantityError::Suffix);
    }
}
