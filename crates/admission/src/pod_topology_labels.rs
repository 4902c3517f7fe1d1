//! PodTopologyLabels: a pod on a node carries the node's zone and region.
//! Upstream: `plugin/pkg/admission/podtopologylabels`.

use crate::{Attributes, Operation};
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::{Edit, View};

const LABELS: [&str; 2] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
];

pub(crate) fn admit(request: &mut Attributes<'_>, cluster: &dyn Lookup) {
    if request.operation != Operation::Create || !request.is_for("", "pods") {
        return;
    }
    let Some(object) = request.object.as_deref_mut() else {
        return;
    };
    let node = match request.subresource {
        "" => object.at("spec").text("nodeName"),
        // A binding's labels are copied to the pod that it binds.
        "binding" if object.at("target").text("kind") == "Node" => object.at("target").text("name"),
        _ => return,
    };
    if node.is_empty() {
        return;
    }
    let Some(node) = cluster.get("", "nodes", "", node) else {
        return;
    };
    for key in LABELS {
        if let Some(value) = node.at("metadata").at("labels").at(key).as_str() {
            object.at_mut("metadata").at_mut("labels").set(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, cluster};
    use serde_json::{Value, json};

    #[test]
    fn zone_and_region_are_copied() {
        let labels =
            json!({"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"});
        let mut more = labels.clone();
        more["kubernetes.io/hostname"] = json!("n");
        let world = cluster([json!({"kind": "Node", "metadata": {"name": "n", "labels": more}})]);
        let after = |case: Case| {
            case.after(|request| super::admit(request, &world))["metadata"]["labels"].clone()
        };
        assert_eq!(after(Case::pod(json!({"nodeName": "n"}))), labels);
        assert_eq!(after(Case::pod(json!({"nodeName": "other"}))), Value::Null);
        assert_eq!(after(Case::pod(json!({}))), Value::Null);
        let bind = |target: Value| {
            let binding = json!({"metadata": {"name": "p"}, "target": target});
            Case::create("", "pods", binding).subresource("binding")
        };
        assert_eq!(after(bind(json!({"kind": "Node", "name": "n"}))), labels);
        assert_eq!(after(bind(json!({"name": "n"}))), Value::Null);
    }
}
