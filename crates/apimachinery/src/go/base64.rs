//! Bytes in JSON, as Go's `encoding/base64.StdEncoding` reads and writes them.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

/// Go looks at no bits beyond the last byte.
const GO: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Bytes as text.
pub fn encode(bytes: &[u8]) -> String {
    GO.encode(bytes)
}

/// Text as bytes, or where it goes wrong. Line ends are passed over.
pub fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let decoded = match text.iter().any(is_line_end) {
        true => {
            let kept: Vec<u8> = text.iter().copied().filter(|b| !is_line_end(b)).collect();
            GO.decode(kept)
        }
        false => GO.decode(text),
    };
    decoded.map_err(|_| fault(text))
}

/// Where Go sees the fault of a text that has one.
fn fault(text: &[u8]) -> usize {
    let passed = |mut at: usize| {
        while let Some(b'\r' | b'\n') = text.get(at) {
            at += 1;
        }
        at
    };
    let (mut at, mut held) = (0, 0);
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => held = (held + 1) % 4,
            b'\r' | b'\n' => {}
            b'=' if held >= 2 => {
                at = passed(at);
                if held == 2 {
                    match text.get(at) {
                        None => return text.len(),
                        Some(b'=') => at = passed(at + 1),
                        Some(_) => return at - 1,
                    }
                }
                return at;
            }
            _ => return at - 1,
        }
    }
    // Upstream counts back from the end by the digits that lack others.
    at - held
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
