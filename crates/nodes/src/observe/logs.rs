//! Logs that nobody wrote: they follow from the pod and the time.

use crate::kubelet::{Ended, Run, Spec, specs};
use crate::status::rfc3339;
use crate::world::World;
use stowplan_base::{Duration, Time};

/// How often a container says that it is there.
const PERIOD: Duration = Duration::from_secs(30);
/// How many lines there are at most: the last ones.
const LINES_MAX: i64 = 10_000;

/// One line of a container's log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogLine {
    /// When it was written.
    pub at: Time,
    /// What it says.
    pub text: String,
}

/// Which lines of a log are wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogsWanted {
    /// Those of the run before this one.
    pub previous: bool,
    /// Not before this time.
    pub since: Option<Time>,
    /// So many of the last ones.
    pub tail: Option<usize>,
}

/// One run of a container, as far as it came.
struct Span {
    since: Time,
    until: Time,
    exit: Option<(Time, i32)>,
    restarts: u32,
}

/// What a container would have written; `None` if there is no such run of it.
pub(crate) fn logs(
    world: &World,
    namespace: &str,
    pod: &str,
    container: &str,
    wanted: &LogsWanted,
    now: Time,
) -> Option<Vec<LogLine>> {
    let entry = world.pod(namespace, pod)?;
    let object = world.object(entry)?;
    let specs = specs(&object);
    let mut all = entry.sim.with_specs(&specs);
    let (spec, sim) = all.find(|(spec, _)| spec.name == container)?;
    let over = |ended: &Ended, restarts: u32| Span {
        since: ended.since,
        until: ended.at,
        exit: Some((ended.at, ended.code)),
        restarts,
    };
    let before = sim.restarts.saturating_sub(1);
    let span = match (&sim.run, wanted.previous) {
        (Run::Running(running), false) => Span {
            since: running.since,
            until: now.max(running.since),
            exit: None,
            restarts: sim.restarts,
        },
        (Run::Ended(ended), false) => over(ended, sim.restarts),
        (Run::Running(_) | Run::Ended(_), true) => over(sim.last.as_ref()?, before),
        // While it waits to be started again, the run before is the last that there is.
        (Run::Backoff(_) | Run::Waiting, _) => over(sim.last.as_ref()?, sim.restarts),
    };
    Some(lines(&span, spec, &entry.sim.uid, wanted))
}

fn lines(span: &Span, spec: &Spec<'_>, uid: &str, wanted: &LogsWanted) -> Vec<LogLine> {
    let mut lines = Vec::new();
    let name = spec.name;
    let image = spec.image;
    let restarts = span.restarts;
    let text = format!("{name} started: image {image}, pod {uid}, restarts {restarts}");
    lines.push(LogLine {
        at: span.since,
        text,
    });
    let period = PERIOD.as_nanos();
    let beats = (span.until - span.since).as_nanos() / period;
    let from = wanted
        .since
        .map_or(0, |since| (since - span.since).as_nanos() / period);
    let tail = wanted
        .tail
        .map_or(LINES_MAX, |tail| i64::try_from(tail).unwrap_or(LINES_MAX));
    let first = from.max(beats - tail.min(LINES_MAX)).max(0) + 1;
    for beat in first..=beats {
        let age = Duration::from_nanos(beat * period);
        let at = span.since + age;
        let text = format!("{name} is running since {age}: heartbeat {beat}");
        lines.push(LogLine { at, text });
    }
    if let Some((at, code)) = span.exit {
        let text = format!("{name} exited with code {code} at {}", rfc3339(at));
        lines.push(LogLine { at, text });
    }
    lines.retain(|line| wanted.since.is_none_or(|since| line.at >= since));
    if let Some(tail) = wanted.tail {
        lines.drain(..lines.len().saturating_sub(tail));
    }
    lines
}
