//! Whether a container has a log. Upstream: `validateContainerLogStatus` of `pkg/kubelet/kubelet_pods.go`.

use serde_json::Value;

/// What of a container is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogOf {
    /// The run that it is in, or was in last.
    State,
    /// The run before.
    LastState,
}

/// Says which run of a container a log is of, by the status of its pod as JSON; if there is none, why, in
/// kubelet's words.
pub fn log_of(pod: &str, status: &Value, container: &str, previous: bool) -> Result<LogOf, String> {
    let lists = [
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ];
    let mut all = lists
        .iter()
        .filter_map(|list| status[*list].as_array())
        .flatten();
    let Some(found) = all.find(|one| one["name"] == container) else {
        return Err(format!(
            "container {container:?} in pod {pod:?} is not available"
        ));
    };
    let ran = |state: &Value| !state["containerID"].as_str().unwrap_or_default().is_empty();
    let state = &found["state"];
    let last = &found["lastState"]["terminated"];
    let terminated = Err(format!(
        "container {container:?} in pod {pod:?} is terminated"
    ));
    if previous {
        return match ran(last) {
            true => Ok(LogOf::LastState),
            false => Err(format!(
                "previous terminated container {container:?} in pod {pod:?} not found"
            )),
        };
    }
    if state["running"].is_object() {
        return Ok(LogOf::State);
    }
    if state["terminated"].is_object() {
        return match ran(&state["terminated"]) {
            true => Ok(LogOf::State),
            // The next one did not start.
            false if ran(last) => Ok(LogOf::LastState),
            false => terminated,
        };
    }
    if last.is_object() {
        return match ran(last) {
            true => Ok(LogOf::LastState),
            false => terminated,
        };
    }
    let waits = match &state["waiting"] {
        Value::Object(waiting) => match waiting.get("reason").and_then(Value::as_str) {
            Some("ErrImagePull") => ": image can't be pulled".to_owned(),
            Some("ImagePullBackOff") => ": trying and failing to pull image".to_owned(),
            reason => format!(": {}", reason.unwrap_or_default()),
        },
        _ => " - no logs yet".to_owned(),
    };
    Err(format!(
        "container {container:?} in pod {pod:?} is waiting to start{waits}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_container_without_a_log_says_why() {
        let ended = json!({"terminated": {"exitCode": 1, "containerID": "simulated://1"}});
        let lost = json!({"terminated": {"exitCode": 137}});
        let running = json!({"running": {}});
        let waiting = |reason: &str| json!({"waiting": {"reason": reason}});
        let none = json!({});
        let rows = [
            (&running, &none, false, Ok(LogOf::State)),
            (&running, &ended, true, Ok(LogOf::LastState)),
            (&ended, &none, false, Ok(LogOf::State)),
            (&lost, &ended, false, Ok(LogOf::LastState)),
            (&lost, &none, false, Err("is terminated")),
            (
                &waiting("CrashLoopBackOff"),
                &ended,
                false,
                Ok(LogOf::LastState),
            ),
            (
                &waiting("CrashLoopBackOff"),
                &lost,
                false,
                Err("is terminated"),
            ),
            (
                &waiting("PodInitializing"),
                &none,
                false,
                Err("is waiting to start: PodInitializing"),
            ),
            (
                &waiting("ErrImagePull"),
                &none,
                false,
                Err("is waiting to start: image can't be pulled"),
            ),
            (
                &waiting("ImagePullBackOff"),
                &none,
                false,
                Err("is waiting to start: trying and failing to pull image"),
            ),
            (
                &none,
                &none,
                false,
                Err("is waiting to start - no logs yet"),
            ),
        ];
        for (state, last, previous, expected) in rows {
            let status = json!({"initContainerStatuses": [
                {"name": "c", "state": state, "lastState": last}]});
            let expected = expected.map_err(|why| format!("container \"c\" in pod \"p\" {why}"));
            assert_eq!(log_of("p", &status, "c", previous), expected, "{state}");
        }
        let status = json!({"containerStatuses": [{"name": "c", "state": running}]});
        assert_eq!(
            log_of("p", &status, "c", true).unwrap_err(),
            "previous terminated container \"c\" in pod \"p\" not found"
        );
        assert_eq!(
            log_of("p", &status, "x", false).unwrap_err(),
            "container \"x\" in pod \"p\" is not available"
        );
    }
}
