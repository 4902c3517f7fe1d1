//! How a container that really runs is stopped: its hook, its signal, its end. Upstream's `killContainer`.

use crate::kubelet::{Cx, PodSim, Role, Stage};
use crate::runtime::{Hook, Order};
use stowplan_base::{Duration, Time};

/// However short the grace period is, a process has so long to end. `minimumGracePeriodInSeconds`.
const GRACE_MIN: Duration = Duration::from_secs(2);

/// How far the stop of a container is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stopping {
    /// When its grace period is over.
    deadline: Time,
    /// Its hook runs.
    has_hook: bool,
    /// When it was told.
    told: Option<Time>,
    is_killed: bool,
}

impl Stopping {
    fn kill_at(self, told: Time) -> Time {
        self.deadline.max(told + GRACE_MIN)
    }

    /// When something has to be done by itself.
    pub(super) fn next(self, has_turn: bool, at: Time) -> Option<Time> {
        match self.told {
            None if has_turn && !self.has_hook => Some(at + Duration::from_nanos(1)),
            None => Some(self.deadline),
            Some(told) if !self.is_killed => Some(self.kill_at(told)),
            Some(_) => None,
        }
    }
}

impl PodSim {
    /// Begins to stop a container; or shortens the time that it has.
    pub(in crate::kubelet) fn begin_stop(
        &mut self,
        cx: &Cx<'_>,
        i: usize,
        grace_s: i64,
        now: Time,
    ) {
        let Some(run) = self.run_id(cx, i) else {
            return;
        };
        let Some(real) = &mut self.real else { return };
        let Some(one) = real.containers.get_mut(i) else {
            return;
        };
        let deadline = now + Duration::from_secs(grace_s.max(0));
        if let Some(stopping) = &mut one.stopping {
            stopping.deadline = stopping.deadline.min(deadline);
            return;
        }
        let lifecycle = cx.specs.get(i).and_then(|spec| spec.container);
        let hook = lifecycle.and_then(|one| one.lifecycle.as_ref()?.pre_stop.as_ref());
        let has_hook = hook.is_some() && grace_s > 0;
        one.stopping = Some(Stopping {
            deadline,
            has_hook,
            told: None,
            is_killed: false,
        });
        if has_hook {
            let longest_s = u32::try_from(grace_s).unwrap_or(u32::MAX);
            real.order(Order::Hook(run, Hook::PreStop, longest_s));
        }
    }

    /// The hook that comes before the signal is over.
    pub(super) fn stop_hook_ended(&mut self, i: usize) {
        let one = self
            .real
            .as_mut()
            .and_then(|real| real.containers.get_mut(i));
        if let Some(stopping) = one.and_then(|one| one.stopping.as_mut()) {
            stopping.has_hook = false;
        }
    }

    /// Sidecars stop after what they serve, the last one first. Upstream's `terminationOrdering`.
    pub(super) fn has_turn(&self, cx: &Cx<'_>, i: usize) -> bool {
        let is_sidecar = |i: usize| cx.specs.get(i).is_some_and(|one| one.role == Role::Sidecar);
        if !is_sidecar(i) || self.stage != Stage::Ending {
            return true;
        }
        let mut others = self.containers.iter().enumerate();
        !others.any(|(j, one)| one.running().is_some() && (!is_sidecar(j) || j > i))
    }

    /// Orders what is due for the containers that are being stopped.
    pub(in crate::kubelet) fn go_on_stopping(&mut self, cx: &Cx<'_>, now: Time) {
        for i in 0..self.containers.len() {
            let has_turn = self.has_turn(cx, i);
            let is_running = self
                .containers
                .get(i)
                .is_some_and(|one| one.running().is_some());
            let (true, Some(run)) = (is_running, self.run_id(cx, i)) else {
                continue;
            };
            let Some(real) = &mut self.real else { return };
            let one = real.containers.get_mut(i);
            let Some(stopping) = one.and_then(|one| one.stopping.as_mut()) else {
                continue;
            };
            let is_late = stopping.deadline <= now;
            let order = match stopping.told {
                None if is_late || (has_turn && !stopping.has_hook) => {
                    stopping.told = Some(now);
                    Order::Stop(run)
                }
                Some(told) if !stopping.is_killed && stopping.kill_at(told) <= now => {
                    stopping.is_killed = true;
                    Order::Kill(run)
                }
                _ => continue,
            };
            real.order(order);
        }
    }
}
