//! From what metrics ask for to a new scale.

use super::conditions::{self, ABLE, LIMITED, SCALED_TO_ZERO, Said};
use super::limits::{self, Verdict, Wanted};
use super::look::Look;
use super::signed;
use crate::{Cx, Event, Outcome, Plan, Write};

/// How often a scale is written that somebody else has changed. client-go's `retry.DefaultRetry`.
const TRIES: usize = 5;

/// Scales as metrics ask for, within limits; nothing if there are as many replicas already.
pub(super) fn by_metrics(mut look: Look, cx: &Cx<'_>, wanted: i32, metric: &str) -> Plan {
    let current = look.current();
    // A metric can ask for no replicas at all; none asks for fewer.
    let wanted = wanted.max(0);
    let reason = match wanted {
        wanted if wanted > current => format!("{metric} above target"),
        wanted if wanted < current => "All metrics below target".to_owned(),
        _ => String::new(),
    };
    let limited = limited(&mut look, cx, wanted);
    match limited == current {
        true => look.finish(cx, current, false),
        false => rescale(look, limited, reason),
    }
}

/// What may be done of what is wanted. Upstream's `normalizeDesiredReplicas` and
/// `normalizeDesiredReplicasWithBehaviors`.
fn limited(look: &mut Look, cx: &Cx<'_>, desired: i32) -> i32 {
    let shared = look.shared.clone();
    let usual = signed(shared.options.downscale_stabilization);
    let mut wanted = Wanted {
        current: look.current(),
        desired,
        min: look.min_replicas(),
        max: look.spec.max_replicas,
    };
    let mut known = shared.known();
    let memory = known.memories.entry(look.key.clone()).or_default();
    let verdict = match &look.spec.behavior {
        None => {
            wanted.desired = memory.highest(desired, usual, cx.now);
            wanted.by_rules()
        }
        Some(behavior) => {
            let windows = limits::windows(behavior, usual);
            wanted.desired = memory.stabilized(wanted.current, desired, windows, cx.now);
            wanted.by_behavior(behavior, memory, cx.now)
        }
    };
    drop(known);
    let is_up = look.spec.behavior.is_some() && desired >= wanted.current;
    look.set(cx, ABLE, stabilized(wanted.desired != desired, is_up));
    let Verdict {
        replicas,
        reason,
        message,
    } = verdict;
    let said = match replicas == wanted.desired {
        true => Said::no(reason, message),
        false => Said::yes(reason, message),
    };
    look.set(cx, LIMITED, said);
    replicas
}

fn stabilized(is_stabilized: bool, is_up: bool) -> Said {
    match (is_stabilized, is_up) {
        (false, _) => Said::yes("ReadyForNewScale", "recommended size matches current size"),
        (true, true) => Said::yes(
            "ScaleUpStabilized",
            "recent recommendations were lower than current one, applying the lowest recent recommendation",
        ),
        (true, false) => Said::yes(
            "ScaleDownStabilized",
            "recent recommendations were higher than current one, applying the highest recent recommendation",
        ),
    }
}

/// Writes a new scale.
pub(super) fn rescale(look: Look, replicas: i32, reason: String) -> Plan {
    let current = look.current();
    try_to_rescale(look, current, replicas, reason, TRIES)
}

fn try_to_rescale(mut look: Look, from: i32, to: i32, reason: String, tries: usize) -> Plan {
    look.scale["spec"]["replicas"] = to.into();
    let write = Write::update_scale(look.scale_path.clone(), &look.scale);
    let plan = Plan::write(write.tolerating_everything());
    plan.then(move |cx, outcomes| {
        let refusal = outcomes.first().and_then(Outcome::refusal).cloned();
        let Some(refusal) = refusal else {
            return rescaled(look, cx, from, to, &reason);
        };
        if refusal.code != 409 || tries <= 1 {
            return not_rescaled(look, cx, from, to, &reason, &refusal.message);
        }
        // Somebody else has changed the target: its new version, the same number.
        Plan::read(vec![look.scale_path.clone()], move |_, answers| {
            if let Some(Ok(scale)) = answers.first() {
                look.scale = scale.clone();
            }
            try_to_rescale(look, from, to, reason, tries - 1)
        })
    })
}

fn rescaled(mut look: Look, cx: &Cx<'_>, from: i32, to: i32, reason: &str) -> Plan {
    let message = format!("the HPA controller was able to update the target scale to {to}");
    look.set(cx, ABLE, Said::yes("SucceededRescale", message));
    let message = format!("New size: {to}; reason: {reason}");
    let event = Event::normal(&look.autoscaler, "SuccessfulRescale", message);
    look.events.push(event);
    if let Some(behavior) = &look.spec.behavior {
        let rules = match to > from {
            true => behavior.scale_up.as_ref(),
            false => behavior.scale_down.as_ref(),
        };
        let longest_s = limits::longest_period_s(rules);
        let mut known = look.shared.known();
        let memory = known.memories.entry(look.key.clone()).or_default();
        memory.scaled(from, to, longest_s, cx.now);
    }
    conditions::remove(&mut look.status, SCALED_TO_ZERO);
    look.set_status(cx, from, to, true);
    look.end()
}

fn not_rescaled(
    mut look: Look,
    cx: &Cx<'_>,
    from: i32,
    to: i32,
    reason: &str,
    error: &str,
) -> Plan {
    let message = format!("New size: {to}; reason: {reason}; error: {error}");
    look.warn("FailedRescale", message);
    let message = format!("the HPA controller was unable to update the target scale: {error}");
    look.set(cx, ABLE, Said::no("FailedUpdateScale", message));
    let desired = look.status.desired_replicas;
    look.set_status(cx, from, desired, false);
    look.end()
}
