//! What containers of a simulated node do: how long they take to start, how long they run, how they end.
//!
//! A pod's own annotations come first, then the first [`Rule`] that means the pod, then commands that are
//! plain enough to be understood (`sleep 30`), then the defaults: pods of a Job are done at once, all
//! others run on.

mod command;
mod rules;

pub use rules::{Rule, Rules, Usage};

use k8s_openapi::api::core::v1::{Container, Pod};
use stowplan_base::Duration;

/// How long a pod takes until its containers start: `stowplan.dev/start-after`.
pub const START_AFTER: &str = "stowplan.dev/start-after";
/// How long its containers run: `stowplan.dev/run-for`.
pub const RUN_FOR: &str = "stowplan.dev/run-for";
/// With which code they exit: `stowplan.dev/exit-code`.
pub const EXIT_CODE: &str = "stowplan.dev/exit-code";
/// How long they take to stop once they are told to: `stowplan.dev/stop-after`.
pub const STOP_AFTER: &str = "stowplan.dev/stop-after";
/// Which probes fail, such as `readiness,sidecar/liveness`: `stowplan.dev/fail-probes`.
pub const FAIL_PROBES: &str = "stowplan.dev/fail-probes";

/// How a container's process ends by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Exit {
    pub(crate) after: Duration,
    pub(crate) code: i32,
}

/// How long a pod takes until its containers start.
pub(crate) fn start_after(rules: &Rules, pod: &Pod) -> Option<Duration> {
    let rule = || rules.of(pod).and_then(|rule| rule.start_after);
    duration(pod, START_AFTER).or_else(rule)
}

/// How long the containers of a pod take to stop once they are told to.
pub(crate) fn stop_after(pod: &Pod) -> Duration {
    duration(pod, STOP_AFTER).unwrap_or_default()
}

/// How an ordinary container ends; `None` if it runs on.
pub(crate) fn exit(rules: &Rules, pod: &Pod, container: &Container) -> Option<Exit> {
    let rule = rules.of(pod);
    let told = annotation(pod, EXIT_CODE).and_then(|code| code.trim().parse().ok());
    let code: Option<i32> = told.or_else(|| rule.and_then(|rule| rule.exit_code));
    let ruled = || rule.and_then(|rule| rule.run_for);
    if let Some(after) = duration(pod, RUN_FOR).or_else(ruled) {
        let code = code.unwrap_or(0);
        return Some(Exit { after, code });
    }
    let understood = command::outcome(container);
    let at_once = Exit {
        after: Duration::ZERO,
        code: 0,
    };
    let exit = match understood {
        Some(command::Outcome::Exits(exit)) => Some(exit),
        Some(command::Outcome::RunsOn) => None,
        None if is_of_job(pod) => Some(at_once),
        // Who names a code wants to see it.
        None => code.map(|_| at_once),
    };
    exit.map(|exit| Exit {
        code: code.unwrap_or(exit.code),
        ..exit
    })
}

/// How an init container ends, which is at once unless its command says otherwise.
pub(crate) fn init_exit(container: &Container) -> Option<Exit> {
    match command::outcome(container) {
        Some(command::Outcome::Exits(exit)) => Some(exit),
        Some(command::Outcome::RunsOn) => None,
        None => Some(Exit {
            after: Duration::ZERO,
            code: 0,
        }),
    }
}

/// How a sidecar ends: by its command only.
pub(crate) fn sidecar_exit(container: &Container) -> Option<Exit> {
    match command::outcome(container)? {
        command::Outcome::Exits(exit) => Some(exit),
        command::Outcome::RunsOn => None,
    }
}

/// Whether the pod says that probes of this kind fail for the container.
pub(crate) fn fails_probe(pod: &Pod, container: &str, kind: &str) -> bool {
    let Some(list) = annotation(pod, FAIL_PROBES) else {
        return false;
    };
    list.split(',')
        .any(|entry| match entry.trim().split_once('/') {
            Some((name, probe)) => name == container && probe == kind,
            None => entry.trim() == kind,
        })
}

