//! When a failed job is run again.

use stowplan_base::{Duration, Rng};

/// How long to wait after a failure. `custom.retry_policy` of a job says it:
/// `faktory`, `sidekiq`, `fixed:1s,10s,5m` (the last one goes on), or
/// `exponential:base=1s,cap=1h,jitter=full`, where jitter is `none`, `full`, `equal` or `decorrelated`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// `n⁴ + 15 + rand(30)·(n+1)` seconds.
    #[default]
    Faktory,
    /// `n⁴ + 15 + rand(10·(n+1))` seconds.
    Sidekiq,
    /// One after the other; the last one from then on.
    Fixed(Vec<Duration>),
    /// `base·2ⁿ`, at most `cap`.
    Exponential {
        /// After the first failure.
        base: Duration,
        /// Never longer.
        cap: Duration,
        /// What chance does to it.
        jitter: Jitter,
    },
}

/// How chance spreads retries, so that what failed together does not come back together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jitter {
    /// Not at all.
    None,
    /// Anything up to the delay.
    Full,
    /// From half of the delay to all of it.
    Equal,
    /// From the base to three times the delay before.
    Decorrelated,
}

const SECOND: i64 = 1_000_000_000;

impl Policy {
    /// Reads what `custom.retry_policy` says; the error is for people.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        match name {
            "faktory" if rest.is_empty() => Ok(Self::Faktory),
            "sidekiq" if rest.is_empty() => Ok(Self::Sidekiq),
            "fixed" => {
                let delays: Result<Vec<_>, _> = rest.split(',').take(100).map(span).collect();
                Ok(Self::Fixed(delays?))
            }
            "exponential" => exponential(rest),
            _ => Err(format!("unknown retry policy {text:?}")),
        }
    }

    /// How long to wait after the failure of this number (the first is 0); `last` is how long the last wait
    /// was.
    pub fn delay(&self, n: u32, last: Duration, rng: &mut Rng) -> Duration {
        let n = i64::from(n.min(1_000));
        let quartic = |chance: i64| Duration::from_secs(n.pow(4) + 15 + chance);
        match self {
            Self::Faktory => quartic(rng.below(30) as i64 * (n + 1)),
            Self::Sidekiq => quartic(rng.below(10 * (n as usize + 1)) as i64),
            Self::Fixed(delays) => {
                let at = (n as usize).min(delays.len().saturating_sub(1));
                delays.get(at).copied().unwrap_or_default()
            }
            Self::Exponential { base, cap, jitter } => {
                let doubled = base.as_nanos().saturating_mul(1 << n.min(40));
                let full = doubled.min(cap.as_nanos());
                Duration::from_nanos(match jitter {
                    Jitter::None => full,
                    Jitter::Full => between(0, full, rng),
                    Jitter::Equal => between(full / 2, full, rng),
                    Jitter::Decorrelated => {
                        let base = base.as_nanos();
                        let most = last.as_nanos().max(base).saturating_mul(3);
                        between(base, most, rng).min(cap.as_nanos())
                    }
                })
            }
        }
    }
}

fn between(low: i64, high: i64, rng: &mut Rng) -> i64 {
    let span = usize::try_from(high.saturating_sub(low)).unwrap_or(0);
    low + rng.below(span.saturating_add(1)) as i64
}

fn exponential(text: &str) -> Result<Policy, String> {
    let (mut base, mut cap) = (Duration::from_secs(1), Duration::from_secs(86_400));
    let mut jitter = Jitter::Full;
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        match (key, value) {
            ("base", _) => base = span(value)?,
            ("cap", _) => cap = span(value)?,
            ("jitter", "none") => jitter = Jitter::None,
            ("jitter", "full") => jitter = Jitter::Full,
            ("jitter", "equal") => jitter = Jitter::Equal,
            ("jitter", "decorrelated") => jitter = Jitter::Decorrelated,
            _ => return Err(format!("unknown part {part:?} of a retry policy")),
        }
    }
    Ok(Policy::Exponential { base, cap, jitter })
}

/// `90`, `90s`, `15m`, `2h`, `1d`, `250ms`; at most ten years.
pub fn span(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "ms" => SECOND / 1_000,
        "" | "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        "d" => 86_400 * SECOND,
        _ => return Err(format!("{text:?} is not a span of time")),
    };
    let nanos = number.parse::<i64>().ok().and_then(|n| n.checked_mul(unit));
    match nanos.filter(|nanos| *nanos <= 3_650 * 86_400 * SECOND) {
        Some(nanos) => Ok(Duration::from_nanos(nanos)),
        None => Err(format!("{text:?} is not a span of time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(policy: &str, n: u32) -> (i64, i64) {
        let policy = Policy::parse(policy).unwrap();
        let mut rng = Rng::new(1);
        let mut delay = || policy.delay(n, Duration::from_secs(2), &mut rng).as_nanos();
        let all: Vec<_> = (0..2_000).map(|_| delay()).collect();
        let least = all.iter().min().unwrap() / 1_000_000;
        (least, all.iter().max().unwrap() / 1_000_000)
    }

    #[test]
    fn each_policy_stays_within_its_bounds() {
        assert_eq!(delays("faktory", 0), (15_000, 44_000));
        assert_eq!(delays("faktory", 2), (31_000, 118_000));
        assert_eq!(delays("sidekiq", 1), (16_000, 35_000));
        assert_eq!(delays("fixed:1s,2m", 0), (1_000, 1_000));
        assert_eq!(delays("fixed:1s,2m", 9), (120_000, 120_000));
        assert_eq!(delays("exponential:base=1s,jitter=none", 3).0, 8_000);
        let (least, most) = delays("exponential:base=1s,cap=4s,jitter=full", 30);
        assert!(least < 50 && (3_950..=4_000).contains(&most));
        let (least, most) = delays("exponential:base=1s,cap=4s,jitter=equal", 30);
        assert!((2_000..2_050).contains(&least) && (3_950..=4_000).contains(&most));
        let (least, most) = delays("exponential:base=1s,cap=1h,jitter=decorrelated", 9);
        assert!((1_000..1_050).contains(&least) && (5_900..=6_000).contains(&most));
    }

    #[test]
    fn what_is_no_policy_is_refused() {
        for text in [
            "",
            "fixed:",
            "fixed:1y",
            "exponential:x=1",
            "fixed:99999999d",
        ] {
            assert!(Policy::parse(text).is_err(), "{text}");
        }
        assert_eq!(span("250ms"), Ok(Duration::from_millis(250)));
    }
}
