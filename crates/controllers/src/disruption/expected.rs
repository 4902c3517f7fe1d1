//! How many pods there should be, and how many of them healthy.

use super::owners::Scales;
use crate::Cluster;
use crate::common::{controller_of, name, namespace, scaled_value};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{Pod, ReplicationController};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many pods there should be.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Expected {
    /// In all.
    pub(super) pods: i32,
    /// Healthy ones.
    pub(super) healthy: i32,
    /// Names of pods that nobody controls, where owners had to be asked.
    pub(super) unmanaged: Vec<String>,
}

/// How many pods the budget expects. Upstream's `getExpectedPodCount`.
pub(super) fn expected(
    cluster: &Cluster,
    budget: &PodDisruptionBudget,
    pods: &[Arc<Pod>],
    scales: &Scales,
) -> Result<Expected, String> {
    let Some(spec) = &budget.spec else {
        return Ok(Expected::default());
    };
    let invalid = |value: &IntOrString| {
        let text = match value {
            IntOrString::Int(number) => number.to_string(),
            IntOrString::String(text) => format!("\"{text}\""),
        };
        format!("invalid value for IntOrString: invalid type: string is not a percentage: {text}")
    };
    if let Some(max_unavailable) = &spec.max_unavailable {
        let mut expected = scale(cluster, pods, scales)?;
        let unavailable = scaled_value(max_unavailable, expected.pods, true);
        let unavailable = unavailable.ok_or_else(|| invalid(max_unavailable))?;
        expected.healthy = expected.pods.saturating_sub(unavailable).max(0);
        return Ok(expected);
    }
    match &spec.min_available {
        Some(IntOrString::Int(healthy)) => Ok(Expected {
            pods: i32::try_from(pods.len()).unwrap_or(i32::MAX),
            healthy: *healthy,
            unmanaged: Vec::new(),
        }),
        Some(percent) => {
            let mut expected = scale(cluster, pods, scales)?;
            let healthy = scaled_value(percent, expected.pods, true);
            expected.healthy = healthy.ok_or_else(|| invalid(percent))?;
            Ok(expected)
        }
        None => Ok(Expected::default()),
    }
}

/// The sum of what the pods' owners want. Upstream's `getExpectedScale`.
fn scale(cluster: &Cluster, pods: &[Arc<Pod>], others: &Scales) -> Result<Expected, String> {
    let mut scales: BTreeMap<String, i32> = BTreeMap::new();
    let mut asked: BTreeMap<&str, ()> = BTreeMap::new();
    let mut unmanaged = Vec::new();
    for pod in pods {
        let Some(owner) = controller_of(&**pod) else {
            unmanaged.push(name(&**pod).to_owned());
            continue;
        };
        if asked.insert(&owner.uid, ()).is_some() {
            continue;
        }
        let found = match scale_of(cluster, owner, namespace(&**pod)) {
            Some(found) => Some(found),
            None => match others.get(&owner.uid) {
                Some(answer) => answer.clone()?.map(|scale| (owner.uid.clone(), scale)),
                None => None,
            },
        };
        let Some((uid, scale)) = found else {
            return Err(format!("found no controllers for pod {:?}", name(&**pod)));
        };
        scales.insert(uid, scale);
    }
    Ok(Expected {
        pods: scales
            .values()
            .fold(0, |sum: i32, scale| sum.saturating_add(*scale)),
        healthy: 0,
        unmanaged,
    })
}

/// What an owner wants, if it is of a kind that is known here: a ReplicaSet of a Deployment stands for the Deployment.
pub(super) fn scale_of(
    cluster: &Cluster,
    owner: &OwnerReference,
    namespace: &str,
) -> Option<(String, i32)> {
    let group = owner
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    let is = |kind: &str, groups: &[&str]| owner.kind == kind && groups.contains(&group);
    if is("ReplicationController", &[""]) {
        let found = cluster.get::<ReplicationController>(namespace, &owner.name)?;
        let replicas = found.spec.as_ref().and_then(|spec| spec.replicas);
        return same(owner, found.metadata.uid.as_deref(), replicas);
    }
    if is("ReplicaSet", &["apps", "extensions"]) {
        let found = cluster.get::<ReplicaSet>(namespace, &owner.name)?;
        let replicas = found.spec.as_ref().and_then(|spec| spec.replicas);
        let own = same(owner, found.metadata.uid.as_deref(), replicas)?;
        let Some(above) = controller_of(&*found).filter(|above| above.kind == "Deployment") else {
            return Some(own);
        };
        let deployment = cluster.get::<Deployment>(namespace, &above.name)?;
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas);
        return same(above, deployment.metadata.uid.as_deref(), replicas);
    }
    if is("StatefulSet", &["apps"]) {
        let found = cluster.get::<StatefulSet>(namespace, &owner.name)?;
        let replicas = found.spec.as_ref().and_then(|spec| spec.replicas);
        return same(owner, found.metadata.uid.as_deref(), replicas);
    }
    None
}

fn same(owner: &OwnerReference, uid: Option<&str>, replicas: Option<i32>) -> Option<(String, i32)> {
    (uid == Some(&owner.uid)).then(|| (owner.uid.clone(), replicas.unwrap_or(1)))
}
