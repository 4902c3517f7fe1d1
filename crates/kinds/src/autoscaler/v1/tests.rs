//! What a real kube-apiserver 1.36.4 made of the same objects.

use super::*;
use crate::Strategy;
use crate::tests::faults;

/// Every kind of metric, as it is kept.
fn stored() -> Value {
    json!({
        "apiVersion": "autoscaling/v2", "kind": KIND,
        "metadata": {"name": "many", "namespace": "default", "annotations": {"keep": "me"}},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2, "maxReplicas": 5,
            "metrics": [
                {"type": "Resource", "resource": {"name": "memory", "target": {
                    "type": "AverageValue", "averageValue": "1000Mi"}}},
                {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c",
                    "target": {"type": "Utilization", "averageUtilization": 70}}},
                {"type": "Pods", "pods": {
                    "metric": {"name": "pps<&>", "selector": {"matchLabels": {"b": "1", "a": "2"},
                        "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "n1"]}]}},
                    "target": {"type": "AverageValue", "averageValue": "10"}}},
                {"type": "Object", "object": {"metric": {"name": "rps"}, "describedObject": {
                    "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "r"},
                    "target": {"type": "Value", "value": "2k"}}},
                {"type": "Object", "object": {"metric": {"name": "rps2"},
                    "describedObject": {"kind": "Service", "name": "r"},
                    "target": {"type": "AverageValue", "averageValue": "500m"}}},
                {"type": "External", "external": {
                    "metric": {"name": "q", "selector": {"matchLabels": {"z": "z"}}},
                    "target": {"type": "AverageValue", "averageValue": "30"}}},
                {"type": "Resource", "resource": {"name": "cpu", "target": {
                    "type": "Utilization", "averageUtilization": 50}}},
            ],
            "behavior": {
                "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [
                    {"type": "Pods", "value": 4, "periodSeconds": 15},
                    {"type": "Percent", "value": 100, "periodSeconds": 15}]},
                "scaleDown": {"stabilizationWindowSeconds": 7, "selectPolicy": "Max",
                    "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
                    "tolerance": "100m"},
            },
        },
        "status": {
            "currentReplicas": 3, "desiredReplicas": 4, "observedGeneration": 2,
            "lastScaleTime": "2024-01-02T03:04:05Z",
            "currentMetrics": [
                {"type": "Resource", "resource": {"name": "cpu", "current": {
                    "averageUtilization": 33, "averageValue": "100m"}}},
                {"type": "Object", "object": {"metric": {"name": "rps"},
                    "describedObject": {"kind": "Service", "name": "r"},
                    "current": {"value": "0", "averageValue": "5"}}},
                {"type": "External", "external": {"metric": {"name": "q"}, "current": {"value": "3"}}},
                {"type": "Pods", "pods": {"metric": {"name": "p"}, "current": {"averageValue": "3"}}},
                {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c",
                    "current": {"averageUtilization": 1, "averageValue": "0"}}},
            ],
            "conditions": [
                {"type": "AbleToScale", "status": "True", "reason": "R", "message": "a<b",
                 "lastTransitionTime": "2024-01-02T03:04:05Z"},
                {"type": "X", "status": "False", "lastTransitionTime": null},
            ],
        },
    })
}

