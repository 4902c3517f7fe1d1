//! Is an event worth a new attempt? Upstream's `isPodWorthRequeuing`.

use super::asked::Asked;
use super::{InFlightEvent, QueueContext, QueuedPod, Trace};
use crate::framework::Hint;
use crate::model::Object;

/// How a pod leaves the pool, from the least to the most urgent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Strategy {
    /// It stays.
    Skip,
    /// As soon as its backoff is over.
    AfterBackoff,
    /// At once: a plugin that left it waiting says so.
    Immediately,
}

/// Asks the plugins that rejected the pod, until the answer is decided.
pub(super) fn worth_requeuing(
    env: &QueueContext<'_>,
    trace: &mut Option<Trace>,
    asked: &Asked,
    pod: &QueuedPod,
    event_in_flight: &InFlightEvent,
) -> Strategy {
    if pod.rejectors().is_empty() {
        return Strategy::AfterBackoff;
    }
    if event_in_flight.event.is_wildcard() {
        return match &event_in_flight.new {
            // An activation concerns one pod.
            Some(Object::Pod(target)) if target.uid == pod.pod.uid => Strategy::AfterBackoff,
            Some(_) => Strategy::Skip,
            None => Strategy::AfterBackoff,
        };
    }
    let Some(profile) = env.profiles.position(&pod.pod) else {
        return Strategy::AfterBackoff;
    };
    let mut strategy = Strategy::Skip;
    for plugin in asked.of_profile(profile) {
        if !pod.rejectors().contains(plugin.id) {
            continue;
        }
        let profiles = env.profiles;
        let start = env.meter.hint_begins();
        let hint = profiles.hint(env.cx(), profile, plugin, &pod.pod, event_in_flight);
        if let Some(start) = start {
            let name = profiles.name(plugin.id);
            env.meter.hint(start, name, event_in_flight.event, &hint);
        }
        let is_skip = hint == Hint::Skip;
        if let Some(trace) = trace {
            trace.hint(
                event_in_flight.event,
                &pod.pod,
                profiles.name(plugin.id),
                hint,
            );
        }
        if is_skip {
            continue;
        }
        if pod.pending_plugins.contains(plugin.id) {
            return Strategy::Immediately;
        }
        strategy = Strategy::AfterBackoff;
        if pod.pending_plugins.is_empty() {
            break;
        }
    }
    strategy
}

/// Whether anything that happened since the pod was popped is worth a new attempt.
pub(super) fn worth_requeuing_after_attempt<'a>(
    env: &QueueContext<'_>,
    trace: &mut Option<Trace>,
    pod: &QueuedPod,
    happenings: Option<impl Iterator<Item = &'a InFlightEvent>>,
) -> Strategy {
    if pod.rejectors().is_empty() {
        return Strategy::AfterBackoff;
    }
    let Some(happenings) = happenings else {
        // Not in flight any more: what it missed is unknown.
        return Strategy::AfterBackoff;
    };
    let mut strategy = Strategy::Skip;
    for event_in_flight in happenings {
        let asked = env.profiles.asked(&event_in_flight.event);
        strategy = strategy.max(worth_requeuing(env, trace, &asked, pod, event_in_flight));
        let decided = match strategy {
            Strategy::Skip => false,
            Strategy::AfterBackoff => pod.pending_plugins.is_empty(),
            Strategy::Immediately => true,
        };
        if decided {
            break;
        }
    }
    strategy
}
