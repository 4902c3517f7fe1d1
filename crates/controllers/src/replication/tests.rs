//! What is different from ReplicaSets.

use super::*;
use crate::common::controller_of;
use crate::testing::World;
use crate::{Failure, Method};
use serde_json::json;
use std::time::Duration;

fn world() -> World {
    let mut world = World::default();
    world.join(0, &ReplicationControllers);
    world.add_json::<ReplicationController>(json!({
        "metadata": {"namespace": "a", "name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"app": "web"},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}},
        },
    }));
    world
}

fn status(world: &World) -> serde_json::Value {
    let controller = world.get::<ReplicationController>("a", "web");
    serde_json::to_value(&controller.status).expect("a status")
}

#[test]
fn pods_are_made_and_counted() {
    let mut world = world();
    world.add_json::<Pod>(json!({
        "metadata": {"namespace": "a", "name": "orphan", "labels": {"app": "web"}},
        "status": {"phase": "Running"},
    }));
    world.settle(&[&ReplicationControllers], Duration::from_secs(1));
    let pods = world.cluster.namespace::<Pod>("a");
    assert_eq!(pods.len(), 2);
    for pod in &pods {
        let owner = controller_of(&**pod).expect("an owner");
        assert_eq!(owner.api_version, "v1");
        assert_eq!(owner.kind, "ReplicationController");
    }
    // The API has no count of terminating pods here.
    assert_eq!(
        status(&world),
        json!({"replicas": 2, "fullyLabeledReplicas": 2, "observedGeneration": 1})
    );
}

#[test]
fn trouble_is_told_and_forgotten() {
    let mut world = world();
    world.refuse(|write| {
        let failure = Failure {
            code: 403,
            message: "exceeded quota".to_owned(),
            ..Failure::default()
        };
        (write.method == Method::Post).then_some(failure)
    });
    world.sync(&ReplicationControllers, "a", "web");
    assert_eq!(world.take_reasons(), ["FailedCreate"]);
    assert_eq!(status(&world)["conditions"][0]["type"], "ReplicaFailure");
    assert_eq!(status(&world)["conditions"][0]["reason"], "FailedCreate");
    world.refuse(|_| None);
    world.settle(&[&ReplicationControllers], Duration::from_secs(5));
    assert_eq!(status(&world).get("conditions"), None);
}
