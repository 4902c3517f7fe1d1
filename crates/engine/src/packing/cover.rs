//! How many bins are needed at least.

/// Bins by the room in them.
pub(super) struct Bins {
    /// Bins that are in use anyway.
    pub(super) open: Vec<i64>,
    /// The others, the roomiest first.
    pub(super) closed: Vec<i64>,
}

impl Bins {
    /// The fewest closed bins that must be opened before items of these sizes can be in bins,
    /// whoever packs them. The sizes are greater than 0, the largest first.
    ///
    /// Two bounds, of which the greater counts. The room in the bins must reach for the sum of all
    /// sizes. And for every size, the items at least that large must have bins: one bin holds no
    /// more of them than go into its room one by one, so that items of more than half a bin have
    /// it to themselves.
    pub(super) fn opened_at_least(&self, sizes: &[i64]) -> usize {
        let sum = sizes.iter().map(|size| i128::from(*size)).sum();
        let by_sum = self.covering(sum, i128::from);
        let mut most = by_sum;
        for (i, size) in sizes.iter().enumerate() {
            // Of equal sizes the last one speaks for all.
            if sizes.get(i + 1) != Some(size) {
                let count = i as i128 + 1;
                most = most.max(self.covering(count, |room| i128::from(room / size)));
            }
        }
        most
    }

    /// The fewest closed bins that hold `need` together with the open ones, where a bin holds
    /// `holds` of its room, which must grow with it.
    fn covering(&self, need: i128, holds: impl Fn(i64) -> i128) -> usize {
        let mut missing = need;
        for room in &self.open {
            missing -= holds(*room);
        }
        let mut opened = 0;
        for room in &self.closed {
            if missing <= 0 {
                break;
            }
            missing -= holds(*room);
            opened += 1;
        }
        opened
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_large_items() {
        let check = |open: &[i64], closed: &[i64], sizes: &[i64], expected| {
            let bins = Bins {
                open: open.into(),
                closed: closed.into(),
            };
            assert_eq!(bins.opened_at_least(sizes), expected, "{sizes:?}");
        };
        check(&[], &[10, 10, 10], &[], 0);
        check(&[], &[10, 10, 10], &[5, 5, 5, 5], 2);
        check(&[], &[10, 10, 10], &[6, 6, 6], 3);
        check(&[], &[10, 10, 10, 10], &[4, 4, 4, 4, 4], 3);
        check(&[], &[20, 10, 10], &[6, 6, 6], 1);
        check(&[6], &[10, 10, 10], &[6, 6, 6], 2);
        check(&[5, 5], &[10, 10, 10], &[6, 6, 6], 3);
        check(&[5, 5], &[10, 10, 10], &[5, 5], 0);
        check(&[], &[i64::MAX, i64::MAX], &[i64::MAX, i64::MAX], 2);
    }
}
