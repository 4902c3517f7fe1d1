//! The cluster's time, which need not be this machine's.

/// A moment by both clocks, in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sample {
    pub(super) here: i64,
    pub(super) there: i64,
}

/// Reckons the cluster's time from what its answers say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    samples: Option<(Sample, Sample)>,
}

/// Answers tell whole seconds: what differs by less is the same.
const SAME_MS: i64 = 3_000;
/// A speed is not reckoned from less.
const SPAN_MS: i64 = 5_000;

impl Clock {
    /// An answer told the time.
    pub(super) fn learn(&mut self, sample: Sample) {
        let first = self.samples.map_or(sample, |(first, _)| first);
        self.samples = Some((first, sample));
    }

    /// The time there, when it is so late here.
    pub(super) fn there(&self, here: i64) -> i64 {
        let Some((first, last)) = self.samples else {
            return here;
        };
        let passed = here - last.here;
        let (span, moved) = (last.here - first.here, last.there - first.there);
        if span < SPAN_MS || (moved - span).abs() < SAME_MS {
            let ahead = last.there - last.here;
            return match ahead.abs() < SAME_MS {
                true => here,
                false => here + ahead,
            };
        }
        last.there + (passed as f64 * moved as f64 / span as f64) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(samples: &[(i64, i64)]) -> Clock {
        let mut clock = Clock::default();
        for (here, there) in samples {
            clock.learn(Sample {
                here: *here,
                there: *there,
            });
        }
        clock
    }

    #[test]
    fn clocks_that_agree_are_one() {
        assert_eq!(clock(&[]).there(7_000), 7_000);
        // Whole seconds.
        assert_eq!(
            clock(&[(10_900, 10_000), (20_900, 20_000)]).there(21_000),
            21_000
        );
    }

    #[test]
    fn another_time_is_that_of_the_cluster() {
        assert_eq!(clock(&[(10_000, 500_000)]).there(11_000), 501_000);
        let same_speed = clock(&[(10_000, 500_000), (20_000, 510_000)]);
        assert_eq!(same_speed.there(21_000), 511_000);
    }

    #[test]
    fn fast_time_is_followed() {
        let fast = clock(&[(10_000, 0), (20_000, 600_000)]);
        assert_eq!(fast.there(21_000), 660_000);
    }
}
