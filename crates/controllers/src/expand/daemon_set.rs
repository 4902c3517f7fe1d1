//! DaemonSets.
//!
//! Upstream: `pkg/controller/daemon`.

use super::template::{controlled_by, pod};
use super::{Node, View};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use stowplan_apimachinery::labels::{Operator, Requirement};
use stowplan_apimachinery::{Edit, View as _, meta};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const NODE_NAME: &str = "metadata.name";

/// One pod per node that should have one and has none, bound to it by affinity.
pub fn reconcile(view: &View, set: &Value) -> Vec<Value> {
    let mut template = set.at("spec").at("template").clone();
    tolerate(template.at_mut("spec"));
    let served: BTreeSet<&str> = view
        .pods_of("DaemonSet", set)
        .map(|pod| pod.node.as_str())
        .collect();
    let owner = controlled_by("apps/v1", "DaemonSet", set);
    let namespace = meta::namespace(set);
    let mut wanted = Vec::new();
    for node in &view.nodes {
        let name = format!("{}-{}", meta::name(set), node.name);
        if served.contains(&*node.name)
            || !should_run(template.at("spec"), node)
            || view.has_pod(namespace, &name)
        {
            continue;
        }
        let mut made = pod(&template, namespace, &name, owner.clone());
        bind_by_affinity(made.at_mut("spec"), &node.name);
        wanted.push(made);
    }
    wanted
}

/// Upstream's `AddOrUpdateDaemonPodTolerations`.
fn tolerate(spec: &mut Value) {
    let host_network = spec.flag("hostNetwork");
    for (key, effect) in [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
        ("network-unavailable", "NoSchedule"),
    ] {
        if key == "network-unavailable" && !host_network {
            continue;
        }
        let key = format!("node.kubernetes.io/{key}");
        let toleration = json!({"key": key, "operator": "Exists", "effect": effect});
        // One that differs only in how long it lasts is replaced.
        let is_same = |other: &Value| {
            let mut other = other.clone();
            other.unset("tolerationSeconds");
            other == toleration
        };
        let tolerations = spec.list_mut("tolerations");
        match tolerations.iter().position(is_same) {
            Some(at) => tolerations[at] = toleration,
            None => tolerations.push(toleration),
        }
    }
}

/// Upstream's `NodeShouldRunDaemonPod`.
fn should_run(daemon: &Value, node: &Node) -> bool {
    let on_this_node = match daemon.text("nodeName") {
        "" => true,
        name => name == node.name,
    };
    let keeps_off = |taint: &&Value| matches!(taint.text("effect"), "NoSchedule" | "NoExecute");
    let tolerated = |taint: &Value| {
        let mut tolerations = daemon.list("tolerations").iter();
        tolerations.any(|toleration| tolerates(toleration, taint))
    };
    on_this_node && selects(daemon, node) && node.taints.iter().filter(keeps_off).all(tolerated)
}

/// Upstream's `ToleratesTaint`, without the comparing operators.
fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let fits = |field| ["", taint.text(field)].contains(&toleration.text(field));
    let operator = toleration.text("operator");
    fits("effect")
        && fits("key")
        && match operator {
            "" | "Equal" => toleration.text("value") == taint.text("value"),
            operator => operator == "Exists",
        }
}

/// Whether `nodeSelector` and the required node affinity of a pod select a node. Upstream's
/// `GetRequiredNodeAffinity(pod).Match(node)`.
fn selects(spec: &Value, node: &Node) -> bool {
    let selected = |(key, wanted): (&str, &Value)| node.labels.get(key) == Some(wanted);
    let required = spec.at("affinity").at("nodeAffinity").at(REQUIRED);
    let mut terms = required.list("nodeSelectorTerms").iter();
    spec.entries("nodeSelector").all(selected)
        && (required.is_null() || terms.any(|term| term_matches(term, node)))
}

fn term_matches(term: &Value, node: &Node) -> bool {
    let (expressions, fields) = (term.list("matchExpressions"), term.list("matchFields"));
    let name = Map::from_iter([(NODE_NAME.to_owned(), node.name.as_str().into())]);
    !(expressions.is_empty() && fields.is_empty())
        && expressions.iter().all(|e| holds(e, &node.labels))
        && fields.iter().all(|e| holds(e, &name))
}

/// Whether one requirement on nodes holds for these labels.
fn holds(expression: &Value, labels: &Map<String, Value>) -> bool {
    let operator = match expression.text("operator") {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" => Operator::GreaterThan,
        "Lt" => Operator::LessThan,
        _ => return false,
    };
    let values = expression.list("values").iter();
    let requirement = Requirement {
        key: expression.text("key").to_owned(),
        operator,
        values: values
            .filter_map(|v| v.as_str().map(str::to_owned))
            .collect(),
    };
    requirement.matches(labels)
}

/// The node that a daemon pod is on or is meant for, or nothing. Upstream's `GetTargetNodeName`.
pub(crate) fn target(pod: &Value) -> &str {
    let spec = pod.at("spec");
    let on = spec.text("nodeName");
    if !on.is_empty() {
        return on;
    }
    let required = spec.at("affinity").at("nodeAffinity").at(REQUIRED);
    let terms = required.list("nodeSelectorTerms").iter();
    let mut fields = terms.flat_map(|term| term.list("matchFields"));
    let names =
        fields.find(|field| field.text("key") == NODE_NAME && field.text("operator") == "In");
    let name = names.and_then(|field| field.list("values").first()?.as_str());
    name.unwrap_or_default()
}

/// Upstream's `ReplaceDaemonSetPodNodeNameNodeAffinity`.
fn bind_by_affinity(spec: &mut Value, node: &str) {
    let affinity = spec.at_mut("affinity").at_mut("nodeAffinity");
    let only = json!({"key": NODE_NAME, "operator": "In", "values": [node]});
    let terms = vec![json!({"matchFields": [only]})];
    affinity.at_mut(REQUIRED).set("nodeSelectorTerms", terms);
}
