//! TaintNodesByCondition: a new node is not ready until somebody says so.
//! Upstream: `plugin/pkg/admission/nodetaint`.

use crate::Attributes;
use serde_json::json;
use stowplan_apimachinery::{Edit, View};

const NOT_READY: &str = "node.kubernetes.io/not-ready";

pub(crate) fn admit(request: &mut Attributes<'_>) {
    if !request.creates("", "nodes") {
        return;
    }
    let Some(node) = request.object.as_deref_mut() else {
        return;
    };
    let mut taints = node.at("spec").list("taints").iter();
    if !taints.any(|t| t.text("key") == NOT_READY && t.text("effect") == "NoSchedule") {
        let taint = json!({"key": NOT_READY, "effect": "NoSchedule"});
        node.at_mut("spec").list_mut("taints").push(taint);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Case;
    use serde_json::{Value, json};

    fn taints(spec: Value) -> Value {
        let node = json!({"metadata": {"name": "n"}, "spec": spec});
        let out = Case::create("", "nodes", node).after(super::admit);
        out["spec"]["taints"].clone()
    }

    #[test]
    fn a_new_node_is_tainted_once() {
        let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
        assert_eq!(taints(json!({})), json!([taint]));
        let mut valued = taint.clone();
        valued["value"] = json!("x");
        assert_eq!(taints(json!({"taints": [valued]})), json!([valued]));
        let other = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"});
        assert_eq!(taints(json!({"taints": [other]})), json!([other, taint]));
    }
}
