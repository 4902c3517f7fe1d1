//! How a pod and its containers are stopped.

use super::container::{ContainerSim, Ended, Run, Why};
use super::spec::Role;
use super::{Cx, PodSim, Stage, Verdict, pod_spec};
use crate::behaviour;
use crate::events::PodEvent;
use stowplan_base::{Duration, Time};

/// The code of a process that SIGTERM ended: 128 + 15, which container runtimes report as an error.
pub(crate) const TERMINATED: i32 = 143;
/// The code of a process that SIGKILL ended.
const KILLED: i32 = 137;
/// However short the grace period is, a process has so long to end. `minimumGracePeriodInSeconds`.
const GRACE_MIN: Duration = Duration::from_secs(2);

/// Why a pod is stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cause {
    /// All that it is for is done, or failed for good.
    Completed,
    /// It was active for too long.
    Deadline,
    /// It is deleted; with this grace period.
    Deleted(i64),
}

impl PodSim {
    /// Somebody deletes the pod. A shorter grace period than the one before counts from now on.
    pub(crate) fn delete(&mut self, cx: &mut Cx<'_>, now: Time) {
        let meta = &cx.pod.metadata;
        let grace_s = meta.deletion_grace_period_seconds.unwrap_or(30);
        match (self.stage, self.cause) {
            (Stage::Finished, _) => {}
            (Stage::Ending, Some(Cause::Deleted(before))) if grace_s >= before => {}
            (Stage::Ending, Some(Cause::Deleted(_))) => {
                self.cause = Some(Cause::Deleted(grace_s));
                self.stop_all(cx, grace_s, now);
            }
            (Stage::Ending, _) => {}
            (Stage::Setup | Stage::Living, _) => self.end(cx, Cause::Deleted(grace_s), now),
        }
    }

    /// Somebody else says that the pod failed: all that still runs is stopped.
    pub(crate) fn overrule(&mut self, cx: &mut Cx<'_>, reason: &str, message: &str, now: Time) {
        if matches!(self.stage, Stage::Setup | Stage::Living) {
            self.end(cx, Cause::Completed, now);
            self.verdict = Some(Box::new(Verdict {
                reason: reason.into(),
                message: message.into(),
                is_rejection: false,
            }));
        }
    }

    /// The pod is over: all that still runs is stopped.
    pub(super) fn end(&mut self, cx: &mut Cx<'_>, cause: Cause, now: Time) {
        self.stage = Stage::Ending;
        self.cause = Some(cause);
        if cause == Cause::Deadline {
            let message = "Pod was active on the node longer than the specified deadline";
            cx.events.push(PodEvent {
                is_warning: false,
                reason: "DeadlineExceeded".into(),
                message: message.to_owned(),
                container: None,
            });
            self.verdict = Some(Box::new(Verdict {
                reason: "DeadlineExceeded".into(),
                message: message.into(),
                is_rejection: false,
            }));
        }
        let own = pod_spec(cx.pod).termination_grace_period_seconds;
        let grace_s = match cause {
            Cause::Deleted(grace_s) => grace_s,
            Cause::Completed | Cause::Deadline => own.unwrap_or(30),
        };
        self.leave_hooks(cx, now);
        for i in 0..self.containers.len() {
            let is_running = self
                .containers
                .get(i)
                .is_some_and(|one| one.running().is_some());
            if let (true, Some(spec)) = (is_running, cx.specs.get(i)) {
                let name = spec.name;
                cx.tell(i, "Killing", format!("Stopping container {name}"));
            }
        }
        self.stop_all(cx, grace_s, now);
    }

    /// Tells all containers to stop: sidecars after what they serve, the last one first. Upstream's
    /// `terminationOrdering`.
    fn stop_all(&mut self, cx: &Cx<'_>, grace_s: i64, now: Time) {
        let mut last = now;
        for (i, spec) in cx.specs.iter().enumerate() {
            if spec.role != Role::Sidecar {
                last = last.max(self.stop(cx, i, grace_s, now, now).unwrap_or(now));
            }
        }
        for (i, spec) in cx.specs.iter().enumerate().rev() {
            if spec.role == Role::Sidecar {
                last = last.max(self.stop(cx, i, grace_s, now, last).unwrap_or(now));
            }
        }
    }

