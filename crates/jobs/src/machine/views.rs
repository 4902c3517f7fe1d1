//! What can be seen.

use super::*;

/// How long jobs of a type take: so many per power of √2 milliseconds.
#[derive(Clone, Debug)]
pub(super) struct RunTimes {
    counts: [u32; 64],
    total: u64,
}

impl Default for RunTimes {
    fn default() -> Self {
        Self {
            counts: [0; 64],
            total: 0,
        }
    }
}

impl RunTimes {
    pub(super) fn add(&mut self, took: std::time::Duration) {
        let place = (took.as_secs_f64() * 1e3).max(1.0).log2() * 2.0;
        let count = &mut self.counts[(place as usize).min(63)];
        *count = count.saturating_add(1);
        self.total += 1;
    }

    /// What so many (of 1,000) stay below.
    fn quantile(&self, per_mille: u64) -> Option<Duration> {
        // Of few jobs nothing is learned.
        (self.total >= 20).then_some(())?;
        let rank = (self.total * per_mille).div_ceil(1_000);
        let mut seen = 0;
        let place = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        })?;
        let millis = 2_f64.powf((place as f64 + 1.0) / 2.0);
        Some(Duration::from_nanos((millis * 1e6) as i64))
    }
}

/// A lease, as it is seen.
#[derive(Clone, PartialEq, Debug)]
pub struct Lease {
    /// Greater than that of any earlier lease.
    pub token: u64,
    /// Who has it, if it said so.
    pub wid: Option<String>,
    /// Since when.
    pub since: Time,
    /// Until when.
    pub until: Time,
    /// What half of its type's jobs stay below, and what 99 of 100 do.
    pub typical: Option<(Duration, Duration)>,
    /// Whether it takes longer than 99 of 100 do, by far.
    pub stuck: bool,
}

/// A job, as it is seen: its name and arguments are in the log.
#[derive(Clone, PartialEq, Debug)]
pub struct JobView {
    /// Where it is in memory.
    pub slot: u32,
    /// What no other job has.
    pub id: u64,
    /// Where it stands.
    pub state: State,
    /// Where it is in the log.
    pub place: Place,
    /// Where its failures are, oldest first.
    pub failures: Vec<Place>,
    /// When it was queued, is due, or died.
    pub since: Time,
    /// Its queue.
    pub queue: String,
    /// Its type.
    pub kind: String,
    /// Whose it is.
    pub tenant: String,
    /// 1 to 9.
    pub priority: u8,
    /// How often workers have got it.
    pub runs: u16,
    /// How often it failed.
    pub failed: u32,
    /// How many workers it took with it.
    pub crashes: u8,
    /// The same for errors that are alike.
    pub fingerprint: u64,
    /// Who has it.
    pub lease: Option<Lease>,
}

/// A queue, as it is seen.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueView {
    /// Its name.
    pub name: String,
    /// How many wait.
    pub size: usize,
    /// How many run.
    pub running: u32,
    /// Whether it gives none.
    pub paused: bool,
    /// Whether it takes none.
    pub draining: bool,
    /// How long its oldest job waits.
    pub latency: std::time::Duration,
}

/// A worker, as it is seen.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkerView {
    /// Its name.
    pub wid: String,
    /// What it said of itself.
    pub about: String,
    /// What it is told to do.
    pub state: WorkerState,
    /// Since when it is there.
    pub since: Time,
    /// How many jobs it has.
    pub busy: usize,
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub struct Totals {
    pub queued: u64,
    pub scheduled: u64,
    pub retries: u64,
    pub dead: u64,
    pub working: u64,
    pub workers: u64,
    pub processed: u64,
    pub failures: u64,
    pub reclaimed: u64,
    pub fenced: u64,
}

/// Where a job stands whose progress is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum TrackState {
    Scheduled,
    Enqueued,
    Working,
    Success,
    Failed,
    Dead,
}

impl TrackState {
    /// As the protocol names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Enqueued => "enqueued",
            Self::Working => "working",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Dead => "dead",
        }
    }
}

/// The progress of a job. It is not durable: after a restart it is unknown until it is told again.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub struct Track {
    pub jid: Box<str>,
    pub state: TrackState,
    pub updated: Time,
    pub percent: u8,
    pub desc: Box<str>,
}

/// How many are kept.
const TRACKS_MAX: usize = 100_000;

impl Machine {
    pub(super) fn track(&mut self, hash: u64, jid: &str, state: TrackState, now: Time) {
        if self.tracks.len() >= TRACKS_MAX {
            // Progress is for those who watch now.
            self.tracks = Lookup::new();
        }
        let (percent, desc) = (0, "".into());
        let track = Track {
            jid: jid.into(),
            state,
            updated: now,
            percent,
            desc,
        };
        self.tracks.insert(hash, track);
    }

