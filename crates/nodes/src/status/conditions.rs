//! The conditions of a pod that its kubelet has to keep. Upstream's `status/generate.go`.

use super::{phase, rfc3339_secs};
use crate::kubelet::{
    CONTAINERS_READY, Cx, INITIALIZED, PodSim, READY, READY_TO_START, Role, Since, Spec, Stage,
    could_restart_all, hash, pod_spec, secs,
};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use stowplan_base::Time;

/// The conditions by their places in [`PodSim::conditions`].
pub(super) const NAMES: [&str; 4] = [
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
];

/// Notes which conditions hold now, and since when.
pub(crate) fn update_conditions(sim: &mut PodSim, cx: &Cx<'_>, now: Time) {
    let (pod, specs) = (cx.pod, cx.specs);
    let is_over = sim.stage == Stage::Finished;
    let phase = phase(sim, pod, specs);
    let are_ready = !is_over && unready(sim, pod, specs).is_empty();
    let initialized = phase == "Succeeded"
        || sim.is_initialized(specs)
        || incomplete(sim, pod, specs).is_empty()
        // Once is enough.
        || (could_restart_all(pod_spec(pod)) && sim.conditions[INITIALIZED].holds);
    let mut holds = [false; 4];
    holds[READY_TO_START] = sim.has_sandbox;
    holds[INITIALIZED] = initialized;
    holds[CONTAINERS_READY] = are_ready;
    holds[READY] = are_ready && gates(pod).is_empty();
    for (condition, holds) in sim.conditions.iter_mut().zip(holds) {
        if condition.holds != holds {
            *condition = Since {
                holds,
                secs: secs(now),
            };
        }
    }
}

/// Containers that have to be ready and are not.
fn unready<'p>(sim: &PodSim, pod: &Pod, specs: &[Spec<'p>]) -> Vec<&'p str> {
    let matter = |role| matches!(role, Role::Main | Role::Sidecar);
    let all = sim.with_specs(specs);
    all.filter(|(spec, one)| matter(spec.role) && !sim.is_ready(pod, spec, one))
        .map(|(spec, _)| spec.name)
        .collect()
}

/// Init containers that still have to be waited for.
fn incomplete<'p>(sim: &PodSim, pod: &Pod, specs: &[Spec<'p>]) -> Vec<&'p str> {
    let all = sim.with_specs(specs);
    all.filter(|(spec, one)| match spec.role {
        Role::Init => !sim.is_ready(pod, spec, one),
        Role::Sidecar => !sim.is_started(pod, spec, one),
        Role::Main | Role::Ephemeral => false,
    })
    .map(|(spec, _)| spec.name)
    .collect()
}

/// What is wrong with the readiness gates.
fn gates(pod: &Pod) -> String {
    let mut wrong = Vec::new();
    let status = pod.status.as_ref();
    for gate in pod_spec(pod).readiness_gates.iter().flatten() {
        let wanted = &gate.condition_type;
        let mut conditions = status
            .iter()
            .flat_map(|one| one.conditions.iter().flatten());
        match conditions.find(|one| one.type_ == *wanted) {
            None => wrong.push(format!(
                "corresponding condition of pod readiness gate {wanted:?} does not exist."
            )),
            Some(found) if found.status != "True" => wrong.push(format!(
                "the status of pod readiness gate {wanted:?} is not \"True\", but {}",
                found.status
            )),
            Some(_) => {}
        }
    }
    wrong.join(", ")
}

/// What is wrong with the readiness gates, hashed.
pub(crate) fn gates_hash(pod: &Pod) -> u64 {
    match pod_spec(pod).readiness_gates.as_deref() {
        None | Some([]) => 0,
        Some(_) => hash(&[&gates(pod)]),
    }
}

/// `[a b]`: as Go writes a list of words.
fn listed(names: &[&str]) -> String {
    format!("[{}]", names.join(" "))
}

/// Reason and message of a condition; both empty where there is nothing to say.
fn words(sim: &PodSim, pod: &Pod, specs: &[Spec<'_>], place: usize) -> (&'static str, String) {
    let none = ("", String::new());
    let phase = phase(sim, pod, specs);
    let over = match phase {
        "Succeeded" => Some("PodCompleted"),
        "Failed" => Some("PodFailed"),
        _ => None,
    };
    let holds = sim.conditions.get(place).is_some_and(|one| one.holds);
    match place {
        INITIALIZED if phase == "Succeeded" => ("PodCompleted", String::new()),
        INITIALIZED if !holds => {
            let names = listed(&incomplete(sim, pod, specs));
            let message = format!("containers with incomplete status: {names}");
            ("ContainersNotInitialized", message)
        }
        READY | CONTAINERS_READY if !holds => {
            let names = unready(sim, pod, specs);
            match (over, names.is_empty()) {
                (Some(reason), _) => (reason, String::new()),
                (None, true) => ("ReadinessGatesNotReady", gates(pod)),
                (None, false) => {
                    let message = format!("containers with unready status: {}", listed(&names));
                    ("ContainersNotReady", message)
                }
            }
        }
        _ => none,
    }
}

/// All conditions, and the order in which they are to stand.
pub(super) fn all(sim: &PodSim, pod: &Pod, specs: &[Spec<'_>]) -> (Value, Value) {
    let condition = |name: &str, since: Since, (reason, message): (&str, String)| {
        let mut condition = json!({
            "type": name,
            "observedGeneration": sim.generation,
            "status": if since.holds { "True" } else { "False" },
            "lastProbeTime": null,
            "lastTransitionTime": rfc3339_secs(since.secs.into()),
            // What was said before holds no longer.
            "reason": null,
            "message": null,
        });
        if !reason.is_empty() {
            condition["reason"] = reason.into();
        }
        if !message.is_empty() {
            condition["message"] = message.into();
        }
        condition
    };
    let mut all = Vec::new();
    for (place, (name, since)) in NAMES.iter().zip(sim.conditions).enumerate() {
        all.push(condition(name, since, words(sim, pod, specs, place)));
    }
    let nothing = || ("", String::new());
    let scheduled = Since {
        holds: true,
        secs: sim.scheduled_s,
    };
    all.push(condition("PodScheduled", scheduled, nothing()));
    if could_restart_all(pod_spec(pod)) {
        let begun = Since {
            holds: false,
            secs: secs(sim.begun),
        };
        let reason = match phase(sim, pod, specs) {
            "Succeeded" => "PodCompleted",
            "Failed" => "PodFailed",
            _ => "",
        };
        let condition = condition("AllContainersRestarting", begun, (reason, String::new()));
        all.push(condition);
    }
    let order = all.iter().map(|one| json!({"type": one["type"]})).collect();
    (Value::Array(all), order)
}

/// No condition of a kubelet's.
pub(super) fn none() -> Value {
    let names = NAMES.iter().chain(&["PodScheduled"]);
    names
        .map(|name| json!({"$patch": "delete", "type": name}))
        .collect()
}
