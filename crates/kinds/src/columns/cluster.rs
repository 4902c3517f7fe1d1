//! Namespaces, nodes, events, leases, quotas and the classes of pods.

use super::text::{count, or};
use super::{Columns, age};
use crate::event::to_core;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use stowplan_apimachinery::{View, meta};

pub(crate) static NAMESPACES: Columns = Columns::new("namespaces", |object, now_s| {
    vec![
        json!(meta::name(object)),
        json!(object.at("status").text("phase")),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static NODES: Columns = Columns::new("nodes", |object, now_s| {
    let info = object.path(&["status", "nodeInfo"]);
    let mut kernel = or(info.text("kernelVersion"), "<unknown>").to_owned();
    if info.has("architecture") && !info.text("architecture").is_empty() {
        kernel = format!("{kernel} ({})", info.text("architecture"));
    }
    vec![
        json!(meta::name(object)),
        json!(node_status(object)),
        json!(or(&node_roles(object), "<none>")),
        json!(age::of(object, now_s)),
        json!(info.text("kubeletVersion")),
        json!(node_address(object, "InternalIP")),
        json!(node_address(object, "ExternalIP")),
        json!(or(info.text("osImage"), "<unknown>")),
        json!(kernel),
        json!(or(info.text("containerRuntimeVersion"), "<unknown>")),
    ]
});

pub(crate) static LEASES: Columns = Columns::new("leases", |object, now_s| {
    vec![
        json!(meta::name(object)),
        json!(object.at("spec").text("holderIdentity")),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static PRIORITY_CLASSES: Columns = Columns::new("priorityclasses", |object, now_s| {
    vec![
        json!(meta::name(object)),
        json!(count(object, "value")),
        json!(object.flag("globalDefault")),
        json!(age::of(object, now_s)),
        json!(object.text("preemptionPolicy")),
    ]
});

pub(crate) static RUNTIME_CLASSES: Columns = Columns::new("runtimeclasses", |object, now_s| {
    vec![
        json!(meta::name(object)),
        json!(object.text("handler")),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static RESOURCE_QUOTAS: Columns = Columns::new("resourcequotas", |object, now_s| {
    let status = object.at("status");
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, hard) in status.entries("hard") {
        let used = or(status.at("used").text(resource), "0");
        let text = format!("{resource}: {used}/{}", hard.as_str().unwrap_or_default());
        match resource.starts_with("limits.") {
            true => limits.push(text),
            false => requests.push(text),
        }
    }
    vec![
        json!(meta::name(object)),
        json!(requests.join(", ")),
        json!(limits.join(", ")),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static EVENTS: Columns = Columns::new("events", event);

pub(crate) static EVENTS_V1: Columns =
    Columns::new("events", |object, now_s| event(&to_core(object), now_s));

fn event(object: &Value, now_s: i64) -> Vec<Value> {
    let regarding = object.at("involvedObject");
    let first = match object.at("firstTimestamp") {
        Value::Null => object.at("eventTime"),
        time => time,
    };
    let series = object.at("series");
    let (last, count) = match (object.at("lastTimestamp"), series.is_null()) {
        (_, false) => (series.at("lastObservedTime"), count(series, "count")),
        (Value::Null, true) => (first, count(object, "count").max(1)),
        (time, true) => (time, count(object, "count").max(1)),
    };
    let kind = regarding.text("kind").to_lowercase();
    let target = match regarding.text("name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    vec![
        json!(age::since(last, now_s)),
        json!(object.text("type")),
        json!(object.text("reason")),
        json!(target),
        json!(regarding.text("fieldPath")),
        json!(event_source(object)),
        json!(object.text("message").trim()),
        json!(age::since(first, now_s)),
        json!(count),
        json!(meta::name(object)),
    ]
}

fn event_source(event: &Value) -> String {
    let source = event.at("source");
    let component = or(source.text("component"), event.text("reportingComponent"));
    let instance = or(source.text("host"), event.text("reportingInstance"));
    match instance {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}

fn node_status(node: &Value) -> String {
    let conditions = node.at("status").list("conditions");
    let ready = conditions.iter().rfind(|c| c.text("type") == "Ready");
    let mut status = match ready.map(|c| c.text("status")) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if node.at("spec").flag("unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    status
}

fn node_roles(node: &Value) -> String {
    let mut roles = BTreeSet::new();
    for (key, value) in node.at("metadata").entries("labels") {
        let role = match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => role,
            None if key == "kubernetes.io/role" => value.as_str().unwrap_or_default(),
            None => "",
        };
        if !role.is_empty() {
            roles.insert(role);
        }
    }
    roles.into_iter().collect::<Vec<_>>().join(",")
}

fn node_address<'a>(node: &'a Value, kind: &str) -> &'a str {
    let addresses = node.at("status").list("addresses");
    let found = addresses.iter().find(|a| a.text("type") == kind);
    found.map_or("<none>", |a| a.text("address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_show_status_and_roles() {
        let node = json!({
            "metadata": {"labels": {
                "node-role.kubernetes.io/worker": "", "kubernetes.io/role": "gpu",
                "node-role.kubernetes.io/": "x"
            }},
            "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "Unknown"}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.7"}],
                "nodeInfo": {"kernelVersion": "6.1", "architecture": "arm64"}}
        });
        let cells = (NODES.row)(&node, 0);
        assert_eq!(cells[1], "NotReady,SchedulingDisabled");
        assert_eq!(cells[2], "gpu,worker");
        assert_eq!(cells[5..7], [json!("10.0.0.7"), json!("<none>")]);
        assert_eq!(cells[8], "6.1 (arm64)");
    }

    #[test]
    fn events_of_both_kinds_show_alike() {
        let old = json!({"involvedObject": {"kind": "Pod", "name": "a"}, "message": " hi ",
            "firstTimestamp": "1970-01-01T00:00:00Z", "lastTimestamp": "1970-01-01T00:00:05Z",
            "count": 3, "source": {"component": "kubelet", "host": "n"}});
        let cells = (EVENTS.row)(&old, 10);
        assert_eq!(cells[0], "5s");
        assert_eq!(cells[3], "pod/a");
        assert_eq!(cells[5], "kubelet, n");
        assert_eq!(cells[6..9], [json!("hi"), json!("10s"), json!(3)]);
        let new = json!({"regarding": {"kind": "Pod"}, "note": "x",
            "eventTime": "1970-01-01T00:00:00.000000Z", "reportingController": "c",
            "series": {"count": 7, "lastObservedTime": "1970-01-01T00:00:08.000000Z"}});
        let cells = (EVENTS_V1.row)(&new, 10);
        assert_eq!(cells[0], "2s");
        assert_eq!(cells[3], "pod");
        assert_eq!(
            cells[5..9],
            [json!("c"), json!("x"), json!("10s"), json!(7)]
        );
    }

    #[test]
    fn quotas_show_limits_apart() {
        let quota = json!({"status": {"hard": {"pods": "5", "limits.cpu": "2"},
            "used": {"pods": "1"}}});
        let cells = (RESOURCE_QUOTAS.row)(&quota, 0);
        assert_eq!(cells[1..3], [json!("pods: 1/5"), json!("limits.cpu: 0/2")]);
    }
}