    pub(super) fn track_state(&mut self, hash: u64, state: TrackState, now: Time) {
        if let Some(track) = self.tracks.get_mut(&hash) {
            (track.state, track.updated) = (state, now);
        }
    }

    /// The progress of a job, if it is known.
    pub fn progress(&self, jid: &str) -> Option<&Track> {
        self.tracks.get(&self.hash(jid))
    }

    /// A worker tells the progress of a job.
    pub fn set_progress(&mut self, now: Time, jid: &str, percent: u8, desc: &str) -> bool {
        let hash = self.hash(jid);
        let Some(track) = self.tracks.get_mut(&hash) else {
            return false;
        };
        (track.percent, track.updated, track.desc) = (percent.min(100), now, desc.into());
        true
    }

    /// How many bytes of the log the jobs are that are there.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What is counted.
    pub fn totals(&self) -> Totals {
        let workers = self
            .workers
            .iter()
            .filter(|worker| worker.conns > 0)
            .count();
        Totals {
            queued: self.count(State::Queued),
            scheduled: self.count(State::Scheduled),
            retries: self.count(State::Retry),
            dead: self.count(State::Dead),
            working: self.count(State::Reserved),
            workers: workers as u64,
            processed: self.processed,
            failures: self.failures,
            reclaimed: self.reclaimed,
            fenced: self.fenced,
        }
    }

    /// All queues, by name.
    pub fn queues(&self, now: Time) -> Vec<QueueView> {
        let lines = self.lines.iter().filter(|line| line.named);
        let mut all: Vec<_> = lines.map(|line| self.queue_view(line, now)).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The queues' names and how many wait in each.
    pub fn sizes(&self) -> impl Iterator<Item = (&str, usize)> {
        let lines = self.lines.iter().filter(|line| line.named);
        lines.map(|line| (&*line.name, line.waiting))
    }

    /// A queue, if it is there.
    pub fn queue(&self, name: &str, now: Time) -> Option<QueueView> {
        let line = &self.lines[*self.line_by_name.get(name)? as usize];
        line.named.then(|| self.queue_view(line, now))
    }

    fn queue_view(&self, line: &Line, now: Time) -> QueueView {
        QueueView {
            name: line.name.to_string(),
            size: line.waiting,
            running: line.running,
            paused: line.paused,
            draining: line.draining,
            latency: line
                .oldest(&self.jobs)
                .map_or_else(Default::default, |oldest| now.since(oldest)),
        }
    }

    /// Workers that are there, by name.
    pub fn workers(&self) -> Vec<WorkerView> {
        let there = self.workers.iter().filter(|worker| worker.conns > 0);
        let mut all: Vec<_> = there
            .map(|worker| WorkerView {
                wid: worker.wid.to_string(),
                about: worker.about.to_string(),
                state: worker.state(),
                since: worker.since,
                busy: worker.leases.len(),
            })
            .collect();
        all.sort_by(|a, b| a.wid.cmp(&b.wid));
        all
    }

    /// A job, if it is still there.
    pub fn view(&self, slot: u32, id: u64, now: Time) -> Option<JobView> {
        let job = self.jobs.get(slot, id)?;
        let extra = job.extra.as_deref().cloned().unwrap_or_default();
        let text = |number| Sym::from_number(number);
        Some(JobView {
            slot,
            id,
            state: job.state,
            place: Place {
                at: job.at,
                len: job.len,
            },
            failures: extra.history.to_vec(),
            since: job.since,
            queue: self.lines[job.line as usize].name.to_string(),
            kind: self.kinds.text(text(job.kind)).to_owned(),
            tenant: self.tenants.text(text(job.tenant)).to_owned(),
            priority: job.priority,
            runs: job.runs,
            failed: extra.failures,
            crashes: extra.crashes,
            fingerprint: extra.fingerprint,
            lease: self
                .held
                .get(&slot)
                .map(|held| self.lease_view(job.kind, held, now)),
        })
    }

    fn lease_view(&self, kind: u32, held: &Held, now: Time) -> Lease {
        let times = self.run_times.get(&kind);
        let typical = times.and_then(|times| Some((times.quantile(500)?, times.quantile(990)?)));
        let took = now.since(held.since).as_nanos();
        Lease {
            token: held.token,
            wid: held
                .worker
                .map(|worker| self.workers[worker as usize].wid.to_string()),
            since: held.since,
            until: held.until,
            typical,
            stuck: typical
                .is_some_and(|(_, p99)| took > 2 * i128::from(p99.as_nanos()).unsigned_abs()),
        }
    }
}
