//! What a look at an autoscaler writes and tells.

use super::*;
use crate::Controller;

#[test]
fn a_workload_that_has_too_much_to_do_gets_more_replicas() {
    let mut scene = Scene::new(3, "300 500 700");
    scene.percent(2, 6, 30);
    assert_eq!(scene.look(), Some(Duration::from_secs(15)));
    let web = scene.world.get::<Deployment>("shop", "web");
    assert_eq!(web.spec.as_ref().unwrap().replicas, Some(5));
    let events: Vec<&str> = scene
        .world
        .events
        .iter()
        .map(|e| e.message.as_str())
        .collect();
    assert_eq!(
        events,
        ["New size: 5; reason: cpu resource utilization (percentage of request) above target"]
    );
    let status = scene.status();
    assert_eq!(status["currentReplicas"], 3);
    assert_eq!(status["desiredReplicas"], 5);
    assert_eq!(status["lastScaleTime"], "2026-03-01T12:00:00Z");
    assert_eq!(
        scene.condition("AbleToScale"),
        "True SucceededRescale: the HPA controller was able to update the target scale to 5"
    );
    assert_eq!(
        scene.condition("ScalingActive"),
        "True ValidMetricFound: the HPA was able to successfully calculate a replica count from cpu \
         resource utilization (percentage of request)"
    );
    assert_eq!(
        scene.condition("ScalingLimited"),
        "False DesiredWithinRange: the desired count is within the acceptable range"
    );
    assert_eq!(
        scene.autoscalers.component(),
        Some("horizontal-pod-autoscaler")
    );
    // The next look says that nothing has to be done, the one after that says nothing.
    scene.pods("300 300 300 300 300");
    assert_eq!(scene.replicas(), 5);
    assert_eq!(
        scene.condition("AbleToScale"),
        "True ReadyForNewScale: recommended size matches current size"
    );
    scene.world.take_writes();
    scene.look();
    assert_eq!(scene.world.take_writes(), [] as [&str; 0]);
}

#[test]
fn replicas_stay_for_as_long_as_more_were_recommended() {
    let mut scene = Scene::new(5, &"100 ".repeat(5));
    scene.percent(1, 10, 50);
    assert_eq!(scene.replicas(), 5);
    assert_eq!(
        scene.condition("AbleToScale"),
        "True ScaleDownStabilized: recent recommendations were higher than current one, applying the \
         highest recent recommendation"
    );
    scene.pass(300);
    assert_eq!(scene.replicas(), 5);
    scene.pass(1);
    assert_eq!(scene.replicas(), 1);
    let reasons: Vec<_> = scene
        .world
        .events
        .iter()
        .map(|e| e.message.clone())
        .collect();
    assert_eq!(reasons, ["New size: 1; reason: All metrics below target"]);
}

#[test]
fn bounds_come_first() {
    for (replicas, min, max, wanted, reason) in [
        (
            3,
            5,
            9,
            5,
            "New size: 5; reason: Current number of replicas below Spec.MinReplicas",
        ),
        (
            12,
            5,
            9,
            9,
            "New size: 9; reason: Current number of replicas above Spec.MaxReplicas",
        ),
    ] {
        let mut scene = Scene::new(replicas, "");
        scene.percent(min, max, 50);
        assert_eq!(scene.replicas(), wanted);
        assert_eq!(scene.world.events[0].message, reason);
        // Metrics were not asked.
        assert_eq!(scene.world.reads.len(), 1, "{:?}", scene.world.reads);
        assert_eq!(scene.status()["currentMetrics"], Value::Null);
    }
    let mut scene = Scene::new(2, "900 900");
    scene.percent(1, 3, 10);
    assert_eq!(scene.replicas(), 3);
    assert_eq!(
        scene.condition("ScalingLimited"),
        "True TooManyReplicas: the desired replica count is more than the maximum replica count"
    );
}

#[test]
fn a_workload_with_no_replicas_is_left_alone() {
    let mut scene = Scene::new(0, "");
    scene.percent(1, 3, 10);
    assert_eq!(scene.replicas(), 0);
    assert_eq!(
        scene.condition("ScalingActive"),
        "False ScalingDisabled: scaling is disabled since the replica count of the target is zero"
    );
    assert!(scene.world.events.is_empty());
}

#[test]
fn the_target_has_to_be_there() {
    for (target, message) in [
        (
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "nobody"}),
            "/apis/apps/v1/namespaces/shop/deployments/nobody/scale: NotFound",
        ),
        (
            json!({"apiVersion": "a/b/c", "kind": "Deployment", "name": "web"}),
            "unexpected GroupVersion string: a/b/c",
        ),
        (
            json!({"apiVersion": "x.io/v1", "kind": "Thing", "name": "web"}),
            "no matches for kind \"Thing\" in group \"x.io\"",
        ),
    ] {
        let mut scene = Scene::new(3, "");
        scene.percent(1, 3, 10);
        scene
            .world
            .change::<HorizontalPodAutoscaler>("shop", "web", |web| {
                web.spec.scale_target_ref = serde_json::from_value(target).unwrap();
            });
        assert_eq!(scene.look(), Some(Duration::from_secs(15)));
        assert_eq!(scene.world.take_reasons(), ["FailedGetScale"]);
        assert_eq!(
            scene.condition("AbleToScale"),
            format!(
                "False FailedGetScale: the HPA controller was unable to get the target's current \
                 scale: {message}"
            )
        );
    }
}

