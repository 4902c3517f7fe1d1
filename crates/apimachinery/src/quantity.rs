//! Quantities as the API server reads, adds and prints them: `1500m`, `2Gi`, `1e3`.
//!
//! Unlike `stowplan_base::Quantity`, which is only an amount, this one remembers the form it came
//! in, because sums and answers are printed in it. Upstream:
//! `k8s.io/apimachinery/pkg/api/resource` (quantity.go, amount.go, suffix.go).

use serde_json::Value;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::AddAssign;
pub use stowplan_base::ParseQuantityError as QuantityError;
use stowplan_base::{QuantityParts, QuantityUnit};

/// An amount and the form in which it is printed.
#[derive(Clone, Debug, Default)]
pub struct Quantity {
    /// The amount is `mantissa` times ten to the power of `scale`.
    mantissa: i128,
    scale: i32,
    form: Form,
    /// The text it was read from, where upstream keeps that.
    text: Option<Box<str>>,
}

/// Which suffixes a quantity is printed with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Form {
    /// `1e3`; also what a quantity has that was never given one.
    #[default]
    Exponent,
    /// `1k`
    Decimal,
    /// `1Ki`
    Binary,
}

impl Form {
    /// The form of a text with this unit.
    fn of(unit: QuantityUnit) -> Self {
        match unit {
            QuantityUnit::Ten(_) => Self::Decimal,
            QuantityUnit::Two(_) => Self::Binary,
            QuantityUnit::Exponent(_) => Self::Exponent,
        }
    }
}

/// The finest grain: everything below is rounded away from zero.
const NANO: i32 = -9;
/// As many digits fit into an `i64` for sure.
const FAST_DIGITS: usize = 18;

impl Quantity {
    /// So many, printed with decimal suffixes.
    pub fn units(units: i64) -> Self {
        Self {
            mantissa: units.into(),
            scale: 0,
            form: Form::Decimal,
            text: None,
        }
    }

    /// So many thousandths, printed with decimal suffixes, or with binary ones. Upstream's
    /// `NewMilliQuantity`.
    pub fn millis(millis: i64, is_binary: bool) -> Self {
        Self {
            mantissa: millis.into(),
            scale: -3,
            form: if is_binary {
                Form::Binary
            } else {
                Form::Decimal
            },
            text: None,
        }
    }

