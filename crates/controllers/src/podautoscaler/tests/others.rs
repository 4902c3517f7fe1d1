//! Metrics of pods, of objects, and from outside.

use super::*;

const GROUPS: &str = "/apis";
const CUSTOM: &str = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop";
const EXTERNAL: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue";

fn served(scene: &mut Scene) {
    let group = json!({"name": "custom.metrics.k8s.io",
        "preferredVersion": {"version": "v1beta2"}, "versions": [{"version": "v1beta2"}]});
    scene
        .world
        .serve(GROUPS, Ok(json!({"groups": [{"name": "apps"}, group]})));
    let list = json!({"resources": [{"name": "services/status", "kind": "Service"},
        {"name": "services", "kind": "Service"}]});
    scene.world.serve("/api/v1", Ok(list));
}

fn value(name: &str, value: &str) -> Value {
    json!({"describedObject": {"name": name}, "timestamp": "2026-03-01T12:00:00Z", "value": value})
}

fn identified(name: &str) -> Value {
    json!({"name": name, "selector": {"matchLabels": {"kind": "fast"}}})
}

#[test]
fn metrics_of_pods() {
    let mut scene = Scene::new(3, "100 100 u100");
    served(&mut scene);
    let metric = json!({"type": "Pods", "pods": {"metric": identified("qps"),
        "target": {"type": "AverageValue", "averageValue": "15"}}});
    scene.autoscaler(1, 20, json!([metric]), Value::Null);
    let items = [
        value("web-0", "50"),
        value("web-1", "10"),
        value("web-2", "30"),
    ];
    scene
        .world
        .serve(&format!("{CUSTOM}/pods/*/qps"), Ok(json!({"items": items})));
    // That a pod is not ready matters for its cpu only.
    assert_eq!(scene.replicas(), 6);
    let asked = scene.world.reads.last().unwrap();
    assert_eq!(
        *asked,
        format!("{CUSTOM}/pods/*/qps?labelSelector=app%3Dweb&metricLabelSelector=kind%3Dfast")
    );
    let status = &scene.status()["currentMetrics"][0];
    assert_eq!(status["pods"]["current"], json!({"averageValue": "30"}));
    assert_eq!(
        scene.world.events[0].message,
        "New size: 6; reason: pods metric qps above target"
    );
}

#[test]
fn metrics_of_objects() {
    for (kind, place, target, wanted, current) in [
        (
            "Service",
            "services/front/qps",
            json!({"type": "Value", "value": "10"}),
            6,
            json!({"value": "20"}),
        ),
        (
            "Service",
            "services/front/qps",
            json!({"type": "Value", "value": "19"}),
            3,
            json!({"value": "20"}),
        ),
        (
            "Service",
            "services/front/qps",
            json!({"type": "AverageValue", "averageValue": "4"}),
            5,
            json!({"averageValue": "6667m"}),
        ),
        (
            "Service",
            "services/front/qps",
            json!({"type": "AverageValue", "averageValue": "6500m"}),
            3,
            json!({"averageValue": "6667m"}),
        ),
        (
            "Namespace",
            "metrics/qps",
            json!({"type": "Value", "value": "10"}),
            6,
            json!({"value": "20"}),
        ),
    ] {
        let mut scene = Scene::new(3, "100 100 100");
        served(&mut scene);
        let metric = json!({"type": "Object", "object": {"metric": {"name": "qps"}, "target": target,
            "describedObject": {"apiVersion": "v1", "kind": kind, "name": "front"}}});
        scene.autoscaler(1, 20, json!([metric]), Value::Null);
        let items = [value("front", "20")];
        scene
            .world
            .serve(&format!("{CUSTOM}/{place}"), Ok(json!({"items": items})));
        assert_eq!(scene.replicas(), wanted, "{kind} {target}");
        assert_eq!(
            scene.status()["currentMetrics"][0]["object"]["current"],
            current
        );
    }
}