#[test]
fn a_custom_resource_is_scaled_by_its_scale() {
    let mut scene = Scene::new(3, "300 500 700");
    scene.percent(2, 6, 30);
    scene
        .world
        .change::<HorizontalPodAutoscaler>("shop", "web", |web| {
            let target = json!({"apiVersion": "x.io/v1", "kind": "Thing", "name": "web"});
            web.spec.scale_target_ref = serde_json::from_value(target).unwrap();
        });
    let group = json!({"preferredVersion": {"version": "v2"},
        "versions": [{"version": "v1"}, {"version": "v2"}]});
    scene.world.serve("/apis/x.io", Ok(group));
    let list = json!({"resources": [{"name": "things", "kind": "Thing"},
        {"name": "things/scale", "kind": "Scale"}]});
    scene.world.serve("/apis/x.io/v1", Ok(list.clone()));
    scene.world.serve("/apis/x.io/v2", Ok(list));
    let path = "/apis/x.io/v2/namespaces/shop/things/web/scale";
    scene.world.serve(
        path,
        Ok(json!({
            "metadata": {"namespace": "shop", "name": "web", "resourceVersion": "7"},
            "spec": {"replicas": 3}, "status": {"replicas": 3, "selector": "app=web"},
        })),
    );
    scene.look();
    let written = scene
        .world
        .writes
        .iter()
        .find(|(_, at, _)| at == path)
        .unwrap();
    assert_eq!(written.2["spec"]["replicas"], 5);
    assert_eq!(written.2["metadata"]["resourceVersion"], "7");
    assert_eq!(scene.world.take_reasons(), ["SuccessfulRescale"]);
}

#[test]
fn selectors_have_to_make_sense() {
    for (selector, reason, event, message) in [
        (
            "",
            "InvalidSelector",
            "SelectorRequired",
            "the HPA target's scale is missing a selector",
        ),
        (
            "cheddar cheese",
            "InvalidSelector",
            "InvalidSelector",
            "couldn't convert selector into a corresponding internal selector object: unable to parse \
             requirement: found 'cheese', expected: in, notin, =, ==, !=, gt, lt",
        ),
    ] {
        let mut scene = Scene::new(3, "300 500 700");
        scene.percent(2, 6, 30);
        scene.world.serve(
            "/apis/apps/v1/namespaces/shop/deployments/web/scale",
            Ok(
                json!({"metadata": {"namespace": "shop", "name": "web"}, "spec": {"replicas": 3},
                "status": {"replicas": 3, "selector": selector}}),
            ),
        );
        scene.look();
        assert_eq!(
            scene.world.take_reasons(),
            [event, "FailedComputeMetricsReplicas"]
        );
        let said = scene.condition("ScalingActive");
        assert_eq!(said, format!("False {reason}: {message}"));
    }
}

#[test]
fn two_autoscalers_of_the_same_pods_do_nothing() {
    let mut scene = Scene::new(3, "300 500 700");
    scene.percent(2, 6, 30);
    assert_eq!(scene.replicas(), 5);
    scene.world.add_json::<HorizontalPodAutoscaler>(json!({
        "metadata": {"namespace": "shop", "name": "other"},
        "spec": {"minReplicas": 1, "maxReplicas": 9, "metrics": [cpu(10)],
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    }));
    scene.world.take_reasons();
    scene.world.sync(&scene.autoscalers, "shop", "other");
    assert_eq!(
        scene.world.take_reasons(),
        ["AmbiguousSelector", "FailedComputeMetricsReplicas"]
    );
    scene.look();
    assert_eq!(
        scene.condition("ScalingActive"),
        "False AmbiguousSelector: pods by selector app=web are controlled by multiple HPAs: [shop/other shop/web]"
    );
    // Once the other is gone, it goes on.
    scene
        .world
        .remove::<HorizontalPodAutoscaler>("shop", "other");
    scene.world.sync(&scene.autoscalers, "shop", "other");
    scene.look();
    assert!(scene.condition("ScalingActive").starts_with("True"));
}

#[test]
fn changes_wait_for_the_period() {
    let mut scene = Scene::new(3, "300 500 700");
    scene.world.join(0, &scene.autoscalers);
    scene.percent(2, 6, 30);
    scene
        .world
        .settle(&[&scene.autoscalers], Duration::from_secs(14));
    assert_eq!(scene.world.reads.len(), 0);
    scene
        .world
        .settle(&[&scene.autoscalers], Duration::from_secs(1));
    assert_eq!(scene.world.take_reasons(), ["SuccessfulRescale"]);
    let before = scene.world.reads.len();
    scene
        .world
        .settle(&[&scene.autoscalers], Duration::from_secs(60));
    // Twice each time: the scale and the metrics.
    assert_eq!(scene.world.reads.len() - before, 8);
}
