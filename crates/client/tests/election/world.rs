//! Many interleavings: whatever happens, at most one candidate may act.

use stowplan_base::{Duration, Rng, Time};
use stowplan_client::election::{Answer, Elector, Record, Request, Step, Timings};

const TICK: Duration = Duration::from_millis(100);
const CANDIDATES: usize = 3;
const SEEDS: u64 = 200;

/// The Lease, as the API server has it.
#[derive(Default)]
struct Lease {
    record: Option<Record>,
    version: u64,
}

impl Lease {
    fn handle(&mut self, request: &Request) -> Answer {
        match (request, &self.record) {
            (Request::Get, None) => return Answer::NotFound,
            (Request::Get, Some(_)) => {}
            (Request::Create(record), None) => self.store(record),
            (Request::Update(record, version), Some(_)) if *version == self.version.to_string() => {
                self.store(record);
            }
            _ => return Answer::Failed,
        }
        let record = self.record.clone().unwrap();
        Answer::Lease(record, self.version.to_string())
    }

    fn store(&mut self, record: &Record) {
        self.record = Some(record.clone());
        self.version += 1;
    }
}

/// A request on its way there, then its answer on its way back.
struct Mail {
    arrives: Time,
    /// Which of the candidate's requests it is.
    number: u64,
    content: Result<Request, Answer>,
}

struct Candidate {
    elector: Elector,
    mail: Vec<Mail>,
    /// The request that is waited for, and for how long.
    waits: Option<(u64, Time)>,
    asked: u64,
    wakes: Time,
}

