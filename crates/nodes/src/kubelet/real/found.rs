//! What a runtime found of a pod that ran before this process did. It knows better than the API, which was
//! perhaps not told.

use super::{Ending, Setup};
use crate::kubelet::container::{Ended, Run, Running, Why};
use crate::kubelet::{Cx, PodSim, hash};
use crate::runtime::{Exit, Found, FoundState};
use stowplan_base::Time;

impl PodSim {
    /// All is there that containers need to start, and perhaps containers are there, too.
    pub(super) fn prepared(&mut self, cx: &Cx<'_>, found: Vec<Found>) {
        let Some(real) = &mut self.real else { return };
        if real.setup == Setup::Done {
            return;
        }
        real.setup = Setup::Done;
        for i in 0..self.containers.len() {
            let Some(name) = cx.specs.get(i).map(|spec| spec.name) else {
                continue;
            };
            let mut runs: Vec<&Found> = found
                .iter()
                .filter(|one| *one.run.container == *name)
                .collect();
            runs.sort_by_key(|one| std::cmp::Reverse(one.run.attempt));
            self.take_up_runs(cx, i, &runs);
        }
    }

    fn take_up_runs(&mut self, cx: &Cx<'_>, i: usize, runs: &[&Found]) {
        let at = self.at;
        let Some(sim) = self.containers.get_mut(i) else {
            return;
        };
        let lost = |since: Time| Ended {
            since,
            at,
            code: 137,
            why: Why::Unknown,
        };
        let newest = runs.first().filter(|one| one.run.attempt >= sim.restarts);
        let Some(newest) = newest else {
            // It is said to run, and does not.
            if let Run::Running(running) = sim.run {
                sim.run = Run::Ended(lost(running.since));
            }
            return;
        };
        let Some(one) = self
            .real
            .as_mut()
            .and_then(|real| real.containers.get_mut(i))
        else {
            return;
        };
        let attempt = newest.run.attempt;
        if attempt != sim.restarts {
            // What is known of probes is about another run.
            one.workers = [None; 3];
        }
        if let Some(spec) = cx.specs.get(i) {
            sim.image = hash(&[spec.image]) as u32;
        }
        let before = runs.get(1).filter(|one| one.run.attempt + 1 == attempt);
        let before = before.map(|one| &one.state);
        if let Some(FoundState::Exited(exit)) = before {
            sim.last = Some(ended(exit));
            one.remember(ending(exit));
        } else if let (Run::Ended(ended), true) = (sim.run, sim.restarts < attempt) {
            sim.last = Some(ended);
        }
        match &newest.state {
            FoundState::Starting => {
                one.asked = Some(attempt);
                sim.restarts = attempt;
                sim.run = match sim.last {
                    Some(last) if attempt > 0 => Run::Ended(last),
                    _ => Run::Waiting,
                };
            }
            FoundState::Running(since) => {
                sim.restarts = attempt;
                sim.run = Run::Running(Running {
                    since: *since,
                    ends: None,
                    is_stopping: false,
                });
                let since = *since;
                self.begin_probes(cx, i, since);
            }
            FoundState::Exited(exit) => {
                sim.restarts = attempt;
                sim.run = Run::Ended(ended(exit));
                one.remember(ending(exit));
            }
            FoundState::Lost => {
                sim.restarts = attempt;
                sim.run = Run::Ended(lost(at));
            }
        }
    }
}

fn ended(exit: &Exit) -> Ended {
    Ended {
        since: exit.since,
        at: exit.at,
        code: exit.code,
        why: Why::Exited,
    }
}

fn ending(exit: &Exit) -> Ending {
    Ending {
        signal: exit.signal,
        reason: exit.reason.clone(),
        message: exit.message.clone(),
        at: exit.at,
    }
}
