//! Writing JSON, byte for byte as `serde_json` does, and what reading it has in common.

use serde_json::Value;

/// How many bytes come before the first that cannot stand in a JSON text as it is: a quote, a
/// backslash or a control character.
pub fn plain_prefix(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let special = special(u64::from_le_bytes(*word));
        if special != 0 {
            return i * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    // The last eight bytes of a longer text, some of them for the second time.
    if let Some(last) = bytes.last_chunk() {
        let special = special(u64::from_le_bytes(*last));
        return bytes.len() - 8 + special.trailing_zeros() as usize / 8;
    }
    rest.iter().take_while(|byte| is_plain_byte(**byte)).count()
}

fn is_plain_byte(byte: u8) -> bool {
    !matches!(byte, b'"' | b'\\' | 0..0x20)
}

/// Whether all of it can stand in a JSON text as it is. Most texts are short: they are looked at by words
/// from either end.
fn is_plain(bytes: &[u8]) -> bool {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let special = special(u64::from_le_bytes(*first)) | special(u64::from_le_bytes(*last));
        return special == 0 && (bytes.len() <= 16 || plain_prefix(bytes) == bytes.len());
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let halves = [u32::from_le_bytes(*first), u32::from_le_bytes(*last)].map(u64::from);
        return special(halves[0] | halves[1] << 32) == 0;
    }
    bytes.iter().all(|byte| is_plain_byte(*byte))
}

/// The lowest bit that is set is the highest of the first byte that is not plain.
fn special(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // Of each byte below `limit`, and maybe of others behind the first of those.
    let below = |word: u64, limit: u64| word.wrapping_sub(EACH * limit) & !word;
    let quote = below(word ^ (EACH * u64::from(b'"')), 1);
    let backslash = below(word ^ (EACH * u64::from(b'\\')), 1);
    (quote | backslash | below(word, 0x20)) & (EACH * 0x80)
}

/// How long a value would be if nothing in it had to be escaped.
pub fn unescaped_len(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|i| unescaped_len(i) + 1).sum::<usize>(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| name.len() + 4 + unescaped_len(value);
            2 + fields.iter().map(field).sum::<usize>()
        }
    }
}

/// Whether a value nests deeper than so many levels. Looks no deeper than that itself.
pub fn is_deeper(value: &Value, levels: usize) -> bool {
    let inside = levels.checked_sub(1);
    match value {
        Value::Array(list) => inside.is_none_or(|l| list.iter().any(|v| is_deeper(v, l))),
        Value::Object(map) => inside.is_none_or(|l| map.values().any(|v| is_deeper(v, l))),
        _ => false,
    }
}

/// Appends a value.
pub fn write(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write(out, item);
            }
            out.push(b']');
        }
        Value::Object(fields) => {
            out.push(b'{');
            for (i, (name, value)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_field(out, name, value);
            }
            out.push(b'}');
        }
        Value::Number(_) => by_serde(out, value),
    }
}

/// Appends a field of a map.
pub fn write_field(out: &mut Vec<u8>, name: &str, value: &Value) {
    write_text(out, name);
    out.push(b':');
    write(out, value);
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    if !is_plain(text.as_bytes()) {
        return by_serde(out, text);
    }
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

fn by_serde(out: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    // Writing JSON to memory does not fail.
    let _ = serde_json::to_writer(out, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(value: &Value) {
        let mut out = Vec::new();
        write(&mut out, value);
        assert_eq!(String::from_utf8_lossy(&out), value.to_string());
    }

    #[test]
    fn values_are_written_as_serde_json_does() {
        check(&json!({"a": [1, -2.5, 1e300, null, true, false, {}, []], "b\n": {"": "x"}}));
        check(&json!("\u{7f}grün \u{2028} / <&>"));
        for c in (0..=0x7f_u8).map(char::from) {
            for length in 0..20 {
                for at in 0..=length {
                    let mut text = "ä".repeat(length);
                    text.insert(at * 2, c);
                    check(&json!(text));
                }
            }
        }
    }

    #[test]
    fn depth_is_told_without_going_deeper() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |inside, _| json!([inside]));
        assert!(!is_deeper(&json!("x"), 0));
        assert!(is_deeper(&json!({}), 0));
        for levels in [1, 2, 50] {
            assert!(!is_deeper(&nested(levels), levels));
            assert!(is_deeper(&nested(levels + 1), levels));
        }
        assert!(is_deeper(&json!({"a": 1, "b": {"c": [1]}}), 2));
    }

    #[test]
    fn what_is_plain_is_told_byte_by_byte() {
        for byte in 0..=u8::MAX {
            for length in 0..20 {
                for around in [b'a', 0x80, 0xff, b'!', b' ', b'#'] {
                    let mut bytes = vec![around; length];
                    bytes.push(byte);
                    bytes.extend([around, b'"', around]);
                    let special = byte < 0x20 || matches!(byte, b'"' | b'\\');
                    let expected = if special { length } else { length + 2 };
                    assert_eq!(plain_prefix(&bytes), expected, "{bytes:?}");
                    assert!(!is_plain(&bytes));
                    assert!(is_plain(&bytes[..expected]));
                }
            }
        }
    }
}
