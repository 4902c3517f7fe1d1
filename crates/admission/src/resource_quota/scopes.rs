//! Which objects a quota is about.

use super::pods::is_terminating;
use crate::pods::is_best_effort;
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::View;

/// One condition: the scope, how it is asked about, and values.
pub(super) struct Scope<'a> {
    name: &'a str,
    operator: &'a str,
    values: &'a [Value],
}

/// All conditions of a quota.
pub(super) fn of(quota: &Value) -> impl Iterator<Item = Scope<'_>> {
    let spec = quota.at("spec");
    let plain = spec.list("scopes").iter().filter_map(Value::as_str);
    let plain = plain.map(|name| Scope {
        name,
        operator: "Exists",
        values: &[],
    });
    let expressions = spec.at("scopeSelector").list("matchExpressions").iter();
    plain.chain(expressions.map(|expression| Scope {
        name: expression.text("scopeName"),
        operator: expression.text("operator"),
        values: expression.list("values"),
    }))
}

impl Scope<'_> {
    /// Whether a class of this name, or none, is meant.
    fn means(&self, class: Option<&str>) -> bool {
        let listed = |class: &str| self.values.iter().any(|value| value == class);
        match self.operator {
            "In" => class.is_some_and(listed),
            "NotIn" => !class.is_some_and(listed),
            "Exists" => class.is_some(),
            "DoesNotExist" => class.is_none(),
            _ => false,
        }
    }
}

/// Whether a pod is in a scope.
pub(super) fn pod_matches(scope: &Scope<'_>, pod: &Value) -> bool {
    match scope.name {
        "Terminating" => is_terminating(pod),
        "NotTerminating" => !is_terminating(pod),
        "BestEffort" => is_best_effort(pod),
        "NotBestEffort" => !is_best_effort(pod),
        "PriorityClass" => {
            let class = pod.at("spec").text("priorityClassName");
            scope.means(Some(class).filter(|class| !class.is_empty()))
        }
        "CrossNamespacePodAffinity" => looks_across_namespaces(pod),
        _ => false,
    }
}

fn looks_across_namespaces(pod: &Value) -> bool {
    let across =
        |term: &Value| !term.list("namespaces").is_empty() || term.has("namespaceSelector");
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let affinity = pod.at("spec").at("affinity").at(kind);
        let required = affinity.list("requiredDuringSchedulingIgnoredDuringExecution");
        let preferred = affinity.list("preferredDuringSchedulingIgnoredDuringExecution");
        required.iter().any(across)
            || preferred
                .iter()
                .any(|term| across(term.at("podAffinityTerm")))
    })
}

/// Whether a volume claim is in a scope.
pub(super) fn claim_matches(scope: &Scope<'_>, claim: &Value) -> bool {
    if scope.name != "VolumeAttributesClass" {
        return false;
    }
    let status = claim.at("status");
    let classes: BTreeSet<&str> = [
        claim.at("spec").text("volumeAttributesClassName"),
        status.text("currentVolumeAttributesClassName"),
        status
            .at("modifyVolumeStatus")
            .text("targetVolumeAttributesClassName"),
    ]
    .into_iter()
    .filter(|class| !class.is_empty())
    .collect();
    match classes.is_empty() {
        true => scope.means(None),
        false => classes.into_iter().any(|class| scope.means(Some(class))),
    }
}
