//! What an autoscaler may do of what its metrics ask for. Upstream: `normalizeDesiredReplicas` and what it
//! calls, in `horizontal.go`.

use super::memory::Memory;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::autoscaling::v2::{HPAScalingRules, HorizontalPodAutoscalerBehavior};

/// How many replicas an autoscaler without a behavior may add at once.
const UP_FACTOR: i32 = 2;
const UP_LEAST: i32 = 4;

/// A number of replicas, and why it is that one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Verdict {
    pub(super) replicas: i32,
    pub(super) reason: &'static str,
    pub(super) message: &'static str,
}

const fn verdict(replicas: i32, reason: &'static str, message: &'static str) -> Verdict {
    Verdict {
        replicas,
        reason,
        message,
    }
}

const fn within_range(replicas: i32) -> Verdict {
    verdict(
        replicas,
        "DesiredWithinRange",
        "the desired count is within the acceptable range",
    )
}

const fn too_few(replicas: i32) -> Verdict {
    verdict(
        replicas,
        "TooFewReplicas",
        "the desired replica count is less than the minimum replica count",
    )
}

/// The upper bound, by the maximum or by how fast replicas may be added.
fn upper(replicas_max: i32, limit: i32) -> Verdict {
    match replicas_max > limit {
        true => verdict(
            limit,
            "ScaleUpLimit",
            "the desired replica count is increasing faster than the maximum scale rate",
        ),
        false => verdict(
            replicas_max,
            "TooManyReplicas",
            "the desired replica count is more than the maximum replica count",
        ),
    }
}

/// What is wanted, and between what it has to stay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) current: i32,
    pub(super) desired: i32,
    pub(super) min: i32,
    pub(super) max: i32,
}

impl Wanted {
    /// Without a behavior: between the bounds, and not more than twice as many at once. Upstream's
    /// `convertDesiredReplicasWithRules`.
    pub(super) fn by_rules(self) -> Verdict {
        let limit = self.current.saturating_mul(UP_FACTOR).max(UP_LEAST);
        let upper = upper(self.max, limit);
        if self.desired < self.min {
            return too_few(self.min);
        }
        if self.desired > upper.replicas {
            return upper;
        }
        within_range(self.desired)
    }

    /// With a behavior: between the bounds, and as fast as its policies allow. Upstream's
    /// `convertDesiredReplicasWithBehaviorRate`.
    pub(super) fn by_behavior(
        self,
        behavior: &HorizontalPodAutoscalerBehavior,
        memory: &Memory,
        now: Timestamp,
    ) -> Verdict {
        if self.desired > self.current {
            let limit = up_limit(self.current, behavior.scale_up.as_ref(), memory, now);
            let upper = upper(self.max, limit.max(self.current));
            if self.desired > upper.replicas {
                return upper;
            }
        } else if self.desired < self.current {
            let limit = down_limit(self.current, behavior.scale_down.as_ref(), memory, now);
            let limit = limit.min(self.current);
            let lower = match self.min < limit {
                true => verdict(
                    limit,
                    "ScaleDownLimit",
                    "the desired replica count is decreasing faster than the maximum scale rate",
                ),
                false => too_few(self.min),
            };
            if self.desired < lower.replicas {
                return lower;
            }
        }
        within_range(self.desired)
    }
}

fn selects(rules: &HPAScalingRules) -> &str {
    rules.select_policy.as_deref().unwrap_or("Max")
}

/// How many replicas there may be at most. Upstream's `calculateScaleUpLimitWithScalingRules`.
fn up_limit(current: i32, rules: Option<&HPAScalingRules>, memory: &Memory, now: Timestamp) -> i32 {
    let Some(rules) = rules.filter(|rules| selects(rules) != "Disabled") else {
        return current;
    };
    let proposals = rules.policies.iter().flatten().map(|policy| {
        let start = memory.at_start_of(policy.period_seconds, current, now);
        match policy.type_.as_str() {
            "Pods" => start.saturating_add(policy.value),
            // Rounded up: what adds less than one would never add any.
            _ => (f64::from(start) * (1.0 + f64::from(policy.value) / 100.0)).ceil() as i32,
        }
    });
    match selects(rules) {
        "Min" => proposals.min().unwrap_or(i32::MAX),
        _ => proposals.max().unwrap_or(i32::MIN),
    }
}

/// How many replicas there may be at least. Upstream's `calculateScaleDownLimitWithBehaviors`.
fn down_limit(
    current: i32,
    rules: Option<&HPAScalingRules>,
    memory: &Memory,
    now: Timestamp,
) -> i32 {
    let Some(rules) = rules.filter(|rules| selects(rules) != "Disabled") else {
        return current;
    };
    let proposals = rules.policies.iter().flatten().map(|policy| {
        let start = memory.at_start_of(policy.period_seconds, current, now);
        match policy.type_.as_str() {
            "Pods" => start.saturating_sub(policy.value),
            _ => (f64::from(start) * (1.0 - f64::from(policy.value) / 100.0)) as i32,
        }
    });
    match selects(rules) {
        "Min" => proposals.max().unwrap_or(i32::MIN),
        _ => proposals.min().unwrap_or(i32::MAX),
    }
}

/// How long recommendations count, for more replicas and for fewer.
pub(super) fn windows(
    behavior: &HorizontalPodAutoscalerBehavior,
    usual_down: SignedDuration,
) -> (SignedDuration, SignedDuration) {
    let window = |rules: Option<&HPAScalingRules>| {
        let seconds = rules.and_then(|rules| rules.stabilization_window_seconds);
        seconds.map(|seconds| SignedDuration::from_secs(seconds.into()))
    };
    (
        window(behavior.scale_up.as_ref()).unwrap_or(SignedDuration::ZERO),
        window(behavior.scale_down.as_ref()).unwrap_or(usual_down),
    )
}

/// The longest period that a policy of these rules asks about, in seconds.
pub(super) fn longest_period_s(rules: Option<&HPAScalingRules>) -> i32 {
    let policies = rules.and_then(|rules| rules.policies.as_ref());
    let periods = policies.into_iter().flatten().map(|one| one.period_seconds);
    periods.max().unwrap_or_default()
}
