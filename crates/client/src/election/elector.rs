//! One candidate.

use super::record::Record;
use super::timings::{JITTER, Timings};
use stowplan_base::{Duration, Rng, Time};

/// What to do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Send this, and tell the answer. If there is none by then, it has failed.
    Ask(Request, Time),
    /// Ask again at this time, or when stopped.
    Wait(Time),
    /// There is nothing to do any more.
    Over(End),
}

/// A request about the Lease.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Read it.
    Get,
    /// Make it.
    Create(Record),
    /// Replace it, if it still has this resource version.
    Update(Record, String),
}

/// What was answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The Lease as it is now, with its resource version.
    Lease(Record, String),
    /// There is none.
    NotFound,
    /// Anything else, silence included.
    Failed,
}

/// Why it is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It was told to stop.
    Stopped,
    /// It led, and could not renew its lease.
    Lost,
}

/// One candidate, who may be the leader. Driven by one thread or task.
#[derive(Clone, Debug)]
pub struct Elector {
    identity: String,
    timings: Timings,
    rng: Rng,
    phase: Phase,
    stage: Stage,
    /// The record that was last seen to be new, and when.
    observed: Option<(Record, Time)>,
    /// The Lease's resource version, as last seen.
    version: Option<String>,
    /// Whether it renews without having looked.
    is_hoping: bool,
    /// Until when it is certain that nobody else may act.
    acting_until: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Another one leads, or nobody; to be tried again at this time.
    Following(Time),
    /// To be renewed at `next`; if it is not by the deadline of the round, it is lost.
    Leading {
        next: Time,
        deadline: Option<Time>,
    },
    /// Gives the lease back, if it has it.
    Ending(End),
    Over(End),
}

/// How far a try has come.
#[derive(Clone, Debug)]
enum Stage {
    /// Not begun.
    Idle,
    /// To be sent.
    Next(Request),
    /// Sent at this time, and to be answered by that.
    Sent(Request, Time, Time),
}

impl Elector {
    /// A candidate of this name, which must be nobody else's, ever.
    pub fn new(identity: &str, timings: Timings, seed: u64, now: Time) -> Self {
        Self {
            identity: identity.to_owned(),
            timings,
            rng: Rng::new(seed),
            phase: Phase::Following(now),
            stage: Stage::Idle,
            observed: None,
            version: None,
            is_hoping: false,
            acting_until: None,
        }
    }

    /// Whether it may act on behalf of all. At most one candidate may, at any time.
    pub fn may_act(&self, now: Time) -> bool {
        self.acting_until().is_some_and(|until| now < until)
    }

    /// Until when it may act, if nothing happens.
    pub fn acting_until(&self) -> Option<Time> {
        match self.phase {
            Phase::Leading { .. } => self.acting_until,
            _ => None,
        }
    }

    /// Whether it holds the lease as far as it knows.
    pub fn is_leading(&self) -> bool {
        matches!(self.phase, Phase::Leading { .. })
    }

    /// Who leads, as far as it knows.
    pub fn leader(&self) -> Option<&str> {
        let (record, _) = self.observed.as_ref()?;
        (!record.holder.is_empty()).then_some(&*record.holder)
    }

    /// Whether it says that it leads though the lease has been over for longer than `tolerance`:
    /// something is stuck. Upstream's `LeaderElector.Check`.
    pub fn is_stuck(&self, tolerance: Duration, now: Time) -> bool {
        let Some((record, at)) = &self.observed else {
            return false;
        };
        record.holder == self.identity && now > *at + self.timings.lease_duration + tolerance
    }

    /// Stops: it may not act from now on. What it did must be over, for if it led it gives the lease
    /// back, and the next one starts at once.
    pub fn stop(&mut self) {
        if !matches!(self.phase, Phase::Ending(_) | Phase::Over(_)) {
            self.end(End::Stopped);
        }
    }

