//! The garbage collector against the embedded server. Upstream:
//! `test/integration/garbagecollector` and `test/e2e/apimachinery/garbage_collector.go`.

use crate::world::{World, owner, run};
use k8s_openapi::api::core::v1::{ConfigMap, ReplicationController};
use serde_json::{Value, json};
use stowplan_client::Kind;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CONTROLLERS: &str = "/api/v1/namespaces/default/replicationcontrollers";

fn map(name: &str, owners: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "ownerReferences": owners}})
}

async fn controller(world: &World, name: &str) -> Value {
    let template = json!({"metadata": {"labels": {"a": name}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let controller = json!({"apiVersion": "v1", "kind": "ReplicationController",
        "metadata": {"name": name},
        "spec": {"replicas": 0, "selector": {"a": name}, "template": template}});
    world.create(CONTROLLERS, controller).await
}

#[test]
fn dependents_follow_their_owner_as_the_policy_says() {
    run(async |world| {
        world.collect_garbage().await;
        follow_their_owner(&world).await;
    });
}

#[test]
fn what_others_watch_is_collected_all_the_same() {
    run(async |world| {
        world.informers.watch(Kind::of::<ConfigMap>());
        world.informers.watch(Kind::of::<ReplicationController>());
        world.collect_garbage().await;
        follow_their_owner(&world).await;
    });
}

async fn follow_their_owner(world: &World) {
    for policy in ["Background", "Foreground", "Orphan"] {
        let rc = controller(world, "rc").await;
        for name in ["a", "b"] {
            let made = world.create(MAPS, map(name, &[owner(&rc, true)])).await;
            let below = format!("{name}-child");
            world.create(MAPS, map(&below, &[owner(&made, true)])).await;
        }
        world.pass(1).await;
        assert_eq!(world.names(MAPS).await.len(), 4, "{policy}");
        world.delete(&format!("{CONTROLLERS}/rc"), policy).await;
        world.pass(2).await;
        assert!(world.names(CONTROLLERS).await.is_empty(), "{policy}");
        let left = world.names(MAPS).await;
        match policy {
            "Orphan" => {
                assert_eq!(left.len(), 4);
                let a = world.get(&format!("{MAPS}/a")).await.unwrap();
                assert_eq!(a["metadata"]["ownerReferences"], Value::Null);
            }
            _ => assert!(left.is_empty(), "{policy} {left:?}"),
        }
    }
}

#[test]
fn what_was_there_before_and_has_no_owner_is_collected() {
    run(async |world| {
        let ghost =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "ghost", "uid": "1-2-3"});
        world
            .create(MAPS, map("lost", std::slice::from_ref(&ghost)))
            .await;
        let kept = world.create(MAPS, map("kept", &[])).await;
        let mixed = map("mixed", &[ghost, owner(&kept, false)]);
        world.create(MAPS, mixed).await;
        world.collect_garbage().await;
        world.pass(2).await;
        assert_eq!(world.names(MAPS).await, ["kept", "mixed"]);
        let mixed = world.get(&format!("{MAPS}/mixed")).await.unwrap();
        let owners = mixed["metadata"]["ownerReferences"].as_array().unwrap();
        assert_eq!(owners.len(), 1, "{owners:?}");
    });
}

#[test]
fn custom_resources_take_part_as_soon_as_they_are_defined() {
    run(async |world| {
        world.collect_garbage().await;
        let definition = json!({"metadata": {"name": "things.x.dev"},
            "spec": {"group": "x.dev", "scope": "Namespaced",
                "names": {"plural": "things", "kind": "Thing"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        world.create(definitions, definition).await;
        world.pass(2).await;
        let things = "/apis/x.dev/v1/namespaces/default/things";
        let thing = |name: &str, owners: &[Value]| {
            json!({"apiVersion": "x.dev/v1", "kind": "Thing",
                "metadata": {"name": name, "ownerReferences": owners}})
        };
        let parent = world.create(things, thing("parent", &[])).await;
        world
            .create(things, thing("child", &[owner(&parent, true)]))
            .await;
        world
            .create(MAPS, map("other", &[owner(&parent, true)]))
            .await;
        world.create(MAPS, map("stays", &[])).await;
        let stays = world.get(&format!("{MAPS}/stays")).await.unwrap();
        let owners = [owner(&parent, true), owner(&stays, false)];
        world.create(things, thing("second", &owners)).await;
        world.pass(1).await;
        world
            .delete(&format!("{things}/parent"), "Foreground")
            .await;
        world.pass(3).await;
        assert_eq!(world.names(things).await, ["second"]);
        assert_eq!(world.names(MAPS).await, ["stays"]);
        let second = world.get(&format!("{things}/second")).await.unwrap();
        let owners = second["metadata"]["ownerReferences"].as_array().unwrap();
        assert_eq!(owners.len(), 1);
    });
}

#[test]
fn an_owner_in_another_namespace_is_told_of_and_is_none() {
    run(async |world| {
        world
            .create("/api/v1/namespaces", json!({"metadata": {"name": "other"}}))
            .await;
        let elsewhere = "/api/v1/namespaces/other/configmaps";
        let parent = world.create(elsewhere, map("parent", &[])).await;
        world.collect_garbage().await;
        world
            .create(MAPS, map("bad", &[owner(&parent, false)]))
            .await;
        world
            .create(elsewhere, map("good", &[owner(&parent, false)]))
            .await;
        world.pass(2).await;
        assert!(world.names(MAPS).await.is_empty());
        assert_eq!(world.names(elsewhere).await, ["good", "parent"]);
        let events = world
            .get("/api/v1/namespaces/default/events")
            .await
            .unwrap();
        let event = &events["items"][0];
        assert_eq!(event["reason"], "OwnerRefInvalidNamespace", "{events}");
        let message = event["message"].as_str().unwrap();
        assert!(
            message.ends_with("does not exist in namespace \"default\""),
            "{message}"
        );
    });
}

#[test]
fn pods_that_wait_for_each_other_in_a_circle_go() {
    run(async |world| {
        world.collect_garbage().await;
        let mut made = Vec::new();
        for name in ["a", "b", "c"] {
            made.push(world.create(MAPS, map(name, &[])).await);
        }
        for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
            let before = owner(&made[(number + 2) % 3], true);
            let patch = json!({"metadata": {"ownerReferences": [before]}});
            world
                .send("PATCH", &format!("{MAPS}/{name}"), &patch)
                .await
                .unwrap();
        }
        world.pass(1).await;
        world.delete(&format!("{MAPS}/a"), "Foreground").await;
        world.pass(5).await;
        assert!(world.names(MAPS).await.is_empty());
    });
}
