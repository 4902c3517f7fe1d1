//! How far and how fast replicas may be added and taken away.

use super::*;
use crate::podautoscaler::limits::{Verdict, Wanted};
use crate::podautoscaler::memory::{Change, Memory, Recommendation};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscalerBehavior;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

#[test]
fn without_a_behavior_there_are_bounds_and_a_factor() {
    for (current, desired, min, max, wanted, reason) in [
        (5, 7, 1, 10, 7, "DesiredWithinRange"),
        (5, 0, 2, 10, 2, "TooFewReplicas"),
        (5, 12, 1, 10, 10, "TooManyReplicas"),
        (5, 40, 1, 100, 10, "ScaleUpLimit"),
        (1, 40, 1, 100, 4, "ScaleUpLimit"),
        (1, 40, 1, 3, 3, "TooManyReplicas"),
        (5, 10, 1, 10, 10, "DesiredWithinRange"),
    ] {
        let wants = Wanted {
            current,
            desired,
            min,
            max,
        };
        let Verdict {
            replicas,
            reason: why,
            ..
        } = wants.by_rules();
        assert_eq!((replicas, why), (wanted, reason), "{wants:?}");
    }
}

fn rules(select: &str, policies: &[(&str, i32, i32)]) -> Value {
    let policies = policies.iter().map(
        |(type_, value, period)| json!({"type": type_, "value": value, "periodSeconds": period}),
    );
    json!({"selectPolicy": select, "policies": policies.collect::<Vec<_>>()})
}

/// What was done before: by how many replicas, how many seconds ago.
fn changes(all: &[(i32, i64)]) -> Vec<Change> {
    let all = all.iter();
    all.map(|&(by, ago)| Change { by, at: at(-ago) }).collect()
}

#[test]
fn policies_allow_so_many_in_a_period() {
    type Row<'a> = (
        &'a str,
        &'a [(&'a str, i32, i32)],
        &'a [(i32, i64)],
        &'a [(i32, i64)],
        i32,
        i32,
        &'a str,
    );
    let ups: [Row<'_>; 9] = [
        ("Max", &[("Pods", 3, 60)], &[], &[], 30, 13, "ScaleUpLimit"),
        (
            "Max",
            &[("Pods", 3, 60), ("Percent", 50, 60)],
            &[],
            &[],
            30,
            15,
            "ScaleUpLimit",
        ),
        (
            "Min",
            &[("Pods", 3, 60), ("Percent", 50, 60)],
            &[],
            &[],
            30,
            13,
            "ScaleUpLimit",
        ),
        (
            "Disabled",
            &[("Pods", 3, 60)],
            &[],
            &[],
            30,
            10,
            "ScaleUpLimit",
        ),
        // What was added in the period counts, what was taken away is given back.
        (
            "Max",
            &[("Pods", 3, 60)],
            &[(2, 30)],
            &[],
            30,
            11,
            "ScaleUpLimit",
        ),
        (
            "Max",
            &[("Pods", 3, 60)],
            &[(2, 61)],
            &[],
            30,
            13,
            "ScaleUpLimit",
        ),
        (
            "Max",
            &[("Pods", 3, 60)],
            &[],
            &[(2, 30)],
            30,
            15,
            "ScaleUpLimit",
        ),
        // More was added than a policy that is newer would have allowed: no more for now, and no fewer.
        (
            "Max",
            &[("Pods", 3, 60)],
            &[(9, 30)],
            &[],
            30,
            10,
            "ScaleUpLimit",
        ),
        (
            "Max",
            &[("Percent", 1000, 60)],
            &[],
            &[],
            30,
            20,
            "TooManyReplicas",
        ),
    ];
    for (select, policies, added, removed, desired, wanted, reason) in ups {
        let behavior = json!({"scaleUp": rules(select, policies), "scaleDown": rules("Max", &[])});
        check(&behavior, (added, removed), desired, (wanted, reason));
    }
    let downs: [Row<'_>; 8] = [
        ("Max", &[("Pods", 3, 60)], &[], &[], 1, 7, "ScaleDownLimit"),
        (
            "Max",
            &[("Pods", 3, 60), ("Percent", 55, 60)],
            &[],
            &[],
            1,
            4,
            "ScaleDownLimit",
        ),
        (
            "Min",
            &[("Pods", 3, 60), ("Percent", 55, 60)],
            &[],
            &[],
            1,
            7,
            "ScaleDownLimit",
        ),
        (
            "Disabled",
            &[("Pods", 3, 60)],
            &[],
            &[],
            1,
            10,
            "ScaleDownLimit",
        ),
        (
            "Max",
            &[("Pods", 3, 60)],
            &[],
            &[(2, 30)],
            1,
            9,
            "ScaleDownLimit",
        ),
        (
            "Max",
            &[("Pods", 3, 60)],
            &[(2, 30)],
            &[],
            1,
            5,
            "ScaleDownLimit",
        ),
        (
            "Max",
            &[("Pods", 3, 60)],
            &[],
            &[(8, 30)],
            1,
            10,
            "ScaleDownLimit",
        ),
        (
            "Max",
            &[("Percent", 100, 60)],
            &[],
            &[],
            1,
            2,
            "TooFewReplicas",
        ),
    ];
    for (select, policies, added, removed, desired, wanted, reason) in downs {
        let behavior = json!({"scaleUp": rules("Max", &[]), "scaleDown": rules(select, policies)});
        check(&behavior, (added, removed), desired, (wanted, reason));
    }
}

