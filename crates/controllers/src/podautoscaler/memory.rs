//! What an autoscaler remembers: what it recommended, and what it did. Upstream keeps the same in maps of
//! its controller, and forgets it, as here, when it restarts.

use jiff::{SignedDuration, Timestamp};

/// A number of replicas, and when it was recommended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Recommendation {
    pub(super) replicas: i32,
    pub(super) at: Timestamp,
}

/// By how much the number of replicas was changed, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Change {
    pub(super) by: i32,
    pub(super) at: Timestamp,
}

/// What is remembered of one autoscaler.
#[derive(Clone, Default, Debug)]
pub(super) struct Memory {
    pub(super) recommendations: Vec<Recommendation>,
    pub(super) ups: Vec<Change>,
    pub(super) downs: Vec<Change>,
}

impl Memory {
    /// Takes the number of replicas as recommended that an autoscaler finds when it begins.
    pub(super) fn begin(&mut self, replicas: i32, now: Timestamp) {
        if self.recommendations.is_empty() {
            self.recommendations
                .push(Recommendation { replicas, at: now });
        }
    }

    /// The highest recommendation of late, and of now. Upstream's `stabilizeRecommendation`.
    pub(super) fn highest(&mut self, replicas: i32, window: SignedDuration, now: Timestamp) -> i32 {
        let cutoff = before(now, window);
        let recent = self.recommendations.iter().filter(|one| one.at >= cutoff);
        let highest = recent.map(|one| one.replicas).fold(replicas, i32::max);
        self.recommend(replicas, cutoff, now);
        highest
    }

    /// Brings a recommendation between the lowest of late, for more replicas, and the highest of late, for
    /// fewer. Upstream's `stabilizeRecommendationWithBehaviors`.
    pub(super) fn stabilized(
        &mut self,
        current: i32,
        desired: i32,
        windows: (SignedDuration, SignedDuration),
        now: Timestamp,
    ) -> i32 {
        let (up_cutoff, down_cutoff) = (before(now, windows.0), before(now, windows.1));
        let (mut lowest, mut highest) = (desired, desired);
        for one in &self.recommendations {
            if one.at > up_cutoff {
                lowest = lowest.min(one.replicas);
            }
            if one.at > down_cutoff {
                highest = highest.max(one.replicas);
            }
        }
        self.recommend(desired, up_cutoff.min(down_cutoff), now);
        current.max(lowest).min(highest)
    }

    /// Keeps a recommendation, in the place of one that is older than the cutoff.
    fn recommend(&mut self, replicas: i32, cutoff: Timestamp, now: Timestamp) {
        let new = Recommendation { replicas, at: now };
        match self.recommendations.iter_mut().rfind(|one| one.at < cutoff) {
            Some(old) => *old = new,
            None => self.recommendations.push(new),
        }
    }

    /// Keeps what was done, in the place of a change that no policy asks for any more. Upstream's
    /// `storeScaleEvent`.
    pub(super) fn scaled(&mut self, from: i32, to: i32, longest_s: i32, now: Timestamp) {
        let (changes, by) = match to > from {
            true => (&mut self.ups, to - from),
            false => (&mut self.downs, from - to),
        };
        let cutoff = before(now, SignedDuration::from_secs(longest_s.into()));
        let new = Change { by, at: now };
        match changes.iter_mut().rfind(|change| change.at < cutoff) {
            Some(old) => *old = new,
            None => changes.push(new),
        }
    }

    /// How many replicas there were when a period began that ends now.
    pub(super) fn at_start_of(&self, period_s: i32, current: i32, now: Timestamp) -> i32 {
        let cutoff = before(now, SignedDuration::from_secs(period_s.into()));
        let sum = |changes: &[Change]| {
            let recent = changes.iter().filter(|change| change.at > cutoff);
            recent.fold(0_i32, |sum, change| sum.saturating_add(change.by))
        };
        current
            .saturating_sub(sum(&self.ups))
            .saturating_add(sum(&self.downs))
    }
}

/// A time that lies so far back.
fn before(now: Timestamp, span: SignedDuration) -> Timestamp {
    now.checked_sub(span).unwrap_or(Timestamp::MIN)
}
