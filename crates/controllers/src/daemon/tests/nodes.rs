//! Which nodes should have a pod.

use super::*;
use k8s_openapi::api::core::v1::Toleration;

/// Upstream's `TestNodeShouldRunDaemonPod`, as far as it is about nodes.
#[test]
fn a_node_should_run_a_pod_or_not() {
    let taint = |key: &str, effect: &str| json!({"key": key, "value": "v", "effect": effect});
    let affinity = |term: Value| json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}});
    let field = |name: &str| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]});
    let label = |operator: &str, value: &str| json!({"matchExpressions": [{"key": "disk", "operator": operator, "values": [value]}]});
    let kubernetes = |name: &str| format!("node.kubernetes.io/{name}");
    for (what, spec, taints, wanted) in [
        ("nothing special", json!({}), json!([]), (true, true)),
        ("named", json!({"nodeName": "n1"}), json!([]), (true, true)),
        (
            "another is named",
            json!({"nodeName": "n2"}),
            json!([]),
            (false, false),
        ),
        (
            "selected",
            json!({"nodeSelector": {"disk": "ssd"}}),
            json!([]),
            (true, true),
        ),
        (
            "not selected",
            json!({"nodeSelector": {"disk": "hdd"}}),
            json!([]),
            (false, false),
        ),
        (
            "selected by name",
            json!({"affinity": affinity(field("n1"))}),
            json!([]),
            (true, true),
        ),
        (
            "not selected by name",
            json!({"affinity": affinity(field("n2"))}),
            json!([]),
            (false, false),
        ),
        (
            "affine",
            json!({"affinity": affinity(label("In", "ssd"))}),
            json!([]),
            (true, true),
        ),
        (
            "not affine",
            json!({"affinity": affinity(label("NotIn", "ssd"))}),
            json!([]),
            (false, false),
        ),
        (
            "an empty term",
            json!({"affinity": affinity(json!({}))}),
            json!([]),
            (false, false),
        ),
        (
            "no schedule",
            json!({}),
            json!([taint("gpu", "NoSchedule")]),
            (false, true),
        ),
        (
            "no execute",
            json!({}),
            json!([taint("gpu", "NoExecute")]),
            (false, false),
        ),
        (
            "prefer not",
            json!({}),
            json!([taint("gpu", "PreferNoSchedule")]),
            (true, true),
        ),
        (
            "tolerated",
            json!({"tolerations": [{"key": "gpu", "operator": "Exists"}]}),
            json!([taint("gpu", "NoExecute")]),
            (true, true),
        ),
        (
            "tolerated by value",
            json!({"tolerations": [{"key": "gpu", "value": "v"}]}),
            json!([taint("gpu", "NoSchedule")]),
            (true, true),
        ),
        (
            "another value",
            json!({"tolerations": [{"key": "gpu", "value": "w"}]}),
            json!([taint("gpu", "NoSchedule")]),
            (false, true),
        ),
        (
            "another effect",
            json!({"tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]}),
            json!([taint("gpu", "NoExecute")]),
            (false, false),
        ),
        (
            "everything",
            json!({"tolerations": [{"operator": "Exists"}]}),
            json!([taint("gpu", "NoExecute")]),
            (true, true),
        ),
        (
            "not ready",
            json!({}),
            json!([taint(&kubernetes("not-ready"), "NoExecute")]),
            (true, true),
        ),
        (
            "not ready, new",
            json!({}),
            json!([taint(&kubernetes("not-ready"), "NoSchedule")]),
            (false, true),
        ),
        (
            "unreachable",
            json!({}),
            json!([taint(&kubernetes("unreachable"), "NoExecute")]),
            (true, true),
        ),
        (
            "pressure",
            json!({}),
            json!([
                taint(&kubernetes("disk-pressure"), "NoSchedule"),
                taint(&kubernetes("memory-pressure"), "NoSchedule"),
                taint(&kubernetes("pid-pressure"), "NoSchedule"),
                taint(&kubernetes("unschedulable"), "NoSchedule"),
            ]),
            (true, true),
        ),
        (
            "no network",
            json!({}),
            json!([taint(&kubernetes("network-unavailable"), "NoSchedule")]),
            (false, true),
        ),
        (
            "no network needed",
            json!({"hostNetwork": true}),
            json!([taint(&kubernetes("network-unavailable"), "NoSchedule")]),
            (true, true),
        ),
    ] {
        let mut spec = spec;
        spec["containers"] = json!([]);
        let mut spec: PodSpec = serde_json::from_value(spec).expect("a spec");
        tolerate(&mut spec);
        let node = json!({"metadata": {"name": "n1", "labels": {"disk": "ssd"}}, "spec": {"taints": taints}});
        let node: Node = serde_json::from_value(node).expect("a node");
        let fit = fit(&spec, &node);
        assert_eq!((fit.should_run, fit.should_continue), wanted, "{what}");
    }
}

#[test]
fn tolerations_last_forever() {
    let short = Toleration {
        key: Some("node.kubernetes.io/not-ready".to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some("NoExecute".to_owned()),
        toleration_seconds: Some(300),
        value: None,
    };
    let mut spec = PodSpec {
        tolerations: Some(vec![short.clone()]),
        ..PodSpec::default()
    };
    tolerate(&mut spec);
    let once = spec.clone();
    tolerate(&mut spec);
    assert_eq!(spec, once);
    let tolerations = spec.tolerations.unwrap();
    assert_eq!(tolerations.len(), 6);
    assert_eq!(tolerations[0].toleration_seconds, None);
}

/// Upstream's `TestReplaceDaemonSetPodNodeNameNodeAffinity` and `TestGetTargetNodeName`.
#[test]
fn a_pod_is_meant_for_one_node() {
    let preferred = json!([{"weight": 1, "preference": {}}]);
    let spec = json!({"containers": [], "affinity": {"nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]},
    }}});
    let mut pod = Pod {
        spec: Some(serde_json::from_value(spec).unwrap()),
        ..Pod::default()
    };
    assert_eq!(target_node(&pod), None);
    mean_for(pod.spec.as_mut().unwrap(), "n7");
    assert_eq!(target_node(&pod), Some("n7"));
    let affinity =
        serde_json::to_value(pod.spec.as_ref().unwrap()).unwrap()["affinity"]["nodeAffinity"]
            .clone();
    assert_eq!(
        affinity["preferredDuringSchedulingIgnoredDuringExecution"],
        preferred
    );
    let terms = &affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
    assert_eq!(terms.as_array().unwrap().len(), 1);
    pod.spec.as_mut().unwrap().node_name = Some("n8".to_owned());
    assert_eq!(target_node(&pod), Some("n8"));
    let two = json!({"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}]});
    assert_eq!(selected_node(&serde_json::from_value(two).unwrap()), None);
}
