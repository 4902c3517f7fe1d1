//! NodeDeclaredFeatureValidator: a change to a bound pod needs a node that can carry it out.
//! Upstream: `plugin/pkg/admission/nodedeclaredfeatures` and
//! `component-helpers/nodedeclaredfeatures`.

use crate::Attributes;
use crate::pod_resize::{bound_to, no_node};
use crate::pods::is_sidecar;
use serde_json::Value;
use stowplan_apimachinery::go;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::resources::ResourceList;
use stowplan_apimachinery::{Status, View};

pub(crate) fn validate(request: &Attributes<'_>, cluster: &dyn Lookup) -> Result<(), Status> {
    if !matches!(request.subresource, "" | "resize") {
        return Ok(());
    }
    let Some(name) = bound_to(request) else {
        return Ok(());
    };
    let needed = needed(request.old().at("spec"), request.object().at("spec"));
    if needed.is_empty() {
        return Ok(());
    }
    let Some(node) = cluster.get("", "nodes", "", name) else {
        return Err(no_node(request, name));
    };
    let declared = node.at("status").list("declaredFeatures");
    let missing: Vec<&str> = needed
        .into_iter()
        .filter(|feature| !declared.iter().any(|d| d == feature))
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(request.forbidden(format!(
            "pod update requires features {} which are not available on node {}",
            missing.join(", "),
            go::quote(name)
        ))),
    }
}

/// The features that a node needs for this change.
fn needed(old: &Value, new: &Value) -> Vec<&'static str> {
    let mut features = Vec::new();
    if changes_resources(old.at("resources"), new.at("resources")) {
        features.push("InPlacePodLevelResourcesVerticalScaling");
    }
    let pairs = old
        .list("initContainers")
        .iter()
        .zip(new.list("initContainers"));
    let changes = |(old, new): (&Value, &Value)| {
        !is_sidecar(old) && old.at("resources") != new.at("resources")
    };
    if pairs.into_iter().any(changes) {
        features.push("InPlacePodVerticalScalingInitContainers");
    }
    features
}

fn changes_resources(old: &Value, new: &Value) -> bool {
    let lists = ["requests", "limits"];
    let differs = |side: &&str| ResourceList::of(old.at(side)) != ResourceList::of(new.at(side));
    old.is_null() != new.is_null()
        || old.at("claims") != new.at("claims")
        || lists.iter().any(differs)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, cluster};
    use serde_json::{Value, json};

    fn answer(node: &str, old: Value, new: Value) -> Option<String> {
        let world = cluster([
            json!({"kind": "Node", "metadata": {"name": "old"}}),
            json!({"kind": "Node", "metadata": {"name": "new"}, "status": {"declaredFeatures": [
                "InPlacePodLevelResourcesVerticalScaling"]}}),
        ]);
        let pod = |mut spec: Value, generation| {
            spec["nodeName"] = json!(node);
            json!({"metadata": {"name": "p", "generation": generation}, "spec": spec})
        };
        let case = Case::update("", "pods", pod(old, 1), pod(new, 2)).subresource("resize");
        let answer = case.ask(|request| super::validate(request, &world));
        answer.err().map(|status| status.message)
    }

    fn whole(cpu: &str) -> Value {
        json!({"resources": {"requests": {"cpu": cpu}}})
    }

    #[test]
    fn resizing_a_pod_as_a_whole_needs_a_node_that_can() {
        assert_eq!(answer("new", whole("1"), whole("2")), None);
        assert_eq!(answer("old", whole("1"), whole("1000m")), None);
        assert_eq!(
            answer("old", whole("1"), whole("2")).unwrap(),
            "pods \"p\" is forbidden: pod update requires features \
             InPlacePodLevelResourcesVerticalScaling which are not available on node \"old\""
        );
        assert!(
            answer("gone", whole("1"), whole("2"))
                .unwrap()
                .contains("not found")
        );
    }

    #[test]
    fn so_does_resizing_an_init_container() {
        let init = |cpu: &str, policy: &str| {
            json!({"initContainers": [
                {"name": "i", "restartPolicy": policy, "resources": {"requests": {"cpu": cpu}}}]})
        };
        assert_eq!(
            answer("old", init("1", "Always"), init("2", "Always")),
            None
        );
        assert!(answer("old", init("1", ""), init("2", "")).is_some());
    }
}