    /// What to do now.
    pub fn next(&mut self, now: Time) -> Step {
        if let Stage::Sent(_, _, until) = self.stage
            && now >= until
        {
            self.answered(Answer::Failed, now);
        }
        if let Phase::Leading { deadline, .. } = self.phase
            && deadline.is_some_and(|deadline| now >= deadline)
        {
            self.end(End::Lost);
        }
        match &self.stage {
            Stage::Sent(_, _, until) => return Step::Wait(*until),
            Stage::Next(_) => {}
            Stage::Idle => match self.phase {
                Phase::Over(end) => return Step::Over(end),
                Phase::Following(at) | Phase::Leading { next: at, .. } if now < at => {
                    return Step::Wait(at);
                }
                _ => self.begin(now),
            },
        }
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Next(request) => {
                let until = self.patience(now);
                self.stage = Stage::Sent(request.clone(), now, until);
                Step::Ask(request, until)
            }
            _ => self.next_after_nothing(),
        }
    }

    fn next_after_nothing(&self) -> Step {
        match self.phase {
            Phase::Over(end) | Phase::Ending(end) => Step::Over(end),
            Phase::Following(at) | Phase::Leading { next: at, .. } => Step::Wait(at),
        }
    }

    /// Begins a try. Upstream's `tryAcquireOrRenew`, and `release`.
    fn begin(&mut self, now: Time) {
        if let Phase::Leading { next, deadline } = self.phase {
            let deadline = deadline.or(Some(now + self.timings.renew_deadline));
            self.phase = Phase::Leading { next, deadline };
        }
        let renewal = match (&self.observed, &self.version, self.phase) {
            (Some((record, _)), Some(version), Phase::Leading { .. })
                if record.holder == self.identity && self.is_valid(now) =>
            {
                Some(Request::Update(self.renewed(record, now), version.clone()))
            }
            _ => None,
        };
        self.is_hoping = renewal.is_some();
        self.stage = Stage::Next(renewal.unwrap_or(Request::Get));
    }

    /// By when a request sent now has to be answered.
    fn patience(&self, now: Time) -> Time {
        let half = Duration::from_nanos(self.timings.renew_deadline.as_nanos() / 2);
        let until = now + half.max(Duration::from_secs(1));
        match self.phase {
            Phase::Leading {
                deadline: Some(deadline),
                ..
            } => until.min(deadline),
            _ => until,
        }
    }

    /// Takes the answer to what was asked last.
    pub fn answered(&mut self, answer: Answer, now: Time) {
        let Stage::Sent(request, sent, until) = std::mem::replace(&mut self.stage, Stage::Idle)
        else {
            return;
        };
        // Who could not wait acts as if there had been no answer, and so must who slept over it.
        let answer = match now > until {
            true => Answer::Failed,
            false => answer,
        };
        let is_ending = matches!(self.phase, Phase::Ending(_));
        match (request, answer) {
            (Request::Get, Answer::Lease(record, version)) => self.read(record, version, now),
            (Request::Get, Answer::NotFound) if !is_ending => {
                self.observed = None;
                self.version = None;
                let record = self.fresh(0, now);
                self.stage = Stage::Next(Request::Create(record));
            }
            (Request::Create(record) | Request::Update(record, _), Answer::Lease(_, version)) => {
                self.version = Some(version);
                self.written(record, sent, now);
            }
            (Request::Update(record, _), _) if record.holder == self.identity && !is_ending => {
                self.update_failed(now);
            }
            _ => self.failed(now),
        }
    }

    /// The Lease as it is.
    fn read(&mut self, record: Record, version: String, now: Time) {
        let is_mine = record.holder == self.identity;
        self.version = Some(version.clone());
        if self
            .observed
            .as_ref()
            .is_none_or(|(seen, _)| *seen != record)
        {
            self.observed = Some((record.clone(), now));
        }
        if let Phase::Ending(_) = self.phase {
            match is_mine {
                true => {
                    let given_back = Record {
                        lease_duration_seconds: 1,
                        acquired: Some(now),
                        renewed: Some(now),
                        transitions: record.transitions,
                        holder: String::new(),
                    };
                    self.stage = Stage::Next(Request::Update(given_back, version));
                }
                false => self.failed(now),
            }
            return;
        }
        if !is_mine {
            self.acting_until = None;
        }
        if !record.holder.is_empty() && !is_mine && self.is_valid(now) {
            return self.failed(now);
        }
        let record = match is_mine {
            true => self.renewed(&record, now),
            false => self.fresh(record.transitions.saturating_add(1), now),
        };
        self.stage = Stage::Next(Request::Update(record, version));
    }

    /// What was sent is stored.
    fn written(&mut self, record: Record, sent: Time, now: Time) {
        let is_mine = record.holder == self.identity;
        self.observed = Some((record, now));
        match self.phase {
            Phase::Ending(end) => self.phase = Phase::Over(end),
            Phase::Over(_) => {}
            Phase::Following(_) | Phase::Leading { .. } if is_mine => {
                self.acting_until = Some(sent + self.timings.renew_deadline);
                self.phase = Phase::Leading {
                    next: now + self.timings.retry_period,
                    deadline: None,
                };
            }
            Phase::Following(_) | Phase::Leading { .. } => self.failed(now),
        }
    }

    /// An update failed or was not answered. A leader who hoped that nothing had changed looks; the
    /// others try again later. What was not answered may be stored all the same.
    fn update_failed(&mut self, now: Time) {
        let hoped = std::mem::take(&mut self.is_hoping);
        match self.phase {
            Phase::Leading { .. } if hoped => self.stage = Stage::Next(Request::Get),
            _ => self.failed(now),
        }
    }

    /// The try failed.
    fn failed(&mut self, now: Time) {
        match self.phase {
            Phase::Following(_) => {
                let period = self.timings.retry_period.as_nanos();
                let spread = (period as f64 * JITTER) as usize;
                let jitter = self.rng.below(spread.max(1));
                let pause = period.saturating_add(i64::try_from(jitter).unwrap_or(0));
                self.phase = Phase::Following(now + Duration::from_nanos(pause));
            }
            Phase::Leading { deadline, .. } => {
                let next = now + self.timings.retry_period;
                self.phase = Phase::Leading { next, deadline };
            }
            Phase::Ending(end) => self.phase = Phase::Over(end),
            Phase::Over(_) => {}
        }
    }

    /// Ends. Who is told to stop gives back what it may have. Who lost the lease does not: what it
    /// sent may be under way still, and the next leader must not begin before the lease expires.
    fn end(&mut self, end: End) {
        self.acting_until = None;
        let may_hold = self.is_leading() || self.is_asking_for_it();
        self.stage = Stage::Idle;
        self.phase = match end {
            End::Stopped if may_hold => Phase::Ending(end),
            End::Stopped | End::Lost => Phase::Over(end),
        };
    }

    /// Whether it has asked for the lease and does not know the answer.
    fn is_asking_for_it(&self) -> bool {
        matches!(
            self.stage,
            Stage::Sent(Request::Create(_) | Request::Update(..), _, _)
        )
    }

    fn is_valid(&self, now: Time) -> bool {
        self.observed.as_ref().is_some_and(|(record, at)| {
            let seconds = i64::from(record.lease_duration_seconds);
            *at + Duration::from_secs(seconds) > now
        })
    }

    fn fresh(&self, transitions: i32, now: Time) -> Record {
        // A Lease tells microseconds.
        let now = Time::from_nanos(now.as_nanos() - now.as_nanos().rem_euclid(1_000));
        Record {
            holder: self.identity.clone(),
            lease_duration_seconds: self.timings.lease_duration_seconds(),
            acquired: Some(now),
            renewed: Some(now),
            transitions,
        }
    }

    fn renewed(&self, record: &Record, now: Time) -> Record {
        Record {
            acquired: record.acquired,
            ..self.fresh(record.transitions, now)
        }
    }
}
