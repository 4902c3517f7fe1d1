//! What happens next: pure, and foreseen by a seed.

mod act;
mod write;

pub use act::{Act, Batch, Kind};
pub(crate) use write::{Write, fault};

use std::collections::BTreeMap;
use std::time::Duration;
use stowplan_base::Rng;

/// Deployments of the shop that get releases which work.
const APPS: [&str; 4] = ["web", "catalog", "cart", "checkout"];
/// The one whose releases sometimes do not.
const UNLUCKY: &str = "search";
/// Nodes that fail: one at a time.
const FRAIL: [&str; 6] = [
    "node-a-2", "node-b-3", "node-c-1", "node-a-4", "node-b-1", "node-c-3",
];

/// One thing that happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scene {
    /// Its place in the story, from 1 on.
    pub number: u64,
    /// When it happens, after the story began.
    pub at: Duration,
    /// What happens.
    pub act: Act,
}

/// A story without an end. One seed, one story.
#[derive(Debug)]
pub struct Story {
    rng: Rng,
    /// What will happen, by the second and the order in which it was thought of.
    agenda: BTreeMap<(u64, u64), Thread>,
    /// How many things were thought of.
    thoughts: u64,
    scenes: u64,
    /// The minor version of each app of [`APPS`].
    versions: [u32; APPS.len()],
    /// The minor version of the unlucky one that works.
    good: u32,
}

/// What goes on and on, each at its own pace.
#[derive(Clone, Copy, Debug)]
enum Thread {
    /// The data team queues work.
    Batches,
    /// The research team starts a run.
    Training,
    /// A run before a deadline, which pushes others aside.
    Deadline,
    Release,
    BadRelease,
    RollBack,
    /// What was broken in the bad release is mended in the next.
    Mend,
    Failure,
    Recovery(&'static str),
}

impl Story {
    /// The story that this seed foresees.
    pub fn new(seed: u64) -> Self {
        let mut story = Self {
            rng: Rng::new(seed),
            agenda: BTreeMap::new(),
            thoughts: 0,
            scenes: 0,
            versions: [0; APPS.len()],
            good: 0,
        };
        for (at_s, thread) in [
            (15, Thread::Training),
            (25, Thread::Batches),
            (60, Thread::Deadline),
            (100, Thread::Release),
            (180, Thread::Failure),
            (480, Thread::BadRelease),
        ] {
            story.plan(at_s, thread);
        }
        story
    }

    /// What happens next.
    pub fn next_scene(&mut self) -> Scene {
        loop {
            let Some(((at_s, _), thread)) = self.agenda.pop_first() else {
                // Every thread goes on, so there is always one.
                self.plan(0, Thread::Batches);
                continue;
            };
            self.scenes += 1;
            return Scene {
                number: self.scenes,
                at: Duration::from_secs(at_s),
                act: self.act(at_s, thread),
            };
        }
    }

    /// How many scenes were told.
    pub fn scenes(&self) -> u64 {
        self.scenes
    }

    fn plan(&mut self, at_s: u64, thread: Thread) {
        self.thoughts += 1;
        self.agenda.insert((at_s, self.thoughts), thread);
    }

    /// A number from the first to the last.
    fn between(&mut self, first: u32, last: u32) -> u32 {
        first + self.rng.below((last - first + 1) as usize) as u32
    }

    fn plan_between(&mut self, at_s: u64, first_s: u32, last_s: u32, thread: Thread) {
        let pause_s = u64::from(self.between(first_s, last_s));
        self.plan(at_s + pause_s, thread);
    }

    /// What a thread does now, and when it goes on.
    fn act(&mut self, at_s: u64, thread: Thread) -> Act {
        match thread {
            Thread::Batches => {
                self.plan_between(at_s, 330, 420, thread);
                self.batches()
            }
            Thread::Training => {
                let is_first = self.scenes == 1;
                self.plan_between(at_s, 250, 350, thread);
                // At first more than there is room for.
                let runs = match is_first {
                    true => 5,
                    false => self.between(1, 3),
                };
                let run = |i| self.batch(Kind::Train, i, 1, 300, 540);
                Act::Queue((1..=runs).map(run).collect())
            }
            Thread::Deadline => {
                self.plan_between(at_s, 480, 660, thread);
                Act::Queue(vec![self.batch(Kind::Deadline, 1, 1, 240, 360)])
            }
            Thread::Release => {
                self.plan_between(at_s, 260, 420, thread);
                let which = self.rng.below(APPS.len());
                self.versions[which] += 1;
                Act::Release {
                    app: APPS[which],
                    version: self.versions[which],
                }
            }
            Thread::BadRelease => {
                self.plan_between(at_s, 1_500, 2_000, thread);
                self.plan_between(at_s, 200, 260, Thread::RollBack);
                Act::BadRelease {
                    app: UNLUCKY,
                    version: self.good + 1,
                }
            }
            Thread::RollBack => {
                self.plan_between(at_s, 120, 200, Thread::Mend);
                Act::RollBack {
                    app: UNLUCKY,
                    version: self.good,
                }
            }
            Thread::Mend => {
                self.good += 2;
                Act::Release {
                    app: UNLUCKY,
                    version: self.good,
                }
            }
            Thread::Failure => {
                let node = FRAIL[self.rng.below(FRAIL.len())];
                self.plan_between(at_s, 900, 1_200, thread);
                self.plan_between(at_s, 240, 360, Thread::Recovery(node));
                Act::FailNode(node)
            }
            Thread::Recovery(node) => Act::RecoverNode(node),
        }
    }

    /// Pictures in many Jobs, and now and then invoices among them.
    fn batches(&mut self) -> Act {
        let jobs = self.between(6, 9);
        let mut queue: Vec<Batch> = (1..=jobs)
            .map(|i| {
                let pods = self.between(1, 4);
                self.batch(Kind::Thumbnails, i, pods, 100, 260)
            })
            .collect();
        let invoices = self.between(1, 2);
        queue.push(self.batch(Kind::Invoices, 1, invoices, 60, 120));
        Act::Queue(queue)
    }

    fn batch(&mut self, kind: Kind, i: u32, pods: u32, first_s: u32, last_s: u32) -> Batch {
        Batch {
            kind,
            name: format!("{}-{}-{i}", kind.name(), self.scenes),
            pods,
            run_s: self.between(first_s, last_s),
        }
    }
}

#[cfg(test)]
mod tests;