struct World {
    now: Time,
    rng: Rng,
    lease: Lease,
    candidates: Vec<Candidate>,
    named: usize,
    has_faults: bool,
    /// How often two believed to lead at the same time: upstream's view.
    double_belief: u64,
    acted: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = Self {
            now: Time::from_secs(1_000),
            rng: Rng::new(seed),
            lease: Lease::default(),
            candidates: Vec::new(),
            named: 0,
            has_faults: true,
            double_belief: 0,
            acted: 0,
        };
        for _ in 0..CANDIDATES {
            let candidate = world.candidate();
            world.candidates.push(candidate);
        }
        world
    }

    fn candidate(&mut self) -> Candidate {
        self.named += 1;
        let seed = self.rng.next_u64();
        let name = format!("candidate-{}", self.named);
        Candidate {
            elector: Elector::new(&name, Timings::default(), seed, self.now),
            mail: Vec::new(),
            waits: None,
            asked: 0,
            wakes: self.now,
        }
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.rng.below(n) == 0
    }

    fn delay(&mut self) -> Duration {
        let millis = match (self.has_faults, self.rng.below(10)) {
            (false, _) | (true, 0..6) => self.rng.below(200),
            (true, 6..9) => self.rng.below(3_000),
            (true, _) => self.rng.below(20_000),
        };
        Duration::from_millis(millis as i64)
    }

    fn tick(&mut self) {
        self.now = self.now + TICK;
        for at in 0..self.candidates.len() {
            if self.has_faults {
                self.misfortune(at);
            }
            self.deliver(at);
            if self.candidates[at].wakes <= self.now {
                self.drive(at);
            }
        }
        let now = self.now;
        let acting = |candidate: &&Candidate| candidate.elector.may_act(now);
        let acting = self.candidates.iter().filter(acting).count();
        assert!(acting <= 1, "{acting} candidates may act");
        self.acted += acting as u64;
        let believing = self.candidates.iter().filter(|c| c.elector.is_leading());
        self.double_belief += u64::from(believing.count() > 1);
    }

    fn misfortune(&mut self, at: usize) {
        if self.one_in(1_000) {
            // Dies, and another one is started in its place.
            let new = self.candidate();
            // What it sent stays on its way.
            let old = std::mem::replace(&mut self.candidates[at], new);
            let mail = old.mail.into_iter().map(|mail| Mail { number: 0, ..mail });
            self.candidates[at].mail = mail.collect();
        } else if self.one_in(1_000) {
            let span = Duration::from_millis(self.rng.below(40_000) as i64);
            self.candidates[at].wakes = self.now + span;
        } else if self.one_in(2_000) {
            self.candidates[at].elector.stop();
            self.candidates[at].waits = None;
        }
    }

    /// Requests arrive at the server even if nobody waits for the answer any more.
    fn deliver(&mut self, at: usize) {
        let now = self.now;
        let mail = std::mem::take(&mut self.candidates[at].mail);
        let (due, later): (Vec<_>, Vec<_>) = mail.into_iter().partition(|m| m.arrives <= now);
        self.candidates[at].mail = later;
        for mail in due {
            match mail.content {
                Ok(request) => {
                    let answer = self.lease.handle(&request);
                    let is_lost = self.has_faults && self.one_in(10);
                    let arrives = self.now + self.delay();
                    if !is_lost {
                        let content = Err(answer);
                        self.candidates[at].mail.push(Mail {
                            arrives,
                            content,
                            ..mail
                        });
                    }
                }
                Err(answer) => {
                    let candidate = &mut self.candidates[at];
                    let is_awake = candidate.wakes <= now;
                    let is_awaited = candidate.waits.is_some_and(|(n, _)| n == mail.number);
                    if is_awaited && is_awake {
                        candidate.waits = None;
                        candidate.elector.answered(answer, now);
                    } else if is_awaited {
                        // Waits in the socket of a sleeper.
                        let content = Err(answer);
                        candidate.mail.push(Mail { content, ..mail });
                    }
                }
            }
        }
    }

    /// What the runner does.
    fn drive(&mut self, at: usize) {
        loop {
            let now = self.now;
            let candidate = &mut self.candidates[at];
            match candidate.waits {
                Some((_, until)) if now < until => return,
                Some(_) => {
                    candidate.waits = None;
                    candidate.elector.answered(Answer::Failed, now);
                }
                None => {}
            }
            match candidate.elector.next(now) {
                Step::Ask(request, until) => {
                    candidate.asked += 1;
                    let number = candidate.asked;
                    candidate.waits = Some((number, until));
                    let is_lost = self.has_faults && self.one_in(10);
                    let arrives = now + self.delay();
                    if !is_lost {
                        let content = Ok(request);
                        let mail = Mail {
                            arrives,
                            number,
                            content,
                        };
                        self.candidates[at].mail.push(mail);
                    }
                }
                Step::Wait(until) if until > now => return,
                Step::Wait(_) => {}
                // The process ends, and is started again.
                Step::Over(_) => {
                    let new = self.candidate();
                    let old = std::mem::replace(&mut self.candidates[at], new);
                    let mail = old.mail.into_iter().map(|mail| Mail { number: 0, ..mail });
                    self.candidates[at].mail = mail.collect();
                    return;
                }
            }
        }
    }
}

#[test]
fn at_most_one_may_act_whatever_happens() {
    let (mut double_belief, mut acted, mut transitions) = (0, 0, 0);
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        // Ten minutes of faults, then one without.
        for _ in 0..6_000 {
            world.tick();
        }
        world.has_faults = false;
        for candidate in &mut world.candidates {
            candidate.wakes = candidate.wakes.min(world.now);
        }
        for _ in 0..600 {
            world.tick();
        }
        let acting = world.candidates.iter();
        let acting = acting.filter(|c| c.elector.may_act(world.now)).count();
        assert_eq!(
            acting, 1,
            "seed {seed}: nobody leads though nothing is broken"
        );
        double_belief += world.double_belief;
        acted += world.acted;
        transitions += world.lease.record.map_or(0, |record| record.transitions);
    }
    // The faults were many and hard enough: leaders changed, and without the fence two would have
    // acted at once.
    assert!(transitions > SEEDS as i32 * 5, "{transitions}");
    assert!(acted > SEEDS * 2_000, "{acted}");
    assert!(double_belief > 0);
}
