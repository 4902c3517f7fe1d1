//! What a runtime tells of a pod, taken in.

use super::{Ending, PREPARE_MS, RETRY_MAX_S, RETRY_S, Setup, seconds};
use crate::kubelet::container::{Ended, Run, Running, Why};
use crate::kubelet::{Cx, PodSim, Stage, hash, pod_spec};
use crate::runtime::{Exit, Hook, Order, Report, RunId, Trouble};
use stowplan_base::{Duration, Time};

/// An image was tried before.
const BACK_OFF: &str = "ImagePullBackOff";

impl PodSim {
    /// Something happened. Whoever tells lets the pod [advance](PodSim::advance) then.
    pub(crate) fn report(&mut self, cx: &mut Cx<'_>, report: Report, now: Time) {
        if self.real.is_none() {
            return;
        }
        self.grow(cx);
        let place = |cx: &Cx<'_>, run: &RunId| {
            let mut specs = cx.specs.iter();
            specs.position(|spec| *spec.name == *run.container)
        };
        match report {
            Report::Prepared(found) => self.prepared(cx, found),
            Report::NotPrepared(why) => self.not_prepared(cx, why, now),
            Report::Started(run, at) => {
                if let Some(i) = place(cx, &run) {
                    self.started(cx, i, &run, at, now);
                }
            }
            Report::NotStarted(run, trouble) => {
                if let Some(i) = place(cx, &run) {
                    self.not_started(cx, i, &run, trouble, now);
                }
            }
            Report::Exited(run, exit) => {
                if let Some(i) = place(cx, &run) {
                    self.exited(cx, i, &run, exit, now);
                }
            }
            Report::Lost(run) => {
                if let Some(i) = place(cx, &run) {
                    self.lost(i, &run, now);
                }
            }
            Report::HookEnded(run, hook, is_done) => {
                if let Some(i) = place(cx, &run) {
                    self.hook_ended(cx, (i, &run), hook, is_done, now);
                }
            }
            Report::Probed(run, kind, answer) => {
                if let Some(i) = place(cx, &run) {
                    self.probed(cx, (i, &run), kind, answer, now);
                }
            }
        }
    }

    /// Whether this run is the one that there is now.
    fn is_current(&self, i: usize, run: &RunId) -> bool {
        let one = self.containers.get(i);
        one.is_some_and(|one| one.running().is_some() && one.restarts == run.attempt)
    }

    fn not_prepared(&mut self, cx: &mut Cx<'_>, why: String, now: Time) {
        let Some(real) = &mut self.real else { return };
        let pause_ms = match real.setup {
            Setup::Asked { pause_ms } => pause_ms,
            _ => PREPARE_MS,
        };
        let again = now + Duration::from_millis(pause_ms);
        real.setup = Setup::Failed { again, pause_ms };
        cx.events.push(crate::events::PodEvent {
            is_warning: true,
            reason: "FailedMount".into(),
            message: why,
            container: None,
        });
    }

    /// A container runs. If it has a hook for that, nothing more is done before the hook is over.
    fn started(&mut self, cx: &mut Cx<'_>, i: usize, run: &RunId, at: Time, now: Time) {
        let Some(real) = &mut self.real else { return };
        let (Some(one), Some(spec)) = (real.containers.get_mut(i), cx.specs.get(i)) else {
            return;
        };
        if one.asked != Some(run.attempt) || one.begun.is_some() {
            return;
        }
        let hook = spec
            .container
            .and_then(|one| one.lifecycle.as_ref()?.post_start.as_ref());
        let waits = hook.is_some() && self.stage != Stage::Ending;
        if waits {
            one.begun = Some(at);
            let longest_s = u32::MAX;
            real.order(Order::Hook(run.clone(), Hook::PostStart, longest_s));
        }
        self.tell_started(cx, i);
        if !waits {
            self.runs(cx, i, run.attempt, at, now);
        }
    }

    /// The pod is to end: hooks that run after a start are not waited for.
    pub(in crate::kubelet) fn leave_hooks(&mut self, cx: &mut Cx<'_>, now: Time) {
        for i in 0..self.containers.len() {
            let one = self.real.as_ref().and_then(|real| real.container(i));
            let begun = one.and_then(|one| one.asked.zip(one.begun));
            if let Some((attempt, at)) = begun {
                self.runs(cx, i, attempt, at, now);
            }
        }
    }

    /// A container runs, and all may know.
    fn runs(&mut self, cx: &mut Cx<'_>, i: usize, attempt: u32, at: Time, now: Time) {
        let Some(real) = &mut self.real else { return };
        let (Some(one), Some(spec), Some(sim)) = (
            real.containers.get_mut(i),
            cx.specs.get(i),
            self.containers.get_mut(i),
        ) else {
            return;
        };
        one.asked = None;
        one.begun = None;
        one.trouble = None;
        one.pause_s = 0;
        one.stopping = None;
        one.workers = [None; 3];
        if let Run::Ended(ended) = sim.run {
            sim.last = Some(ended);
        }
        sim.restarts = attempt;
        sim.image = hash(&[spec.image]) as u32;
        sim.run = Run::Running(Running {
            since: at,
            ends: None,
            is_stopping: false,
        });
        self.begin_probes(cx, i, at);
        if self.stage == Stage::Ending {
            // Somebody wanted it to go while it was being started.
            let own = pod_spec(cx.pod).termination_grace_period_seconds;
            let grace_s = match self.cause {
                Some(crate::kubelet::Cause::Deleted(grace_s)) => grace_s,
                _ => own.unwrap_or(30),
            };
            self.stop(cx, i, grace_s, now, now);
        }
    }

    fn not_started(
        &mut self,
        cx: &mut Cx<'_>,
        i: usize,
        run: &RunId,
        mut trouble: Trouble,
        now: Time,
    ) {
        let Some(real) = &mut self.real else { return };
        let (Some(one), Some(spec), Some(sim)) = (
            real.containers.get_mut(i),
            cx.specs.get(i),
            self.containers.get_mut(i),
        ) else {
            return;
        };
        if one.asked != Some(run.attempt) {
            return;
        }
        one.asked = None;
        let before = sim.ended().copied();
        sim.restarts = run.attempt;
        sim.last = before.or(sim.last);
        if trouble.reason == Trouble::START_ERROR {
            one.trouble = None;
            sim.image = hash(&[spec.image]) as u32;
            sim.run = Run::Ended(Ended {
                since: Time::default(),
                at: now,
                code: 128,
                why: Why::Exited,
            });
            let message = trouble.message;
            cx.tell(i, "Failed", format!("Error: {message}"));
            let reason = Some(Trouble::START_ERROR.into());
            let ending = Ending {
                signal: None,
                reason,
                message,
                at: now,
            };
            one.remember(ending);
            return;
        }
        sim.run = Run::Waiting;
        let is_pull = trouble.reason == Trouble::PULL_ERROR;
        let before = one.trouble.as_ref().map(|trouble| trouble.reason);
        let is_again = is_pull && matches!(before, Some(Trouble::PULL_ERROR | BACK_OFF));
        one.pause_s = match is_again {
            true => one.pause_s.saturating_mul(2).min(RETRY_MAX_S),
            false => RETRY_S,
        };
        one.again = Some(now + seconds(one.pause_s));
        tell_trouble(cx, i, spec.image, &trouble, is_again);
        if is_again {
            let (image, message) = (spec.image, &trouble.message);
            trouble.message = format!("Back-off pulling image {image:?}: ErrImagePull: {message}");
            trouble.reason = BACK_OFF;
        }
        one.trouble = Some(Box::new(trouble));
    }

    /// A container's run is over: the usual way is taken from here.
    fn exited(&mut self, cx: &mut Cx<'_>, i: usize, run: &RunId, exit: Exit, now: Time) {
        let is_asked = self.real.as_ref().is_some_and(|real| {
            real.container(i)
                .is_some_and(|one| one.asked == Some(run.attempt))
        });
        if is_asked {
            // It was so short that its start was not heard of, or is over before its hook.
            if !self.awaits_hook(i) {
                self.tell_started(cx, i);
            }
            self.runs(cx, i, run.attempt, exit.since, now);
        }
        if !self.is_current(i, run) {
            return;
        }
        let at = exit.at.min(now);
        let ending = Ending {
            signal: exit.signal,
            reason: exit.reason,
            message: exit.message,
            at,
        };
        if let Some(one) = self
            .real
            .as_mut()
            .and_then(|real| real.containers.get_mut(i))
        {
            one.remember(ending);
            one.stopping = None;
            one.workers = [None; 3];
        }
        if let Some(Run::Running(running)) = self.containers.get_mut(i).map(|one| &mut one.run) {
            running.since = exit.since.min(at);
            running.ends = Some((at, exit.code));
        }
    }

    /// A container is gone, and nobody knows how.
    fn lost(&mut self, i: usize, run: &RunId, now: Time) {
        let Some(real) = &mut self.real else { return };
        let (Some(one), Some(sim)) = (real.containers.get_mut(i), self.containers.get_mut(i))
        else {
            return;
        };
        let is_asked = one.asked == Some(run.attempt);
        if !is_asked && (sim.running().is_none() || sim.restarts != run.attempt) {
            return;
        }
        one.asked = None;
        one.begun = None;
        one.stopping = None;
        one.workers = [None; 3];
        if let Run::Ended(ended) = sim.run {
            sim.last = Some(ended);
        }
        sim.restarts = run.attempt;
        sim.run = Run::Ended(Ended {
            since: now,
            at: now,
            code: 137,
            why: Why::Unknown,
        });
    }

    fn hook_ended(
        &mut self,
        cx: &mut Cx<'_>,
        (i, run): (usize, &RunId),
        hook: Hook,
        is_done: bool,
        now: Time,
    ) {
        let one = self.real.as_ref().and_then(|real| real.container(i));
        let begun = one.filter(|one| one.asked == Some(run.attempt));
        if let Some(at) = begun.and_then(|one| one.begun) {
            self.runs(cx, i, run.attempt, at, now);
        }
        if !self.is_current(i, run) {
            return;
        }
        match (hook, is_done) {
            (Hook::PostStart, true) => {}
            (Hook::PostStart, false) => {
                cx.tell(i, "FailedPostStartHook", "PostStartHook failed".to_owned());
                cx.tell(i, "Killing", "FailedPostStartHook".to_owned());
                let grace_s = pod_spec(cx.pod).termination_grace_period_seconds;
                self.stop(cx, i, grace_s.unwrap_or(30), now, now);
            }
            (Hook::PreStop, is_done) => {
                if !is_done {
                    cx.tell(i, "FailedPreStopHook", "PreStopHook failed".to_owned());
                }
                self.stop_hook_ended(i);
            }
        }
    }
}

