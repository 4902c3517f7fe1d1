//! A short name for a template.

use serde::Serialize;

/// What hashes of names are written in: no vowels, nothing that looks like one. Upstream's
/// `SafeEncodeString`.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A short name for a value, the same for the same value and count of collisions. It looks like upstream's
/// `ComputeHash` but differs from it: that one hashes the text of Go's structures.
pub fn template_hash<T: Serialize>(value: &T, collisions: Option<i32>) -> String {
    let text = serde_json::to_vec(value).unwrap_or_default();
    let collisions = collisions.map(i32::to_le_bytes).into_iter().flatten();
    let mut hash: u32 = 0x811c_9dc5;
    for byte in text.into_iter().chain(collisions) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    safe_encode(&hash.to_string())
}

/// The digits of a number in letters that make no words. Upstream's `SafeEncodeString`.
pub fn safe_encode(digits: &str) -> String {
    let letter = |digit: u8| char::from(LETTERS[usize::from(digit) % LETTERS.len()]);
    digits.bytes().map(letter).collect()
}
