//! The common NormalizeScore. Upstream's `plugins/helper/normalize_score.go`.

use crate::framework::{MAX_NODE_SCORE, Range};

/// `raw` as a share of the greatest raw score; raw scores are never negative.
pub(super) fn proportional(raw: i64, over: Range) -> i64 {
    match over.max {
        ..=0 => raw,
        max => MAX_NODE_SCORE * raw / max,
    }
}

/// What is missing from that share: the least raw score is the best.
pub(super) fn inverse(raw: i64, over: Range) -> i64 {
    match over.max {
        ..=0 => MAX_NODE_SCORE,
        max => MAX_NODE_SCORE - MAX_NODE_SCORE * raw / max,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_round_down_before_they_are_inverted() {
        let over = Range { min: 0, max: 3 };
        assert_eq!(
            [0, 1, 2, 3].map(|raw| proportional(raw, over)),
            [0, 33, 66, 100]
        );
        assert_eq!([0, 1, 2, 3].map(|raw| inverse(raw, over)), [100, 67, 34, 0]);
    }

    #[test]
    fn with_nothing_to_compare_all_are_worst_or_all_are_best() {
        let over = Range { min: 0, max: 0 };
        assert_eq!(proportional(0, over), 0);
        assert_eq!(inverse(0, over), 100);
    }
}
