use crate::testing::{Case, Cluster, cluster};
use serde_json::{Value, json};

fn range(limits: Value) -> Cluster {
    cluster([
        json!({"kind": "LimitRange", "metadata": {"name": "lr", "namespace": "ns"}, "spec": {"limits": limits}}),
    ])
}

fn pod(resources: Value) -> Case {
    Case::pod(json!({"containers": [{"name": "c", "resources": resources}]}))
}

fn refusal(case: Case, limits: Value) -> String {
    let answer = case.ask(|request| super::validate(request, &range(limits)));
    answer.err().map_or(String::new(), |status| status.message)
}

#[test]
fn containers_get_defaults_and_the_pod_a_note() {
    let world = range(json!([
        {"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "500m"}},
    ]));
    let case = Case::pod(json!({
        "containers": [{"name": "a", "resources": {"limits": {"cpu": "2"}}}, {"name": "b"}],
        "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "1"}}}],
    }));
    let out = case.after(|request| super::admit(request, &world).unwrap());
    let spec = &out["spec"];
    assert_eq!(
        spec["containers"][0]["resources"],
        json!({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "500m"}})
    );
    assert_eq!(
        spec["initContainers"][0]["resources"],
        json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1"}})
    );
    assert_eq!(
        out["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu request for container a; memory limit for container a; \
         cpu request for container b; cpu, memory limit for container b; \
         cpu, memory limit for init container i"
    );
}

#[test]
fn a_pod_that_lacks_nothing_is_left_alone() {
    let world = range(json!([{"type": "Container", "default": {"cpu": "1"}}]));
    let case = pod(json!({"limits": {"cpu": "2"}}));
    let out = case.after(|request| super::admit(request, &world).unwrap());
    assert_eq!(out["metadata"], json!({"name": "p"}));
}

/// Resources of the only container, the range, and what is said.
#[test]
fn bounds_are_upheld_in_upstreams_words() {
    let container = |bounds: Value| {
        let mut limit = json!({"type": "Container"});
        limit
            .as_object_mut()
            .unwrap()
            .extend(bounds.as_object().unwrap().clone());
        json!([limit])
    };
    for (resources, bounds, said) in [
        (
            json!({}),
            json!({"min": {"cpu": "1"}}),
            "minimum cpu usage per Container is 1.  No request is specified",
        ),
        (
            json!({"requests": {"cpu": "500m"}}),
            json!({"min": {"cpu": "1"}}),
            "minimum cpu usage per Container is 1, but request is 500m",
        ),
        (
            json!({"requests": {"cpu": "1"}, "limits": {"cpu": "999m"}}),
            json!({"min": {"cpu": "1"}}),
            "minimum cpu usage per Container is 1, but limit is 999m",
        ),
        (
            json!({}),
            json!({"max": {"memory": "1Gi"}}),
            "maximum memory usage per Container is 1Gi.  No limit is specified",
        ),
        (
            json!({"limits": {"memory": "2Gi"}}),
            json!({"max": {"memory": "1Gi"}}),
            "maximum memory usage per Container is 1Gi, but limit is 2Gi",
        ),
        (
            json!({"limits": {"memory": "1Gi"}, "requests": {"memory": "2Gi"}}),
            json!({"max": {"memory": "1Gi"}}),
            "maximum memory usage per Container is 1Gi, but request is 2Gi",
        ),
        (
            json!({"limits": {"cpu": "1"}}),
            json!({"maxLimitRequestRatio": {"cpu": "2"}}),
            "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
        ),
        (
            json!({"requests": {"cpu": "1"}}),
            json!({"maxLimitRequestRatio": {"cpu": "2"}}),
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
        ),
        (
            json!({"requests": {"cpu": "300m"}, "limits": {"cpu": "1"}}),
            json!({"maxLimitRequestRatio": {"cpu": "1500m"}}),
            "cpu max limit to request ratio per Container is 1500m, but provided ratio is 3.333333",
        ),
    ] {
        let expected = format!("pods \"p\" is forbidden: {said}");
        assert_eq!(refusal(pod(resources), container(bounds)), expected);
    }
    let fits = json!({"requests": {"cpu": "1"}, "limits": {"cpu": "2"}});
    let bounds =
        json!({"min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "2"}});
    assert_eq!(refusal(pod(fits), container(bounds)), "");
}

#[test]
fn several_violations_come_in_one_answer() {
    let limits = json!([
        {"type": "Container", "max": {"cpu": "1"}},
        {"type": "Pod", "max": {"cpu": "1"}},
    ]);
    assert_eq!(
        refusal(pod(json!({"limits": {"cpu": "2"}})), limits),
        "pods \"p\" is forbidden: [maximum cpu usage per Container is 1, but limit is 2, \
         maximum cpu usage per Pod is 1, but limit is 2]"
    );
}

#[test]
fn a_pod_counts_with_its_own_resources_where_it_has_some() {
    let case = Case::pod(json!({
        "containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}],
        "resources": {"limits": {"cpu": "3"}},
    }));
    assert_eq!(
        refusal(case, json!([{"type": "Pod", "max": {"cpu": "2"}}])),
        "pods \"p\" is forbidden: maximum cpu usage per Pod is 2, but limit is 3"
    );
}

#[test]
fn claims_are_bound_by_their_requests() {
    let claim = |size: &str| {
        let spec = json!({"resources": {"requests": {"storage": size}}});
        Case::create(
            "",
            "persistentvolumeclaims",
            json!({"metadata": {"name": "d"}, "spec": spec}),
        )
    };
    let limits = json!([{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}}]);
    let start = "persistentvolumeclaims \"d\" is forbidden:";
    assert_eq!(refusal(claim("2Gi"), limits.clone()), "");
    assert_eq!(
        refusal(claim("1Mi"), limits.clone()),
        format!(
            "{start} minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"
        )
    );
    assert_eq!(
        refusal(claim("6Gi"), limits),
        format!(
            "{start} maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi"
        )
    );
}

#[test]
fn updates_of_pods_are_bound_only_through_resize() {
    let limits = json!([{"type": "Container", "max": {"cpu": "1"}}]);
    let big = json!({"metadata": {"name": "p"}, "spec": {"containers": [
        {"name": "c", "resources": {"limits": {"cpu": "2"}}}
    ]}});
    let update = || Case::update("", "pods", json!({}), big.clone());
    assert_eq!(refusal(update(), limits.clone()), "");
    assert_ne!(refusal(update().subresource("resize"), limits.clone()), "");
    let leaving = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let case = Case::update("", "pods", leaving, big.clone()).subresource("resize");
    assert_eq!(refusal(case, limits), "");
}
