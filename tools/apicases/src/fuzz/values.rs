//! Values that nobody expects.

use super::corpus::Corpus;
use super::{once_in, pick};
use serde_json::{Value, json};
use stowplan_base::Rng;

const TEXTS: &[&str] = &[
    "",
    " ",
    "0",
    "-1",
    "1",
    "a",
    "A",
    "a-",
    "-a",
    "a.b",
    "a/b",
    "a/b/c",
    "*",
    "!a",
    "a,b",
    "a=b",
    "a in (",
    "1e400",
    "1Ei",
    "-1Ei",
    "9999999999999999999999Ei",
    "1n",
    "0.0000000000001",
    "1e-9999999999",
    "1e9999999999",
    "+1",
    ".5",
    "5.",
    "1Mi1",
    "0x10",
    "NaN",
    "true",
    "null",
    "~",
    "100%",
    "-5%",
    "1000000000000%",
    "%",
    "2026-01-01T00:00:00Z",
    "0000-00-00T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z",
    "10000-01-01T00:00:00Z",
    "2026-02-30T25:61:61+99:99",
    "10.0.0.1",
    "10.0.0.300",
    "::1",
    "::ffff:1.2.3.4",
    "fe80::1%eth0",
    "10.0.0.0/33",
    "..",
    "../..",
    "%2f",
    "%",
    "%zz",
    "$(a)",
    "$($(a))",
    "{{",
    "\u{0}",
    "\n",
    "é",
    "ß\u{202e}\u{fffd}😀",
    "\u{7f}",
    "[]",
    "{}",
    "\"",
    "\\",
    "@every 1s",
    "* * * * *",
    "0 0 31 2 *",
    "*/0 * * * *",
    "TZ=x * * * * *",
    "a(b",
    "(?=a)",
    "[a-",
    "a{1000000}",
    "system:masters",
    "kubernetes.io/a",
    "k:{\"name\":\"a\"}",
    "v:1",
    "i:9",
    "f:",
    ".",
    "f:a",
];

const NUMBERS: &[i64] = &[
    0,
    1,
    -1,
    2,
    3,
    7,
    10,
    80,
    100,
    101,
    255,
    256,
    32767,
    32768,
    65535,
    65536,
    100_000,
    2_147_483_647,
    2_147_483_648,
    -2_147_483_648,
    -2_147_483_649,
    4_294_967_296,
    1_000_000_000_000,
    i64::MAX,
    i64::MIN,
    i64::MAX - 1,
];

/// A text, from the recorded ones or odd.
pub(super) fn text(rng: &mut Rng, corpus: &Corpus) -> String {
    match rng.below(10) {
        0..=3 => corpus.word(rng),
        4..=7 => pick(rng, TEXTS).copied().unwrap_or_default().to_owned(),
        8 => format!(
            "{}{}",
            corpus.word(rng),
            pick(rng, TEXTS).copied().unwrap_or_default()
        ),
        _ => {
            let lengths = [63, 64, 253, 254, 317, 1_025, 70_000, 300_000];
            let length = pick(rng, &lengths).copied().unwrap_or(1);
            let letter = pick(rng, &["a", "é", "a.", "/", "(", "1"])
                .copied()
                .unwrap_or("a");
            // Long texts are rare: they are slow to make.
            letter.repeat(if once_in(rng, 4) {
                length
            } else {
                length.min(300)
            })
        }
    }
}

/// Any value.
pub(super) fn odd(rng: &mut Rng, corpus: &Corpus) -> Value {
    match rng.below(16) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(false),
        3..=5 => json!(pick(rng, NUMBERS)),
        6 => json!(pick(
            rng,
            &[0.5, -0.0, 1.5, 1e300, -1e-300, 1e19, 18446744073709551615.0]
        )),
        7 => json!(u64::MAX),
        8 => json!([]),
        9 => json!({}),
        10 => nested(rng),
        11 => json!({corpus.word(rng): text(rng, corpus)}),
        12 => json!([text(rng, corpus), null]),
        _ => text(rng, corpus).into(),
    }
}

fn nested(rng: &mut Rng) -> Value {
    let depth = pick(rng, &[2, 10, 100]).copied().unwrap_or(2);
    let mut value = Value::Null;
    for _ in 0..depth {
        value = match rng.below(2) {
            0 => json!([value]),
            _ => json!({"a": value}),
        };
    }
    value
}

/// Nesting beyond what a tree of values should hold, as text.
pub(super) fn deep(rng: &mut Rng) -> String {
    let depth = pick(rng, &[500, 9_999, 10_001, 100_000])
        .copied()
        .unwrap_or(500);
    let (open, close) = match rng.below(3) {
        0 => ("[", "]"),
        1 => ("{\"a\":", "}"),
        _ => ("{\"spec\":[", "]}"),
    };
    match rng.below(3) {
        0 => open.repeat(depth),
        _ => format!("{}1{}", open.repeat(depth), close.repeat(depth)),
    }
}