/// Tells why a container waits, in the words of upstream's `image_manager.go` and `startContainer`.
fn tell_trouble(cx: &mut Cx<'_>, i: usize, image: &str, trouble: &Trouble, is_again: bool) {
    let message = &trouble.message;
    match trouble.reason {
        Trouble::PULL_ERROR => {
            cx.tell(i, "Pulling", format!("Pulling image {image:?}"));
            let failed = format!("Failed to pull image {image:?}: {message}");
            cx.tell(i, "Failed", failed);
            cx.tell(i, "Failed", "Error: ErrImagePull".to_owned());
        }
        reason @ Trouble::NEVER_PULL => {
            cx.tell(i, reason, message.clone());
            cx.tell(i, "Failed", format!("Error: {reason}"));
        }
        _ => cx.tell(i, "Failed", format!("Error: {message}")),
    }
    if is_again {
        cx.tell(i, "BackOff", format!("Back-off pulling image {image:?}"));
        cx.tell(i, "Failed", "Error: ImagePullBackOff".to_owned());
    }
}

impl super::RealContainer {
    /// Notes how a run ended.
    pub(super) fn remember(&mut self, ending: Ending) {
        self.endings[1] = self.endings[0].take();
        self.endings[0] = Some(Box::new(ending));
    }
}