/// The same in the older version.
fn shown() -> Value {
    json!({
        "apiVersion": "autoscaling/v1", "kind": KIND,
        "metadata": {"name": "many", "namespace": "default", "annotations": {
            "keep": "me",
            BEHAVIOR: concat!(
                r#"{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":["#,
                r#"{"Type":"Pods","Value":4,"PeriodSeconds":15},"#,
                r#"{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null},"#,
                r#""ScaleDown":{"StabilizationWindowSeconds":7,"SelectPolicy":"Max","Policies":["#,
                r#"{"Type":"Pods","Value":1,"PeriodSeconds":60}],"Tolerance":"100m"}}"#,
            ),
            CONDITIONS: concat!(
                r#"[{"type":"AbleToScale","status":"True","#,
                r#""lastTransitionTime":"2024-01-02T03:04:05Z","reason":"R","message":"a\u003cb"},"#,
                r#"{"type":"X","status":"False","lastTransitionTime":null}]"#,
            ),
            CURRENT_METRICS: concat!(
                r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":33,"#,
                r#""currentAverageValue":"100m"}},"#,
                r#"{"type":"Object","object":{"target":{"kind":"Service","name":"r"},"#,
                r#""metricName":"rps","currentValue":"0","averageValue":"5"}},"#,
                r#"{"type":"External","external":{"metricName":"q","currentValue":"3"}},"#,
                r#"{"type":"Pods","pods":{"metricName":"p","currentAverageValue":"3"}},"#,
                r#"{"type":"ContainerResource","containerResource":{"name":"cpu","#,
                r#""currentAverageUtilization":1,"currentAverageValue":"0","container":"c"}}]"#,
            ),
            METRICS: concat!(
                r#"[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1000Mi"}},"#,
                r#"{"type":"ContainerResource","containerResource":{"name":"cpu","#,
                r#""targetAverageUtilization":70,"container":"c"}},"#,
                r#"{"type":"Pods","pods":{"metricName":"pps\u003c\u0026\u003e","#,
                r#""targetAverageValue":"10","selector":{"matchLabels":{"a":"2","b":"1"},"#,
                r#""matchExpressions":[{"key":"k","operator":"In","values":["x","n1"]}]}}},"#,
                r#"{"type":"Object","object":{"target":{"kind":"Ingress","name":"r","#,
                r#""apiVersion":"networking.k8s.io/v1"},"metricName":"rps","targetValue":"2k"}},"#,
                r#"{"type":"Object","object":{"target":{"kind":"Service","name":"r"},"#,
                r#""metricName":"rps2","targetValue":"0","averageValue":"500m"}},"#,
                r#"{"type":"External","external":{"metricName":"q","#,
                r#""metricSelector":{"matchLabels":{"z":"z"}},"targetAverageValue":"30"}}]"#,
            ),
        }},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2, "maxReplicas": 5, "targetCPUUtilizationPercentage": 50,
        },
        "status": {
            "currentReplicas": 3, "desiredReplicas": 4, "observedGeneration": 2,
            "lastScaleTime": "2024-01-02T03:04:05Z", "currentCPUUtilizationPercentage": 33,
        },
    })
}

#[test]
fn what_has_no_field_is_kept_in_annotations() {
    assert_eq!(from_v2(&stored()), shown());
    assert_eq!(to_v2(&shown()), stored());
}

#[test]
fn of_several_shares_of_the_cpu_the_first_counts_and_the_others_are_lost() {
    let mut object = stored();
    let metrics = object.at_mut("spec").list_mut("metrics");
    metrics.insert(0, defaults::cpu(40.into()));
    let old = from_v2(&object);
    assert_eq!(old["spec"]["targetCPUUtilizationPercentage"], 40);
    let metrics = &to_v2(&old)["spec"]["metrics"];
    assert_eq!(metrics.as_array().map(Vec::len), Some(7));
    assert_eq!(metrics[6], defaults::cpu(40.into()));
}

fn old(annotations: Value, spec: Value) -> Value {
    let mut object = json!({"apiVersion": "autoscaling/v1", "kind": KIND,
        "metadata": {"name": "a", "namespace": "n", "annotations": annotations}, "spec": spec});
    HORIZONTAL_POD_AUTOSCALER.set_defaults(&mut object);
    from_v2(&to_v2(&object))
}

