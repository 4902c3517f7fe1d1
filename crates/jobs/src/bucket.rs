//! So many per second, and a few at once.

use stowplan_base::Time;

/// A token bucket: `rate` tokens come per second, at most `burst` wait.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Bucket {
    rate: f64,
    burst: f64,
    tokens: f64,
    at: Time,
}

impl Bucket {
    /// A full one; none if there is no limit.
    pub(crate) fn new(rate: f64, burst: f64, now: Time) -> Option<Self> {
        let burst = burst.max(1.0);
        (rate > 0.0).then_some(Self {
            rate,
            burst,
            tokens: burst,
            at: now,
        })
    }

    /// Whether a token is there, or when one will be.
    pub(crate) fn ready(&mut self, now: Time) -> Result<(), Time> {
        let came = now.since(self.at).as_secs_f64() * self.rate;
        self.at = self.at.max(now);
        self.tokens = (self.tokens + came).min(self.burst);
        if self.tokens >= 1.0 {
            return Ok(());
        }
        let missing = (1.0 - self.tokens) / self.rate;
        let wait = std::time::Duration::try_from_secs_f64(missing.min(1e9) + 1e-6);
        Err(self.at + wait.unwrap_or_default())
    }

    pub(crate) fn take(&mut self) {
        self.tokens -= 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_rate_after_the_burst() {
        let mut now = Time::from_secs(1_000);
        let mut bucket = Bucket::new(10.0, 5.0, now).unwrap();
        let mut taken = 0;
        let end = now + std::time::Duration::from_secs(10);
        while now < end {
            match bucket.ready(now) {
                Ok(()) => {
                    bucket.take();
                    taken += 1;
                }
                Err(later) => {
                    assert!(later > now);
                    now = later;
                }
            }
        }
        assert!((104..=106).contains(&taken), "{taken}");
        assert!(Bucket::new(0.0, 5.0, now).is_none());
    }
}
