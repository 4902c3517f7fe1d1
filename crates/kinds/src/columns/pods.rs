//! Pods and pod templates.

use super::text::{condition, containers, count, labels, or, terminating};
use super::{Columns, Read, age};
use serde_json::{Value, json};
use stowplan_apimachinery::{View, meta};

pub(crate) static PODS: Columns = Columns {
    conditions: completed,
    reads: READS,
    ..Columns::new("pods", row)
};

/// Little of a pod, and there are many of them.
const READS: &[Read] = &[
    Read(
        "metadata",
        &[
            Read::all("name"),
            Read::all("creationTimestamp"),
            Read::all("deletionTimestamp"),
        ],
    ),
    Read(
        "spec",
        &[
            Read("containers", CONTAINER),
            Read("initContainers", CONTAINER),
            Read::all("nodeName"),
            Read::all("readinessGates"),
        ],
    ),
    Read::all("status"),
];

const CONTAINER: &[Read] = &[Read::all("name"), Read::all("restartPolicy")];

pub(crate) static POD_TEMPLATES: Columns = Columns::new("podtemplates", |object, _| {
    let template = object.at("template");
    let (names, images) = containers(template.at("spec"));
    let labels = labels(template.at("metadata").at("labels"));
    vec![
        json!(meta::name(object)),
        json!(names),
        json!(images),
        json!(labels),
    ]
});

/// What has been counted over the containers of a pod.
#[derive(Default)]
struct Tally {
    ready: usize,
    restarts: i64,
    last_restart_s: Option<i64>,
    reason: String,
}

impl Tally {
    fn restarted(&mut self, status: &Value) {
        self.restarts += count(status, "restartCount");
        let ended = status.path(&["lastState", "terminated", "finishedAt"]);
        self.last_restart_s = self.last_restart_s.max(age::seconds(ended));
    }
}

fn row(pod: &Value, now_s: i64) -> Vec<Value> {
    let (spec, status) = (pod.at("spec"), pod.at("status"));
    let sidecars = spec.list("initContainers").iter().filter(|c| restarts(c));
    let total = spec.list("containers").len() + sidecars.count();
    let tally = tally(pod);
    let restarts = match tally.last_restart_s {
        Some(then) if tally.restarts != 0 => {
            format!("{} ({} ago)", tally.restarts, age::human(now_s - then))
        }
        _ => tally.restarts.to_string(),
    };
    let ip = status.list("podIPs").first().map(|ip| ip.text("ip"));
    vec![
        json!(meta::name(pod)),
        json!(format!("{}/{total}", tally.ready)),
        json!(tally.reason),
        json!(restarts),
        json!(age::of(pod, now_s)),
        json!(or(ip.unwrap_or_default(), "<none>")),
        json!(or(spec.text("nodeName"), "<none>")),
        json!(or(status.text("nominatedNodeName"), "<none>")),
        json!(readiness_gates(pod)),
    ]
}

