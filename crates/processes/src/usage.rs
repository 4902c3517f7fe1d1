//! What containers use.

use crate::record::{RunFolder, RunState, Started};
use crate::runtime::Processes;
use std::collections::BTreeMap;
use std::fs;
use std::sync::{Mutex, PoisonError};
use stowplan_base::Time;

/// What a container uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContainerUsage {
    /// The pod's uid.
    pub uid: String,
    /// The container's name.
    pub container: String,
    /// Nanoseconds on a cpu per second.
    pub cpu_nanos: u64,
    /// Bytes.
    pub memory: u64,
}

/// How much time on a cpu runs had used when they were last asked.
#[derive(Debug, Default)]
pub(crate) struct Samples(Mutex<BTreeMap<String, (Time, u64, u64)>>);

/// The shortest span over which usage is counted.
const SPAN_NS: i64 = 1_000_000_000;

impl Processes {
    /// What all containers use that run.
    pub fn usage(&self) -> Vec<ContainerUsage> {
        let inner = &self.0;
        let now = inner.settings.env.now();
        let live = inner.live_runs();
        let mut all = Vec::new();
        for (uid, run) in live {
            let folder = inner.state.run(&uid, &run);
            let RunState::Running(started) = folder.state() else {
                continue;
            };
            let Some((cpu, memory)) = used(&folder, &started) else {
                continue;
            };
            let id = format!("{uid}/{}/{}", run.container, run.attempt);
            let begin = Time::from_nanos(started.at_ns);
            all.push(ContainerUsage {
                uid,
                container: run.container.to_string(),
                cpu_nanos: inner.samples.rate(&id, begin, now, cpu),
                memory,
            });
        }
        inner
            .samples
            .keep(|id| all.iter().any(|one| id.starts_with(&one.uid)));
        all
    }
}

impl Samples {
    /// Nanoseconds per second since it was last counted.
    fn rate(&self, id: &str, begin: Time, now: Time, used: u64) -> u64 {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sample = all.entry(id.to_owned()).or_insert((begin, 0, 0));
        let span = (now - sample.0).as_nanos();
        if span < SPAN_NS {
            return sample.2;
        }
        let more = u128::from(used.saturating_sub(sample.1)) * 1_000_000_000;
        let rate = more / span.unsigned_abs().max(1) as u128;
        *sample = (now, used, u64::try_from(rate).unwrap_or(u64::MAX));
        sample.2
    }

    fn keep(&self, is_there: impl Fn(&str) -> bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|id, _| is_there(id));
    }
}

/// Time on a cpu in nanoseconds, and bytes of memory.
fn used(folder: &RunFolder, started: &Started) -> Option<(u64, u64)> {
    let cgroup = folder.spec().ok().and_then(|spec| spec.cgroup);
    if let Some(used) = cgroup.as_deref().and_then(crate::cgroup::usage) {
        return Some(used);
    }
    let mut sum = (0, 0);
    let mut todo = vec![started.pid];
    while let Some(pid) = todo.pop() {
        if let Some((cpu, memory)) = of_process(pid) {
            sum = (sum.0 + cpu, sum.1 + memory);
        }
        for task in fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            todo.extend(
                children
                    .split_whitespace()
                    .filter_map(|pid| pid.parse::<i32>().ok()),
            );
        }
    }
    Some(sum)
}

/// The time that one process spent on a cpu, with that of children that are gone, and its memory.
fn of_process(pid: i32) -> Option<(u64, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let number = |place: usize| -> u64 {
        fields
            .get(place)
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    };
    let ticks: u64 = (11..15).map(number).sum();
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    let page = rustix::param::page_size() as u64;
    Some((
        ticks.saturating_mul(1_000_000_000 / per_second),
        number(21) * page,
    ))
}
