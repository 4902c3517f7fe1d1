//! The phase of a pod.

use crate::kubelet::{Ended, PodSim, Role, Run, Spec, Stage, Why, pod_spec, should_restart};
use k8s_openapi::api::core::v1::Pod;

/// The phase of a pod. Upstream's `getPhase`; a pod is not over while anything of it runs.
pub(crate) fn phase(sim: &PodSim, pod: &Pod, specs: &[Spec<'_>]) -> &'static str {
    if sim.verdict.is_some() && sim.stage == Stage::Finished {
        return "Failed";
    }
    let phase = of_containers(sim, pod, specs);
    match (phase, sim.stage) {
        ("Succeeded" | "Failed", Stage::Finished) => phase,
        ("Succeeded" | "Failed", _) => match sim.is_initialized(specs) {
            true => "Running",
            false => "Pending",
        },
        // Whatever was never started is lost.
        (_, Stage::Finished) => "Failed",
        _ => phase,
    }
}

#[derive(Default)]
struct Counts {
    pending_init: usize,
    failed_init: usize,
    pending_sidecars: usize,
    running: usize,
    waiting: usize,
    stopped: usize,
    stopped_for_good: usize,
    succeeded: usize,
}

fn of_containers(sim: &PodSim, pod: &Pod, specs: &[Spec<'_>]) -> &'static str {
    let counts = count(sim, pod, specs);
    let is_initializing =
        counts.pending_init > 0 || (counts.pending_sidecars > 0 && !sim.has_active_main(specs));
    if counts.failed_init > 0 {
        "Failed"
    } else if is_initializing || counts.waiting > 0 {
        "Pending"
    } else if counts.running > 0 {
        "Running"
    } else if counts.stopped == 0 {
        "Pending"
    } else if sim.stage != Stage::Finished && counts.stopped != counts.stopped_for_good {
        "Running"
    } else if counts.stopped == counts.succeeded {
        "Succeeded"
    } else {
        "Failed"
    }
}

fn count(sim: &PodSim, pod: &Pod, specs: &[Spec<'_>]) -> Counts {
    let mut counts = Counts::default();
    for (spec, container) in sim.with_specs(specs) {
        let ended = match (&container.run, container.last) {
            (Run::Ended(ended), _) => Some(*ended),
            (Run::Waiting | Run::Backoff(_), last) => last,
            (Run::Running(_), _) => None,
        };
        let is_running = container.running().is_some();
        let restarts = |ended: &Ended| {
            ended.why == Why::RestartingAll || should_restart(pod_spec(pod), spec, ended.code)
        };
        match (spec.role, ended) {
            (Role::Ephemeral, _) => {}
            (Role::Init, Some(ended)) if ended.code == 0 => {}
            (Role::Init, Some(ended)) => counts.failed_init += usize::from(!restarts(&ended)),
            (Role::Init, None) => counts.pending_init += 1,
            // Sidecars that stopped do not count.
            (Role::Sidecar, Some(_)) => {}
            (Role::Sidecar, None) => {
                counts.running += usize::from(is_running);
                counts.waiting += usize::from(!is_running);
                let is_pending = !sim.is_started(pod, spec, container);
                counts.pending_sidecars += usize::from(is_pending);
            }
            (Role::Main, Some(ended)) => {
                counts.stopped += 1;
                counts.stopped_for_good += usize::from(!restarts(&ended));
                let is_over = container.ended().is_some();
                counts.succeeded += usize::from(is_over && ended.code == 0);
            }
            (Role::Main, None) if is_running => counts.running += 1,
            (Role::Main, None) => counts.waiting += 1,
        }
    }
    counts
}