    /// Reads a text as upstream's `ParseQuantity` does.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let parts = QuantityParts::of(text)?;
        match Self::parse_small(text, &parts) {
            Some(quantity) => Ok(quantity),
            None => Self::parse_large(&parts),
        }
    }

    /// Upstream's fast path: what fits into an `i64`. It keeps the text where that looks canonical.
    fn parse_small(text: &str, parts: &QuantityParts<'_>) -> Option<Self> {
        let all = match parts.fraction {
            "" => Cow::Borrowed(parts.whole),
            fraction => Cow::Owned([parts.whole, fraction].concat()),
        };
        let places = i32::try_from(parts.fraction.len()).ok()?;
        let is_binary = matches!(parts.unit, QuantityUnit::Two(_));
        let (factor, scale) = match parts.unit {
            QuantityUnit::Two(exponent) => {
                let taken = exponent as usize * 3 / 10 + parts.whole.len();
                if !parts.fraction.is_empty() || taken > 14 {
                    return None;
                }
                (1_i64 << exponent, 0)
            }
            QuantityUnit::Ten(exponent) | QuantityUnit::Exponent(exponent) => {
                (1, exponent.checked_sub(places)?)
            }
        };
        if (!is_binary && all.len() > FAST_DIGITS) || scale < NANO {
            return None;
        }
        let value = all.parse::<i64>().ok()?;
        let amount = i128::from(value.checked_mul(factor)?);
        let canonical = match is_binary {
            true => value & 7 != 0,
            false => scale % 3 == 0 && !all.ends_with("000") && !all.starts_with('0'),
        };
        Some(Self {
            mantissa: if parts.negative { -amount } else { amount },
            scale,
            form: Form::of(parts.unit),
            text: (canonical || text == "0").then(|| text.into()),
        })
    }

    /// Upstream's slow path: anything, rounded up to billionths.
    fn parse_large(parts: &QuantityParts<'_>) -> Result<Self, QuantityError> {
        if !parts.number.bytes().any(|b| b.is_ascii_digit()) {
            return Err(QuantityError::Numeric);
        }
        let (mut mantissa, mut scale) = read_digits(parts.whole, parts.fraction);
        match parts.unit {
            QuantityUnit::Two(exponent) => mantissa = mantissa.saturating_mul(1 << exponent),
            QuantityUnit::Ten(exponent) | QuantityUnit::Exponent(exponent) => {
                scale = scale.saturating_add(exponent);
            }
        }
        let form = Form::of(parts.unit);
        let mut quantity = Self {
            mantissa,
            scale,
            form,
            text: None,
        };
        quantity.round_up(NANO);
        if form == Form::Binary {
            let most = Self::units(i64::MAX);
            if quantity > most {
                (quantity.mantissa, quantity.scale) = (most.mantissa, 0);
            }
            if !quantity.is_zero() && quantity < Self::units(1) {
                quantity.form = Form::Decimal;
            }
        }
        if parts.negative {
            quantity.mantissa = -quantity.mantissa;
        }
        Ok(quantity)
    }

    /// The quantity in a JSON value; what is absent or no quantity is zero.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::parse(text.trim()).unwrap_or_default(),
            Value::Number(number) => Self::parse(&number.to_string()).unwrap_or_default(),
            _ => Self::default(),
        }
    }

    /// Whether it is exactly nothing.
    pub fn is_zero(&self) -> bool {
        self.mantissa == 0
    }

    /// Whether it is below nothing.
    pub fn is_negative(&self) -> bool {
        self.mantissa < 0
    }

    /// Whole units, rounded away from zero.
    pub fn value(&self) -> i64 {
        self.scaled(0)
    }

    /// The amount, if it was given in whole units. Upstream: `AsInt64`, which does not see that `1000m`
    /// is one.
    pub fn as_integer(&self) -> Option<i64> {
        let whole = self.scale >= 0;
        whole.then(|| i64::try_from(shift(self.mantissa, self.scale)).ok())?
    }

    /// About as much.
    pub fn as_f64(&self) -> f64 {
        self.mantissa as f64 * 10_f64.powi(self.scale)
    }

    /// Thousandths, rounded away from zero.
    pub fn milli_value(&self) -> i64 {
        self.scaled(-3)
    }

    fn scaled(&self, scale: i32) -> i64 {
        let mut at = self.clone();
        at.round_up(scale);
        let whole = shift(at.mantissa, at.scale - scale);
        i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX })
    }

    /// Rounds to a power of ten, away from zero. Says whether nothing was lost.
    pub fn round_up(&mut self, scale: i32) -> bool {
        if self.scale >= scale {
            return true;
        }
        self.text = None;
        let (mut exact, sign) = (true, self.mantissa.signum());
        while self.scale < scale && self.mantissa != 0 {
            exact &= self.mantissa % 10 == 0;
            self.mantissa /= 10;
            self.scale += 1;
        }
        self.scale = scale;
        if !exact {
            self.mantissa += sign;
        }
        exact
    }

    /// Adds another. The sum is printed in the form of the first that is not zero.
    pub fn add(&mut self, other: &Self) {
        if self.is_zero() {
            self.form = other.form;
        }
        self.text = None;
        if other.is_zero() {
            return;
        }
        if self.is_zero() {
            (self.mantissa, self.scale) = (other.mantissa, other.scale);
            return;
        }
        let scale = self.scale.min(other.scale);
        let mine = shift(self.mantissa, self.scale - scale);
        let theirs = shift(other.mantissa, other.scale - scale);
        (self.mantissa, self.scale) = (mine.saturating_add(theirs), scale);
    }

    /// Takes another away.
    pub fn sub(&mut self, other: &Self) {
        let mut less = other.clone();
        less.mantissa = -less.mantissa;
        self.add(&less);
    }

    fn canonical(&self) -> String {
        if self.is_zero() {
            return "0".to_owned();
        }
        let kibi = Self::units(1024);
        let minus_kibi = Self::units(-1024);
        if self.form == Form::Binary && (*self >= kibi || *self <= minus_kibi) {
            let mut whole = self.clone();
            if whole.round_up(0) {
                return binary(shift(whole.mantissa, whole.scale));
            }
        }
        let mut amount = self.mantissa;
        let mut exponent = self.scale;
        while amount % 10 == 0 {
            amount /= 10;
            exponent += 1;
        }
        while exponent % 3 != 0 {
            amount = amount.saturating_mul(10);
            exponent -= 1;
        }
        match (self.form, exponent) {
            (Form::Exponent, 0) => amount.to_string(),
            (Form::Exponent, _) => format!("{amount}e{exponent}"),
            _ => format!("{amount}{}", decimal_suffix(exponent)),
        }
    }
}

/// Digits and the power of ten they stand at; digits beyond what fits count as one unit more.
fn read_digits(whole: &str, fraction: &str) -> (i128, i32) {
    let (mut mantissa, mut scale, mut dust) = (0_i128, 0_i32, false);
    for (i, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        let after_point = i >= whole.len();
        if mantissa > i128::MAX / 100 {
            dust |= digit != b'0';
            scale += i32::from(!after_point);
        } else {
            mantissa = mantissa * 10 + i128::from(digit.wrapping_sub(b'0'));
            scale -= i32::from(after_point);
        }
    }
    (mantissa + i128::from(dust), scale)
}

/// Times ten to the power of `by`, saturating.
fn shift(mut mantissa: i128, by: i32) -> i128 {
    for _ in 0..by.clamp(0, 40) {
        mantissa = mantissa.saturating_mul(10);
    }
    mantissa
}

fn binary(mut amount: i128) -> String {
    let mut power = 0;
    while amount % 1024 == 0 {
        amount /= 1024;
        power += 1;
    }
    // Beyond the known suffixes upstream prints none.
    let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(power);
    format!("{amount}{}", suffix.copied().unwrap_or_default())
}

fn decimal_suffix(exponent: i32) -> &'static str {
    match exponent {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        _ => "",
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => f.write_str(&self.canonical()),
        }
    }
}

impl AddAssign<&Quantity> for Quantity {
    fn add_assign(&mut self, more: &Self) {
        self.add(more);
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By amount, whatever the form.
impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_sign = self.mantissa.signum().cmp(&other.mantissa.signum());
        if by_sign.is_ne() || self.is_zero() {
            return by_sign;
        }
        let scale = self.scale.min(other.scale);
        let mine = shift(self.mantissa, self.scale - scale);
        mine.cmp(&shift(other.mantissa, other.scale - scale))
    }
}

#[cfg(test)]
#[path = "quantity_tests.rs"]
mod tests;