#[test]
fn without_any_metric_the_share_of_the_cpu_is_80() {
    let object = old(json!({}), json!({"maxReplicas": 3}));
    let wanted = json!({"minReplicas": 1, "maxReplicas": 3, "targetCPUUtilizationPercentage": 80,
        "scaleTargetRef": {"kind": "", "name": ""}});
    assert_eq!(object["spec"], wanted);
    assert_eq!(
        object["status"],
        json!({"currentReplicas": 0, "desiredReplicas": 0})
    );
    assert_eq!(object["metadata"], json!({"name": "a", "namespace": "n"}));
    let memory =
        r#"[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":5}}]"#;
    let object = old(json!({METRICS: memory}), json!({"maxReplicas": 3}));
    assert_eq!(object["metadata"]["annotations"], json!({METRICS: memory}));
    assert!(!object["spec"].has("targetCPUUtilizationPercentage"));
}

#[test]
fn annotations_that_cannot_be_read_are_gone() {
    for text in [
        "",
        "{",
        "{}",
        "3",
        r#"["x"]"#,
        r#"[{"type":1}]"#,
        r#"[{"pods":[]}]"#,
        r#"[{"object":{"target":"x"}}]"#,
        r#"[{"resource":{"targetAverageUtilization":"many"}}]"#,
        r#"[{"resource":{"targetAverageUtilization":4294967296}}]"#,
        r#"[{"pods":{"targetAverageValue":"many"}}]"#,
    ] {
        let object = old(
            json!({METRICS: text, "autoscaling.alpha.kubernetes.io/scale-up-tolerance": "1"}),
            json!({"maxReplicas": 3}),
        );
        assert_eq!(object["metadata"].at("annotations"), &Value::Null, "{text}");
        assert_eq!(
            object["spec"]["targetCPUUtilizationPercentage"], 80,
            "{text}"
        );
    }
    let object = old(
        json!({BEHAVIOR: "{}", CONDITIONS: r#"[{"lastTransitionTime":"x"}]"#, "keep": "me"}),
        json!({}),
    );
    assert_eq!(object["metadata"]["annotations"], json!({"keep": "me"}));
}

#[test]
fn annotations_are_read_whatever_their_case_and_written_in_one() {
    let object = old(
        json!({
            METRICS: r#"[{"TYPE":"Pods","Pods":{"metricname":"m","targetAverageValue":0.5,"x":1},"pods":null}]"#,
            BEHAVIOR: r#"{"scaleup":{"policies":[{"type":"Pods","VALUE":2}]},"x":{}}"#,
        }),
        json!({"targetCPUUtilizationPercentage": 5}),
    );
    assert_eq!(
        object["metadata"]["annotations"],
        json!({
            METRICS: r#"[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"500m"}}]"#,
            BEHAVIOR: concat!(
                r#"{"ScaleUp":{"StabilizationWindowSeconds":null,"SelectPolicy":null,"Policies":["#,
                r#"{"Type":"Pods","Value":2,"PeriodSeconds":0}],"Tolerance":null},"ScaleDown":null}"#,
            ),
        })
    );
    // Read back from the store it has the newer version's defaults.
    let mut kept = to_v2(&object);
    assert!(HorizontalPodAutoscaler.read_back(&mut kept));
    assert_eq!(kept["spec"]["behavior"]["scaleDown"]["selectPolicy"], "Max");
    assert!(!HorizontalPodAutoscaler.read_back(&mut kept));
}

#[test]
fn faults_are_those_of_the_newer_version() {
    let object = old(
        json!({}),
        json!({"maxReplicas": 0, "targetCPUUtilizationPercentage": -1,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}),
    );
    let found = faults(&HORIZONTAL_POD_AUTOSCALER, &object);
    let fields: Vec<&str> = found.iter().filter_map(|f| f.split(": ").next()).collect();
    assert_eq!(
        fields,
        [
            "spec.maxReplicas",
            "spec.maxReplicas",
            "spec.metrics[0].resource.target.averageUtilization",
        ]
    );
}

#[test]
fn nobody_takes_the_names_of_these_annotations_in_the_newer_version() {
    let mut object = stored();
    let annotations = object.at_mut("metadata").at_mut("annotations");
    annotations.set(METRICS, "[]");
    HorizontalPodAutoscaler.set_defaults(&mut object);
    assert_eq!(object["metadata"]["annotations"], json!({"keep": "me"}));
}