#[test]
fn metrics_from_outside() {
    for (target, pods, wanted, current) in [
        (
            json!({"type": "Value", "value": "6666m"}),
            "1 1 1",
            4,
            json!({"value": "8600m"}),
        ),
        (
            json!({"type": "Value", "value": "4400m"}),
            "u1 1 u1",
            2,
            json!({"value": "8600m"}),
        ),
        (
            json!({"type": "AverageValue", "averageValue": "2150m"}),
            "1 1 1",
            4,
            json!({"averageValue": "2867m"}),
        ),
        (
            json!({"type": "AverageValue", "averageValue": "3"}),
            "1 1 1",
            3,
            json!({"averageValue": "2867m"}),
        ),
    ] {
        let mut scene = Scene::new(3, pods);
        let metric = json!({"type": "External", "external": {"metric": identified("queue"),
            "target": target}});
        scene.autoscaler(
            1,
            20,
            json!([metric]),
            json!({
                "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max",
                    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]},
                "scaleDown": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max",
                    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]},
            }),
        );
        let items = [value("", "8"), value("", "600m")];
        scene.world.serve(EXTERNAL, Ok(json!({"items": items})));
        assert_eq!(scene.replicas(), wanted, "{target}");
        assert_eq!(
            scene.status()["currentMetrics"][0]["external"]["current"],
            current
        );
    }
}

#[test]
fn what_nobody_serves_is_said() {
    let gone = || {
        Err(Failure {
            code: 404,
            message: "404 page not found".to_owned(),
            ..Failure::default()
        })
    };
    let metric = |type_: &str, field: &str, value: Value| json!({"type": type_, field: value});
    let target = json!({"type": "AverageValue", "averageValue": "1"});
    let qps = json!({"name": "qps"});
    for (metric, reason, error) in [
        (
            cpu(50),
            "FailedGetResourceMetric",
            "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch \
             metrics from resource metrics API: the server could not find the requested resource (get \
             pods.metrics.k8s.io)",
        ),
        (
            metric("Pods", "pods", json!({"metric": qps, "target": target})),
            "FailedGetPodsMetric",
            "unable to get metric qps: unable to fetch metrics from custom metrics API: no custom \
             metrics API (custom.metrics.k8s.io) registered",
        ),
        (
            metric(
                "Object",
                "object",
                json!({"metric": qps, "target": target,
                "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "front"}}),
            ),
            "FailedGetObjectMetric",
            "unable to get metric qps: Service on shop front/unable to fetch metrics from custom \
             metrics API: no custom metrics API (custom.metrics.k8s.io) registered",
        ),
        (
            metric(
                "External",
                "external",
                json!({"metric": qps, "target": target}),
            ),
            "FailedGetExternalMetric",
            "unable to get external metric shop/qps/nil: unable to fetch metrics from external \
             metrics API: the server could not find the requested resource (get qps.external.metrics.k8s.io)",
        ),
        (
            json!({"type": "Cheese"}),
            "InvalidMetricSourceType",
            "unknown metric source type \"Cheese\"",
        ),
    ] {
        let mut scene = Scene::new(3, "100 100 100");
        scene
            .world
            .serve(GROUPS, Ok(json!({"groups": [{"name": "apps"}]})));
        scene.world.serve(METRICS, gone());
        scene.world.serve(
            "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/qps",
            gone(),
        );
        scene.autoscaler(1, 20, json!([metric]), Value::Null);
        assert_eq!(scene.replicas(), 3);
        assert_eq!(
            scene.condition("ScalingActive"),
            format!("False {reason}: the HPA was unable to compute the replica count: {error}")
        );
        assert_eq!(scene.world.events[0].message, error);
        assert_eq!(
            scene.world.take_reasons(),
            [reason, "FailedComputeMetricsReplicas"]
        );
        // An entry for each metric, whether it says anything or not.
        assert_eq!(scene.status()["currentMetrics"], json!([{"type": ""}]));
    }
}

#[test]
fn with_some_metrics_missing_there_are_only_more() {
    let external = json!({"type": "External", "external": {"metric": {"name": "queue"},
        "target": {"type": "Value", "value": "1"}}});
    for (pods, percent, wanted, active) in [
        ("300 500 700", 30, 5, "True ValidMetricFound"),
        ("300 500 700", 50, 3, "True ValidMetricFound"),
        ("300 500 700", 90, 3, "False FailedGetExternalMetric"),
    ] {
        let mut scene = Scene::new(3, pods);
        scene.autoscaler(1, 20, json!([external, cpu(percent)]), Value::Null);
        assert_eq!(scene.replicas(), wanted, "{percent}");
        let said = scene.condition("ScalingActive");
        assert!(said.starts_with(active), "{said}");
        let statuses = &scene.status()["currentMetrics"];
        assert_eq!(statuses[0], json!({"type": ""}));
        assert_eq!(statuses[1]["type"], "Resource");
    }
}
