//! Random histories of the queue and of a plain twin that looks through all jobs at every step: what is handed
//! out, to whom and when, and what is counted, is the same. At random moments the queue is made anew from its
//! records alone, and nothing may change.

use proptest::prelude::*;
use stowplan_base::{Duration, Time};
use stowplan_jobs::{
    AGEING, Ack, Failed, Fetched, Filter, Machine, NewJob, Out, Settings, State, Unique, Until, Who,
};

const START: Time = Time::from_secs(1_700_000_000);

/// What the twin knows of a job.
#[derive(Clone, Debug)]
struct Plain {
    jid: String,
    queue: usize,
    priority: u8,
    retry: i32,
    failures: i32,
    crashes: u32,
    state: State,
    since: Time,
    expires: Option<Time>,
    worker: Option<usize>,
    until: Time,
}

#[derive(Clone, Debug)]
enum Step {
    Push {
        queue: usize,
        priority: u8,
        retry: i32,
        delay_s: i64,
        expires_s: Option<i64>,
        key: Option<u8>,
    },
    Fetch {
        worker: usize,
        queues: Vec<usize>,
    },
    Ack {
        worker: usize,
        pick: usize,
    },
    Fail {
        worker: usize,
        pick: usize,
    },
    Pass {
        ms: i64,
    },
    Pause {
        queue: usize,
    },
    Resume {
        queue: usize,
    },
    Leave {
        worker: usize,
    },
    Requeue {
        pick: usize,
    },
    Kill {
        pick: usize,
    },
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let queue = 0..3_usize;
    let worker = 0..3_usize;
    let push = (
        queue.clone(),
        1..=9_u8,
        -1..3_i32,
        prop_oneof![3 => Just(0_i64), 1 => 0..100_i64],
        prop::option::weighted(0.1, 1..200_i64),
        prop::option::weighted(0.2, 0..4_u8),
    );
    prop_oneof![
        8 => push.prop_map(|(queue, priority, retry, delay_s, expires_s, key)| Step::Push {
            queue, priority, retry, delay_s, expires_s, key
        }),
        8 => (worker.clone(), prop::collection::vec(queue.clone(), 1..4))
            .prop_map(|(worker, queues)| Step::Fetch { worker, queues }),
        4 => (worker.clone(), any::<usize>()).prop_map(|(worker, pick)| Step::Ack { worker, pick }),
        3 => (worker.clone(), any::<usize>()).prop_map(|(worker, pick)| Step::Fail { worker, pick }),
        4 => prop_oneof![0..1_000_i64, 0..70_000_i64, 0..4_000_000_i64].prop_map(|ms| Step::Pass { ms }),
        1 => queue.clone().prop_map(|queue| Step::Pause { queue }),
        1 => queue.prop_map(|queue| Step::Resume { queue }),
        1 => worker.prop_map(|worker| Step::Leave { worker }),
        1 => any::<usize>().prop_map(|pick| Step::Requeue { pick }),
        1 => any::<usize>().prop_map(|pick| Step::Kill { pick }),
        1 => Just(Step::Restart),
    ]
}

const QUEUES: [&str; 3] = ["a", "b", "c"];
const FAILED: Failed<'_> = Failed {
    error: b"\"message\":\"x\"",
    fingerprint: 7,
};
/// Retries wait for one of these, so that the twin need not know chance.
const POLICY: &str = "fixed:10s,20s";

struct World {
    machine: Machine,
    log: Vec<u8>,
    now: Time,
    jobs: Vec<Plain>,
    paused: [bool; 3],
    named: [bool; 3],
    /// The connection of each worker, if it has one.
    workers: [Option<Who>; 3],
    gone: [Option<Time>; 3],
    keys: Vec<(u8, usize, Time)>,
    pushed: u64,
    conns: u64,
    last: Time,
    processed: u64,
    failures: u64,
}

