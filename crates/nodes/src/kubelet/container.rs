//! One container of a simulated pod.
//!
//! ```text
//! Waiting ──start──▶ Running ──exit, kill──▶ Ended ──restart──▶ Running
//!                                              │ ▲
//!                                              ▼ │ (shown as waiting: CrashLoopBackOff)
//!                                            Backoff
//! ```

use stowplan_base::{Duration, Time};

/// The pause before the second restart, and the longest one. `MaxContainerBackOff`, `backOffPeriod`.
const BACKOFF_FIRST_S: u16 = 10;
const BACKOFF_MAX_S: u16 = 300;
/// A container that ran for so long starts anew with short pauses.
const BACKOFF_RESET: Duration = Duration::from_secs(600);

/// Why a container is not running any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// Its process ended; the code says how.
    Exited,
    /// Nothing is known of it: it never ran, or was lost.
    Unknown,
    /// Another one's exit restarts all.
    RestartingAll,
}

/// A run that is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ended {
    pub(crate) since: Time,
    pub(crate) at: Time,
    pub(crate) code: i32,
    pub(crate) why: Why,
}

/// A run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Running {
    pub(crate) since: Time,
    /// When it ends, and with which code, if it does by itself or is being stopped.
    pub(crate) ends: Option<(Time, i32)>,
    /// Whether it was told to stop.
    pub(crate) is_stopping: bool,
}

/// What a container is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Run {
    Waiting,
    /// It will be started again, but not before this time.
    Backoff(Time),
    Running(Running),
    Ended(Ended),
}

/// One container of a simulated pod: what it is doing and what it did before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ContainerSim {
    pub(crate) run: Run,
    /// The run before.
    pub(crate) last: Option<Ended>,
    pub(crate) restarts: u32,
    /// A hash of the image that it runs.
    pub(crate) image: u32,
    /// The pause before the next restart; none if it was not restarted lately.
    pub(crate) backoff_s: u16,
    /// When the pause was set.
    pub(crate) backoff_at: Time,
}

impl ContainerSim {
    pub(crate) fn new() -> Self {
        Self {
            run: Run::Waiting,
            last: None,
            restarts: 0,
            image: 0,
            backoff_s: 0,
            backoff_at: Time::default(),
        }
    }

    pub(crate) fn running(&self) -> Option<&Running> {
        match &self.run {
            Run::Running(running) => Some(running),
            _ => None,
        }
    }

    /// The run that is over, if the container does not run now.
    pub(crate) fn ended(&self) -> Option<&Ended> {
        match &self.run {
            Run::Ended(ended) => Some(ended),
            _ => None,
        }
    }

    /// Whether it ever ran.
    pub(crate) fn has_run(&self) -> bool {
        self.last.is_some() || !matches!(self.run, Run::Waiting)
    }

    /// Its run is over.
    pub(crate) fn end(&mut self, at: Time, code: i32) {
        if let Run::Running(running) = self.run {
            self.run = Run::Ended(Ended {
                since: running.since,
                at,
                code,
                why: Why::Exited,
            });
        }
    }

    /// It ended and has to run again: says whether that may be at once. Upstream's `doBackOff`.
    pub(crate) fn may_restart(&mut self, ended: &Ended, now: Time) -> bool {
        let is_stale = ended.at - self.backoff_at > BACKOFF_RESET;
        if self.backoff_s == 0 || is_stale {
            self.backoff_s = BACKOFF_FIRST_S;
            self.backoff_at = now;
            return true;
        }
        let until = ended.at + Duration::from_secs(self.backoff_s.into());
        if now < until {
            self.last = Some(*ended);
            self.run = Run::Backoff(until);
            return false;
        }
        self.lengthen(now);
        true
    }

    /// The pause is over: the next one is longer.
    pub(crate) fn lengthen(&mut self, now: Time) {
        self.backoff_s = self.backoff_s.saturating_mul(2).min(BACKOFF_MAX_S);
        self.backoff_at = now;
    }

    /// What the pause before the restart after so many restarts was: for who has to guess.
    pub(crate) fn backoff_after(restarts: u32) -> u16 {
        let doubled = BACKOFF_FIRST_S.checked_shl(restarts.saturating_sub(1).min(15));
        match restarts {
            0 => 0,
            1..6 => doubled.unwrap_or(BACKOFF_MAX_S).min(BACKOFF_MAX_S),
            _ => BACKOFF_MAX_S,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exits at once whenever it is started.
    #[test]
    fn pauses_double_up_to_five_minutes_and_are_short_again_after_ten_good_ones() {
        let mut now = Time::from_secs(1_000);
        let mut container = ContainerSim::new();
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let ended = Ended {
                since: now,
                at: now,
                code: 1,
                why: Why::Exited,
            };
            let exited = now;
            if !container.may_restart(&ended, now) {
                let Run::Backoff(until) = container.run else {
                    panic!("it waits");
                };
                now = until;
                container.lengthen(now);
            }
            pauses.push((now - exited).as_nanos() / 1_000_000_000);
        }
        assert_eq!(pauses, [0, 10, 20, 40, 80, 160, 300, 300]);
        let late = now + Duration::from_secs(601);
        let ended = Ended {
            since: now,
            at: late,
            code: 1,
            why: Why::Exited,
        };
        assert!(container.may_restart(&ended, late));
        assert_eq!(container.backoff_s, 10);
        let guessed: Vec<_> = (0..9).map(ContainerSim::backoff_after).collect();
        assert_eq!(guessed, [0, 10, 20, 40, 80, 160, 300, 300, 300]);
    }
}
