//! Numbers that look like chance and follow from names.

/// FNV-1a, with its bits mixed once more.
pub(crate) fn hash(parts: &[&str]) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.bytes().chain([0xff]) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    mix(state)
}

/// The finish of splitmix64.
pub(crate) fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// 64 hexadecimal digits, as ids of containers and digests of images have them.
pub(crate) fn digest(parts: &[&str]) -> String {
    let first = hash(parts);
    let words = [first, mix(first ^ 1), mix(first ^ 2), mix(first ^ 3)];
    let [a, b, c, d] = words;
    format!("{a:016x}{b:016x}{c:016x}{d:016x}")
}
