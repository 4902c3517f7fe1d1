//! The namespace controller against the embedded server. Upstream: `test/e2e/apimachinery/namespace.go`.

use crate::world::{World, run};
use serde_json::{Value, json};
use stowplan_controller_manager::namespace::{GRACE, run as delete_namespaces};

const SHOP: &str = "/api/v1/namespaces/shop";

/// A namespace, and the controller at work.
async fn begin(world: &World) {
    tokio::spawn(delete_namespaces(
        world.requests.clone(),
        world.env.clone(),
        world.informers.clone(),
        GRACE,
    ));
    let namespace = json!({"metadata": {"name": "shop"}});
    world.create("/api/v1/namespaces", namespace).await;
    world
        .create(
            &format!("{SHOP}/serviceaccounts"),
            json!({"metadata": {"name": "default"}}),
        )
        .await;
    world.pass(1).await;
}

async fn conditions(world: &World) -> Vec<String> {
    let namespace = world.get(SHOP).await.expect("it is there");
    let conditions = namespace["status"]["conditions"].as_array().cloned();
    let show = |condition: Value| {
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        format!("{} {}: {}", text("type"), text("status"), text("message"))
    };
    conditions
        .unwrap_or_default()
        .into_iter()
        .map(show)
        .collect()
}

#[test]
fn everything_in_a_namespace_goes_with_it() {
    run(async |world| {
        begin(&world).await;
        let names: Vec<Value> = (0..30)
            .map(|n| json!({"metadata": {"name": format!("m{n}")}}))
            .collect();
        for name in names {
            world.create(&format!("{SHOP}/configmaps"), name).await;
        }
        let lease = json!({"metadata": {"name": "l"}});
        world
            .create("/apis/coordination.k8s.io/v1/namespaces/shop/leases", lease)
            .await;
        let elsewhere = "/api/v1/namespaces/default/configmaps";
        world
            .create(elsewhere, json!({"metadata": {"name": "stays"}}))
            .await;
        world.delete(SHOP, "Background").await;
        world.pass(1).await;
        assert_eq!(
            world.get(SHOP).await.unwrap()["status"]["phase"],
            "Terminating"
        );
        assert_eq!(world.names(&format!("{SHOP}/configmaps")).await.len(), 30);
        world.pass(6).await;
        assert_eq!(world.get(SHOP).await, None);
        assert!(
            world
                .names("/api/v1/configmaps")
                .await
                .contains(&"stays".to_owned())
        );
        assert_eq!(
            world
                .names("/apis/coordination.k8s.io/v1/leases")
                .await
                .len(),
            0
        );
    });
}

/// Upstream's e2e: "namespace deletion should delete pod first".
#[test]
fn pods_go_first_and_what_holds_them_is_told() {
    run(async |world| {
        begin(&world).await;
        let pods = format!("{SHOP}/pods");
        let pod = json!({"metadata": {"name": "p", "finalizers": ["keep.me/here"]},
            "spec": {"containers": [{"name": "c", "image": "i"}]}});
        world.create(&pods, pod).await;
        world
            .create(
                &format!("{SHOP}/configmaps"),
                json!({"metadata": {"name": "m"}}),
            )
            .await;
        world.delete(SHOP, "Background").await;
        world.pass(10).await;
        assert_eq!(world.names(&format!("{SHOP}/configmaps")).await, ["m"]);
        let told = conditions(&world).await;
        assert_eq!(told.len(), 5, "{told:?}");
        assert_eq!(
            told[3..],
            [
                "NamespaceContentRemaining True: Some resources are remaining: pods. has 1 resource instances",
                "NamespaceFinalizersRemaining True: Some content in the namespace has finalizers remaining: \
                 keep.me/here in 1 resource instances",
            ]
        );
        let free = json!({"metadata": {"finalizers": null}});
        world
            .send("PATCH", &format!("{pods}/p"), &free)
            .await
            .unwrap();
        world.pass(60).await;
        assert_eq!(world.get(SHOP).await, None);
    });
}

#[test]
fn custom_objects_with_finalizers_hold_their_namespace_until_they_go() {
    run(async |world| {
        begin(&world).await;
        let definition = json!({"metadata": {"name": "things.x.dev"},
            "spec": {"group": "x.dev", "scope": "Namespaced",
                "names": {"plural": "things", "kind": "Thing"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        world.create(definitions, definition).await;
        world.pass(2).await;
        let things = "/apis/x.dev/v1/namespaces/shop/things";
        let thing = json!({"apiVersion": "x.dev/v1", "kind": "Thing",
            "metadata": {"name": "t", "finalizers": ["keep.me/here"]}});
        world.create(things, thing).await;
        world.delete(SHOP, "Background").await;
        world.pass(60).await;
        let told = conditions(&world).await;
        assert!(
            told[3].ends_with("things.x.dev has 1 resource instances"),
            "{told:?}"
        );
        assert!(
            told[2].contains("False: All content successfully deleted"),
            "{told:?}"
        );
        let free = json!({"metadata": {"finalizers": null}});
        world
            .send("PATCH", &format!("{things}/t"), &free)
            .await
            .unwrap();
        world.pass(30).await;
        assert_eq!(world.get(SHOP).await, None);
    });
}

/// Upstream's e2e: "should apply a finalizer to a Namespace".
#[test]
fn other_finalizers_of_the_namespace_are_left_to_their_owners() {
    run(async |world| {
        begin(&world).await;
        let mut namespace = world.get(SHOP).await.unwrap();
        namespace["spec"]["finalizers"] = json!(["kubernetes", "example.com/theirs"]);
        let finalize = format!("{SHOP}/finalize");
        world.send("PUT", &finalize, &namespace).await.unwrap();
        world.delete(SHOP, "Background").await;
        world.pass(30).await;
        let mut namespace = world.get(SHOP).await.unwrap();
        assert_eq!(
            namespace["spec"]["finalizers"],
            json!(["example.com/theirs"])
        );
        namespace["spec"]["finalizers"] = json!([]);
        world.send("PUT", &finalize, &namespace).await.unwrap();
        world.pass(1).await;
        assert_eq!(world.get(SHOP).await, None);
    });
}
