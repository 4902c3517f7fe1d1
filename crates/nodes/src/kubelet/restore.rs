//! A pod that was running before this process was: what its status says is taken up.

use super::container::{ContainerSim, Ended, Run, Running, Why};
use super::{
    CONTAINERS_READY, Cx, INITIALIZED, PodSim, READY, READY_TO_START, Role, Since, Stage, Verdict,
    hash, secs,
};
use crate::admission::Amounts;
use crate::behaviour;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as ApiTime;
use stowplan_base::Time;

pub(crate) fn time(at: &ApiTime) -> Time {
    let nanos = at.0.as_nanosecond();
    Time::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

/// Since when the pod has been scheduled.
pub(super) fn scheduled(pod: &Pod) -> Option<u32> {
    let mut conditions = pod.status.as_ref()?.conditions.iter().flatten();
    let condition = conditions.find(|one| one.type_ == "PodScheduled")?;
    condition
        .last_transition_time
        .as_ref()
        .map(|at| secs(time(at)))
}

impl PodSim {
    /// The pod as its status tells; `None` if no kubelet ever wrote one.
    pub(crate) fn restore(cx: &Cx<'_>, requests: Amounts, now: Time) -> Option<Self> {
        let status = cx.pod.status.as_ref()?;
        let begun = time(status.start_time.as_ref()?);
        let mut sim = Self::new(cx, requests, now);
        let delay = sim.setup_at - now;
        sim.begun = begun;
        sim.setup_at = begun + delay;
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        sim.ip = text(&status.pod_ip).parse().ok();
        for (i, spec) in cx.specs.iter().enumerate() {
            let list = match spec.role {
                Role::Init | Role::Sidecar => &status.init_container_statuses,
                Role::Main => &status.container_statuses,
                Role::Ephemeral => &status.ephemeral_container_statuses,
            };
            let found = list.iter().flatten().find(|one| one.name == spec.name);
            if let (Some(found), Some(container)) = (found, sim.containers.get_mut(i)) {
                take_up(container, found, cx, i);
                if let Some(real) = &mut sim.real {
                    real.take_up_probes(i, spec, found.started == Some(true), found.ready);
                }
            }
        }
        sim.take_up_conditions(status);
        let is_over = matches!(status.phase.as_deref(), Some("Succeeded" | "Failed"));
        let has_begun = sim.containers.iter().any(ContainerSim::has_run);
        sim.stage = match (is_over, has_begun) {
            (true, _) => Stage::Finished,
            // What there is of it has to be found out first.
            (false, _) if cx.is_real => Stage::Setup,
            (false, true) => Stage::Living,
            (false, false) => Stage::Setup,
        };
        sim.has_sandbox = sim.stage == Stage::Living || (cx.is_real && has_begun && !is_over);
        if status.phase.as_deref() == Some("Failed") && status.reason.is_some() {
            sim.verdict = Some(Box::new(Verdict {
                reason: text(&status.reason).into(),
                message: text(&status.message).into(),
                is_rejection: status.container_statuses.is_none(),
            }));
        }
        if is_over {
            sim.end_at_once();
        }
        sim.at = match cx.is_real {
            true => now,
            false => sim.known_until(now),
        };
        if !is_over {
            sim.signature = sim.seen(cx);
        }
        Some(sim)
    }

    /// The last moment of which its status tells.
    fn known_until(&self, now: Time) -> Time {
        let runs = self
            .containers
            .iter()
            .map(|container| match &container.run {
                Run::Running(running) => running.since,
                Run::Ended(ended) => ended.at,
                Run::Waiting | Run::Backoff(_) => container.last.map_or(self.begun, |last| last.at),
            });
        let conditions = self.conditions.iter();
        let conditions = conditions.map(|one| Time::from_secs(one.secs.into()));
        let last = runs.chain(conditions).max();
        last.unwrap_or(self.begun).max(self.begun).min(now)
    }

    fn take_up_conditions(&mut self, status: &PodStatus) {
        for condition in status.conditions.iter().flatten() {
            let place = match condition.type_.as_str() {
                "PodReadyToStartContainers" => READY_TO_START,
                "Initialized" => INITIALIZED,
                "Ready" => READY,
                "ContainersReady" => CONTAINERS_READY,
                _ => continue,
            };
            let at = condition.last_transition_time.as_ref();
            self.conditions[place] = Since {
                holds: condition.status == "True",
                secs: at.map_or(0, |at| secs(time(at))),
            };
        }
    }
}

fn take_up(container: &mut ContainerSim, status: &ContainerStatus, cx: &Cx<'_>, i: usize) {
    container.restarts = u32::try_from(status.restart_count).unwrap_or_default();
    container.last = status.last_state.as_ref().and_then(ended);
    container.backoff_s = ContainerSim::backoff_after(container.restarts);
    let Some(spec) = cx.specs.get(i) else { return };
    container.image = hash(&[spec.image]) as u32;
    let Some(state) = &status.state else { return };
    if let Some(running) = &state.running {
        let since = running.started_at.as_ref().map_or(Time::default(), time);
        container.backoff_at = since;
        let exit = match (spec.role, spec.container) {
            (Role::Main, Some(wanted)) => behaviour::exit(cx.rules, cx.pod, wanted),
            (Role::Init, Some(wanted)) => behaviour::init_exit(wanted),
            (Role::Sidecar, Some(wanted)) => behaviour::sidecar_exit(wanted),
            _ => None,
        };
        container.run = Run::Running(Running {
            since,
            ends: exit
                .filter(|_| !cx.is_real)
                .map(|exit| (since + cx.slowed(exit.after), exit.code)),
            is_stopping: false,
        });
    } else if let Some(ended) = ended(state) {
        container.backoff_at = ended.since;
        container.run = Run::Ended(ended);
    } else if let Some(last) = container.last.filter(|_| is_backoff(state)) {
        container.backoff_at = last.since;
        container.backoff_s = ContainerSim::backoff_after(container.restarts.max(1));
        let pause = stowplan_base::Duration::from_secs(container.backoff_s.into());
        container.run = Run::Backoff(last.at + pause);
    }
}

fn is_backoff(state: &ContainerState) -> bool {
    let waiting = state.waiting.as_ref();
    waiting.is_some_and(|one| one.reason.as_deref() == Some("CrashLoopBackOff"))
}

fn ended(state: &ContainerState) -> Option<Ended> {
    let terminated = state.terminated.as_ref()?;
    let at = |at: &Option<ApiTime>| at.as_ref().map_or(Time::default(), time);
    Some(Ended {
        since: at(&terminated.started_at),
        at: at(&terminated.finished_at),
        code: terminated.exit_code,
        why: match terminated.reason.as_deref() {
            Some("ContainerStatusUnknown") => Why::Unknown,
            Some("RestartingAllContainers") => Why::RestartingAll,
            _ => Why::Exited,
        },
    })
}
