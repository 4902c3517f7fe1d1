//! How many replicas metrics ask for.

use super::*;

/// Replicas, pods, target in percent; replicas wanted, percent and thousandths used on average.
#[test]
fn replicas_follow_the_percentage_of_requests() {
    for (replicas, pods, target, wanted, percent, value) in [
        // More and fewer.
        (3, "300 500 700", 30, 5, 50, "500m"),
        (5, "100 300 500 250 250", 50, 3, 28, "280m"),
        (2, "10 10", 50, 1, 1, "10m"),
        // Within a tenth nothing happens.
        (3, "1000 1000 1000", 91, 3, 100, "1"),
        (3, "1000 1000 1000", 90, 4, 100, "1"),
        (3, "800 800 800", 88, 3, 80, "800m"),
        (3, "800 800 800", 90, 3, 80, "800m"),
        (4, "800 800 800 800", 110, 3, 80, "800m"),
        // Pods that are not ready count as idle when there would be more, and not at all when fewer.
        (3, "u300 500 700", 30, 4, 60, "600m"),
        (3, "400 u500 u700", 30, 3, 40, "400m"),
        (5, "100 300 500 u250 u250", 50, 2, 30, "300m"),
        // So do those that have just become ready.
        (3, "h300 500 700", 30, 4, 60, "600m"),
        (5, "100 300 500 h250 h250", 50, 2, 30, "300m"),
        // Pending pods, too.
        (5, "100 p- p- p- p-", 50, 1, 10, "100m"),
        (3, "p- 500 700", 30, 4, 60, "600m"),
        // Failed and deleted ones never count.
        (2, "500 700 f- f-", 30, 4, 60, "600m"),
        (2, "500 700 d400 d400", 30, 4, 60, "600m"),
        (5, "100 300 500 250 250 f- d-", 50, 3, 28, "280m"),
        // Pods without samples are idle when there would be more, and busy when fewer.
        (4, "800 800 900 -", 60, 4, 83, "833m"),
        (4, "900 900 900 -", 50, 6, 90, "900m"),
        (4, "900 - - -", 50, 4, 90, "900m"),
        (5, "200 200 200 - -", 60, 5, 20, "200m"),
        (4, "100 100 100 -", 60, 3, 10, "100m"),
        // Both of them.
        (4, "u- 900 - 900", 60, 4, 90, "900m"),
        (3, "u900 - 900", 50, 3, 90, "900m"),
        // A target above all of the request is what missing pods are taken to use.
        (4, "10 - - -", 150, 3, 1, "10m"),
    ] {
        let mut scene = Scene::new(replicas, pods);
        scene.percent(1, 50, target);
        // What was recommended before does not matter here.
        scene.look();
        scene.pass(301);
        scene.pods(pods);
        let case = format!("{replicas} {pods} {target}");
        assert_eq!(scene.replicas(), wanted, "{case}");
        let current = &scene.status()["currentMetrics"][0]["resource"]["current"];
        let expected = json!({"averageUtilization": percent, "averageValue": value});
        assert_eq!(*current, expected, "{case}");
    }
}

#[test]
fn other_measures() {
    let average = |target: &str, resource: &str| {
        json!({"type": "Resource", "resource": {"name": resource,
            "target": {"type": "AverageValue", "averageValue": target}}})
    };
    let container = |name: &str, percent: i32| {
        json!({"type": "ContainerResource", "containerResource": {"name": "cpu", "container": name,
            "target": {"type": "Utilization", "averageUtilization": percent}}})
    };
    for (metric, pods, wanted, current) in [
        (
            average("250m", "cpu"),
            "300 500 700",
            6,
            json!({"averageValue": "500m"}),
        ),
        (
            average("1", "cpu"),
            "300 500 700",
            2,
            json!({"averageValue": "500m"}),
        ),
        (
            average("250m", "cpu"),
            "u300 500 700",
            5,
            json!({"averageValue": "600m"}),
        ),
        // A pod without a sample is taken to use the target if there would be fewer.
        (
            average("1", "cpu"),
            "300 - 700",
            2,
            json!({"averageValue": "500m"}),
        ),
        (
            average("2", "cpu"),
            "- - 400",
            3,
            json!({"averageValue": "400m"}),
        ),
        // Memory has no time in which it does not count.
        (
            average("200Mi", "memory"),
            "h300 500 700",
            8,
            json!({"averageValue": "500Mi"}),
        ),
        (
            container("main", 75),
            "500 500 500",
            3,
            json!({"averageUtilization": 75, "averageValue": "450m"}),
        ),
        (
            container("main", 25),
            "500 500 500",
            9,
            json!({"averageUtilization": 75, "averageValue": "450m"}),
        ),
        (
            container("side", 25),
            "500 500 500",
            2,
            json!({"averageUtilization": 12, "averageValue": "50m"}),
        ),
    ] {
        let mut scene = Scene::new(3, pods);
        scene.autoscaler(
            1,
            50,
            json!([metric]),
            json!({
                "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max",
                    "policies": [{"type": "Percent", "value": 900, "periodSeconds": 15}]},
                "scaleDown": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max",
                    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]},
            }),
        );
        assert_eq!(scene.replicas(), wanted, "{metric} {pods}");
        let status = &scene.status()["currentMetrics"][0];
        let at = if metric["type"] == "Resource" {
            "resource"
        } else {
            "containerResource"
        };
        assert_eq!(status[at]["current"], current, "{metric} {pods}");
        assert_eq!(status["type"], metric["type"]);
    }
}

