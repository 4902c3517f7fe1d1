//! Probes that are really asked. Upstream's `prober/worker.go`.

use super::{Real, probe_place};
use crate::kubelet::probes::{first, period};
use crate::kubelet::{Cx, PodSim, Role, Spec, Stage};
use crate::runtime::{Answer, Order, ProbeKind, RunId};
use k8s_openapi::api::core::v1::Probe;
use stowplan_base::Time;

/// One probe of a running container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Worker {
    /// When it is asked next; `None` while nothing is to be asked.
    next: Option<Time>,
    /// Whether an answer is waited for.
    is_asked: bool,
    /// The last answer, and how many alike there were.
    last: Option<bool>,
    count: i32,
    /// What counts.
    pub(super) holds: bool,
}

impl Worker {
    pub(super) fn next(&self) -> Option<Time> {
        self.next.filter(|_| !self.is_asked)
    }
}

/// The probe of a container.
pub(super) fn probe<'p>(spec: &Spec<'p>, kind: ProbeKind) -> Option<&'p Probe> {
    let container = spec.container?;
    let probe = match kind {
        ProbeKind::Startup => &container.startup_probe,
        ProbeKind::Readiness => &container.readiness_probe,
        ProbeKind::Liveness => &container.liveness_probe,
    };
    probe.as_ref()
}

impl Real {
    /// What the API says of a container that ran before this process did holds until it is asked.
    pub(in crate::kubelet) fn take_up_probes(
        &mut self,
        i: usize,
        spec: &Spec<'_>,
        started: bool,
        ready: bool,
    ) {
        let Some(one) = self.containers.get_mut(i) else {
            return;
        };
        for (kind, holds) in [(ProbeKind::Startup, started), (ProbeKind::Readiness, ready)] {
            if probe(spec, kind).is_some() {
                one.workers[probe_place(kind)] = Some(Worker {
                    next: None,
                    is_asked: false,
                    last: None,
                    count: 0,
                    holds,
                });
            }
        }
    }
}

impl PodSim {
    /// A container runs: its probes have their times. What was known of them before holds until they are asked.
    pub(super) fn begin_probes(&mut self, cx: &Cx<'_>, i: usize, since: Time) {
        let was = |kind| self.workers_hold(i, kind);
        let (was_started, was_ready) = (was(ProbeKind::Startup), was(ProbeKind::Readiness));
        let Some(spec) = cx.specs.get(i) else { return };
        let Some(real) = &mut self.real else { return };
        let Some(one) = real.containers.get_mut(i) else {
            return;
        };
        let has_startup = probe(spec, ProbeKind::Startup).is_some();
        for kind in ProbeKind::ALL {
            let Some(asked) = probe(spec, kind) else {
                continue;
            };
            let next = match kind {
                // Once is enough.
                ProbeKind::Startup if was_started => None,
                ProbeKind::Startup => Some(first(asked, since, since + period(asked))),
                // They wait for the startup probe.
                _ if has_startup && !was_started => None,
                ProbeKind::Readiness => Some(first(asked, since, since)),
                ProbeKind::Liveness => Some(first(asked, since, since + period(asked))),
            };
            one.workers[probe_place(kind)] = Some(Worker {
                next: next.map(|next| next.max(self.at)),
                is_asked: false,
                last: None,
                count: 0,
                holds: match kind {
                    ProbeKind::Startup => was_started,
                    ProbeKind::Readiness => was_ready,
                    ProbeKind::Liveness => true,
                },
            });
        }
    }

    /// Whether what a probe of a running container asks holds; so it is where there is no probe.
    pub(in crate::kubelet) fn probe_holds(&self, i: usize, kind: ProbeKind) -> bool {
        let one = self.real.as_ref().and_then(|real| real.container(i));
        let worker = one.and_then(|one| one.workers[probe_place(kind)]);
        worker.is_none_or(|worker| worker.holds)
    }

    /// Whether a probe is known to have held.
    fn workers_hold(&self, i: usize, kind: ProbeKind) -> bool {
        let one = self.real.as_ref().and_then(|real| real.container(i));
        let worker = one.and_then(|one| one.workers[probe_place(kind)]);
        worker.is_some_and(|worker| worker.holds)
    }

