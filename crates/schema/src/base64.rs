//! Bytes in JSON, as Go's `encoding/base64.StdEncoding` reads and writes them.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as text.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit) & 63) as usize;
            out.push(match digit as usize > chunk.len() {
                true => '=',
                false => char::from(ALPHABET.get(index).copied().unwrap_or(b'=')),
            });
        }
    }
    out
}

fn value_of(byte: u8) -> Option<u32> {
    Some(match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

/// Text as bytes, or where it goes wrong. Line ends are passed over.
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_usize);
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        if let Some(value) = value_of(byte) {
            bits = bits << 6 | value;
            held += 1;
            if held == 4 {
                out.extend_from_slice(&bits.to_be_bytes()[1..]);
                (bits, held) = (0, 0);
            }
        } else if byte == b'=' {
            at = padding(text, at, held)?;
            let bytes = (bits << (6 * (4 - held))).to_be_bytes();
            out.extend_from_slice(bytes.get(1..held).unwrap_or_default());
            return if at < text.len() { Err(at) } else { Ok(out) };
        } else if !matches!(byte, b'\r' | b'\n') {
            return Err(at - 1);
        }
    }
    // Upstream counts back from the end by the digits that lack others.
    if held == 0 { Ok(out) } else { Err(at - held) }
}

/// Checks what stands at and behind the first `=`, which is just before `at`.
fn padding(text: &[u8], at: usize, held: usize) -> Result<usize, usize> {
    let past_lines = |mut at: usize| {
        while let Some(b'\r' | b'\n') = text.get(at) {
            at += 1;
        }
        at
    };
    match held {
        0 | 1 => Err(at - 1),
        2 => {
            let at = past_lines(at);
            match text.get(at) {
                None => Err(text.len()),
                Some(b'=') => Ok(past_lines(at + 1)),
                Some(_) => Err(at - 1),
            }
        }
        _ => Ok(past_lines(at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        for length in 0..20_u8 {
            let bytes: Vec<u8> = (0..length).map(|i| i.wrapping_mul(83)).collect();
            assert_eq!(decode(encode(&bytes).as_bytes()), Ok(bytes));
        }
        assert_eq!(encode(b"hello"), "aGVsbG8=");
    }

    #[test]
    fn errors_are_where_go_sees_them() {
        for (text, expected) in [
            ("AA", Err(0)),
            ("AAA", Err(0)),
            ("AAAAA", Err(4)),
            ("AA=", Err(3)),
            ("AA=A", Err(2)),
            ("A===", Err(1)),
            ("====", Err(0)),
            ("AA==x", Err(4)),
            ("not base64!", Err(3)),
            ("AAAA-_", Err(4)),
            ("AA\n==", Ok(vec![0])),
            ("AA=\r\n=", Ok(vec![0])),
            ("AAAA\n", Ok(vec![0, 0, 0])),
            ("AB==", Ok(vec![0])),
        ] {
            assert_eq!(decode(text.as_bytes()), expected, "{text:?}");
        }
    }
}
