//! Definitions of what is built in. Upstream accepts them, and so they are; but they define nothing here:
//! their versions are not served, and no object goes with them.
//!
//! Upstream: `OverlappingBuiltInResources` in `pkg/controller/finalizer/crd_finalizer.go`, which guards
//! the two resources that share their keys with a definition's. It does serve other versions of these,
//! through which definitions can be written that nobody validates.

use crate::resource::{Resource, Resources};
use crate::{computed, storage};
use std::sync::LazyLock;

/// What is built in, and where its objects are.
static BUILT_IN: LazyLock<Vec<(Resource, String)>> = LazyLock::new(|| {
    let all = Resources::default();
    let with_prefix = |r: Resource| {
        let prefix = storage::key(&r, "", "");
        (r, prefix)
    };
    all.all().map(with_prefix).collect()
});

/// Whether a definition has the names of a resource that is built in, in whatever version, or its
/// objects would be among those of one.
pub(super) fn with_built_in(group: &str, plural: &str) -> bool {
    let own = storage::custom_prefix(group, plural);
    let within = |prefix: &str| prefix.starts_with(&own) || own.starts_with(prefix);
    computed::Group::has(group, plural)
        || (BUILT_IN.iter()).any(|(r, prefix)| r.is(group, plural) || within(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Api, testing};
    use serde_json::{Value, json};
    use std::sync::Arc;

    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

    fn definition(group: &str, plural: &str, kind: &str, scope: &str) -> Value {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}"),
                "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
            "spec": {"group": group, "scope": scope, "names": {"plural": plural, "kind": kind},
                "versions": [{"name": "v7", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": any}}]},
        })
    }

    async fn send(api: &Arc<Api>, method: &str, url: &str, body: &Value) -> (u16, Value) {
        testing::send(api, method, url, &[], body).await
    }

    async fn names(api: &Arc<Api>, url: &str) -> Vec<String> {
        let (_, list) = testing::get(api, url, "application/json").await;
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let name = |o: &Value| {
            o["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        items.iter().map(name).collect()
    }

    /// Defines it, tries to write through it, and deletes it.
    async fn live_and_die(api: &Arc<Api>, definition: &Value) {
        let name = definition["metadata"]["name"].as_str().expect("a name");
        let (code, answer) = send(api, "POST", DEFINITIONS, definition).await;
        assert_eq!(code, 201, "{answer}");
        let (_, kept) =
            testing::get(api, &format!("{DEFINITIONS}/{name}"), "application/json").await;
        let established = json!(["NamesAccepted", "Established"]);
        let conditions = kept["status"]["conditions"].as_array().expect("conditions");
        let types: Value = conditions.iter().map(|c| c["type"].clone()).collect();
        assert_eq!(types, established);
        let (group, plural) = (
            &definition["spec"]["group"],
            &definition["spec"]["names"]["plural"],
        );
        let (group, plural) = (
            group.as_str().expect("text"),
            plural.as_str().expect("text"),
        );
        let root = format!("/apis/{group}/v7");
        let url = match definition["spec"]["scope"] == "Cluster" {
            true => format!("{root}/{plural}"),
            false => format!("{root}/namespaces/default/{plural}"),
        };
        let kind = &definition["spec"]["names"]["kind"];
        let object = json!({"apiVersion": format!("{group}/v7"), "kind": kind,
            "metadata": {"name": "x"}});
        assert_eq!(send(api, "POST", &url, &object).await.0, 404, "{url}");
        assert_eq!(send(api, "GET", &url, &Value::Null).await.0, 404);
        assert_eq!(send(api, "DELETE", &url, &Value::Null).await.0, 404);
        let (_, groups) = testing::get(api, "/apis", "application/json").await;
        assert!(!groups.to_string().contains(&format!("{group}/v7")));
        let url = format!("{DEFINITIONS}/{name}");
        assert_eq!(send(api, "DELETE", &url, &Value::Null).await.0, 200);
        assert_eq!(send(api, "GET", &url, &Value::Null).await.0, 404);
    }

    #[tokio::test]
    async fn a_definition_of_definitions_takes_no_other_with_it() {
        let api = testing::api().await;
        let other = definition("a.example", "widgets", "Widget", "Cluster");
        assert_eq!(send(&api, "POST", DEFINITIONS, &other).await.0, 201);
        let (group, plural) = ("apiextensions.k8s.io", "customresourcedefinitions");
        let all = definition(group, plural, "CustomResourceDefinition", "Cluster");
        live_and_die(&api, &all).await;
        assert_eq!(names(&api, DEFINITIONS).await, ["widgets.a.example"]);
        // Those that define something of their own take their objects with them.
        let widgets = "/apis/a.example/v7/widgets";
        let widget =
            json!({"apiVersion": "a.example/v7", "kind": "Widget", "metadata": {"name": "w"}});
        assert_eq!(send(&api, "POST", widgets, &widget).await.0, 201);
        let url = format!("{DEFINITIONS}/widgets.a.example");
        assert_eq!(send(&api, "DELETE", &url, &Value::Null).await.0, 200);
        assert_eq!(send(&api, "POST", DEFINITIONS, &other).await.0, 201);
        assert_eq!(names(&api, widgets).await, Vec::<String>::new());
    }

    #[tokio::test]
    async fn what_is_built_in_cannot_be_defined_again() {
        let api = testing::api().await;
        let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
        let before = names(&api, roles).await;
        let mut tried = 0;
        for (resource, _) in BUILT_IN.iter().filter(|(r, _)| r.group().contains('.')) {
            let scope = if resource.namespaced() {
                "Namespaced"
            } else {
                "Cluster"
            };
            let (group, plural) = (resource.group(), resource.plural());
            live_and_die(&api, &definition(group, plural, resource.kind(), scope)).await;
            tried += 1;
        }
        assert!(tried > 20 && !before.is_empty());
        assert_eq!(names(&api, roles).await, before);
    }

    #[tokio::test]
    async fn a_definition_waits_for_other_finalizers_and_says_why_it_deleted_nothing() {
        let api = testing::api().await;
        let (group, plural) = ("apiextensions.k8s.io", "customresourcedefinitions");
        let mut all = definition(group, plural, "CustomResourceDefinition", "Cluster");
        all["metadata"]["finalizers"] = json!(["a.example/mine"]);
        assert_eq!(send(&api, "POST", DEFINITIONS, &all).await.0, 201);
        let url = format!("{DEFINITIONS}/{plural}.{group}");
        assert_eq!(send(&api, "DELETE", &url, &Value::Null).await.0, 200);
        let (_, kept) = testing::get(&api, &url, "application/json").await;
        let conditions = kept["status"]["conditions"].as_array().expect("conditions");
        let last = conditions.last().expect("three");
        assert_eq!(last["type"], "Terminating");
        assert_eq!(last["status"], "False");
        assert_eq!(last["reason"], "OverlappingBuiltInResource");
        assert_eq!(kept["metadata"]["finalizers"], json!(["a.example/mine"]));
    }

    #[test]
    fn no_prefix_holds_built_in_objects() {
        // Groups have a dot, so that validation keeps the first four out already.
        for (group, plural) in [
            ("pods", "default"),
            ("services", "specs"),
            ("services", "endpoints"),
            ("minions", "a"),
            ("apiextensions.k8s.io", "customresourcedefinitions"),
            ("events.k8s.io", "events"),
            ("stowplan.dev", "decisions"),
        ] {
            assert!(with_built_in(group, plural), "{plural}.{group}");
        }
        for (group, plural) in [
            ("snapshot.storage.k8s.io", "volumesnapshots"),
            ("apiextensions.k8s.io", "customresourcedefinition"),
            ("apiextensions.k8s.io", "customresourcedefinitionss"),
            ("a.example", "pods"),
            ("pods.example", "pods"),
        ] {
            assert!(!with_built_in(group, plural), "{plural}.{group}");
        }
    }

    #[tokio::test]
    async fn kinds_of_the_same_name_are_what_they_are_defined_as() {
        let api = testing::api().await;
        for (group, plural, kind) in [
            ("a.example", "bindings", "Binding"),
            ("authorization.k8s.io", "opinions", "Opinion"),
            ("rbac.authorization.k8s.io", "customs", "RoleBinding"),
        ] {
            let definition = definition(group, plural, kind, "Namespaced");
            assert_eq!(send(&api, "POST", DEFINITIONS, &definition).await.0, 201);
            let url = format!("/apis/{group}/v7/namespaces/default/{plural}");
            let object = json!({"apiVersion": format!("{group}/v7"), "kind": kind,
                "metadata": {"name": "x"}});
            let (code, answer) = send(&api, "POST", &url, &object).await;
            assert_eq!(
                (code, &answer["metadata"]["name"]),
                (201, &json!("x")),
                "{answer}"
            );
            assert_eq!(names(&api, &url).await, ["x"]);
        }
    }
}