fn readiness_gates(pod: &Value) -> String {
    let gates = pod.at("spec").list("readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates
        .iter()
        .filter(|gate| condition(pod, gate.text("conditionType")));
    format!("{}/{}", open.count(), gates.len())
}

/// Whether an init container goes on running beside the others.
fn restarts(container: &Value) -> bool {
    container.text("restartPolicy") == "Always"
}

fn tally(pod: &Value) -> Tally {
    let status = pod.at("status");
    let phase = status.text("phase");
    let mut reason = or(status.text("reason"), phase).to_owned();
    let gated =
        |c: &Value| c.text("type") == "PodScheduled" && c.text("reason") == SCHEDULING_GATED;
    if status.list("conditions").iter().any(gated) {
        reason = SCHEDULING_GATED.to_owned();
    }
    let mut all = Tally {
        reason,
        ..Tally::default()
    };
    let mut sidecars = Tally::default();
    let initializing = tally_init_containers(pod, &mut all, &mut sidecars);
    if !initializing || condition(pod, "Initialized") {
        all.restarts = sidecars.restarts;
        all.last_restart_s = sidecars.last_restart_s;
        tally_containers(pod, &mut all);
    }
    if terminating(pod) {
        if status.text("reason") == "NodeLost" {
            all.reason = "Unknown".to_owned();
        } else if !matches!(phase, "Failed" | "Succeeded") {
            all.reason = "Terminating".to_owned();
        }
    }
    all
}

const SCHEDULING_GATED: &str = "SchedulingGated";

/// Counts init containers up to the first that is not done. Says whether there is one.
fn tally_init_containers(pod: &Value, all: &mut Tally, sidecars: &mut Tally) -> bool {
    let specs = pod.at("spec").list("initContainers");
    let statuses = pod.at("status").list("initContainerStatuses");
    for (i, status) in statuses.iter().enumerate() {
        let spec = specs
            .iter()
            .rfind(|c| c.text("name") == status.text("name"));
        let sidecar = spec.is_some_and(restarts);
        all.restarted(status);
        if sidecar {
            sidecars.restarted(status);
        }
        let state = status.at("state");
        let (terminated, waiting) = (state.at("terminated"), state.at("waiting"));
        if !terminated.is_null() && count(terminated, "exitCode") == 0 {
            continue;
        }
        if sidecar && status.flag("started") {
            all.ready += usize::from(status.flag("ready"));
            continue;
        }
        let word = if !terminated.is_null() {
            end(terminated)
        } else if !matches!(waiting.text("reason"), "" | "PodInitializing") {
            waiting.text("reason").to_owned()
        } else {
            format!("{i}/{}", specs.len())
        };
        all.reason = format!("Init:{word}");
        return true;
    }
    false
}

fn tally_containers(pod: &Value, all: &mut Tally) {
    let (mut running, mut failure) = (false, String::new());
    for status in pod.at("status").list("containerStatuses").iter().rev() {
        all.restarted(status);
        let state = status.at("state");
        let (terminated, waiting) = (state.at("terminated"), state.at("waiting"));
        if !waiting.text("reason").is_empty() {
            waiting.text("reason").clone_into(&mut all.reason);
        } else if !terminated.is_null() {
            all.reason = end(terminated);
            if count(terminated, "exitCode") != 0 {
                failure.clone_from(&all.reason);
            }
        } else if status.flag("ready") && state.has("running") {
            running = true;
            all.ready += 1;
        }
    }
    // A pod is not complete while one of its containers still runs.
    if all.reason == "Completed" {
        if running && condition(pod, "Ready") {
            all.reason = "Running".to_owned();
        } else if !failure.is_empty() {
            all.reason = failure;
        } else if running {
            all.reason = "NotReady".to_owned();
        }
    }
}

/// How a container ended.
fn end(terminated: &Value) -> String {
    let signal = count(terminated, "signal");
    match (terminated.text("reason"), signal) {
        ("", 0) => format!("ExitCode:{}", count(terminated, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn completed(pod: &Value) -> Option<Value> {
    let phase = pod.at("status").text("phase");
    let message = match phase {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return None,
    };
    Some(json!([
        {"type": "Completed", "status": "True", "reason": phase, "message": message}
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ready, status and restarts of a pod, an hour after the epoch.
    fn check(spec: Value, status: Value, expected: [&str; 3]) {
        let pod = json!({"metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:00Z"},
            "spec": spec, "status": status});
        let cells = row(&pod, 3600);
        assert_eq!(cells[1..4], expected.map(Value::from), "{status}");
        same_of_what_is_read(&pod);
    }

    fn same_of_what_is_read(pod: &Value) {
        let read = Read::cut(pod, READS);
        assert_eq!(row(&read, 3600), row(pod, 3600));
        assert_eq!(completed(&read), completed(pod));
    }

    #[test]
    fn every_cell_is_made_from_what_is_read() {
        let pod = json!({
            "metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:00Z", "uid": "u"},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}],
                "readinessGates": [{"conditionType": "x"}, {"conditionType": "y"}]},
            "status": {"phase": "Failed", "nominatedNodeName": "m", "podIPs": [{"ip": "1.2.3.4"}],
                "conditions": [{"type": "x", "status": "True"}]},
        });
        let shown = ["a", "0/1", "Failed", "0", "60m", "1.2.3.4", "n", "m", "1/2"];
        assert_eq!(row(&pod, 3600), shown.map(Value::from));
        same_of_what_is_read(&pod);
        assert_eq!(
            Read::cut(&pod, READS)["spec"]["containers"],
            json!([{"name": "c"}])
        );
    }

    fn one() -> Value {
        json!({"containers": [{"name": "c"}]})
    }

    #[test]
    fn the_status_word_comes_from_containers() {
        check(one(), json!({"phase": "Pending"}), ["0/1", "Pending", "0"]);
        let gated = json!([{"type": "PodScheduled", "reason": "SchedulingGated"}]);
        let status = json!({"phase": "Pending", "conditions": gated});
        check(one(), status, ["0/1", "SchedulingGated", "0"]);
        let waiting = json!([{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]);
        let status = json!({"phase": "Pending", "containerStatuses": waiting});
        check(one(), status, ["0/1", "ImagePullBackOff", "0"]);
        let ended = json!([{"restartCount": 3, "state": {"terminated": {"exitCode": 2}},
            "lastState": {"terminated": {"finishedAt": "1970-01-01T00:59:00Z"}}}]);
        let status = json!({"phase": "Running", "containerStatuses": ended});
        check(one(), status, ["0/1", "ExitCode:2", "3 (60s ago)"]);
        let running = json!([{"ready": true, "state": {"running": {}}}]);
        let status = json!({"phase": "Running", "containerStatuses": running});
        check(one(), status, ["1/1", "Running", "0"]);
    }

    #[test]
    fn a_pod_with_a_running_container_is_not_complete() {
        let both = json!({"containers": [{"name": "a"}, {"name": "b"}]});
        let done = json!({"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
        let up = json!({"ready": true, "state": {"running": {}}});
        let mut status = json!({"phase": "Running", "containerStatuses": [done, up]});
        check(both.clone(), status.clone(), ["1/2", "NotReady", "0"]);
        status["conditions"] = json!([{"type": "Ready", "status": "True"}]);
        check(both, status, ["1/2", "Running", "0"]);
    }

    #[test]
    fn init_containers_come_first() {
        let spec = json!({"containers": [{"name": "c"}], "initContainers": [
            {"name": "i"}, {"name": "s", "restartPolicy": "Always"}
        ]});
        let done =
            json!({"name": "i", "restartCount": 4, "state": {"terminated": {"exitCode": 0}}});
        let failed = json!({"name": "i", "state": {"terminated": {"exitCode": 1, "signal": 9}}});
        let fresh = json!({"name": "s", "state": {"waiting": {"reason": "PodInitializing"}}});
        let up = json!({"name": "s", "started": true, "ready": true, "restartCount": 1});
        for (statuses, expected) in [
            (json!([failed]), ["0/2", "Init:Signal:9", "0"]),
            (json!([done, fresh]), ["0/2", "Init:1/2", "4"]),
            (json!([done, up]), ["1/2", "Pending", "1"]),
        ] {
            let status = json!({"phase": "Pending", "initContainerStatuses": statuses});
            check(spec.clone(), status, expected);
        }
    }

    #[test]
    fn deletion_shows_until_the_pod_has_ended() {
        let mut pod = json!({"metadata": {"deletionTimestamp": "1970-01-01T00:00:00Z"},
            "status": {"phase": "Running"}});
        assert_eq!(row(&pod, 0)[2], "Terminating");
        same_of_what_is_read(&pod);
        pod["status"] = json!({"phase": "Running", "reason": "NodeLost"});
        assert_eq!(row(&pod, 0)[2], "Unknown");
        pod["status"] = json!({"phase": "Succeeded"});
        assert_eq!(row(&pod, 0)[2], "Succeeded");
        assert_eq!(completed(&pod).unwrap()[0]["reason"], "Succeeded");
    }
}
