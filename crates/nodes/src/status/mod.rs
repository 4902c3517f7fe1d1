//! What a kubelet reports of a pod: `generateAPIPodStatus` and `status_manager.go`.

mod conditions;
mod containers;
mod phase;

pub(crate) use conditions::{gates_hash, update_conditions};
pub(crate) use phase::phase;

use crate::kubelet::{PodSim, Role, Run, Since, Spec, Stage, pod_spec};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use serde_json::{Map, Value, json};
use std::net::Ipv4Addr;
use stowplan_base::Time;

/// A moment as the API writes it, to the second.
pub(crate) fn rfc3339(at: Time) -> String {
    rfc3339_secs(at.as_millis().div_euclid(1_000))
}

pub(crate) fn rfc3339_secs(secs: i64) -> String {
    let at = Timestamp::from_second(secs).unwrap_or_default();
    at.to_string()
}

/// The patch of a pod's status that reports all that a kubelet has to say of it. It is meant for the pod
/// with this uid and no other.
pub(crate) fn patch(sim: &PodSim, pod: &Pod, specs: &[Spec<'_>], host: Ipv4Addr) -> Value {
    let mut status = Map::new();
    let mut set = |name: &str, value: Value| status.insert(name.to_owned(), value);
    set("observedGeneration", sim.generation.into());
    set("startTime", rfc3339(sim.begun).into());
    set("phase", phase(sim, pod, specs).into());
    if let Some(verdict) = sim
        .verdict
        .as_ref()
        .filter(|_| sim.stage == Stage::Finished)
    {
        for (field, text) in [("reason", &verdict.reason), ("message", &verdict.message)] {
            if !text.is_empty() {
                set(field, (**text).into());
            }
        }
    }
    if sim
        .verdict
        .as_ref()
        .is_some_and(|verdict| verdict.is_rejection)
    {
        // Nothing else is known of it; the scheduler's word does not hold.
        set("conditions", conditions::none());
        return json!({"metadata": {"uid": &*sim.uid}, "status": status});
    }
    let (conditions, order) = conditions::all(sim, pod, specs);
    set("conditions", conditions);
    set("$setElementOrder/conditions", order);
    set("hostIP", host.to_string().into());
    set("hostIPs", json!([{"ip": host.to_string()}]));
    let is_on_host = pod_spec(pod).host_network == Some(true);
    let ip = match is_on_host {
        true => Some(host),
        false => sim
            .ip
            .filter(|_| sim.containers.iter().any(|one| one.has_run())),
    };
    if let Some(ip) = ip {
        set("podIP", ip.to_string().into());
        set("podIPs", json!([{"ip": ip.to_string()}]));
    }
    for (name, value) in containers::all(sim, pod, specs) {
        set(name, value);
    }
    let resources = crate::admission::reported(pod);
    if let Some(requests) = resources.get("requests") {
        set("allocatedResources", requests.clone());
    }
    set("resources", resources);
    json!({"metadata": {"uid": &*sim.uid}, "status": status})
}

/// What a kubelet says of a pod's containers, as a part of its status.
pub(crate) fn container_statuses(sim: &PodSim, pod: &Pod, specs: &[Spec<'_>]) -> Value {
    let is_rejected = sim.verdict.as_ref().is_some_and(|one| one.is_rejection);
    let all = match is_rejected {
        true => Vec::new(),
        false => containers::all(sim, pod, specs),
    };
    all.into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Whether the API tells of the pod anything but what its kubelet knows.
pub(crate) fn differs(sim: &PodSim, pod: &Pod, specs: &[Spec<'_>]) -> bool {
    let Some(status) = &pod.status else {
        return true;
    };
    if status.phase.as_deref() != Some(phase(sim, pod, specs))
        || status.observed_generation.unwrap_or_default() < sim.generation
        || status.start_time.is_none()
    {
        return true;
    }
    if sim
        .verdict
        .as_ref()
        .is_some_and(|verdict| verdict.is_rejection)
    {
        return false;
    }
    let said = status.conditions.iter().flatten();
    let mut missing = conditions::NAMES.len();
    for condition in said {
        let place = conditions::NAMES
            .iter()
            .position(|name| *name == condition.type_);
        let ours = place.and_then(|place| sim.conditions.get(place));
        if let Some(Since { holds, .. }) = ours {
            missing -= 1;
            if (condition.status == "True") != *holds {
                return true;
            }
        }
    }
    if missing > 0 {
        return true;
    }
    sim.with_specs(specs).any(|(spec, container)| {
        let list = match spec.role {
            Role::Init | Role::Sidecar => &status.init_container_statuses,
            Role::Main => &status.container_statuses,
            Role::Ephemeral => &status.ephemeral_container_statuses,
        };
        let found = list.iter().flatten().find(|one| one.name == spec.name);
        found.is_none_or(|found| {
            found.restart_count != i32::try_from(container.restarts).unwrap_or(i32::MAX)
                || found.ready != sim.is_ready(pod, spec, container)
                || state_of(found) != state_of_run(&container.run)
        })
    })
}

fn state_of(status: &ContainerStatus) -> u8 {
    match &status.state {
        Some(state) if state.running.is_some() => 1,
        Some(state) if state.terminated.is_some() => 2,
        _ => 0,
    }
}

fn state_of_run(run: &Run) -> u8 {
    match run {
        Run::Waiting | Run::Backoff(_) => 0,
        Run::Running(_) => 1,
        Run::Ended(_) => 2,
    }
}
