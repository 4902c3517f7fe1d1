//! The quota controller against the embedded server. Upstream: `test/e2e/apimachinery/resource_quota.go`.

use crate::world::{World, run};
use serde_json::{Value, json};
use stowplan_controller_manager::resource_quota::{RESYNC, run as count_quotas};

const DEFAULT: &str = "/api/v1/namespaces/default";

async fn begin(world: &World) {
    tokio::spawn(count_quotas(
        world.client.clone(),
        world.requests.clone(),
        world.env.clone(),
        world.informers.clone(),
        RESYNC,
    ));
    world
        .create(
            &format!("{DEFAULT}/serviceaccounts"),
            json!({"metadata": {"name": "default"}}),
        )
        .await;
    world.pass(1).await;
}

async fn quota(world: &World, hard: Value) {
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": hard}});
    world
        .create(&format!("{DEFAULT}/resourcequotas"), quota)
        .await;
    world.pass(1).await;
}

async fn status(world: &World) -> Value {
    let quota = world.get(&format!("{DEFAULT}/resourcequotas/q")).await;
    quota.unwrap()["status"].clone()
}

#[test]
fn a_quota_is_counted_charged_and_given_back() {
    run(async |world| {
        begin(&world).await;
        let maps = format!("{DEFAULT}/configmaps");
        world
            .create(&maps, json!({"metadata": {"name": "before"}}))
            .await;
        let hard = json!({"pods": "5", "requests.cpu": "2", "services": "2", "services.nodeports": "1",
            "configmaps": "10", "count/replicasets.apps": "3", "count/things.x.dev": "3"});
        quota(&world, hard.clone()).await;
        let told = status(&world).await;
        assert_eq!(told["hard"], hard);
        // The server has a service of its own.
        let empty = json!({"pods": "0", "requests.cpu": "0", "services": "1", "services.nodeports": "0",
            "configmaps": "1", "count/replicasets.apps": "0"});
        assert_eq!(told["used"], empty);
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i",
            "resources": {"requests": {"cpu": "500m"}}}]}});
        world.create(&format!("{DEFAULT}/pods"), pod).await;
        let service = json!({"metadata": {"name": "s"},
            "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
        world.create(&format!("{DEFAULT}/services"), service).await;
        let template = json!({"metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]}});
        let set = json!({"metadata": {"name": "rs"}, "spec": {"replicas": 0,
            "selector": {"matchLabels": {"a": "b"}}, "template": template}});
        world
            .create("/apis/apps/v1/namespaces/default/replicasets", set)
            .await;
        world.pass(1).await;
        let used = status(&world).await["used"].clone();
        assert_eq!(
            used,
            json!({"pods": "1", "requests.cpu": "500m", "services": "2",
            "services.nodeports": "1", "configmaps": "1", "count/replicasets.apps": "1"})
        );
        world
            .delete(&format!("{DEFAULT}/pods/p"), "Background")
            .await;
        world
            .delete(&format!("{DEFAULT}/services/s"), "Background")
            .await;
        world
            .delete(
                "/apis/apps/v1/namespaces/default/replicasets/rs",
                "Background",
            )
            .await;
        world.pass(1).await;
        assert_eq!(status(&world).await["used"], empty);
    });
}

#[test]
fn finished_pods_and_custom_resources_are_given_back() {
    run(async |world| {
        begin(&world).await;
        let definition = json!({"metadata": {"name": "things.x.dev"},
            "spec": {"group": "x.dev", "scope": "Namespaced",
                "names": {"plural": "things", "kind": "Thing"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
        quota(&world, json!({"pods": "1", "count/things.x.dev": "1"})).await;
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        world.create(definitions, definition).await;
        world.pass(15).await;
        assert_eq!(
            status(&world).await["used"],
            json!({"pods": "0", "count/things.x.dev": "0"})
        );
        let things = "/apis/x.dev/v1/namespaces/default/things";
        let thing = json!({"apiVersion": "x.dev/v1", "kind": "Thing", "metadata": {"name": "t"}});
        world.create(things, thing).await;
        let pod = |name: &str| {
            json!({"metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "i"}]}})
        };
        let pods = format!("{DEFAULT}/pods");
        world.create(&pods, pod("p")).await;
        world.pass(1).await;
        assert_eq!(
            status(&world).await["used"],
            json!({"pods": "1", "count/things.x.dev": "1"})
        );
        assert!(world.send("POST", &pods, &pod("second")).await.is_err());
        let ended = json!({"status": {"phase": "Succeeded"}});
        world
            .send("PATCH", &format!("{pods}/p/status"), &ended)
            .await
            .unwrap();
        world.delete(&format!("{things}/t"), "Background").await;
        world.pass(1).await;
        assert_eq!(
            status(&world).await["used"],
            json!({"pods": "0", "count/things.x.dev": "0"})
        );
    });
}

#[test]
fn a_limit_that_changes_is_told_and_a_wrong_count_does_not_stay() {
    run(async |world| {
        begin(&world).await;
        quota(&world, json!({"secrets": "5"})).await;
        let path = format!("{DEFAULT}/resourcequotas/q");
        let patch = json!({"spec": {"hard": {"secrets": null, "configmaps": "7"}}});
        world.send("PATCH", &path, &patch).await.unwrap();
        world.pass(1).await;
        let right = json!({"hard": {"configmaps": "7"}, "used": {"configmaps": "0"}});
        assert_eq!(status(&world).await, right);
        let wrong = json!({"status": {"used": {"configmaps": "3"}}});
        world
            .send("PATCH", &format!("{path}/status"), &wrong)
            .await
            .unwrap();
        world.pass(330).await;
        assert_eq!(status(&world).await, right);
    });
}
