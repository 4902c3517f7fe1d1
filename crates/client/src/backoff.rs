//! Pauses that grow.

use std::time::Duration;
use stowplan_base::Env;

/// The pauses between attempts: each up to twice as long as the one before, up to a limit. Up to as much
/// again is added at random, so that those who failed together do not come back together.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    next: Duration,
}

impl Backoff {
    /// Pauses from `first` to `max`.
    pub fn new(first: Duration, max: Duration) -> Self {
        Self {
            first,
            max,
            next: first,
        }
    }

    /// How long to wait now.
    pub fn pause(&mut self, env: &dyn Env) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.max);
        let nanos = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
        pause + Duration::from_nanos(env.random() % nanos.max(1))
    }

    /// It went well: the next pause is short.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_base::{Time, Virtual};

    #[test]
    fn pauses_grow_up_to_a_limit_until_it_goes_well() {
        let env = Virtual::new(Time::default(), 1);
        let (first, max) = (Duration::from_millis(800), Duration::from_secs(30));
        let mut backoff = Backoff::new(first, max);
        let mut least = first;
        for _ in 0..10 {
            let pause = backoff.pause(&env);
            assert!(pause >= least && pause < least * 2, "{pause:?}");
            least = (least * 2).min(max);
        }
        backoff.reset();
        assert!(backoff.pause(&env) < first * 2);
    }
}
