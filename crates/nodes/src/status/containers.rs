//! The statuses of a pod's containers. Upstream's `convertToAPIContainerStatuses`.

use super::rfc3339;
use crate::kubelet::{
    ContainerSim, Ended, Ending, PodSim, Role, Run, Spec, Why, digest, full_name,
};
use k8s_openapi::api::core::v1::{Container, Pod};
use serde_json::{Map, Value, json};
use stowplan_base::Duration;

const CONTAINER_LOST: &str = "The container could not be located when the pod was terminated";
const RESTARTING_ALL: &str = "The container is removed because RestartAllContainers in place";

/// `containerStatuses` and its siblings, those that have to be there.
pub(super) fn all(sim: &PodSim, pod: &Pod, specs: &[Spec<'_>]) -> Vec<(&'static str, Value)> {
    let has_init = specs
        .iter()
        .any(|one| matches!(one.role, Role::Init | Role::Sidecar));
    let mut init = Vec::new();
    let mut main = Vec::new();
    let mut ephemeral = Vec::new();
    for (spec, container) in sim.with_specs(specs) {
        let status = one(sim, pod, spec, container, has_init);
        match spec.role {
            Role::Init | Role::Sidecar => init.push(status),
            Role::Main => main.push(status),
            Role::Ephemeral => ephemeral.push(status),
        }
    }
    // Upstream sorts by name; init containers stay in their order.
    let by_name = |a: &Value, b: &Value| a["name"].as_str().cmp(&b["name"].as_str());
    main.sort_by(by_name);
    ephemeral.sort_by(by_name);
    let lists = [
        ("initContainerStatuses", init),
        ("containerStatuses", main),
        ("ephemeralContainerStatuses", ephemeral),
    ];
    let filled = lists.into_iter().filter(|(_, list)| !list.is_empty());
    filled
        .map(|(name, list)| (name, Value::Array(list)))
        .collect()
}

fn one(sim: &PodSim, pod: &Pod, spec: &Spec<'_>, one: &ContainerSim, has_init: bool) -> Value {
    let mut status = Map::new();
    let mut set = |name: &str, value: Value| status.insert(name.to_owned(), value);
    set("name", spec.name.into());
    set("image", spec.image.into());
    set("restartCount", one.restarts.into());
    set("ready", sim.is_ready(pod, spec, one).into());
    if spec.role != Role::Ephemeral {
        set("started", sim.is_started(pod, spec, one).into());
    }
    let scheme = if sim.real.is_some() {
        "process"
    } else {
        "simulated"
    };
    let id = |restarts: u32| {
        let digest = digest(&[&sim.uid, spec.name, &restarts.to_string()]);
        format!("{scheme}://{digest}")
    };
    let real = sim.place(one).zip(sim.real.as_deref());
    let trouble = real.and_then(|(i, real)| real.trouble(i));
    let ending = |ended: &Ended| real.and_then(|(i, real)| real.ending(i, ended.at));
    let state = match &one.run {
        Run::Waiting if trouble.is_some() => {
            let (reason, message) = trouble
                .map(|one| (one.reason, &*one.message))
                .unwrap_or_default();
            json!({"waiting": {"reason": reason, "message": message}})
        }
        Run::Waiting if one.last.is_some_and(|last| last.why == Why::RestartingAll) => {
            json!({"waiting": {"reason": "RestartingAllContainers", "message": RESTARTING_ALL}})
        }
        Run::Waiting => match has_init {
            true => json!({"waiting": {"reason": "PodInitializing"}}),
            false => json!({"waiting": {"reason": "ContainerCreating"}}),
        },
        Run::Backoff(_) => {
            let pause = Duration::from_secs(one.backoff_s.into());
            let (name, pod) = (spec.name, full_name(pod));
            let message = format!("back-off {pause} restarting failed container={name} pod={pod}");
            json!({"waiting": {"reason": "CrashLoopBackOff", "message": message}})
        }
        Run::Running(running) => json!({"running": {"startedAt": rfc3339(running.since)}}),
        Run::Ended(ended) => terminated(ended, id(one.restarts), ending(ended)),
    };
    set("state", state);
    let before = match one.run {
        Run::Running(_) | Run::Ended(_) => one.restarts.saturating_sub(1),
        Run::Waiting | Run::Backoff(_) => one.restarts,
    };
    let last = one
        .last
        .map(|ended| terminated(&ended, id(before), ending(&ended)));
    set("lastState", last.unwrap_or_else(|| json!({})));
    let is_there = match &one.run {
        Run::Waiting => false,
        Run::Running(_) | Run::Backoff(_) => true,
        Run::Ended(ended) => ended.why == Why::Exited,
    };
    if is_there {
        let which = match one.run {
            Run::Running(_) | Run::Ended(_) => one.restarts,
            Run::Waiting | Run::Backoff(_) => before,
        };
        set("containerID", id(which).into());
        set("imageID", image_id(spec.image).into());
        if let Some(resources) = spec.container.and_then(|wanted| wanted.resources.as_ref()) {
            let resources = serde_json::to_value(resources).unwrap_or_default();
            if let Some(requests) = resources.get("requests") {
                set("allocatedResources", requests.clone());
            }
            set("resources", resources);
        }
    } else {
        set("imageID", "".into());
    }
    let mounts = spec.container.map(mounts).unwrap_or_default();
    if !mounts.is_empty() {
        set("volumeMounts", mounts.into());
    }
    Value::Object(status)
}

/// The image with a digest, which follows from its name.
fn image_id(image: &str) -> String {
    match image.contains("@sha256:") {
        true => image.to_owned(),
        false => {
            let slash = image.rfind('/').unwrap_or(0);
            let tag = image.rfind(':').filter(|at| *at > slash);
            let name = &image[..tag.unwrap_or(image.len())];
            format!("{name}@sha256:{}", digest(&[image]))
        }
    }
}

fn terminated(ended: &Ended, id: String, ending: Option<&Ending>) -> Value {
    let reason = match (ended.why, ended.code) {
        (Why::Unknown, _) => "ContainerStatusUnknown",
        (Why::RestartingAll, _) => "RestartingAllContainers",
        (Why::Exited, 0) => "Completed",
        (Why::Exited, _) => "Error",
    };
    let mut terminated = json!({"exitCode": ended.code, "reason": reason});
    match ended.why {
        Why::Exited => {
            terminated["startedAt"] = rfc3339(ended.since).into();
            terminated["finishedAt"] = rfc3339(ended.at).into();
            terminated["containerID"] = id.into();
            if let Some(ending) = ending {
                if let Some(reason) = &ending.reason {
                    terminated["reason"] = (**reason).into();
                }
                if let Some(signal) = ending.signal {
                    terminated["signal"] = signal.into();
                }
                if !ending.message.is_empty() {
                    terminated["message"] = ending.message.as_str().into();
                }
            }
        }
        why => {
            terminated["message"] = match why {
                Why::RestartingAll => RESTARTING_ALL,
                _ => CONTAINER_LOST,
            }
            .into();
            terminated["startedAt"] = Value::Null;
            terminated["finishedAt"] = Value::Null;
        }
    }
    json!({"terminated": terminated})
}

fn mounts(container: &Container) -> Vec<Value> {
    let mounts = container.volume_mounts.iter().flatten();
    let status = mounts.map(|mount| {
        let mut status = json!({"name": mount.name, "mountPath": mount.mount_path});
        if mount.read_only == Some(true) {
            status["readOnly"] = true.into();
            let wants = mount.recursive_read_only.as_deref();
            let mode = match wants {
                Some("Enabled" | "IfPossible") => "Enabled",
                _ => "Disabled",
            };
            status["recursiveReadOnly"] = mode.into();
        }
        status
    });
    status.collect()
}