    /// Tells a container to stop, but not before its turn: its hook first, then SIGTERM, then SIGKILL when
    /// the grace period is over. Says when its process is gone. Upstream's `killContainer`.
    pub(super) fn stop(
        &mut self,
        cx: &Cx<'_>,
        i: usize,
        grace_s: i64,
        now: Time,
        turn: Time,
    ) -> Option<Time> {
        let spec = cx.specs.get(i)?;
        let is_real = self.real.is_some();
        let Some(ContainerSim {
            run: Run::Running(running),
            ..
        }) = self.containers.get_mut(i)
        else {
            return None;
        };
        if is_real {
            running.is_stopping = true;
            self.begin_stop(cx, i, grace_s, now);
            return None;
        }
        let grace = Duration::from_secs(grace_s.max(0));
        let hook = pre_stop(spec.container).min(grace);
        let told = (now + hook).max(turn).min(now + grace).max(now);
        let left = ((now + grace) - told).max(GRACE_MIN);
        let wants = cx.slowed(behaviour::stop_after(cx.pod));
        let (dies, code) = match wants <= left {
            true => (told + wants, TERMINATED),
            false => (told + left, KILLED),
        };
        // It may be faster by itself.
        running.ends = match running.ends {
            Some((at, code)) if at < dies => Some((at, code)),
            _ => Some((dies, code)),
        };
        running.is_stopping = true;
        running.ends.map(|(at, _)| at)
    }

    /// Containers that were told to stop do so; when none is left the pod is finished.
    pub(super) fn wind_down(&mut self, cx: &Cx<'_>, now: Time) {
        let is_real = self.real.is_some();
        for container in &mut self.containers {
            if let Run::Running(running) = container.run
                && let Some((at, code)) = running.ends
                && at <= now
            {
                container.end(if is_real { at } else { now }, code);
            }
        }
        let is_unsure = self.real.as_ref().is_some_and(|real| real.is_unsure());
        if is_unsure || self.containers.iter().any(|one| one.running().is_some()) {
            return;
        }
        self.close(cx, now);
        self.stage = Stage::Finished;
        self.has_sandbox = false;
        self.release();
    }

    /// Whatever did not run to its end is unknown. Upstream's `TerminatePod`.
    fn close(&mut self, cx: &Cx<'_>, now: Time) {
        let unknown = Ended {
            since: now,
            at: now,
            code: KILLED,
            why: Why::Unknown,
        };
        let roles: Vec<Role> = cx.specs.iter().map(|spec| spec.role).collect();
        let is_init = |i: usize| matches!(roles.get(i), Some(Role::Init | Role::Sidecar));
        // Init containers behind the last one that ran never had their turn; the first always had.
        let ran = self.containers.iter().enumerate();
        let last_init = ran
            .filter(|(i, one)| is_init(*i) && one.has_run())
            .map(|(i, _)| i)
            .max();
        let is_initialized =
            self.is_initialized(cx.specs) || !is_init(0) || self.is_last_init_done(&roles);
        for (i, container) in self.containers.iter_mut().enumerate() {
            let had_turn = match roles.get(i) {
                Some(Role::Main) => is_initialized,
                Some(Role::Init | Role::Sidecar) => i <= last_init.unwrap_or(0),
                _ => false,
            };
            match container.run {
                Run::Backoff(_) => {
                    container.run = container.last.take().map_or(Run::Waiting, Run::Ended);
                }
                Run::Waiting if had_turn => container.run = Run::Ended(unknown),
                _ => {}
            }
        }
    }

    fn is_last_init_done(&self, roles: &[Role]) -> bool {
        let last = roles
            .iter()
            .rposition(|role| matches!(role, Role::Init | Role::Sidecar));
        let container = last.and_then(|i| self.containers.get(i));
        container
            .and_then(ContainerSim::ended)
            .is_some_and(|ended| ended.code == 0)
    }
}

/// How long the hook takes that runs before a container is told to stop.
fn pre_stop(container: Option<&k8s_openapi::api::core::v1::Container>) -> Duration {
    let hook = container.and_then(|one| one.lifecycle.as_ref()?.pre_stop.as_ref());
    let Some(hook) = hook else {
        return Duration::ZERO;
    };
    if let Some(sleep) = &hook.sleep {
        return Duration::from_secs(sleep.seconds);
    }
    let exec = hook.exec.as_ref().and_then(|exec| exec.command.as_deref());
    exec.map_or(Duration::ZERO, behaviour::hook)
}
