//! Writes that fail, stale reads, restarts.

use super::*;
use std::cell::Cell;
use std::rc::Rc;

#[test]
fn a_scale_that_somebody_else_changed_is_written_again() {
    for (failures, wanted) in [(1, 5), (4, 5), (5, 3)] {
        let mut scene = Scene::new(3, "300 500 700");
        scene.percent(2, 6, 30);
        let left = Rc::new(Cell::new(failures));
        scene.world.refuse(move |write| {
            let refuses = is_scale(write) && left.get() > 0;
            left.set(left.get() - i32::from(refuses));
            refuses.then(|| refused(409, "it has changed"))
        });
        assert_eq!(scene.replicas(), wanted, "{failures}");
        let reasons = scene.world.take_reasons();
        match wanted {
            3 => assert_eq!(reasons, ["FailedRescale"]),
            _ => assert_eq!(reasons, ["SuccessfulRescale"]),
        }
    }
}

#[test]
fn a_scale_that_cannot_be_written_is_told_and_tried_again_after_the_period() {
    let mut scene = Scene::new(3, "300 500 700");
    scene.percent(2, 6, 30);
    scene
        .world
        .refuse(|write| is_scale(write).then(|| refused(403, "no")));
    assert_eq!(scene.look(), Some(Duration::from_secs(15)));
    assert!(scene.world.errors.is_empty());
    assert_eq!(
        scene.condition("AbleToScale"),
        "False FailedUpdateScale: the HPA controller was unable to update the target scale: no"
    );
    let message = "New size: 5; reason: cpu resource utilization (percentage of request) above target; error: no";
    assert_eq!(scene.world.events[0].message, message);
    let status = scene.status();
    assert_eq!(
        (&status["currentReplicas"], &status["desiredReplicas"]),
        (&json!(3), &json!(0))
    );
    scene.world.refuse(|_| None);
    assert_eq!(scene.replicas(), 5);
}

#[test]
fn a_status_that_cannot_be_written_does_not_hold_the_scale_up() {
    let mut scene = Scene::new(3, "300 500 700");
    scene.percent(2, 6, 30);
    scene
        .world
        .refuse(|write| (!is_scale(write)).then(|| refused(409, "it has changed")));
    assert_eq!(scene.look(), Some(Duration::from_secs(15)));
    assert_eq!(
        scene.world.take_reasons(),
        ["SuccessfulRescale", "FailedUpdateStatus"]
    );
    scene.world.refuse(|_| None);
    scene.pods("300 300 300 300 300");
    assert_eq!(scene.replicas(), 5);
    assert_eq!(scene.status()["currentReplicas"], 5);
}

/// What controllers know of pods may be old, and they may forget what they recommended: they end where those
/// end that saw and forgot nothing.
#[test]
fn stale_pods_and_restarts_only_delay() {
    let mut scene = Scene::new(3, "300 500 700");
    scene.percent(2, 6, 30);
    assert_eq!(scene.replicas(), 5);
    // The new pods are not seen yet, though their metrics are: they do not count.
    assert_eq!(scene.replicas(), 5);
    scene.pods("300 300 300 300 300");
    assert_eq!(scene.replicas(), 5);
    // A new process takes what there is as recommended, and waits as long as one that knows.
    scene.autoscalers = PodAutoscalers::new(PodAutoscalerOptions::default());
    scene.pods("60 60 60 60 60");
    assert_eq!(scene.replicas(), 5);
    scene.pass(301);
    scene.pods("60 60 60 60 60");
    assert_eq!(scene.replicas(), 2);
}