    /// Asks the probes that are due.
    pub(in crate::kubelet) fn ask_probes(&mut self, cx: &Cx<'_>, now: Time) {
        let is_ending = self.stage == Stage::Ending;
        for i in 0..self.containers.len() {
            let is_running = self
                .containers
                .get(i)
                .is_some_and(|one| one.running().is_some());
            let (true, Some(run), Some(spec)) = (is_running, self.run_id(cx, i), cx.specs.get(i))
            else {
                continue;
            };
            let Some(real) = &mut self.real else { return };
            let Some(one) = real.containers.get_mut(i) else {
                return;
            };
            let is_stopping = is_ending || one.stopping.is_some();
            let mut due = Vec::new();
            for kind in ProbeKind::ALL {
                let Some(worker) = &mut one.workers[probe_place(kind)] else {
                    continue;
                };
                if worker.next().is_none_or(|next| next > now) {
                    continue;
                }
                if is_stopping && kind != ProbeKind::Readiness {
                    worker.next = None;
                    continue;
                }
                worker.is_asked = true;
                worker.next = probe(spec, kind).map(|probe| now + period(probe));
                due.push(kind);
            }
            for kind in due {
                real.order(Order::Probe(run.clone(), kind));
            }
        }
    }

    /// An answer. A container that is to be killed for it is told to stop.
    pub(super) fn probed(
        &mut self,
        cx: &mut Cx<'_>,
        (i, run): (usize, &RunId),
        kind: ProbeKind,
        answer: Answer,
        now: Time,
    ) {
        let is_it = |sim: &Self| {
            let one = sim.containers.get(i);
            one.is_some_and(|one| one.restarts == run.attempt && one.running().is_some())
        };
        let (true, Some(spec)) = (is_it(self), cx.specs.get(i)) else {
            return;
        };
        let (Some(asked), Some(real)) = (probe(spec, kind), &mut self.real) else {
            return;
        };
        let Some(one) = real.containers.get_mut(i) else {
            return;
        };
        let is_stopping = one.stopping.is_some();
        let Some(worker) = &mut one.workers[probe_place(kind)] else {
            return;
        };
        worker.is_asked = false;
        let capital = kind.capital();
        let is_good = match answer {
            Answer::Good => true,
            Answer::Bad(why) => {
                cx.tell(i, "Unhealthy", format!("{capital} probe failed: {why}"));
                false
            }
            Answer::NotAsked(why) => {
                let message =
                    format!("{capital} probe errored and resulted in unknown state: {why}");
                cx.tell(i, "Unhealthy", message);
                // It says nothing about the container.
                return;
            }
        };
        worker.count = match worker.last == Some(is_good) {
            true => worker.count.saturating_add(1),
            false => 1,
        };
        worker.last = Some(is_good);
        let needed = match is_good {
            true => asked.success_threshold.unwrap_or(1),
            false => asked.failure_threshold.unwrap_or(3),
        };
        if worker.count < needed {
            return;
        }
        worker.holds = is_good;
        match (kind, is_good) {
            (ProbeKind::Startup, true) => {
                worker.next = None;
                self.release_probes(cx, i, now);
            }
            (ProbeKind::Startup | ProbeKind::Liveness, false) if !is_stopping => {
                worker.next = None;
                let grace_s = asked.termination_grace_period_seconds;
                self.kill_unhealthy(cx, i, kind.word(), grace_s, now);
            }
            _ => {}
        }
    }

    /// The container has started up: its other probes may be asked.
    fn release_probes(&mut self, cx: &Cx<'_>, i: usize, now: Time) {
        let since = self
            .containers
            .get(i)
            .and_then(|one| one.running())
            .map(|one| one.since);
        let (Some(since), Some(spec)) = (since, cx.specs.get(i)) else {
            return;
        };
        let Some(one) = self
            .real
            .as_mut()
            .and_then(|real| real.containers.get_mut(i))
        else {
            return;
        };
        for kind in [ProbeKind::Readiness, ProbeKind::Liveness] {
            if let (Some(asked), Some(worker)) =
                (probe(spec, kind), &mut one.workers[probe_place(kind)])
            {
                let from = match kind {
                    ProbeKind::Readiness => now,
                    _ => now + period(asked),
                };
                worker.next = Some(first(asked, since, from));
            }
        }
    }

    /// Whether a container that really runs has started up.
    pub(in crate::kubelet) fn has_really_started(&self, i: usize) -> bool {
        self.probe_holds(i, ProbeKind::Startup)
    }

    /// Whether a container that really runs is ready.
    pub(in crate::kubelet) fn is_really_ready(&self, spec: &Spec<'_>, i: usize) -> bool {
        matches!(spec.role, Role::Main | Role::Sidecar)
            && self.has_really_started(i)
            && self.probe_holds(i, ProbeKind::Readiness)
    }
}