/// How many replicas came or went, and how many seconds ago.
type Done<'a> = &'a [(i32, i64)];

fn check(behavior: &Value, done: (Done<'_>, Done<'_>), desired: i32, wanted: (i32, &str)) {
    let memory = Memory {
        recommendations: Vec::new(),
        ups: changes(done.0),
        downs: changes(done.1),
    };
    let case = format!("{behavior} {done:?} {desired}");
    let behavior: HorizontalPodAutoscalerBehavior =
        serde_json::from_value(behavior.clone()).unwrap();
    let wants = Wanted {
        current: 10,
        desired,
        min: 2,
        max: 20,
    };
    let found = wants.by_behavior(&behavior, &memory, at(0));
    assert_eq!((found.replicas, found.reason), wanted, "{case}");
}

/// What was recommended before: replicas, and how many seconds ago.
fn remembered(all: &[(i32, i64)]) -> Memory {
    let all = all.iter();
    let recommendations = all.map(|&(replicas, ago)| Recommendation {
        replicas,
        at: at(-ago),
    });
    Memory {
        recommendations: recommendations.collect(),
        ..Memory::default()
    }
}

#[test]
fn what_is_old_gives_its_place_to_what_is_new() {
    let window = SignedDuration::from_secs(60);
    let mut memory = remembered(&[(9, 61), (4, 30), (7, 10)]);
    assert_eq!(memory.highest(3, window, at(0)), 7);
    assert_eq!(memory.recommendations.len(), 3);
    assert_eq!(
        memory.recommendations[0],
        Recommendation {
            replicas: 3,
            at: at(0)
        }
    );
    // A recommendation at the edge still counts.
    let mut memory = remembered(&[(9, 60)]);
    assert_eq!(memory.highest(3, window, at(0)), 9);
    assert_eq!(memory.recommendations.len(), 2);

    let mut memory = Memory {
        ups: changes(&[(5, 100), (3, 90), (1, 10)]),
        ..Memory::default()
    };
    memory.scaled(1, 3, 60, at(0));
    assert_eq!(memory.ups, changes(&[(5, 100), (2, 0), (1, 10)]));
    memory.scaled(3, 1, 60, at(0));
    assert_eq!(memory.downs, changes(&[(2, 0)]));
}

#[test]
fn recommendations_are_stabilized_in_both_directions() {
    for (before, current, desired, up_s, down_s, wanted) in [
        // The lowest of late is what may be added.
        (&[(4, 10), (8, 20)][..], 3, 9, 60, 60, 4),
        (&[(4, 61), (8, 20)][..], 3, 9, 60, 60, 8),
        (&[(2, 10)][..], 3, 9, 60, 60, 3),
        (&[(2, 10)][..], 3, 9, 0, 60, 9),
        // The highest of late is what has to stay.
        (&[(7, 10), (4, 20)][..], 9, 2, 60, 60, 7),
        (&[(7, 61), (4, 20)][..], 9, 2, 60, 60, 4),
        (&[(7, 10)][..], 9, 2, 60, 0, 2),
        (&[(12, 10)][..], 9, 2, 60, 60, 9),
        (&[][..], 9, 2, 60, 60, 2),
    ] {
        let mut memory = remembered(before);
        let windows = (
            SignedDuration::from_secs(up_s),
            SignedDuration::from_secs(down_s),
        );
        let found = memory.stabilized(current, desired, windows, at(0));
        assert_eq!(
            found, wanted,
            "{before:?} {current} {desired} {up_s} {down_s}"
        );
    }
}

#[test]
fn a_day_of_an_autoscaler_with_a_behavior() {
    let mut scene = Scene::new(2, "900 900");
    scene.autoscaler(
        2,
        20,
        json!([cpu(50)]),
        json!({
            "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max",
                "policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]},
            "scaleDown": {"stabilizationWindowSeconds": 60, "selectPolicy": "Max",
                "policies": [{"type": "Pods", "value": 1, "periodSeconds": 30}]},
        }),
    );
    let mut seen = vec![scene.replicas()];
    for _ in 0..8 {
        let replicas = *seen.last().unwrap();
        scene.pass(15);
        scene.pods(&"900 ".repeat(usize::try_from(replicas).unwrap()));
        seen.push(scene.replicas());
    }
    // Two more each minute.
    assert_eq!(seen, [4, 4, 4, 4, 6, 6, 6, 6, 8]);
    assert_eq!(
        scene.condition("ScalingLimited"),
        "True ScaleUpLimit: the desired replica count is increasing faster than the maximum scale rate"
    );
    let mut seen = Vec::new();
    for _ in 0..9 {
        scene.pass(15);
        scene.pods(&"10 ".repeat(8));
        seen.push(scene.replicas());
        let replicas = *seen.last().unwrap();
        scene.pods(&"10 ".repeat(usize::try_from(replicas).unwrap()));
    }
    // After a minute one less, and then one each half minute.
    assert_eq!(seen, [8, 8, 8, 7, 7, 6, 6, 5, 5]);
}
