//! RuntimeClass: a pod carries the overhead of its runtime and goes where that runs.
//! Upstream: `plugin/pkg/admission/runtimeclass`.

use crate::Attributes;
use serde_json::Value;
use std::sync::Arc;
use stowplan_apimachinery::go;
use stowplan_apimachinery::limits::TOLERATIONS_COMPARED_MAX;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::resources::ResourceList;
use stowplan_apimachinery::{Edit, Status, View};

const MISMATCH: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const ALONE: &str =
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

fn class(request: &Attributes<'_>, cluster: &dyn Lookup) -> Result<Option<Arc<Value>>, Status> {
    let Some(name) = request.object().at("spec").at("runtimeClassName").as_str() else {
        return Ok(None);
    };
    match cluster.get("node.k8s.io", "runtimeclasses", "", name) {
        Some(class) => Ok(Some(class)),
        None => {
            let why = format!("pod rejected: RuntimeClass {} not found", go::quote(name));
            Err(request.forbidden(why))
        }
    }
}

pub(crate) fn admit(request: &mut Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    if !request.creates("", "pods") {
        return Ok(());
    }
    let Some(class) = class(request, cluster)? else {
        return Ok(());
    };
    let fixed = class.at("overhead").at("podFixed");
    let own = request.object().at("spec").at("overhead");
    let differs = ResourceList::of(own) != ResourceList::of(fixed);
    if class.has("overhead") && is_set(own) && differs {
        return Err(request.forbidden(MISMATCH));
    }
    let scheduling = class.at("scheduling");
    let selector = request.object().at("spec").at("nodeSelector");
    for (key, value) in scheduling.entries("nodeSelector") {
        let value = value.as_str().unwrap_or_default();
        if let Some(own) = selector.at(key).as_str().filter(|own| *own != value) {
            return Err(request.forbidden(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own}"
            )));
        }
    }
    if let Some(pod) = request.object.as_deref_mut() {
        let spec = pod.at_mut("spec");
        if is_set(fixed) {
            spec.set("overhead", fixed.clone());
        }
        for (key, value) in scheduling.entries("nodeSelector") {
            spec.at_mut("nodeSelector").set(key, value.clone());
        }
        if class.has("scheduling") {
            merge_tolerations(spec, scheduling.list("tolerations"));
        }
    }
    Ok(())
}

fn is_set(list: &Value) -> bool {
    list.as_object().is_some_and(|list| !list.is_empty())
}

/// Both lists, without those that another covers (upstream: `MergeTolerations`).
fn merge_tolerations(spec: &mut Value, more: &[Value]) {
    let all: Vec<Value> = [spec.list("tolerations"), more].concat();
    let mut merged: Vec<Value> = Vec::new();
    if all.len() > TOLERATIONS_COMPARED_MAX {
        return spec.set("tolerations", all);
    }
    for (i, toleration) in all.iter().enumerate() {
        let rest = all.get(i + 1..).unwrap_or_default();
        let covered_later = rest
            .iter()
            .any(|t| t != toleration && covers(t, toleration));
        if !covered_later && !merged.iter().any(|t| covers(t, toleration)) {
            merged.push(toleration.clone());
        }
    }
    if !all.is_empty() {
        spec.set("tolerations", merged);
    }
}

/// Whether the first toleration tolerates all that the second does.
fn covers(wide: &Value, narrow: &Value) -> bool {
    if wide == narrow {
        return true;
    }
    let operator = wide.text("operator");
    let any_key = wide.text("key").is_empty() && operator == "Exists";
    if wide.text("key") != narrow.text("key") && !any_key {
        return false;
    }
    let effect = wide.text("effect");
    if !effect.is_empty() && effect != narrow.text("effect") {
        return false;
    }
    if effect == "NoExecute"
        && let Some(seconds) = wide.int("tolerationSeconds")
        && narrow.int("tolerationSeconds").is_none_or(|s| s > seconds)
    {
        return false;
    }
    match operator {
        "Exists" => true,
        "" | "Equal" => {
            narrow.text("operator") == "Equal" && narrow.text("value") == wide.text("value")
        }
        _ => false,
    }
}

