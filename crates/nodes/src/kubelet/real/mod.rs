//! A pod whose containers really run: where a simulated one foresees, this one orders and is told.
//!
//! | simulated | real |
//! |---|---|
//! | is set up after a while | [`Order::Prepare`], then [`Report::Prepared`] |
//! | `start` makes it run | [`Order::Start`], then [`Report::Started`] makes it run |
//! | `Running::ends` is known at the start | [`Report::Exited`] sets it |
//! | `stop` sets `Running::ends` | hook, signal and kill are ordered (`stopping`) |
//! | probes have a time | probes are asked and counted (`probing`) |

mod found;
mod probing;
mod reports;
mod stopping;
#[cfg(test)]
mod tests;

use super::{Cx, Ended, PodSim, Run};
use crate::kubelet::container::ContainerSim;
use crate::runtime::{Order, ProbeKind, RunId, Trouble};
use probing::Worker;
use stopping::Stopping;
use stowplan_base::{Duration, Time};

/// How long a container that could not be configured waits. `backOffPeriod`.
const RETRY_S: u16 = 10;
const RETRY_MAX_S: u16 = 300;
/// How long a pod waits whose volumes are not there, at first and at most.
const PREPARE_MS: i64 = 500;
const PREPARE_MAX_MS: i64 = 122_000;

/// What there is to know of a pod that really runs, beside what all have.
#[derive(Clone, Debug)]
pub(crate) struct Real {
    pub(super) containers: Vec<RealContainer>,
    /// What has to be done; whoever carries it out takes it.
    pub(crate) orders: Vec<Order>,
    pub(super) setup: Setup,
    /// Nothing starts before all have stopped.
    pub(super) restarts_all: bool,
    /// The runtime was told that the pod is over.
    is_released: bool,
}

/// How far the pod's folders and volumes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Setup {
    /// They were asked for.
    Asked {
        pause_ms: i64,
    },
    /// They could not be made.
    Failed {
        again: Time,
        pause_ms: i64,
    },
    Done,
}

/// What there is to know of a container that really runs, beside what all have.
#[derive(Clone, Debug, Default)]
pub(super) struct RealContainer {
    /// The attempt that was ordered, while nothing is heard of it.
    pub(super) asked: Option<u32>,
    /// Since when it runs, while the hook runs that comes after its start: until then nobody is told.
    pub(super) begun: Option<Time>,
    pub(super) trouble: Option<Box<Trouble>>,
    /// When it is tried again, and how long the pause is.
    pub(super) again: Option<Time>,
    pub(super) pause_s: u16,
    /// Its probes, by [`ProbeKind::ALL`].
    pub(super) workers: [Option<Worker>; 3],
    pub(super) stopping: Option<Stopping>,
    /// It is restarted whatever its policy says.
    pub(super) must_restart: bool,
    /// How the last two runs ended, the later one first.
    pub(super) endings: [Option<Box<Ending>>; 2],
}

/// What a container's exit code does not say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ending {
    pub(crate) signal: Option<i32>,
    pub(crate) reason: Option<Box<str>>,
    pub(crate) message: String,
    /// When it ended: by this it is found.
    pub(super) at: Time,
}

impl Real {
    pub(super) fn new(containers: usize) -> Self {
        let pause_ms = PREPARE_MS;
        Self {
            containers: vec![RealContainer::default(); containers],
            orders: vec![Order::Prepare],
            setup: Setup::Asked { pause_ms },
            restarts_all: false,
            is_released: false,
        }
    }

    fn container(&self, i: usize) -> Option<&RealContainer> {
        self.containers.get(i)
    }

    /// Whether something was ordered of which nothing is heard yet, so that more may run than is known.
    pub(super) fn is_unsure(&self) -> bool {
        matches!(self.setup, Setup::Asked { .. })
            || self.containers.iter().any(|one| one.asked.is_some())
    }

    /// Why the container waits.
    pub(crate) fn trouble(&self, i: usize) -> Option<&Trouble> {
        self.container(i)?.trouble.as_deref()
    }

