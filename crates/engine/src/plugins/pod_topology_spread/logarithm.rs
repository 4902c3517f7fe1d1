//! The natural logarithm as Go computes it.

use crate::cast::low_half;

/// The natural logarithm of a normal number above 0.
///
/// Go's `math.Log` is FreeBSD's `e_log.c`. C libraries round some results the other way, and a
/// score's last bit must not depend on the machine: this is that algorithm, operation by
/// operation.
pub(super) fn ln(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const L1: f64 = 6.666_666_666_666_735e-1;
    const L2: f64 = 3.999_999_999_940_942e-1;
    const L3: f64 = 2.857_142_874_366_239e-1;
    const L4: f64 = 2.222_219_843_214_978_4e-1;
    const L5: f64 = 1.818_357_216_161_805e-1;
    const L6: f64 = 1.531_383_769_920_937_3e-1;
    const L7: f64 = 1.479_819_860_511_658_6e-1;
    const MANTISSA: u64 = (1 << 52) - 1;
    const EXPONENT_OF_HALF: u64 = 1022;

    // x = f1 * 2^k with f1 in [sqrt(1/2), sqrt(2)).
    let bits = x.to_bits();
    let mut k = f64::from(low_half(bits >> 52)) - f64::from(low_half(EXPONENT_OF_HALF));
    let mut f1 = f64::from_bits(bits & MANTISSA | EXPONENT_OF_HALF << 52);
    if f1 < std::f64::consts::SQRT_2 / 2.0 {
        f1 *= 2.0;
        k -= 1.0;
    }
    let f = f1 - 1.0;
    let s = f / (2.0 + f);
    let s2 = s * s;
    let s4 = s2 * s2;
    let t1 = s2 * (L1 + s4 * (L3 + s4 * (L5 + s4 * L7)));
    let t2 = s4 * (L2 + s4 * (L4 + s4 * L6));
    let r = t1 + t2;
    let half_square = 0.5 * f * f;
    k * LN2_HIGH - ((half_square - (s * (half_square + r) + k * LN2_LOW)) - f)
}

#[cfg(test)]
mod tests {
    use super::ln;

    #[test]
    fn the_same_bits_as_go() {
        for (x, bits) in GO {
            assert_eq!(ln(x).to_bits(), bits, "{x}");
        }
    }

    #[test]
    fn close_to_the_true_value() {
        for n in 2..100_000 {
            let x = f64::from(n);
            assert!((ln(x) - x.ln()).abs() < 4e-15, "{n}");
        }
    }

    /// Printed by a Go program; 3, 14, 48 and 74 are among those that glibc rounds the other way.
    const GO: [(f64, u64); 10] = [
        (2.0, 0x3fe6_2e42_fefa_39ef),
        (3.0, 0x3ff1_93ea_7aad_030a),
        (4.0, 0x3ff6_2e42_fefa_39ef),
        (5.0, 0x3ff9_c041_f7ed_8d33),
        (14.0, 0x4005_1cca_16d7_bba8),
        (48.0, 0x400e_f838_3c50_bb74),
        (74.0, 0x4011_375c_d6fc_ab1c),
        (502.0, 0x4018_dfd8_b5b3_e920),
        (5002.0, 0x4021_0901_f6dc_84b9),
        (100002.0, 0x4027_06a0_c9b7_a3ab),
    ];
}
