//! What every cluster has: the first namespaces, roles, priority classes.

use crate::api::Api;
use crate::{clock, storage};
use serde_json::{Value, json};
use stowplan_kinds::service::allocate::Ranges;
use stowplan_machinery::Edit;
use stowplan_store::{Expect, Txn};

/// Adds what is missing. Upstream: the post-start hooks of `pkg/controlplane` and
/// `pkg/registry/{rbac,scheduling}`.
pub(crate) async fn run(api: &Api) {
    let namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];
    let namespaces = namespaces.map(|name| ("", "namespaces", namespace(name)));
    let roles = stowplan_access::default_objects();
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
    let service = [("", "services", kubernetes_service())];
    let all = namespaces.into_iter().chain(roles).chain(classes);
    // Together, because each transaction waits for the disk.
    let mut missing: Option<Txn> = None;
    for (group, plural, object) in all.chain(service) {
        let key = api.key_of(group, plural, &object);
        if api.store().get(key.as_bytes()).is_none() {
            let bytes = storage::encode(&born(api, object));
            let txn = missing.take().unwrap_or_default();
            missing = Some(txn.put(key, bytes, Expect::Absent));
        }
    }
    if let Some(txn) = missing
        && let Err(error) = api.store().commit(txn).await
    {
        tracing::error!(%error, "the objects of every cluster were not added");
    }
    crate::crd::reconcile(api).await;
}

/// The object with what the server gives to every new one.
fn born(api: &Api, mut object: Value) -> Value {
    let metadata = object.at_mut("metadata");
    metadata.set("uid", api.env().uid());
    metadata.set("creationTimestamp", clock::seconds(api.env().now()));
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
fn kubernetes_service() -> Value {
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
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    })
}
