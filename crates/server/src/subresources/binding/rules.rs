//! When a pod may be bound, and what that changes.
//! Upstream: `pkg/registry/core/pod/storage/storage.go`, `BindingREST`.

use crate::subresources::condition;
use serde_json::Value;
use stowplan_apimachinery::field::{self, Error, ErrorList, Path};
use stowplan_apimachinery::{Edit, Status, View, go, meta};

/// What is wrong with a binding for a pod of this name.
pub(super) fn check(binding: &Value, name: &str) -> Result<(), Status> {
    if meta::name(binding) != name {
        return Err(Status::bad_request(
            "name in URL does not match name in Binding object",
        ));
    }
    let target = binding.at("target");
    let path = Path::new("target");
    let mut errors = ErrorList::new();
    if !matches!(target.text("kind"), "" | "Node") {
        let known = ["Node", "<empty>"];
        let kind = target.text("kind");
        errors.push(Error::not_supported(&path.child("kind"), kind, &known));
    }
    if target.text("name").is_empty() {
        errors.push(Error::required(&path.child("name"), ""));
    }
    match errors.is_empty() {
        true => Ok(()),
        // Upstream forgets to make this a 422.
        false => Err(Status::plain_error(field::aggregate(&errors))),
    }
}

/// The pod on its node, with the binding's annotations and labels; or why that cannot be.
pub(super) fn assign(pod: &mut Value, binding: &Value, now: &str) -> Result<(), String> {
    let name = meta::name(pod);
    let spec = pod.at("spec");
    if pod.at("metadata").has("deletionTimestamp") {
        return Err(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        ));
    }
    let node = spec.text("nodeName");
    if !node.is_empty() {
        let node = go::quote(node);
        return Err(format!("pod {name} is already assigned to node {node}"));
    }
    if !spec.list("schedulingGates").is_empty() {
        return Err(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    let node = binding.at("target").text("name");
    pod.at_mut("spec").set("nodeName", node);
    pod.at_mut("status").unset("nominatedNodeName");
    for field in ["annotations", "labels"] {
        for (key, value) in binding.at("metadata").entries(field) {
            let metadata = pod.at_mut("metadata");
            metadata.at_mut(field).set(key, value.clone());
        }
    }
    condition::set_on_pod(pod, "PodScheduled", "True", ("", ""), now);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn binding(target: Value) -> Value {
        json!({"metadata": {"name": "p", "annotations": {"a": "1"}, "labels": {"z": "2"}}, "target": target})
    }

    #[test]
    fn a_binding_names_its_pod_and_a_node() {
        let said = |target: Value, name: &str| check(&binding(target), name).unwrap_err();
        let node = json!({"kind": "Node", "name": "n"});
        assert!(check(&binding(node.clone()), "p").is_ok());
        assert_eq!(said(node, "other").code, 400);
        let wrong = said(json!({"kind": "Pod"}), "p");
        assert_eq!(wrong.code, 500);
        assert_eq!(
            wrong.message,
            "[target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\", target.name: Required value]"
        );
    }

    #[test]
    fn binding_puts_the_pod_on_the_node() {
        let mut pod = json!({"metadata": {"name": "p", "labels": {"x": "y"}}, "spec": {},
            "status": {"nominatedNodeName": "m"}});
        assign(&mut pod, &binding(json!({"name": "n"})), "now").unwrap();
        assert_eq!(
            pod,
            json!({
                "metadata": {"name": "p", "labels": {"x": "y", "z": "2"}, "annotations": {"a": "1"}},
                "spec": {"nodeName": "n"},
                "status": {"conditions": [{"type": "PodScheduled", "status": "True",
                    "lastProbeTime": null, "lastTransitionTime": "now"}]},
            })
        );
    }

    #[test]
    fn some_pods_cannot_be_bound() {
        let gate = json!([{"name": "g"}]);
        for (pod, why) in [
            (
                json!({"metadata": {"name": "p", "deletionTimestamp": "t"}, "spec": {"nodeName": "n"}}),
                "pod p is being deleted, cannot be assigned to a host",
            ),
            (
                json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n", "schedulingGates": gate}}),
                "pod p is already assigned to node \"n\"",
            ),
            (
                json!({"metadata": {"name": "p"}, "spec": {"schedulingGates": gate}}),
                "pod p has non-empty .spec.schedulingGates",
            ),
        ] {
            let mut pod = pod;
            let said = assign(&mut pod, &binding(json!({"name": "n"})), "now");
            assert_eq!(said, Err(why.to_owned()));
        }
    }
}