/// How long a hook takes that is a command.
pub(crate) fn hook(command: &[String]) -> Duration {
    match command::of_words(command) {
        Some(command::Outcome::Exits(exit)) => exit.after,
        Some(command::Outcome::RunsOn) => Duration::from_secs(i64::from(u32::MAX)),
        None => Duration::ZERO,
    }
}

fn annotation<'p>(pod: &'p Pod, name: &str) -> Option<&'p str> {
    let annotations = pod.metadata.annotations.as_ref()?;
    annotations.get(name).map(String::as_str)
}

/// A duration of at least zero; what cannot be read is as if it were not there.
fn duration(pod: &Pod, name: &str) -> Option<Duration> {
    let duration: Duration = annotation(pod, name)?.trim().parse().ok()?;
    Some(duration.max(Duration::ZERO))
}

fn is_of_job(pod: &Pod) -> bool {
    let mut owners = pod.metadata.owner_references.iter().flatten();
    owners.any(|owner| owner.controller == Some(true) && owner.kind == "Job")
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
    use serde_json::{Value, json};

    fn pod(metadata: Value, command: Value) -> Pod {
        let container = json!({"name": "c", "command": command});
        let pod = json!({"metadata": metadata, "spec": {"containers": [container]}});
        serde_json::from_value(pod).unwrap()
    }

    fn exit_of(rules: &Rules, pod: &Pod) -> Option<(i64, i32)> {
        let exit = exit(rules, pod, &pod.spec.as_ref().unwrap().containers[0]);
        exit.map(|exit| (exit.after.as_nanos() / 1_000_000_000, exit.code))
    }

    #[test]
    fn annotations_come_before_rules_before_commands_before_defaults() {
        let selector = LabelSelector {
            match_labels: Some([("app".to_owned(), "web".to_owned())].into()),
            ..LabelSelector::default()
        };
        let rule = Rule {
            selector,
            run_for: Some(Duration::from_secs(7)),
            ..Rule::default()
        };
        let rules = Rules::new(vec![rule]);
        let job = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": true}]);
        let none = Value::Null;
        let sleep = json!(["sleep", "3"]);
        let rows = [
            (json!({}), &none, None),
            (json!({"ownerReferences": job}), &none, Some((0, 0))),
            (json!({"ownerReferences": job}), &sleep, Some((3, 0))),
            (json!({}), &sleep, Some((3, 0))),
            (json!({"labels": {"app": "web"}}), &sleep, Some((7, 0))),
            (
                json!({"labels": {"app": "web"}, "annotations": {RUN_FOR: "1m30s", EXIT_CODE: "4"}}),
                &sleep,
                Some((90, 4)),
            ),
            // A code alone is reached at once, or when the command is over.
            (
                json!({"annotations": {EXIT_CODE: "4"}}),
                &none,
                Some((0, 4)),
            ),
            (
                json!({"annotations": {EXIT_CODE: "4"}}),
                &sleep,
                Some((3, 4)),
            ),
            // What makes no sense says nothing.
            (json!({"annotations": {RUN_FOR: "soon"}}), &none, None),
        ];
        for (metadata, command, expected) in rows {
            let pod = pod(metadata.clone(), command.clone());
            assert_eq!(exit_of(&rules, &pod), expected, "{metadata} {command}");
        }
    }

    #[test]
    fn probes_fail_by_kind_or_by_container_and_kind() {
        let pod = pod(
            json!({"annotations": {FAIL_PROBES: "readiness, d/liveness"}}),
            json!(null),
        );
        let rows = [
            ("c", "readiness", true),
            ("c", "liveness", false),
            ("d", "liveness", true),
        ];
        for (container, kind, fails) in rows {
            assert_eq!(
                fails_probe(&pod, container, kind),
                fails,
                "{container} {kind}"
            );
        }
    }
}
