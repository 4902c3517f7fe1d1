use super::*;
use serde_json::json;

fn read(text: &str) -> Quantity {
    Quantity::parse(text).expect(text)
}

/// Text, how upstream prints it, `Value()` and `MilliValue()`.
#[test]
fn reads_and_prints_as_upstream() {
    for (text, printed, value, millis) in [
        ("0", "0", 0, 0),
        ("00", "0", 0, 0),
        ("-", "0", 0, 0),
        (".", "0", 0, 0),
        ("m", "0", 0, 0),
        ("Gi", "0", 0, 0),
        ("0Gi", "0", 0, 0),
        ("1", "1", 1, 1000),
        ("+5", "+5", 5, 5000),
        ("5.", "5.", 5, 5000),
        ("1.500", "1.500", 2, 1500),
        ("0.5", "500m", 1, 500),
        (".5", "500m", 1, 500),
        ("1000m", "1", 1, 1000),
        ("1500m", "1500m", 2, 1500),
        ("1e3", "1e3", 1000, 1_000_000),
        ("1E3", "1E3", 1000, 1_000_000),
        ("1e+3", "1e+3", 1000, 1_000_000),
        ("10e2", "1e3", 1000, 1_000_000),
        ("1e8", "100e6", 100_000_000, 100_000_000_000),
        ("1e-3", "1e-3", 1, 1),
        ("1024", "1024", 1024, 1_024_000),
        ("1Ki", "1Ki", 1024, 1_024_000),
        ("2048Ki", "2Mi", 2_097_152, 2_097_152_000),
        ("1536Mi", "1536Mi", 1_610_612_736, 1_610_612_736_000),
        ("1.5Gi", "1536Mi", 1_610_612_736, 1_610_612_736_000),
        ("0.1Ki", "102400m", 103, 102_400),
        ("0.001Ki", "1024m", 2, 1024),
        (
            "100Ti",
            "100Ti",
            109_951_162_777_600,
            109_951_162_777_600_000,
        ),
        ("0.1n", "1n", 1, 1),
        ("-1500m", "-1500m", -2, -1500),
        ("-1Gi", "-1Gi", -1_073_741_824, -1_073_741_824_000),
        ("-0.5", "-500m", -1, -500),
        ("01Gi", "01Gi", 1_073_741_824, 1_073_741_824_000),
        ("1000000", "1M", 1_000_000, 1_000_000_000),
        ("1.23456789012345678", "1234567891n", 2, 1235),
        ("1.0", "1", 1, 1000),
        ("1e0", "1e0", 1, 1000),
        ("2e-1", "200e-3", 1, 200),
        ("1.2k", "1200", 1200, 1_200_000),
    ] {
        let quantity = read(text);
        assert_eq!(quantity.to_string(), printed, "{text}");
        assert_eq!(quantity.value(), value, "{text}");
        assert_eq!(quantity.milli_value(), millis, "{text}");
    }
}

#[test]
fn huge_amounts_are_kept_or_capped() {
    for (text, printed) in [
        ("1Ei", "1Ei"),
        ("16Ei", "9223372036854775807"),
        ("1000E", "1"),
        ("1e30", "1e30"),
        (
            "123456789012345678901234567890",
            "123456789012345678901234567890",
        ),
        ("999999999999999999k", "999999999999999999k"),
    ] {
        assert_eq!(read(text).to_string(), printed, "{text}");
    }
    assert_eq!(read("1e1000").value(), i64::MAX);
    assert!(read("1e1000") > read("1e40"));
}

#[test]
fn bad_texts_are_refused() {
    for text in [
        "", "abc", "1x", "1Gib", "1.2.3", "1 Gi", "é", "1,5", "0x10", "1é",
    ] {
        assert_eq!(Quantity::parse(text), Err(QuantityError::Format), "{text}");
    }
    for text in ["1e", "1eE3", "--1", "1i", "1e99999999999999999999"] {
        assert_eq!(Quantity::parse(text), Err(QuantityError::Suffix), "{text}");
    }
    assert_eq!(Quantity::parse("e-10"), Err(QuantityError::Numeric));
}

/// Two texts, their sum and their difference.
#[test]
fn sums_are_printed_in_the_form_of_the_first() {
    for (a, b, sum, difference) in [
        ("1e8", "1", "100000001", "99999999"),
        ("100M", "1Gi", "1173741824", "-973741824"),
        ("1Gi", "100M", "1173741824", "973741824"),
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("1Gi", "0", "1Gi", "1Gi"),
        ("500m", "500m", "1", "0"),
        ("1Ki", "1m", "1024001m", "1023999m"),
        ("512", "512Ki", "524800", "-523776"),
        ("1Ki", "-1Ki", "0", "2Ki"),
        ("1e3", "24", "1024", "976"),
        ("1", "1n", "1000000001n", "999999999n"),
        ("1E3", "0", "1e3", "1e3"),
        ("600Mi", "424Mi", "1Gi", "176Mi"),
    ] {
        let mut added = read(a);
        added.add(&read(b));
        assert_eq!(added.to_string(), sum, "{a} + {b}");
        let mut taken = read(a);
        taken.sub(&read(b));
        assert_eq!(taken.to_string(), difference, "{a} - {b}");
    }
}

#[test]
fn compares_by_amount() {
    assert_eq!(read("1Ki"), read("1024"));
    assert_eq!(read("1000m"), read("1"));
    assert!(read("1") > read("999m"));
    assert!(read("-1") < read("0"));
    assert!(read("1n") > read("0"));
    assert_eq!(Quantity::of(&json!(2)), read("2"));
    assert!(Quantity::of(&json!(null)).is_zero());
}
