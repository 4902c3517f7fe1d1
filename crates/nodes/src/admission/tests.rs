use super::*;
use serde_json::{Value, json};

fn node(taints: Value) -> Node {
    let room = json!({"cpu": "2", "memory": "4Gi", "pods": "3", "nvidia.com/gpu": "1"});
    let node = json!({
        "metadata": {"name": "n1", "labels": {"disk": "ssd", "cores": "8"}},
        "spec": {"taints": taints},
        "status": {"allocatable": room, "capacity": room},
    });
    serde_json::from_value(node).unwrap()
}

fn pod(spec: Value) -> Pod {
    let mut spec = spec;
    spec["nodeName"] = json!("n1");
    if spec["containers"].is_null() {
        spec["containers"] = json!([{"name": "c"}]);
    }
    serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap()
}

fn asks(requests: Value) -> Value {
    json!({"containers": [{"name": "c", "resources": {"requests": requests}}]})
}

fn port(number: i32, address: &str) -> Value {
    json!({"containers": [{"name": "c", "ports": [{"containerPort": 1, "hostPort": number, "hostIP": address}]}]})
}

/// Two pods are on the node, with one cpu and a port.
fn room(node: &Node) -> Room {
    let mut room = Room::default();
    room.set_allocatable(node);
    for spec in [
        asks(json!({"cpu": "1", "nvidia.com/gpu": "1"})),
        port(80, "10.0.0.1"),
    ] {
        let pod = pod(spec);
        room.take(&pod, &requests_of(&pod));
    }
    room
}

fn verdict(spec: Value, taints: Value) -> String {
    let node = node(taints);
    let pod = pod(spec);
    match admit(&pod, &requests_of(&pod), &node, &room(&node)) {
        Ok(()) => "admitted".to_owned(),
        Err(refusal) => format!("{}: {}", refusal.reason, refusal.message),
    }
}

/// Upstream's `TestGeneralPredicates`, `TestNodeAffinityFilter` and others, in a kubelet's words.
#[test]
fn a_node_refuses_in_a_kubelets_order_and_words() {
    let affinity = |expression: Value| {
        let terms = json!([{"matchExpressions": [expression]}]);
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
    };
    let unmatched = "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
    let no_ports = "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
    let rows = [
        (json!({}), "admitted"),
        (asks(json!({"cpu": "1", "memory": "4Gi"})), "admitted"),
        (
            asks(json!({"cpu": "1500m"})),
            "OutOfcpu: Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000",
        ),
        (
            asks(json!({"memory": "5Gi"})),
            "OutOfmemory: Node didn't have enough resource: memory, requested: 5368709120, used: 0, capacity: 4294967296",
        ),
        (
            asks(json!({"nvidia.com/gpu": "1"})),
            "OutOfnvidia.com/gpu: Node didn't have enough resource: nvidia.com/gpu, requested: 1, used: 1, capacity: 1",
        ),
        // What the node does not know is not its business.
        (asks(json!({"example.com/else": "1"})), "admitted"),
        (json!({"nodeSelector": {"disk": "hdd"}}), unmatched),
        (json!({"nodeSelector": {"disk": "ssd"}}), "admitted"),
        (
            affinity(json!({"key": "cores", "operator": "Gt", "values": ["8"]})),
            unmatched,
        ),
        (
            affinity(json!({"key": "cores", "operator": "Lt", "values": ["9"]})),
            "admitted",
        ),
        (
            affinity(json!({"key": "disk", "operator": "NotIn", "values": ["hdd"]})),
            "admitted",
        ),
        (
            affinity(json!({"key": "disk", "operator": "DoesNotExist"})),
            unmatched,
        ),
        (port(80, "10.0.0.1"), no_ports),
        (port(80, ""), no_ports),
        (port(80, "10.0.0.2"), "admitted"),
        (port(81, ""), "admitted"),
        (
            json!({"os": {"name": "windows"}}),
            "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
        ),
    ];
    for (spec, expected) in rows {
        assert_eq!(verdict(spec.clone(), json!([])), expected, "{spec}");
    }
}

#[test]
fn only_taints_that_evict_matter() {
    let taint = |effect: &str| json!([{"key": "k", "value": "v", "effect": effect}]);
    let refused = "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";
    let tolerates = |toleration: Value| json!({"tolerations": [toleration]});
    let rows = [
        (json!({}), "NoExecute", refused),
        (json!({}), "NoSchedule", "admitted"),
        (
            tolerates(json!({"operator": "Exists"})),
            "NoExecute",
            "admitted",
        ),
        (
            tolerates(json!({"key": "k", "value": "v"})),
            "NoExecute",
            "admitted",
        ),
        (
            tolerates(json!({"key": "k", "value": "w"})),
            "NoExecute",
            refused,
        ),
        (
            tolerates(json!({"key": "k", "operator": "Exists", "effect": "NoSchedule"})),
            "NoExecute",
            refused,
        ),
    ];
    for (spec, effect, expected) in rows {
        assert_eq!(
            verdict(spec.clone(), taint(effect)),
            expected,
            "{spec} {effect}"
        );
    }
}

#[test]
fn a_full_node_takes_no_pod_until_one_is_gone() {
    let node = node(json!([]));
    let mut room = room(&node);
    let pod = pod(port(90, ""));
    let requests = requests_of(&pod);
    room.take(&pod, &requests);
    let refusal = admit(&pod, &requests, &node, &room).unwrap_err();
    assert_eq!(refusal.reason, "OutOfpods");
    assert_eq!(
        refusal.message,
        "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"
    );
    room.free(Some(&pod), &requests);
    assert_eq!(admit(&pod, &requests, &node, &room), Ok(()));
}

#[test]
fn requests_are_those_of_the_pod_as_a_whole() {
    let requests =
        |cpu: &str| json!({"requests": {"cpu": cpu, "memory": "64Mi"}, "limits": {"cpu": cpu}});
    let pod = pod(json!({
        "initContainers": [
            {"name": "i", "resources": requests("3")},
            {"name": "s", "restartPolicy": "Always", "resources": requests("500m")},
        ],
        "containers": [{"name": "c", "resources": requests("1")}],
        "overhead": {"cpu": "100m"},
    }));
    let amounts = requests_of(&pod);
    assert_eq!((amounts.cpu_m, amounts.memory), (3_100, 128 << 20));
    let expected = json!({
        "requests": {"cpu": "3100m", "memory": "128Mi"},
        "limits": {"cpu": "3100m"},
    });
    assert_eq!(reported(&pod), expected);
}
