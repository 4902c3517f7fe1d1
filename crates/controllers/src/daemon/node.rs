//! Which nodes should run a daemon, and how its pods are bound to them.
//!
//! Upstream: `NodeShouldRunDaemonPod` and `pkg/controller/daemon/util`.

use crate::common::{labels, name};
use k8s_openapi::api::core::v1::{
    Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec, Taint, Toleration,
};
use std::collections::BTreeMap;
use stowplan_apimachinery::labels::{Operator, Requirement};

/// The field of a node that pods of daemons select.
const NAME_FIELD: &str = "metadata.name";

/// What every daemon tolerates; the last only if it uses the node's network.
const TOLERATED: [(&str, &str); 7] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
    NETWORK_UNAVAILABLE,
];
const NETWORK_UNAVAILABLE: (&str, &str) = ("node.kubernetes.io/network-unavailable", "NoSchedule");

/// Lets a pod tolerate what every daemon does. Upstream's `AddOrUpdateDaemonPodTolerations`.
pub fn tolerate(spec: &mut PodSpec) {
    let uses_host = spec.host_network == Some(true);
    let tolerations = spec.tolerations.get_or_insert_default();
    for (key, effect) in TOLERATED {
        if (key, effect) == NETWORK_UNAVAILABLE && !uses_host {
            continue;
        }
        let wanted = Toleration {
            key: Some(key.to_owned()),
            operator: Some("Exists".to_owned()),
            effect: Some(effect.to_owned()),
            ..Toleration::default()
        };
        // One that differs only in how long it lasts is replaced.
        let is_same = |other: &Toleration| {
            let value = other.value.as_deref().unwrap_or_default();
            (&other.key, &other.operator, &other.effect)
                == (&wanted.key, &wanted.operator, &wanted.effect)
                && value.is_empty()
        };
        match tolerations.iter().any(is_same) {
            true => {
                let same = tolerations.iter_mut().filter(|other| is_same(other));
                same.for_each(|other| *other = wanted.clone());
            }
            false => tolerations.push(wanted),
        }
    }
}

/// Whether a node should run a pod of a daemon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fit {
    /// If it has none.
    pub should_run: bool,
    /// If it has one.
    pub should_continue: bool,
}

/// Whether a node should run a pod with this spec, which [tolerates](tolerate) what daemons do.
pub fn fit(spec: &PodSpec, node: &Node) -> Fit {
    let is_for_node = match spec.node_name.as_deref() {
        None | Some("") => true,
        Some(wanted) => wanted == name(node),
    };
    let is_selected = is_for_node && selects(spec, node);
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref());
    let taints = taints.unwrap_or_default();
    let keeps_off = |effects: &[&str]| {
        let mut taints = taints.iter();
        taints.any(|taint| effects.contains(&&*taint.effect) && !is_tolerated(spec, taint))
    };
    Fit {
        should_run: is_selected && !keeps_off(&["NoSchedule", "NoExecute"]),
        should_continue: is_selected && !keeps_off(&["NoExecute"]),
    }
}

fn is_tolerated(spec: &PodSpec, taint: &Taint) -> bool {
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    tolerations.iter().any(|by| tolerates(by, taint))
}

/// Upstream's `ToleratesTaint`, without the comparing operators: they are behind a gate.
fn tolerates(by: &Toleration, taint: &Taint) -> bool {
    let is_any_or = |given: &Option<String>, wanted: &str| {
        let given = given.as_deref().unwrap_or_default();
        given.is_empty() || given == wanted
    };
    let values = [by.value.as_deref(), taint.value.as_deref()].map(Option::unwrap_or_default);
    is_any_or(&by.effect, &taint.effect)
        && is_any_or(&by.key, &taint.key)
        && match by.operator.as_deref().unwrap_or_default() {
            "" | "Equal" => values[0] == values[1],
            operator => operator == "Exists",
        }
}

/// Whether `nodeSelector` and the required node affinity of a pod select a node. Upstream's
/// `GetRequiredNodeAffinity(pod).Match(node)`.
fn selects(spec: &PodSpec, node: &Node) -> bool {
    let has = |(key, value): (&String, &String)| labels(node).get(key) == Some(value);
    let mut wanted = spec.node_selector.iter().flatten();
    wanted.all(has) && required(spec).is_none_or(|required| selector_matches(required, node))
}

fn required(spec: &PodSpec) -> Option<&NodeSelector> {
    let affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    let required = &affinity.required_during_scheduling_ignored_during_execution;
    required.as_ref()
}

fn selector_matches(selector: &NodeSelector, node: &Node) -> bool {
    let mut terms = selector.node_selector_terms.iter();
    terms.any(|term| term_matches(term, node))
}

fn term_matches(term: &NodeSelectorTerm, node: &Node) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let by_name = BTreeMap::from([(NAME_FIELD.to_owned(), name(node).to_owned())]);
    !(expressions.is_empty() && fields.is_empty())
        && expressions.iter().all(|one| holds(one, labels(node)))
        && fields.iter().all(|one| holds(one, &by_name))
}

/// Whether one requirement on nodes holds for these labels.
fn holds(requirement: &NodeSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let operator = match requirement.operator.as_str() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" => Operator::GreaterThan,
        "Lt" => Operator::LessThan,
        _ => return false,
    };
    let checked = Requirement {
        key: requirement.key.clone(),
        operator,
        values: requirement.values.clone().unwrap_or_default(),
    };
    checked.holds(labels.get(&requirement.key).map(String::as_str))
}

/// The node that a pod of a daemon is on or is meant for. Upstream's `GetTargetNodeName`.
pub fn target_node(pod: &Pod) -> Option<&str> {
    let spec = pod.spec.as_ref()?;
    match spec.node_name.as_deref() {
        None | Some("") => selected_node(required(spec)?),
        on => on,
    }
}

/// The one node that a selector names.
pub fn selected_node(selector: &NodeSelector) -> Option<&str> {
    let terms = selector.node_selector_terms.iter();
    let mut fields = terms.flat_map(|term| term.match_fields.iter().flatten());
    let field = fields.find(|field| field.key == NAME_FIELD && field.operator == "In")?;
    match field.values.as_deref() {
        Some([only]) => Some(only),
        _ => None,
    }
}

/// Means a pod for one node, which the scheduler then chooses. Upstream's
/// `ReplaceDaemonSetPodNodeNameNodeAffinity`.
pub fn mean_for(spec: &mut PodSpec, node: &str) {
    let only = NodeSelectorRequirement {
        key: NAME_FIELD.to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![node.to_owned()]),
    };
    let term = NodeSelectorTerm {
        match_fields: Some(vec![only]),
        match_expressions: None,
    };
    let affinity = spec.affinity.get_or_insert_default();
    let affinity = affinity.node_affinity.get_or_insert_default();
    affinity.required_during_scheduling_ignored_during_execution = Some(NodeSelector {
        node_selector_terms: vec![term],
    });
}
