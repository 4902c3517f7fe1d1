//! DefaultTolerationSeconds: pods stay five minutes on a node that does not answer.
//! Upstream: `plugin/pkg/admission/defaulttolerationseconds`.

use crate::{Attributes, Operation};
use serde_json::{Value, json};
use stowplan_apimachinery::{Edit, View};

pub(crate) fn admit(request: &mut Attributes<'_>) {
    let writes = matches!(request.operation, Operation::Create | Operation::Update);
    if !writes || !request.is("", "pods") {
        return;
    }
    let Some(pod) = request.object.as_deref_mut() else {
        return;
    };
    let tolerations = pod.at("spec").list("tolerations");
    let tolerated = |key: &str| {
        let covers = |t: &Value| {
            (t.text("key").is_empty() || t.text("key") == key)
                && matches!(t.text("effect"), "" | "NoExecute")
        };
        tolerations.iter().any(covers)
    };
    let missing: Vec<Value> = [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    .into_iter()
    .filter(|key| !tolerated(key))
    .map(|key| {
        json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    })
    .collect();
    if !missing.is_empty() {
        pod.at_mut("spec").list_mut("tolerations").extend(missing);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Case;
    use serde_json::{Value, json};

    fn added(tolerations: Value) -> usize {
        let before = tolerations.as_array().unwrap().len();
        let out = Case::pod(json!({"tolerations": tolerations})).after(super::admit);
        out["spec"]["tolerations"].as_array().unwrap().len() - before
    }

    #[test]
    fn both_are_added_unless_covered() {
        let ready = "node.kubernetes.io/not-ready";
        assert_eq!(added(json!([])), 2);
        assert_eq!(added(json!([{"key": "x", "operator": "Exists"}])), 2);
        assert_eq!(added(json!([{"operator": "Exists"}])), 0);
        assert_eq!(
            added(json!([{"operator": "Exists", "effect": "NoSchedule"}])),
            2
        );
        assert_eq!(added(json!([{"key": ready, "effect": "NoExecute"}])), 1);
        assert_eq!(added(json!([{"key": ready, "effect": "NoSchedule"}])), 2);
    }
}
