//! What every cluster has: the first namespaces, roles, priority classes.

use crate::api::Api;
use crate::resource::Resource;
use crate::{clock, storage};
use serde_json::{Value, json};
use stowplan_apimachinery::Edit;
use stowplan_kinds::service::allocate::Ranges;
use stowplan_patch::managed;
use stowplan_store::{CommitError, Expect, Txn};

/// Where the server is, as long as nobody says.
const PORT: u16 = 6443;

/// Adds what is missing. Upstream: the post-start hooks of `pkg/controlplane` and
/// `pkg/registry/{rbac,scheduling}`.
pub(crate) async fn run(api: &Api) -> Result<(), CommitError> {
    let namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];
    let namespaces = namespaces.map(|name| ("", "namespaces", namespace(name)));
    let roles = stowplan_auth::default_objects();
    let roles = roles
        .into_iter()
        .map(|(plural, object)| ("rbac.authorization.k8s.io", plural, object));
    let classes = [
        (
            "system-node-critical",
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
        (
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
    ];
    let classes = classes.map(|(name, value, description)| {
        let class = priority_class(name, value, description);
        ("scheduling.k8s.io", "priorityclasses", class)
    });
    let service = [("", "services", kubernetes_service(PORT))];
    let all = namespaces.into_iter().chain(roles).chain(classes);
    // Together, because each transaction waits for the disk.
    let mut missing: Option<Txn> = None;
    for (group, plural, object) in all.chain(service) {
        let key = api.key_of(group, plural, &object);
        if api.store().get(key.as_bytes()).is_none() {
            let resource = api.resources().by_group(group, plural);
            let bytes = storage::encode(&born(api, resource.as_ref(), object));
            let txn = missing.take().unwrap_or_default();
            missing = Some(txn.put(key, bytes, Expect::Absent));
        }
    }
    if let Some(txn) = missing {
        api.store().commit(txn).await?;
    }
    crate::crd::reconcile(api).await;
    Ok(())
}

/// The object with what the server gives to every new one, and as its own.
pub(crate) fn born(api: &Api, resource: Option<&Resource>, mut object: Value) -> Value {
    let now = clock::seconds(api.env().now());
    if let Some(resource) = resource {
        let request = managed::Request {
            ty: resource.ty(),
            api_version: &resource.api_version(),
            kind: resource.kind(),
            subresource: "",
            manager: "kube-apiserver",
            reset_fields: resource.strategy().reset_fields(),
            empty: resource.empty(),
            versions: resource,
            now: &now,
        };
        managed::update(None, &mut object, &request);
    }
    let metadata = object.at_mut("metadata");
    metadata.set("uid", api.env().uid());
    metadata.set("creationTimestamp", now);
    object
}

fn namespace(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    })
}

fn priority_class(name: &str, value: i64, description: &str) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "generation": 1},
        "value": value,
        "description": description,
        "preemptionPolicy": "PreemptLowerPriority",
    })
}

/// The service that stands for the API server itself.
pub(crate) fn kubernetes_service(port: u16) -> Value {
    let ip = Ranges::default().kubernetes_ip().to_string();
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": ip,
            "clusterIPs": [ip],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    })
}

#[cfg(test)]
mod tests {
    use crate::{Api, Config, testing};
    use serde_json::json;
    use std::collections::BTreeMap;
    use stowplan_env::System;
    use stowplan_store::{Options, Store};

    #[tokio::test]
    async fn what_every_cluster_has_is_the_servers_own() {
        let api = testing::api().await;
        let url = "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical";
        let (_, class) = testing::get(&api, url, "").await;
        let owner = &class["metadata"]["managedFields"][0];
        assert_eq!(owner["manager"], "kube-apiserver");
        let fields = json!({"f:description": {}, "f:preemptionPolicy": {}, "f:value": {}});
        assert_eq!(owner["fieldsV1"], fields);
    }

    #[tokio::test]
    async fn a_server_that_cannot_store_it_does_not_start() {
        let store = Store::in_memory(Options::default());
        store.close();
        let config = Config {
            env: std::sync::Arc::new(System::new()),
            store,
            tokens: BTreeMap::new(),
            token_key: None,
        };
        assert!(Api::new(config).await.is_err());
    }
}