    /// What is known of the end of a run.
    pub(crate) fn ending(&self, i: usize, at: Time) -> Option<&Ending> {
        let mut endings = self.container(i)?.endings.iter().flatten();
        endings.find(|one| one.at == at).map(|one| &**one)
    }

    /// Makes room for ephemeral containers that were added.
    pub(super) fn grow(&mut self, containers: usize) {
        if self.containers.len() < containers {
            self.containers
                .resize_with(containers, RealContainer::default);
        }
    }

    pub(super) fn order(&mut self, order: Order) {
        self.orders.push(order);
    }
}

impl PodSim {
    /// Whether its sandbox and images are there.
    pub(super) fn is_set_up(&self, now: Time) -> bool {
        match &self.real {
            Some(real) => real.setup == Setup::Done,
            None => self.setup_at <= now,
        }
    }

    /// When a pod that really runs has to be looked at, beside what all have.
    pub(super) fn next_real(&self, cx: &Cx<'_>, consider: &mut impl FnMut(Option<Time>)) {
        let Some(real) = &self.real else { return };
        if let Setup::Failed { again, .. } = real.setup {
            consider(Some(again));
        }
        for (i, (one, sim)) in real.containers.iter().zip(&self.containers).enumerate() {
            consider(one.again);
            if sim.running().is_none() {
                continue;
            }
            let has_turn = self.has_turn(cx, i);
            consider(one.stopping.and_then(|stop| stop.next(has_turn, self.at)));
            for worker in one.workers.iter().flatten() {
                consider(worker.next());
            }
        }
    }

    /// Whether a container may not be started now: it is being started, or has to wait.
    pub(super) fn is_held(&mut self, i: usize, now: Time) -> bool {
        let Some(real) = &mut self.real else {
            return false;
        };
        let Some(one) = real.containers.get_mut(i) else {
            return false;
        };
        match one.again {
            Some(again) if again > now => true,
            Some(_) => {
                one.again = None;
                one.asked.is_some()
            }
            None => one.asked.is_some(),
        }
    }

    /// Orders a container to be started. Says whether it really runs, so that nothing is to be foreseen.
    pub(super) fn order_start(&mut self, cx: &Cx<'_>, i: usize) -> bool {
        let (Some(real), Some(sim), Some(spec)) =
            (&mut self.real, self.containers.get(i), cx.specs.get(i))
        else {
            return false;
        };
        let is_restart = matches!(sim.run, Run::Ended(_) | Run::Backoff(_));
        let attempt = sim.restarts + u32::from(is_restart);
        if let Some(one) = real.containers.get_mut(i) {
            one.asked = Some(attempt);
            one.must_restart = false;
        }
        real.order(Order::Start(RunId {
            container: spec.name.into(),
            attempt,
        }));
        true
    }

    /// The run of a container that is over, unless it is being started again.
    pub(super) fn ended_for_now(&self, i: usize) -> Option<&Ended> {
        let one = self.real.as_ref().and_then(|real| real.container(i));
        let is_asked = one.is_some_and(|one| one.asked.is_some());
        self.containers.get(i)?.ended().filter(|_| !is_asked)
    }

    /// Whether a container is restarted whatever its policy says.
    pub(super) fn must_restart(&self, i: usize) -> bool {
        let one = self.real.as_ref().and_then(|real| real.container(i));
        one.is_some_and(|one| one.must_restart)
    }

    /// Why containers wait.
    pub(super) fn troubles(&self) -> impl Iterator<Item = &Trouble> {
        let all = self.real.iter().flat_map(|real| &real.containers);
        all.filter_map(|one| one.trouble.as_deref())
    }

    /// Whether a container is being started that has a hook for that: those behind it wait for it.
    pub(super) fn holds_others(&self, cx: &Cx<'_>, i: usize) -> bool {
        let one = self.real.as_ref().and_then(|real| real.container(i));
        let spec = cx.specs.get(i).and_then(|spec| spec.container);
        let lifecycle = spec.and_then(|one| one.lifecycle.as_ref());
        one.is_some_and(|one| one.asked.is_some())
            && lifecycle.is_some_and(|one| one.post_start.is_some())
    }

