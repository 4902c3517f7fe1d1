//! Numbers from one type to another, where `From` has no answer.
//!
//! Everywhere else in the engine a cast that may change a number is denied (`lib.rs`). Each function
//! here says what bounds its argument, or what it does at the edges; builds with debug assertions
//! check the bounds, and in others each function is one instruction or none.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    reason = "the one place where numbers are narrowed"
)]

/// A position in a list, or how long one is, in the four bytes in which such numbers are kept. Lists of
/// nodes, pods, classes, groups or verdicts stay far below 2^32 entries.
#[inline]
pub(crate) const fn narrow(position: usize) -> u32 {
    debug_assert!(position <= u32::MAX as usize);
    position as u32
}

/// How many there are of what is in memory, which is never 2^63 or more.
#[inline]
pub(crate) const fn count(length: usize) -> i64 {
    debug_assert!(length <= i64::MAX as usize);
    length as i64
}

/// How far apart two numbers of the log are, which keeps the changes between them in memory.
#[inline]
pub(crate) const fn distance(changes: u64) -> usize {
    debug_assert!(changes <= usize::MAX as u64);
    changes as usize
}

/// What a plugin gives a feasible node: 0 to 100, or the attempt would have failed.
#[inline]
pub(crate) const fn score(score: i64) -> i16 {
    debug_assert!(score >= i16::MIN as i64 && score <= i16::MAX as i64);
    score as i16
}

/// A weighted score or a sum of them, or a key of a packing policy. A profile whose sums could be larger
/// takes the plain path (`Framework::plan`), and keys are clamped (`Packing::KEY_MAX`).
#[inline]
pub(crate) const fn score_sum(sum: i64) -> i32 {
    debug_assert!(sum >= i32::MIN as i64 && sum <= i32::MAX as i64);
    sum as i32
}

/// The low half of a word into which two numbers were packed.
#[inline]
pub(crate) const fn low_half(word: u64) -> u32 {
    word as u32
}

/// Go's `float64(amount)`: the nearest float, of two the even one. Exact up to 2^53.
#[inline]
pub(crate) const fn float(amount: i64) -> f64 {
    amount as f64
}

/// Go's `int64(x)`: without what is behind the point. Where Go leaves it open, which is beyond the
/// range, the nearest `i64`, and 0 of what is no number.
#[inline]
pub(crate) const fn truncate(x: f64) -> i64 {
    x as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_at_the_edges() {
        for (amount, expected) in [
            (1 << 53, 9_007_199_254_740_992.0),
            ((1 << 53) + 1, 9_007_199_254_740_992.0),
            ((1 << 53) + 3, 9_007_199_254_740_996.0),
            (i64::MAX, 9_223_372_036_854_775_808.0),
        ] {
            assert_eq!(float(amount), expected, "{amount}");
        }
        for (x, expected) in [
            (99.999, 99),
            (-0.5, 0),
            (-1.5, -1),
            (1e300, i64::MAX),
            (-1e300, i64::MIN),
            (f64::NAN, 0),
        ] {
            assert_eq!(truncate(x), expected, "{x}");
        }
    }

    #[test]
    fn the_low_half_of_a_word() {
        assert_eq!(low_half(7 << 32 | 5), 5);
    }

    #[test]
    #[should_panic]
    #[cfg(debug_assertions)]
    fn a_sum_beyond_its_bound_is_noticed() {
        score_sum(1 << 40);
    }
}