pub(crate) fn validate(request: &Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    if !request.creates("", "pods") {
        return Ok(());
    }
    let class = class(request, cluster)?;
    let own = request.object().at("spec").at("overhead");
    match class.filter(|class| class.has("overhead")) {
        Some(class) => {
            let fixed = class.at("overhead").at("podFixed");
            match ResourceList::of(fixed) == ResourceList::of(own) {
                true => Ok(()),
                false => Err(request.forbidden(MISMATCH)),
            }
        }
        None if is_set(own) => Err(request.forbidden(ALONE)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, Cluster, cluster};
    use serde_json::{Value, json};

    fn world() -> Cluster {
        cluster([
            json!({"kind": "RuntimeClass", "metadata": {"name": "kata"},
            "overhead": {"podFixed": {"cpu": "250m"}},
            "scheduling": {
                "nodeSelector": {"kata": "yes"},
                "tolerations": [{"key": "k", "operator": "Exists"}],
            }}),
            json!({"kind": "RuntimeClass", "metadata": {"name": "plain"}}),
        ])
    }

    fn refusal(spec: Value) -> String {
        let message = Case::pod(spec).ask(|request| {
            let answer = super::admit(request, &world());
            answer.and_then(|()| super::validate(request, &world()))
        });
        message.unwrap_err().message
    }

    #[test]
    fn the_class_brings_overhead_selector_and_tolerations() {
        let spec = json!({"runtimeClassName": "kata", "nodeSelector": {"a": "b"}, "tolerations": [
            {"key": "k", "operator": "Equal", "value": "v"}, {"key": "z", "operator": "Exists"},
        ]});
        let out = Case::pod(spec).after(|request| super::admit(request, &world()).unwrap());
        assert_eq!(
            out["spec"],
            json!({
                "runtimeClassName": "kata",
                "overhead": {"cpu": "250m"},
                "nodeSelector": {"a": "b", "kata": "yes"},
                "tolerations": [{"key": "z", "operator": "Exists"}, {"key": "k", "operator": "Exists"}],
            })
        );
        let plain = json!({"runtimeClassName": "plain"});
        let out = Case::pod(plain.clone()).after(|r| super::admit(r, &world()).unwrap());
        assert_eq!(out["spec"], plain);
    }

    #[test]
    fn what_does_not_fit_the_class_is_refused() {
        let start = "pods \"p\" is forbidden:";
        assert_eq!(
            refusal(json!({"runtimeClassName": "none"})),
            format!("{start} pod rejected: RuntimeClass \"none\" not found")
        );
        assert_eq!(
            refusal(json!({"runtimeClassName": "kata", "overhead": {"cpu": "1"}})),
            format!("{start} {}", super::MISMATCH)
        );
        assert_eq!(
            refusal(json!({"overhead": {"cpu": "1"}})),
            format!("{start} {}", super::ALONE)
        );
        assert_eq!(
            refusal(json!({"runtimeClassName": "plain", "overhead": {"cpu": "1"}})),
            format!("{start} {}", super::ALONE)
        );
        assert_eq!(
            refusal(json!({"runtimeClassName": "kata", "nodeSelector": {"kata": "no"}})),
            format!(
                "{start} conflict: runtimeClass.scheduling.nodeSelector[kata] = yes; pod.spec.nodeSelector[kata] = no"
            )
        );
    }

    #[test]
    fn an_equal_amount_in_another_form_fits() {
        let spec = json!({"runtimeClassName": "kata", "overhead": {"cpu": "0.25"}});
        let answer = Case::pod(spec).ask(|request| super::admit(request, &world()));
        assert!(answer.is_ok());
    }
}
