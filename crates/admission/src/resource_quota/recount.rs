//! What is used of a quota, counted from all objects of its namespace. Upstream's `CalculateUsage`
//! (`apiserver/pkg/quota/v1/resources.go`).

use super::evaluator::Evaluator;
use crate::{Attributes, Operation};
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta::{self, GroupKind, GroupResource};
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::resources::ResourceList;
use stowplan_apimachinery::{Edit, View};

/// Resources of which more is counted than how many there are.
const MEASURED: [(&str, &str); 4] = [
    ("", "pods"),
    ("", "services"),
    ("", "persistentvolumeclaims"),
    ("resource.k8s.io", "resourceclaims"),
];

/// Resources whose count has a short name.
const ALIASES: [&str; 4] = [
    "configmaps",
    "resourcequotas",
    "replicationcontrollers",
    "secrets",
];

/// The resources of which a quota limits only how many there are: `count/deployments.apps`, `secrets`.
pub fn counted_resources(quota: &Value) -> BTreeSet<GroupResource> {
    let hard = quota.at("spec").entries("hard");
    let resource = |name: &str| match name.strip_prefix("count/") {
        Some(name) => {
            let (resource, group) = name.split_once('.').unwrap_or((name, ""));
            Some(GroupResource::new(group, resource))
        }
        None if ALIASES.contains(&name) => Some(GroupResource::new("", name)),
        None => None,
    };
    let is_measured =
        |found: &GroupResource| MEASURED.contains(&(found.group.as_str(), found.resource.as_str()));
    let all = hard.filter_map(|(name, _)| resource(name));
    all.filter(|found| !is_measured(found)).collect()
}

/// What is used of a quota: of all that it limits and that somebody can count. `is_served` says whether there
/// is such a resource at all. What nobody can count stays as the status has it.
pub fn recount(
    quota: &Value,
    cluster: &dyn Lookup,
    is_served: &dyn Fn(&GroupResource) -> bool,
    now: &str,
) -> Value {
    let mut quota = quota.clone();
    let limits = quota.at("spec").at("hard").clone();
    let hard = ResourceList::of(&limits);
    let told = ResourceList::of(quota.at("status").at("used"));
    quota.at_mut("status").set("hard", limits);
    let mut resources: BTreeSet<GroupResource> = counted_resources(&quota);
    let measured = MEASURED.map(|(group, resource)| GroupResource::new(group, resource));
    resources.extend(measured);
    let mut used = ResourceList::default();
    for resource in resources.iter().filter(|resource| is_served(resource)) {
        let evaluator = Evaluator::of(resource, cluster);
        let counts = |name: &str| hard.contains_key(name) && evaluator.counts(name);
        let names: Vec<&String> = hard.keys().filter(|name| counts(name)).collect();
        if names.is_empty() {
            continue;
        }
        let zeros = names
            .into_iter()
            .map(|name| (name.clone(), Quantity::units(0)));
        used.add(&zeros.collect());
        let kind = GroupKind::new("", "");
        let request = Attributes {
            operation: Operation::Create,
            kind: &kind,
            resource,
            subresource: "",
            namespace: meta::namespace(&quota),
            name: "",
            object: None,
            old_object: None,
            user: "",
            dry_run: true,
            now,
            suffix: &String::new,
        };
        used.add(&evaluator.usage_of_all(&quota, &request, counts));
    }
    for (name, quantity) in told.iter() {
        if hard.contains_key(name) && !used.contains_key(name) {
            used.put(name.as_str(), quantity.clone());
        }
    }
    used.to_json()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster;
    use serde_json::json;

    const NOW: &str = "2026-03-01T12:00:00Z";

    fn quota(hard: Value) -> Value {
        json!({"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "ns"},
            "spec": {"hard": hard}, "status": {"used": {"unknown.dev/thing": "7", "stale": "1"}}})
    }

    #[test]
    fn everything_that_a_quota_limits_is_counted() {
        let pod = |name: &str, phase: &str| {
            json!({"kind": "Pod", "metadata": {"name": name, "namespace": "ns"},
                "spec": {"containers": [{"name": "c", "resources": {
                    "requests": {"cpu": "250m", "memory": "64Mi", "ephemeral-storage": "1Gi"},
                    "limits": {"cpu": "1"}}}]},
                "status": {"phase": phase}})
        };
        let world = cluster([
            pod("a", "Running"),
            pod("b", "Pending"),
            pod("done", "Succeeded"),
            json!({"kind": "Service", "metadata": {"name": "s", "namespace": "ns"},
                "spec": {"type": "NodePort", "ports": [{"port": 1}, {"port": 2}]}}),
            json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "v", "namespace": "ns"},
                "spec": {"storageClassName": "gold", "resources": {"requests": {"storage": "5Gi"}}}}),
            json!({"kind": "Secret", "metadata": {"name": "x", "namespace": "ns"}}),
        ]);
        let quota = quota(json!({
            "pods": "10", "requests.cpu": "10", "limits.cpu": "10", "memory": "1Gi",
            "requests.ephemeral-storage": "10Gi", "count/pods": "10",
            "services": "5", "services.nodeports": "5", "services.loadbalancers": "5",
            "requests.storage": "10Gi", "gold.storageclass.storage.k8s.io/requests.storage": "10Gi",
            "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "3",
            "secrets": "3", "count/secrets": "3", "configmaps": "1", "count/gone.x.dev": "1",
            "unknown.dev/thing": "9",
        }));
        let is_served = |resource: &GroupResource| resource.group != "x.dev";
        let used = recount(&quota, &world, &is_served, NOW);
        assert_eq!(
            used,
            json!({
                "pods": "2", "requests.cpu": "500m", "limits.cpu": "2", "memory": "128Mi",
                "requests.ephemeral-storage": "2Gi", "count/pods": "3",
                "services": "1", "services.nodeports": "2", "services.loadbalancers": "0",
                "requests.storage": "5Gi",
                "gold.storageclass.storage.k8s.io/requests.storage": "5Gi",
                "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
                "secrets": "1", "count/secrets": "1", "configmaps": "0", "unknown.dev/thing": "7",
            })
        );
        let names: Vec<String> = counted_resources(&quota)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(names, ["configmaps", "secrets", "gone.x.dev"]);
    }
}
