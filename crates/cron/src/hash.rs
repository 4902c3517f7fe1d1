//! Values that depend on a name alone.

/// Numbers that a name determines, one after the other, spread evenly.
pub(crate) struct Hash(u64);

impl Hash {
    /// FNV-1a of the name.
    pub(crate) fn of(seed: &str) -> Self {
        let mix =
            |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Self(seed.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
    }

    /// The next number, below `limit`, which is not zero. Splitmix64.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }
}
