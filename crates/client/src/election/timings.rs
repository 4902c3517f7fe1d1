//! How long things take.

use stowplan_base::Duration;

/// How much longer than the retry period a try may be put off, at random.
pub(crate) const JITTER: f64 = 1.2;

/// `leaderElection` of a KubeSchedulerConfiguration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timings {
    /// How long others wait without seeing a renewal.
    pub lease_duration: Duration,
    /// How long the leader tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// How long to wait between tries.
    pub retry_period: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// Times that do not go together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TimingsError {
    /// Others would take over while the leader still tries.
    #[error("leaseDuration must be greater than renewDeadline")]
    LeaseDuration,
    /// There would not be time for a second try.
    #[error("renewDeadline must be greater than retryPeriod*JitterFactor")]
    RenewDeadline,
    /// A lease is told in whole seconds.
    #[error("leaseDuration must be at least one second")]
    Short,
    /// Tries would follow without a pause.
    #[error("retryPeriod must be greater than zero")]
    RetryPeriod,
}

impl Timings {
    /// These times, if they go together. Upstream's `NewLeaderElector`.
    pub fn validated(self) -> Result<Self, TimingsError> {
        // What others are told is cut to whole seconds: that is what has to be long enough.
        let told = Duration::from_secs(i64::from(self.lease_duration_seconds()));
        if self.retry_period <= Duration::ZERO {
            Err(TimingsError::RetryPeriod)
        } else if self.lease_duration_seconds() < 1 {
            Err(TimingsError::Short)
        } else if told <= self.renew_deadline {
            Err(TimingsError::LeaseDuration)
        } else if self.renew_deadline.as_nanos() as f64
            <= self.retry_period.as_nanos() as f64 * JITTER
        {
            Err(TimingsError::RenewDeadline)
        } else {
            Ok(self)
        }
    }

    pub(crate) fn lease_duration_seconds(&self) -> i32 {
        let seconds = self.lease_duration.as_nanos() / 1_000_000_000;
        i32::try_from(seconds).unwrap_or(i32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_to_go_together() {
        let check = |lease, renew, retry, expected| {
            let timings = Timings {
                lease_duration: Duration::from_millis(lease),
                renew_deadline: Duration::from_millis(renew),
                retry_period: Duration::from_millis(retry),
            };
            assert_eq!(timings.validated().err(), expected);
        };
        check(15_000, 10_000, 2_000, None);
        check(10_000, 10_000, 2_000, Some(TimingsError::LeaseDuration));
        check(10_900, 10_000, 2_000, Some(TimingsError::LeaseDuration));
        check(15_000, 2_400, 2_000, Some(TimingsError::RenewDeadline));
        check(15_000, 10_000, 0, Some(TimingsError::RetryPeriod));
        check(900, 500, 100, Some(TimingsError::Short));
        assert!(Timings::default().validated().is_ok());
    }
}
