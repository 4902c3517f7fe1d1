use super::*;
use serde_json::{Value, json};

const NON_MISSING: &[(&str, Quantity)] = &[
    ("cpu", Quantity::from_millis(100)),
    ("memory", Quantity::from_units(200 << 20)),
];
const PLAIN: RequestOptions<'static> = RequestOptions {
    use_status_resources: false,
    skip_pod_level_resources: false,
    non_missing_container_requests: &[],
};
const WITH_STATUS: RequestOptions<'static> = RequestOptions {
    use_status_resources: true,
    ..PLAIN
};

fn container(requests: Value) -> Value {
    json!({"name": "c", "resources": {"requests": requests}})
}

fn sidecar(requests: Value) -> Value {
    json!({"name": "s", "restartPolicy": "Always", "resources": {"requests": requests}})
}

#[track_caller]
fn check(pod: Value, options: RequestOptions<'_>, expected: &[(&str, &str)]) {
    let pod: Pod = serde_json::from_value(pod).expect("a pod");
    let resources = PodResources::of(&pod).expect("good quantities");
    let expected: Amounts<'_> = expected
        .iter()
        .map(|(name, text)| (*name, text.parse().expect("a quantity")))
        .collect();
    assert_eq!(resources.requests(options), expected);
}

#[test]
fn init_containers_and_sidecars() {
    // upstream: TestPodResourceRequests
    let pod = json!({"spec": {
        "containers": [container(json!({"cpu": "1"})), container(json!({"cpu": "2", "memory": "1Gi"}))],
        "initContainers": [
            container(json!({"cpu": "3500m"})),
            sidecar(json!({"cpu": "500m", "example.com/gpu": "1"})),
            container(json!({"memory": "2Gi"})),
        ],
        "overhead": {"cpu": "250m", "memory": "64Mi"},
    }});
    check(
        pod,
        PLAIN,
        &[
            ("cpu", "3750m"),
            ("memory", "2112Mi"),
            ("example.com/gpu", "1"),
        ],
    );
}

#[test]
fn a_later_init_container_runs_beside_earlier_sidecars() {
    let pod = json!({"spec": {
        "containers": [container(json!({"cpu": "1"}))],
        "initContainers": [sidecar(json!({"cpu": "2"})), container(json!({"cpu": "5"}))],
    }});
    check(pod, PLAIN, &[("cpu", "7")]);
}

#[test]
fn missing_requests_are_replaced_per_container_but_zero_stays() {
    let pod = json!({"spec": {
        "containers": [container(json!({"cpu": "0"})), container(json!({"memory": "1Mi"}))],
        "initContainers": [container(json!({}))],
    }});
    let options = RequestOptions {
        non_missing_container_requests: NON_MISSING,
        ..PLAIN
    };
    check(pod, options, &[("cpu", "100m"), ("memory", "201Mi")]);
}

#[test]
fn pod_level_resources_win_where_they_are_supported() {
    let pod = json!({"spec": {
        "containers": [container(json!({"cpu": "1", "memory": "1Gi", "example.com/gpu": "1"}))],
        "resources": {"requests": {"cpu": "4", "hugepages-2Mi": "4Mi", "example.com/gpu": "9"}},
        "overhead": {"cpu": "1"},
    }});
    let containers_only = [("cpu", "2"), ("memory", "1Gi"), ("example.com/gpu", "1")];
    let skipping = RequestOptions {
        skip_pod_level_resources: true,
        ..PLAIN
    };
    check(pod.clone(), skipping, &containers_only);
    check(
        pod,
        PLAIN,
        &[
            ("cpu", "5"),
            ("memory", "1Gi"),
            ("example.com/gpu", "1"),
            ("hugepages-2Mi", "4Mi"),
        ],
    );
}

fn resized(conditions: Value) -> Value {
    json!({
        "spec": {
            "containers": [container(json!({"cpu": "3", "memory": "1Gi"}))],
            "initContainers": [sidecar(json!({"cpu": "1"}))],
        },
        "status": {
            "conditions": conditions,
            "containerStatuses": [{
                "name": "c", "image": "", "imageID": "", "ready": true, "restartCount": 0,
                "resources": {"requests": {"cpu": "1"}},
                "allocatedResources": {"cpu": "2", "memory": "2Gi"},
            }],
            "initContainerStatuses": [{
                "name": "s", "image": "", "imageID": "", "ready": true, "restartCount": 0,
                "allocatedResources": {"cpu": "7"},
            }],
        },
    })
}

#[test]
fn resize_in_place_counts_the_greatest_and_infeasible_leaves_the_spec_out() {
    check(
        resized(json!([])),
        PLAIN,
        &[("cpu", "4"), ("memory", "1Gi")],
    );
    // The sidecar's status has no `resources`, so its allocation does not count.
    check(
        resized(json!([{"type": "PodResizePending", "status": "True", "reason": "Deferred"}])),
        WITH_STATUS,
        &[("cpu", "4"), ("memory", "2Gi")],
    );
    check(
        resized(json!([{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}])),
        WITH_STATUS,
        &[("cpu", "3"), ("memory", "2Gi")],
    );
}

#[test]
fn pod_level_resize() {
    let pod = json!({
        "spec": {"containers": [], "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}},
        "status": {
            "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
            "resources": {"requests": {"cpu": "2"}},
            "allocatedResources": {"cpu": "3"},
        },
    });
    check(pod.clone(), PLAIN, &[("cpu", "1"), ("memory", "1Gi")]);
    check(pod, WITH_STATUS, &[("cpu", "3"), ("memory", "0")]);
}

#[test]
fn bad_quantities_name_their_field() {
    for (pod, expected) in [
        (
            json!({"spec": {"containers": [container(json!({"cpu": "1kk"}))]}}),
            "spec.containers[0].resources.requests[cpu]: Invalid value: \"1kk\": unable to parse quantity's suffix",
        ),
        (
            json!({"spec": {"containers": [], "overhead": {"memory": "-1"}}}),
            "spec.overhead[memory]: Invalid value: \"-1\": must be greater than or equal to 0",
        ),
    ] {
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        let error = PodResources::of(&pod).expect_err("a bad quantity");
        assert_eq!(error.to_string(), expected);
    }
}