fn settings() -> Settings {
    // Workers here never beat: what they have is theirs for as long as the lease is.
    Settings {
        beat: Duration::from_secs(1_000_000_000),
        wait: Duration::ZERO,
        ..Settings::default()
    }
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            machine: Machine::new(settings(), 1, START),
            log: Vec::new(),
            now: START,
            jobs: Vec::new(),
            paused: [false; 3],
            named: [false; 3],
            workers: [None; 3],
            gone: [None; 3],
            keys: Vec::new(),
            pushed: 0,
            conns: 0,
            last: Time::default(),
            processed: 0,
            failures: 0,
        };
        for worker in 0..3 {
            world.join(worker);
        }
        world
    }

    fn join(&mut self, worker: usize) {
        self.conns += 1;
        let at = self.machine.connect(self.now, &format!("w{worker}"), "");
        self.workers[worker] = Some(Who {
            conn: self.conns << 32 | worker as u64,
            worker: Some(at),
        });
        self.gone[worker] = None;
    }

    fn out(&self) -> Out {
        Out {
            base: self.log.len() as u64,
            ..Out::default()
        }
    }

    fn keep(&mut self, out: Out) -> Out {
        self.log.extend_from_slice(&out.log);
        out
    }

    fn stamp(&mut self) -> Time {
        self.last = self.now.max(self.last + Duration::from_nanos(1));
        self.last
    }

    /// Time passes: what comes due, one after the other.
    fn pass(&mut self, to: Time) {
        loop {
            let due = |job: &Plain| match job.state {
                State::Scheduled | State::Retry => Some(job.since),
                State::Reserved => Some(job.until),
                _ => None,
            };
            let ends = |job: &Plain| {
                let waits = matches!(job.state, State::Scheduled | State::Retry | State::Queued);
                job.expires.filter(|_| waits)
            };
            let events = self
                .jobs
                .iter()
                .flat_map(|job| due(job).into_iter().chain(ends(job)));
            let gone = self
                .gone
                .iter()
                .flatten()
                .map(|gone| *gone + Duration::from_secs(15));
            let Some(next) = events.chain(gone).min().filter(|at| *at <= to) else {
                break;
            };
            let next = next.max(self.now);
            // The queue looks once a millisecond.
            let tick = Time::from_millis(
                (next.as_nanos().div_euclid(1_000_000))
                    + i64::from(next.as_nanos() % 1_000_000 != 0),
            );
            if tick > to {
                break;
            }
            self.tick(tick);
        }
        self.tick(to);
    }

    fn tick(&mut self, at: Time) -> Out {
        self.now = at;
        let mut out = self.out();
        self.machine.tick(&mut out, at);
        let out = self.keep(out);
        for worker in 0..3 {
            if self.gone[worker].is_some_and(|gone| gone + Duration::from_secs(15) <= at) {
                self.gone[worker] = None;
                self.reclaim(worker);
            }
        }
        let mut due: Vec<(Time, usize, bool)> = Vec::new();
        for (i, job) in self.jobs.iter().enumerate() {
            match job.state {
                State::Scheduled | State::Retry if job.since <= at => {
                    due.push((job.since, i, false))
                }
                State::Reserved if job.until <= at => due.push((job.until, i, true)),
                _ => {}
            }
        }
        due.sort_by_key(|(time, ..)| *time);
        for (_, i, lease) in due {
            let expired = self.jobs[i].expires.is_some_and(|ends| ends <= at);
            match lease {
                true => self.failed(i),
                false if expired => {}
                false => {
                    let since = self.stamp();
                    (self.jobs[i].state, self.jobs[i].since) = (State::Queued, since);
                    self.named[self.jobs[i].queue] = true;
                }
            }
        }
        for job in &mut self.jobs {
            let waits = matches!(job.state, State::Scheduled | State::Retry | State::Queued);
            if waits && job.expires.is_some_and(|ends| ends <= at) {
                job.state = State::Gone;
            }
        }
        out
    }

    /// A worker did not come back.
    fn reclaim(&mut self, worker: usize) {
        // The queue goes by slot; what has the same state afterwards is enough here, so order them as it does.
        let mut has: Vec<usize> = (0..self.jobs.len())
            .filter(|i| {
                self.jobs[*i].worker == Some(worker) && self.jobs[*i].state == State::Reserved
            })
            .collect();
        has.sort_by_key(|i| self.slot(&self.jobs[*i].jid));
        for i in has {
            self.jobs[i].crashes += 1;
            self.jobs[i].worker = None;
            if self.jobs[i].crashes >= 3 {
                self.processed += 1;
                self.failures += 1;
                self.jobs[i].failures += 1;
                (self.jobs[i].state, self.jobs[i].since) = (State::Dead, self.now);
            } else {
                let since = self.stamp();
                (self.jobs[i].state, self.jobs[i].since) = (State::Queued, since);
            }
        }
    }

    fn slot(&self, jid: &str) -> u32 {
        let found = self.machine.select(
            &Filter {
                jids: &[jid],
                ..Filter::default()
            },
            1,
        );
        found.first().map_or(u32::MAX, |(slot, _)| *slot)
    }

    fn failed(&mut self, i: usize) {
        self.processed += 1;
        self.failures += 1;
        let now = self.now;
        let job = &mut self.jobs[i];
        job.worker = None;
        let count = job.failures;
        job.failures += 1;
        match job.retry {
            0 => job.state = State::Gone,
            retry if count < retry => {
                job.state = State::Retry;
                job.since = now + Duration::from_secs(if count == 0 { 10 } else { 20 });
            }
            _ => (job.state, job.since) = (State::Dead, now),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Push {
                queue,
                priority,
                retry,
                delay_s,
                expires_s,
                key,
            } => {
                self.push(*queue, *priority, *retry, *delay_s, *expires_s, *key)?;
            }
            Step::Fetch { worker, queues } => self.fetch(*worker, queues)?,
            Step::Ack { worker, pick } => {
                if let Some((i, jid)) = self.running(*pick) {
                    let mine = self.jobs[i].worker == Some(*worker);
                    let who = self.workers[*worker].unwrap();
                    let mut out = self.out();
                    let ack = self.machine.ack(&mut out, self.now, who, &jid, None);
                    self.keep(out);
                    prop_assert_eq!(ack == Ack::Done, mine);
                    if mine {
                        self.processed += 1;
                        self.jobs[i].state = State::Gone;
                    }
                }
            }
            Step::Fail { worker, pick } => {
                if let Some((i, jid)) = self.running(*pick) {
                    let mine = self.jobs[i].worker == Some(*worker);
                    let who = self.workers[*worker].unwrap();
                    let mut out = self.out();
                    let ack = self
                        .machine
                        .fail(&mut out, self.now, who, &jid, None, &FAILED);
                    self.keep(out);
                    prop_assert_eq!(ack == Ack::Done, mine);
                    if mine {
                        self.failed(i);
                    }
                }
            }
            Step::Pass { ms } => self.pass(self.now + Duration::from_millis(*ms)),
            Step::Pause { queue } => {
                let mut out = self.out();
                self.machine.pause(&mut out, &[QUEUES[*queue]]);
                self.keep(out);
                self.paused[*queue] |= self.named[*queue];
            }
            Step::Resume { queue } => {
                let mut out = self.out();
                self.machine.resume(&mut out, self.now, &[QUEUES[*queue]]);
                self.keep(out);
                self.paused[*queue] = false;
            }
            Step::Leave { worker } => {
                self.machine
                    .disconnect(self.now, self.workers[*worker].unwrap());
                let has = self
                    .jobs
                    .iter()
                    .any(|job| job.worker == Some(*worker) && job.state == State::Reserved);
                self.gone[*worker] = has.then_some(self.now);
                if has {
                    self.pass(self.now + Duration::from_secs(15));
                }
                self.join(*worker);
            }
            Step::Requeue { pick } => self.requeue(*pick),
            Step::Kill { pick } => self.kill(*pick),
            Step::Restart => self.restart(),
        }
        self.check()
    }

    fn pick(&self, pick: usize, states: &[State]) -> Option<usize> {
        let fits: Vec<usize> = (0..self.jobs.len())
            .filter(|i| states.contains(&self.jobs[*i].state))
            .collect();
        (!fits.is_empty()).then(|| fits[pick % fits.len()])
    }

    fn running(&self, pick: usize) -> Option<(usize, String)> {
        let i = self.pick(pick, &[State::Reserved])?;
        Some((i, self.jobs[i].jid.clone()))
    }

    fn find(&self, i: usize) -> (u32, u64) {
        let jid = &*self.jobs[i].jid;
        self.machine.select(
            &Filter {
                jids: &[jid],
                ..Filter::default()
            },
            1,
        )[0]
    }

    fn requeue(&mut self, pick: usize) {
        if let Some(i) = self.pick(pick, &[State::Scheduled, State::Retry, State::Dead]) {
            let (slot, id) = self.find(i);
            let mut out = self.out();
            assert!(self.machine.requeue(&mut out, self.now, slot, id));
            self.keep(out);
            let since = self.stamp();
            (self.jobs[i].state, self.jobs[i].since) = (State::Queued, since);
        }
    }

    fn kill(&mut self, pick: usize) {
        if let Some(i) = self.pick(pick, &[State::Scheduled, State::Retry, State::Queued]) {
            let (slot, id) = self.find(i);
            let mut out = self.out();
            assert!(self.machine.kill(&mut out, self.now, slot, id));
            self.keep(out);
            (self.jobs[i].state, self.jobs[i].since) = (State::Dead, self.now);
        }
    }

    fn push(
        &mut self,
        queue: usize,
        priority: u8,
        retry: i32,
        delay_s: i64,
        expires_s: Option<i64>,
        key: Option<u8>,
    ) -> Result<(), TestCaseError> {
        self.pushed += 1;
        let jid = format!("job-{:06}", self.pushed);
        let at = (delay_s > 0).then(|| self.now + Duration::from_secs(delay_s));
        let expires = expires_s.map(|s| self.now + Duration::from_secs(s));
        let ends = self.now + Duration::from_secs(60);
        let new = NewJob {
            jid: &jid,
            queue: QUEUES[queue],
            kind: "Kind",
            tenant: "",
            priority,
            retry,
            reserve_s: 600,
            at,
            expires,
            unique: key.map(|key| Unique {
                key: [key; 16],
                until: Until::Success,
                ends,
            }),
            batch: "",
            policy: POLICY,
            tracked: false,
            body: b"",
        };
        let mut out = self.out();
        let taken = self.machine.push(&mut out, self.now, &new).is_ok();
        self.keep(out);
        let now = self.now;
        let jobs = &self.jobs;
        let holds = |(held, i, ends): &(u8, usize, Time)| {
            Some(*held) == key && *ends > now && jobs[*i].state != State::Gone
        };
        prop_assert_eq!(taken, !self.keys.iter().any(holds));
        if taken {
            let since = at.unwrap_or_else(|| self.stamp());
            let state = if at.is_some() {
                State::Scheduled
            } else {
                State::Queued
            };
            self.named[queue] = true;
            if let Some(key) = key {
                self.keys.push((key, self.jobs.len(), ends));
            }
            self.jobs.push(Plain {
                jid,
                queue,
                priority,
                retry,
                failures: 0,
                crashes: 0,
                state,
                since,
                expires,
                worker: None,
                until: START,
            });
        }
        Ok(())
    }

    fn fetch(&mut self, worker: usize, queues: &[usize]) -> Result<(), TestCaseError> {
        let rank = |job: &Plain| job.since.as_nanos() - i64::from(job.priority) * AGEING.as_nanos();
        let mut best = None;
        for queue in queues {
            loop {
                let waits = (0..self.jobs.len()).filter(|i| {
                    let job = &self.jobs[*i];
                    job.state == State::Queued && job.queue == *queue && !self.paused[*queue]
                });
                best = waits.min_by_key(|i| (rank(&self.jobs[*i]), self.jobs[*i].since));
                match best.filter(|i| self.jobs[*i].expires.is_some_and(|ends| ends <= self.now)) {
                    Some(i) => self.jobs[i].state = State::Gone,
                    None => break,
                }
            }
            if best.is_some() {
                break;
            }
        }
        let who = self.workers[worker].unwrap();
        let mut out = self.out();
        let names = queues.iter().map(|queue| QUEUES[*queue]);
        let fetched = self.machine.fetch(&mut out, self.now, who, names);
        let out = self.keep(out);
        match (best, fetched) {
            (None, Fetched::Waits) => {
                let out = self.tick(self.now);
                prop_assert_eq!(out.empty_handed, vec![who.conn]);
            }
            (Some(i), Fetched::Delivered) => {
                let place = out.delivered[0].job;
                let bytes = &self.log[place.at as usize..][..place.len as usize];
                let (stowplan_jobs::Record::Job(job), _) =
                    stowplan_jobs::Record::decode(bytes).unwrap()
                else {
                    panic!("no job");
                };
                // Several may have the same rank, but for the order of what came due in one millisecond.
                let got = self
                    .jobs
                    .iter()
                    .position(|plain| plain.jid == job.jid)
                    .unwrap();
                let apart = rank(&self.jobs[got]) - rank(&self.jobs[i]);
                prop_assert!(apart.abs() < 1_000, "{} ns", apart);
                prop_assert_eq!(self.jobs[got].queue, self.jobs[i].queue);
                let until = self.now + Duration::from_secs(600);
                let job = &mut self.jobs[got];
                (job.state, job.worker, job.until) = (State::Reserved, Some(worker), until);
            }
            other => prop_assert!(false, "{:?}", other),
        }
        Ok(())
    }

    /// The queue is made anew from what was written down.
    fn restart(&mut self) {
        let mut machine = Machine::new(settings(), self.pushed, self.now);
        machine.begin_replay();
        machine.replay(0, &self.log).unwrap();
        machine.end_replay(self.now);
        self.machine = machine;
        for worker in 0..3 {
            self.join(worker);
        }
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let count = |state| self.jobs.iter().filter(|job| job.state == state).count() as u64;
        let totals = self.machine.totals();
        prop_assert_eq!(totals.queued, count(State::Queued), "queued");
        prop_assert_eq!(totals.scheduled, count(State::Scheduled), "scheduled");
        prop_assert_eq!(totals.retries, count(State::Retry), "retries");
        prop_assert_eq!(totals.working, count(State::Reserved), "working");
        prop_assert_eq!(totals.dead, count(State::Dead), "dead");
        prop_assert_eq!(totals.processed, self.processed);
        prop_assert_eq!(totals.failures, self.failures);
        for (queue, name) in QUEUES.iter().enumerate() {
            let waiting = |job: &&Plain| job.queue == queue && job.state == State::Queued;
            let expected = self.jobs.iter().filter(waiting).count();
            let found = self
                .machine
                .queue(name, self.now)
                .map_or(0, |queue| queue.size);
            prop_assert_eq!(found, expected, "queue {}", name);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_does_what_its_plain_twin_does(steps in prop::collection::vec(step(), 1..200)) {
        let mut world = World::new();
        for step in &steps {
            world.step(step)?;
        }
    }
}
