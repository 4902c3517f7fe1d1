//! Logs that nobody wrote: they follow from the pod and the time.

use super::log_status::{LogOf, log_of};
use crate::kubelet::{Ended, Run, Running, Spec, specs};
use crate::status::{container_statuses, rfc3339};
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

/// What there is of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Log {
    pub(crate) lines: Vec<LogLine>,
    /// Where it goes on; nothing if it has ended.
    pub(crate) rest: Option<Rest>,
}

/// What is still to come of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rest {
    /// Which run of the container it is.
    run: u32,
    /// The next line, as they are counted from the first one of the run.
    line: i64,
    /// When that comes, if nothing happens before.
    pub(crate) due: Time,
}

/// One run of a container, as far as it came. Its lines are numbered: the first says that it started, those
/// after it come in equal spans, and the last one says how it ended.
#[derive(Debug)]
struct Span {
    since: Time,
    until: Time,
    code: Option<i32>,
    restarts: u32,
}

impl Span {
    fn of(running: &Running, restarts: u32, now: Time) -> Self {
        // What is due may not have happened yet.
        let until = running.ends.map_or(now, |(at, _)| at.min(now));
        Self {
            since: running.since,
            until: until.max(running.since),
            code: None,
            restarts,
        }
    }

    fn over(ended: &Ended, restarts: u32) -> Self {
        Self {
            since: ended.since,
            until: ended.at,
            code: Some(ended.code),
            restarts,
        }
    }

    /// The number of the last line but that of its end.
    fn beats(&self) -> i64 {
        (self.until - self.since).as_nanos() / PERIOD.as_nanos()
    }

    fn at(&self, line: i64) -> Time {
        self.since + Duration::from_nanos(line * PERIOD.as_nanos())
    }

    /// The number of the first line that is not older.
    fn first_since(&self, since: Time) -> i64 {
        let span = (since - self.since).as_nanos();
        let period = PERIOD.as_nanos();
        let line = span.div_euclid(period) + i64::from(span.rem_euclid(period) > 0);
        match self.code {
            None => line.max(0),
            Some(_) if since <= self.until => line.clamp(0, self.beats() + 1),
            Some(_) => self.end(),
        }
    }

    /// The number behind the last line.
    fn end(&self) -> i64 {
        self.beats() + 1 + i64::from(self.code.is_some())
    }

    fn line(&self, line: i64, spec: &Spec<'_>, uid: &str) -> LogLine {
        let (name, image, restarts) = (spec.name, spec.image, self.restarts);
        match (line, self.code) {
            (0, _) => LogLine {
                at: self.since,
                text: format!("{name} started: image {image}, pod {uid}, restarts {restarts}"),
            },
            (line, Some(code)) if line > self.beats() => LogLine {
                at: self.until,
                text: format!("{name} exited with code {code} at {}", rfc3339(self.until)),
            },
            (line, _) => LogLine {
                at: self.at(line),
                text: format!(
                    "{name} is running since {}: heartbeat {line}",
                    self.at(line) - self.since
                ),
            },
        }
    }

    /// The lines from one on.
    fn read(&self, from: i64, running: Option<&Running>, spec: &Spec<'_>, uid: &str) -> Log {
        let end = self.end();
        let lines = (from..end).map(|line| self.line(line, spec, uid)).collect();
        let rest = running.map(|running| {
            let next = self.at(self.beats() + 1);
            Rest {
                run: self.restarts,
                line: end.max(from),
                due: running.ends.map_or(next, |(at, _)| at.min(next)),
            }
        });
        Log { lines, rest }
    }
}

/// The log of a container, from the beginning that is wanted or from where it was left. If there is none,
/// says why.
pub(crate) fn logs(
    world: &World,
    (namespace, pod): (&str, &str),
    container: &str,
    wanted: &LogsWanted,
    left: Option<&Rest>,
    now: Time,
) -> Result<Log, String> {
    let gone = || format!("pod {pod:?} cannot be found - no logs available");
    let entry = world.pod(namespace, pod).ok_or_else(gone)?;
    let object = world.object(entry).ok_or_else(gone)?;
    let specs = specs(&object);
    let mut all = entry.sim.with_specs(&specs);
    let found = all.find(|(spec, _)| spec.name == container);
    let (spec, sim) =
        found.ok_or_else(|| format!("container {container:?} in pod {pod:?} is not available"))?;
    let before = match &sim.run {
        Run::Running(_) | Run::Ended(_) => sim.restarts.saturating_sub(1),
        // While it waits to be started again, the run before is the last that there is.
        Run::Backoff(_) | Run::Waiting => sim.restarts,
    };
    let now_running = sim.running();
    let (span, running) = match left {
        Some(left) if left.run == sim.restarts && now_running.is_some() => (
            now_running.map(|running| Span::of(running, sim.restarts, now)),
            now_running,
        ),
        Some(left) => {
            let ended = sim.ended().filter(|_| left.run == sim.restarts);
            let last = sim.last.as_ref().filter(|_| left.run == before);
            let over = ended.or(last).map(|ended| Span::over(ended, left.run));
            (over, None)
        }
        None => {
            let status = container_statuses(&entry.sim, &object, &specs);
            let last = sim.last.as_ref().map(|last| Span::over(last, before));
            match log_of(pod, &status, container, wanted.previous)? {
                LogOf::LastState => (last, None),
                LogOf::State => match &sim.run {
                    Run::Running(running) => {
                        (Some(Span::of(running, sim.restarts, now)), Some(running))
                    }
                    Run::Ended(ended) => (Some(Span::over(ended, sim.restarts)), None),
                    Run::Backoff(_) | Run::Waiting => (last, None),
                },
            }
        }
    };
    let Some(span) = span else {
        return Ok(Log {
            lines: Vec::new(),
            rest: None,
        });
    };
    let from = left.map_or_else(|| first(&span, wanted), |left| left.line);
    Ok(span.read(from, running, spec, &entry.sim.uid))
}

/// The number of the first line that is wanted.
fn first(span: &Span, wanted: &LogsWanted) -> i64 {
    let end = span.end();
    let tail = wanted
        .tail
        .map_or(LINES_MAX, |tail| i64::try_from(tail).unwrap_or(LINES_MAX));
    let since = wanted.since.map_or(0, |since| span.first_since(since));
    since.max(end - tail.min(LINES_MAX)).max(0)
}

/// Whether a container runs.
pub(crate) fn runs(world: &World, namespace: &str, pod: &str, container: &str) -> bool {
    let running = || {
        let entry = world.pod(namespace, pod)?;
        let object = world.object(entry)?;
        let specs = specs(&object);
        let mut all = entry.sim.with_specs(&specs);
        let (_, sim) = all.find(|(spec, _)| spec.name == container)?;
        Some(sim.running().is_some())
    };
    running().unwrap_or_default()
}
