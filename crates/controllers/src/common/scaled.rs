//! Numbers that may be percentages.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// A number as it is, or a percentage of `total`, rounded up or down; `None` if it is neither. Upstream's
/// `GetScaledValueFromIntOrPercent`.
pub fn scaled_value(value: &IntOrString, total: i32, round_up: bool) -> Option<i32> {
    match value {
        IntOrString::Int(number) => Some(*number),
        IntOrString::String(text) => {
            let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
            let hundredths = percent.checked_mul(i64::from(total))?;
            let scaled = match round_up {
                true => hundredths.div_euclid(100) + i64::from(hundredths.rem_euclid(100) > 0),
                false => hundredths.div_euclid(100),
            };
            i32::try_from(scaled).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_rounded_as_asked() {
        let of = |text: &str, total, up| scaled_value(&IntOrString::String(text.into()), total, up);
        assert_eq!(of("25%", 10, true), Some(3));
        assert_eq!(of("25%", 10, false), Some(2));
        assert_eq!(of("100%", 7, false), Some(7));
        assert_eq!(of("0%", 7, true), Some(0));
        assert_eq!(of("25", 10, true), None);
        assert_eq!(scaled_value(&IntOrString::Int(4), 10, true), Some(4));
    }
}
