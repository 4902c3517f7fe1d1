//! Events beside those that kube-scheduler v1.36.4 wrote (`events.json`).

use crate::world::{World, wait};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

const RECORDED: &str = include_str!("events.json");

impl World {
    /// Waits for an event about a pod, checks that all of it is as kube-scheduler would have written
    /// it, and gives its note.
    pub(crate) async fn event(&self, pod: &str, reason: &str) -> Result<String> {
        let event = self.find_event(pod, reason, |_| true).await?;
        self.check_event(pod, reason, event).await
    }

    /// Waits until an event about a pod has happened several times, and checks the series.
    pub(crate) async fn event_series(&self, pod: &str, reason: &str) -> Result<()> {
        let repeats = |event: &Value| event["series"]["count"].as_i64() >= Some(2);
        let mut event = self.find_event(pod, reason, repeats).await?;
        let series = event
            .as_object_mut()
            .and_then(|event| event.remove("series"));
        let series = series.context("no series")?;
        ensure!(
            series.as_object().is_some_and(|fields| fields.len() == 2)
                && is_micro_time(&series["lastObservedTime"]),
            "the series is {series}"
        );
        self.check_event(pod, reason, event).await.map(drop)
    }

    async fn find_event(
        &self,
        pod: &str,
        reason: &str,
        is_it: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let path = format!(
            "/apis/events.k8s.io/v1/namespaces/{}/events",
            self.namespace()
        );
        let found = || async {
            let request = http::Request::get(&path).body(Vec::new())?;
            let list: Value = self.client().request(request).await?;
            let events = list["items"].as_array().cloned().unwrap_or_default();
            Ok(events.into_iter().find(|event| {
                event["regarding"]["name"] == pod && event["reason"] == reason && is_it(event)
            }))
        };
        let mut event = wait(&format!("event {reason} about pod {pod}"), found).await?;
        // A list says it once for all its items.
        event["apiVersion"] = json!("events.k8s.io/v1");
        event["kind"] = json!("Event");
        Ok(event)
    }

    async fn check_event(&self, pod: &str, reason: &str, event: Value) -> Result<String> {
        let note = event["note"].as_str().unwrap_or_default().to_owned();
        let shape = shape(&event)?;
        let recorded: Vec<Value> = serde_json::from_str(RECORDED)?;
        let recorded = recorded.into_iter().find(|event| event["reason"] == reason);
        let mut expected = recorded.with_context(|| format!("no {reason} was recorded"))?;
        let namespace = self.namespace();
        expected["metadata"] =
            json!({"namespace": namespace, "name": format!("{pod}.<nanos in hex>")});
        expected["regarding"]["namespace"] = json!(namespace);
        expected["regarding"]["name"] = json!(pod);
        expected["note"] = json!(note);
        ensure!(
            shape == expected,
            "the event is\n{shape:#}\nand kube-scheduler would have written\n{expected:#}"
        );
        Ok(note)
    }
}

/// An event without what is never the same: times, uids, versions, this host.
fn shape(event: &Value) -> Result<Value> {
    let mut shape = event.clone();
    let metadata = &event["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    let (pod, nanos) = name.rsplit_once('.').context("no time in the name")?;
    ensure!(
        u64::from_str_radix(nanos, 16).is_ok(),
        "the name is {name:?}"
    );
    shape["metadata"] = json!({
        "namespace": metadata["namespace"],
        "name": format!("{pod}.<nanos in hex>"),
    });
    ensure!(is_micro_time(&event["eventTime"]), "{}", event["eventTime"]);
    shape["eventTime"] = json!("<time, microseconds>");
    let regarding = shape["regarding"]
        .as_object_mut()
        .context("about nothing")?;
    for field in ["uid", "resourceVersion"] {
        ensure!(regarding.remove(field).is_some(), "no {field} in {event}");
    }
    let instance = event["reportingInstance"].as_str().unwrap_or_default();
    ensure!(instance.len() > "default-scheduler-".len(), "{instance:?}");
    shape["reportingInstance"] = json!("default-scheduler-<hostname>");
    Ok(shape)
}

/// `2006-01-02T15:04:05.000000Z`.
fn is_micro_time(time: &Value) -> bool {
    let time = time.as_str().unwrap_or_default();
    time.len() == 27 && time.as_bytes()[19] == b'.' && time.ends_with('Z')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_an_event_keeps_all_but_what_is_never_the_same() {
        let event = json!({
            "metadata": {"namespace": "n", "name": "p.17c5", "uid": "u", "resourceVersion": "1"},
            "eventTime": "2026-01-02T03:04:05.000006Z",
            "regarding": {"kind": "Pod", "name": "p", "uid": "u", "resourceVersion": "1"},
            "related": {"kind": "Pod"},
            "reportingInstance": "default-scheduler-host",
        });
        let expected = json!({
            "metadata": {"namespace": "n", "name": "p.<nanos in hex>"},
            "eventTime": "<time, microseconds>",
            "regarding": {"kind": "Pod", "name": "p"},
            "related": {"kind": "Pod"},
            "reportingInstance": "default-scheduler-<hostname>",
        });
        assert_eq!(shape(&event).unwrap(), expected);
        assert!(!is_micro_time(&json!("2026-01-02T03:04:05Z")));
    }
}
