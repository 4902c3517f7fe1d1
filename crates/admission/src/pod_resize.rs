//! PodResizeValidator: a bound pod is resized only to what its node could ever give.
//! Upstream: `plugin/pkg/admission/podresize`.

use crate::pods::{Half, pod_resources};
use crate::{Attributes, Operation};
use serde_json::Value;
use stowplan_apimachinery::go;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta;
use stowplan_apimachinery::resources::ResourceList;
use stowplan_apimachinery::{Cause, Status, View};

/// The node that a changed, bound pod is on; `None` if there is nothing to check.
pub(crate) fn bound_to<'a>(request: &'a Attributes<'_>) -> Option<&'a str> {
    if request.operation != Operation::Update || !request.is_for("", "pods") {
        return None;
    }
    let generation = |pod: &Value| pod.at("metadata").int("generation").unwrap_or_default();
    let node = request.object().at("spec").text("nodeName");
    let unchanged = generation(request.object()) == generation(request.old());
    (!node.is_empty() && !unchanged).then_some(node)
}

pub(crate) fn no_node(request: &Attributes<'_>, name: &str) -> Status {
    request.forbidden(format!("node {} not found", go::quote(name)))
}

pub(crate) fn validate(request: &Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    if request.subresource != "resize" {
        return Ok(());
    }
    let Some(name) = bound_to(request) else {
        return Ok(());
    };
    let Some(node) = cluster.get("", "nodes", "", name) else {
        return Err(no_node(request, name));
    };
    let refuse = |why: String, reason: &str| {
        Err(request.forbidden(why).because(Cause {
            reason: reason.to_owned(),
            ..Cause::default()
        }))
    };
    let labels = node.at("metadata").at("labels");
    let system = labels.at("kubernetes.io/os").as_str();
    if let Some(system) = system.filter(|system| *system != "linux") {
        let name = go::quote(meta::name(&node));
        let why = format!(
            "pod resize is only supported on linux nodes, node {name} is {}",
            go::quote(system)
        );
        return refuse(why, "UnsupportedPlatform");
    }
    match lacking(request.object(), &node) {
        None => Ok(()),
        Some(what) => refuse(
            format!("node didn't have enough allocatable resources: {what}"),
            "NodeCapacity",
        ),
    }
}

fn lacking(pod: &Value, node: &Value) -> Option<String> {
    let allocatable = ResourceList::of(node.at("status").at("allocatable"));
    let requests = pod_resources(pod, Half::Requests, false);
    let amount = |list: &ResourceList, name: &str| list.get(name).cloned().unwrap_or_default();
    let mut short = Vec::new();
    for name in ["cpu", "memory"] {
        let (asked, there) = (amount(&requests, name), amount(&allocatable, name));
        if asked <= there {
            continue;
        }
        let number = |q: &stowplan_apimachinery::quantity::Quantity| match name {
            "cpu" => q.milli_value(),
            _ => q.value(),
        };
        short.push(format!(
            "{name}, requested: {}, allocatable: {}",
            number(&asked),
            number(&there)
        ));
    }
    (!short.is_empty()).then(|| short.join("; "))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, cluster};
    use serde_json::{Value, json};

    fn pod(node: &str, generation: i64, requests: Value) -> Value {
        json!({"metadata": {"name": "p", "generation": generation}, "spec": {
            "nodeName": node, "containers": [{"name": "c", "resources": {"requests": requests}}]}})
    }

    fn answer(node: &str, generation: i64, requests: Value) -> Result<(), (String, Value)> {
        let world = cluster([
            json!({"kind": "Node", "metadata": {"name": "n", "labels": {"kubernetes.io/os": "linux"}},
                "status": {"allocatable": {"cpu": "2", "memory": "1Gi"}}}),
            json!({"kind": "Node", "metadata": {"name": "w", "labels": {"kubernetes.io/os": "windows"}}}),
        ]);
        let old = pod(node, 1, json!({}));
        let case = Case::update("", "pods", old, pod(node, generation, requests));
        let case = case.subresource("resize");
        let answer = case.ask(|request| super::validate(request, &world));
        answer.map_err(|status| {
            let message = status.message.replace("pods \"p\" is forbidden: ", "");
            (message, status.to_json()["details"]["causes"].clone())
        })
    }

    #[test]
    fn the_node_must_be_able_to_give_that_much() {
        assert_eq!(answer("n", 2, json!({"cpu": "2"})), Ok(()));
        assert_eq!(
            answer("n", 2, json!({"cpu": "2500m", "memory": "2Gi"})),
            Err((
                "node didn't have enough allocatable resources: cpu, requested: 2500, \
                 allocatable: 2000; memory, requested: 2147483648, allocatable: 1073741824"
                    .to_owned(),
                json!([{"reason": "NodeCapacity"}])
            ))
        );
        assert_eq!(
            answer("w", 2, json!({})),
            Err((
                "pod resize is only supported on linux nodes, node \"w\" is \"windows\"".to_owned(),
                json!([{"reason": "UnsupportedPlatform"}])
            ))
        );
        let (message, _) = answer("gone", 2, json!({})).unwrap_err();
        assert_eq!(message, "node \"gone\" not found");
    }

    #[test]
    fn an_unbound_or_unchanged_pod_passes() {
        assert_eq!(answer("", 2, json!({"cpu": "9"})), Ok(()));
        assert_eq!(answer("gone", 1, json!({"cpu": "9"})), Ok(()));
    }
}
