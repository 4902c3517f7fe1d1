//! Numbers as Go writes them.

/// A number as Go's `strconv.FormatFloat(f, 'g', -1, 64)` writes it, which is how Prometheus'
/// clients write values and bounds.
pub fn go_float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    // The shortest digits that read back as the same number, as `d.ddde±x`.
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::go_float;

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (0.00001 * 1.5, "1.5000000000000002e-05"),
            (5242.88, "5242.88"),
            (123_456.0, "123456"),
            (1_234_567.0, "1.234567e+06"),
            (1_000_000.0, "1e+06"),
            (12_345_678.25, "1.234567825e+07"),
            (123_456.75, "123456.75"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ];
        for (value, expected) in cases {
            assert_eq!(go_float(value), expected);
        }
    }
}
