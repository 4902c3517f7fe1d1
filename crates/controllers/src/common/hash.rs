//! A short name for a template.

use k8s_openapi::api::core::v1::PodTemplateSpec;

/// What hashes of names are written in: no vowels, nothing that looks like one. Upstream's
/// `SafeEncodeString`.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The struct that is hashed.
const TEMPLATE: &str = "io.k8s.api.core.v1.PodTemplateSpec";

/// A short name for a template, the same for the same template and count of collisions. Upstream's
/// `ComputeHash`, which hashes (FNV-1a, 32 bits) the text of Go's structures.
pub fn template_hash(template: &PodTemplateSpec, collisions: Option<i32>) -> String {
    let value = serde_json::to_value(template).unwrap_or_default();
    let text = stowplan_schema::dump_for_hash(TEMPLATE, &value).unwrap_or_default();
    // Eight bytes, of which a number of 32 bits fills the first four.
    let collisions = collisions.map(|count| i64::from(count.cast_unsigned()).to_le_bytes());
    let mut hash: u32 = 0x811c_9dc5;
    for byte in text
        .into_bytes()
        .into_iter()
        .chain(collisions.into_iter().flatten())
    {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    safe_encode(&hash.to_string())
}

/// The digits of a number in letters that make no words. Upstream's `SafeEncodeString`.
pub fn safe_encode(digits: &str) -> String {
    let letter = |digit: u8| char::from(LETTERS[usize::from(digit) % LETTERS.len()]);
    digits.bytes().map(letter).collect()
}

#[cfg(test)]
mod tests;
