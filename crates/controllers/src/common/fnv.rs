//! FNV-1a with 128 bits.

/// The hash of a text. Upstream sorts ports by it.
pub fn fnv_128a(text: &str) -> u128 {
    const PRIME: u128 = (1 << 88) + 0x13b;
    let basis = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let step = |hash: u128, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME);
    text.bytes().fold(basis, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_specification() {
        assert_eq!(fnv_128a(""), 0x6c62272e07bb014262b821756295c58d);
        assert_eq!(fnv_128a("a"), 0xd228cb696f1a8caf78912b704e4a8964);
        assert_eq!(fnv_128a("foobar"), 0x343e1662793c64bf6f0d3597ba446f18);
    }
}