#[test]
fn tolerances_can_be_given_for_each_direction() {
    let behavior = |up: &str, down: &str| {
        let rules = |tolerance: &str| {
            json!({"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "tolerance": tolerance,
                "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]})
        };
        json!({"scaleUp": rules(up), "scaleDown": rules(down)})
    };
    for (up, down, used, wanted) in [
        ("0.1", "0.1", 105, 10),
        ("0.01", "0.1", 105, 11),
        ("0", "0.1", 102, 11),
        ("0.5", "0.1", 140, 10),
        ("0.1", "0.01", 95, 10),
        ("0.1", "0.01", 80, 8),
        ("0.1", "0.5", 60, 10),
    ] {
        let pods = format!("{} ", used * 5).repeat(10);
        let mut scene = Scene::new(10, &pods);
        scene.autoscaler(1, 50, json!([cpu(50)]), behavior(up, down));
        assert_eq!(scene.replicas(), wanted, "{up} {down} {used}");
    }
}

#[test]
fn requests_are_those_of_the_pod_or_of_containers_that_stay() {
    // A sidecar counts; an init container that ends does not.
    let sidecar = json!([
        {"name": "sidecar", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
        {"name": "setup", "resources": {}},
    ]);
    for (change, wanted) in [
        (json!({"initContainers": sidecar}), 50),
        (json!({"resources": {"requests": {"cpu": "4"}}}), 25),
        (json!({"resources": {"requests": {"memory": "4Gi"}}}), 100),
    ] {
        let mut scene = Scene::new(1, "1000");
        scene.percent(1, 50, 100);
        let mut pod = serde_json::to_value(&*scene.world.get::<Pod>("shop", "web-0")).unwrap();
        for (field, value) in change.as_object().unwrap() {
            pod["spec"][field] = value.clone();
        }
        scene.world.add_json::<Pod>(pod);
        scene.look();
        let current = &scene.status()["currentMetrics"][0]["resource"]["current"];
        assert_eq!(current["averageUtilization"], wanted, "{change}");
    }
}

#[test]
fn the_error_says_what_is_missing() {
    let missing = |field: &str, value: Value| {
        let mut scene = Scene::new(1, "100");
        scene.percent(1, 5, 50);
        let mut pod = serde_json::to_value(&*scene.world.get::<Pod>("shop", "web-0")).unwrap();
        pod["spec"][field] = value;
        scene.world.add_json::<Pod>(pod);
        scene.look();
        scene.condition("ScalingActive")
    };
    assert_eq!(
        missing("containers", json!([{"name": "main"}])),
        "False FailedGetResourceMetric: the HPA was unable to compute the replica count: failed to \
         get cpu utilization: missing request for cpu in container main of Pod web-0"
    );
    let mut scene = Scene::new(1, "100");
    let metric = json!({"type": "ContainerResource", "containerResource": {"name": "cpu",
        "container": "nobody", "target": {"type": "Utilization", "averageUtilization": 5}}});
    scene.autoscaler(1, 5, json!([metric]), Value::Null);
    scene.look();
    assert_eq!(
        scene.condition("ScalingActive"),
        "False FailedGetContainerResourceMetric: the HPA was unable to compute the replica count: \
         failed to get cpu utilization: did not receive metrics for targeted pods (pods might be unready)"
    );
}
