//! Amounts for people.

/// Thousandths of a cpu: `250m`, `2`, `2.5`.
pub fn cpu(milli: i64) -> String {
    match (milli / 1000, milli % 1000) {
        (whole, 0) => whole.to_string(),
        (0, rest) => format!("{rest}m"),
        (whole, rest) => {
            let text = format!("{whole}.{:03}", rest.abs());
            text.trim_end_matches('0').to_owned()
        }
    }
}

/// An amount of some resource: cpu as above, memory and storage in binary units, the rest as is.
pub fn amount(resource: &str, value: i64) -> String {
    match resource {
        "cpu" => cpu(value),
        "memory" | "ephemeral-storage" => bytes(value),
        name if name.starts_with("hugepages-") => bytes(value),
        _ => value.to_string(),
    }
}

/// A quantity as the API writes it, without rounding.
pub fn exact(resource: &str, value: i64) -> String {
    match resource {
        "cpu" if value % 1000 != 0 => format!("{value}m"),
        "cpu" => (value / 1000).to_string(),
        _ => value.to_string(),
    }
}

/// The amount that [`exact`] wrote; `None` if it is not of that form.
pub fn parse_exact(resource: &str, text: &str) -> Option<i64> {
    match (resource, text.strip_suffix('m')) {
        ("cpu", Some(milli)) => milli.parse().ok(),
        ("cpu", None) => text.parse::<i64>().ok()?.checked_mul(1000),
        _ => text.parse().ok(),
    }
}

/// Bytes in the largest unit that leaves at least one, with at most one digit behind the point.
fn bytes(value: i64) -> String {
    const UNITS: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let mut scaled = value as f64;
    let mut unit = 0;
    while scaled.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let text = format!("{scaled:.1}");
    format!("{}{}", text.trim_end_matches(".0"), UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_for_people() {
        for (milli, text) in [
            (0, "0"),
            (250, "250m"),
            (2000, "2"),
            (2500, "2.5"),
            (1001, "1.001"),
        ] {
            assert_eq!(cpu(milli), text);
        }
        for (bytes, text) in [
            (0, "0"),
            (1023, "1023"),
            (1024, "1Ki"),
            (3 << 29, "1.5Gi"),
            (8 << 30, "8Gi"),
        ] {
            assert_eq!(amount("memory", bytes), text);
        }
        assert_eq!(amount("nvidia.com/gpu", 8), "8");
        for (resource, value) in [("cpu", 250), ("cpu", 3000), ("memory", 1024)] {
            let text = exact(resource, value);
            assert_eq!(parse_exact(resource, &text), Some(value), "{text}");
        }
        assert_eq!(parse_exact("cpu", "much"), None);
    }
}