    /// Whether the hook of a container runs that comes after its start.
    pub(super) fn awaits_hook(&self, i: usize) -> bool {
        let one = self.real.as_ref().and_then(|real| real.container(i));
        one.is_some_and(|one| one.begun.is_some())
    }

    /// Tells a container to stop that is wanted to be another one now.
    pub(super) fn stop_to_restart(&mut self, cx: &Cx<'_>, i: usize, now: Time) {
        let one = self
            .real
            .as_mut()
            .and_then(|real| real.containers.get_mut(i));
        if let Some(one) = one {
            one.must_restart = true;
        }
        let grace_s = super::pod_spec(cx.pod).termination_grace_period_seconds;
        self.stop(cx, i, grace_s.unwrap_or(30), now, now);
    }

    /// The run of a container that there is now.
    fn run_id(&self, cx: &Cx<'_>, i: usize) -> Option<RunId> {
        let container = cx.specs.get(i)?.name.into();
        let attempt = self.containers.get(i)?.restarts;
        Some(RunId { container, attempt })
    }

    /// Somebody else says that the pod is over: nothing is prepared for it.
    pub(crate) fn end_at_once(&mut self) {
        if let Some(real) = &mut self.real {
            real.orders.clear();
            real.setup = Setup::Done;
        }
        self.release();
    }

    /// Once: the runtime need not keep what a pod that is over had.
    pub(super) fn release(&mut self) {
        if let Some(real) = &mut self.real
            && !std::mem::replace(&mut real.is_released, true)
        {
            real.order(Order::Release);
        }
    }

    /// Prepares again what could not be prepared.
    pub(super) fn prepare_again(&mut self, now: Time) {
        if let Some(real) = &mut self.real
            && let Setup::Failed { again, pause_ms } = real.setup
            && again <= now
        {
            let pause_ms = pause_ms.saturating_mul(2).min(PREPARE_MAX_MS);
            real.setup = Setup::Asked { pause_ms };
            real.order(Order::Prepare);
        }
    }

    /// All others have to stop before all start anew. Says whether that is waited for.
    pub(super) fn awaits_restart_of_all(&mut self, cx: &mut Cx<'_>, now: Time) -> bool {
        let Some(real) = &self.real else { return false };
        if !real.restarts_all {
            return false;
        }
        let still = self
            .containers
            .iter_mut()
            .map(ContainerSim::end_if_due(now));
        let is_any_running = still.fold(false, |any, one| any | one);
        if is_any_running || self.real.as_ref().is_some_and(|real| real.is_unsure()) {
            return true;
        }
        if let Some(real) = &mut self.real {
            real.restarts_all = false;
        }
        self.restart_all(cx, now);
        false
    }

    /// Stops all others, if they really run: they are started anew once they have stopped.
    pub(super) fn stop_for_restart(&mut self, cx: &mut Cx<'_>, now: Time) -> bool {
        let Some(real) = &mut self.real else {
            return false;
        };
        real.restarts_all = true;
        let grace_s = super::pod_spec(cx.pod).termination_grace_period_seconds;
        for i in 0..self.containers.len() {
            self.stop(cx, i, grace_s.unwrap_or(30), now, now);
        }
        true
    }
}

impl ContainerSim {
    /// Ends a run whose end is known; says whether it goes on.
    fn end_if_due(now: Time) -> impl FnMut(&mut Self) -> bool {
        move |one| {
            if let Run::Running(running) = one.run
                && let Some((at, code)) = running.ends.filter(|(at, _)| *at <= now)
            {
                one.end(at, code);
            }
            one.running().is_some()
        }
    }
}

fn seconds(count: u16) -> Duration {
    Duration::from_secs(count.into())
}

fn probe_place(kind: ProbeKind) -> usize {
    ProbeKind::ALL
        .iter()
        .position(|one| *one == kind)
        .unwrap_or(0)
}
