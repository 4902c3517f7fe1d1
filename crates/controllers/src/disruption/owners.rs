//! Owners of kinds that are not known here, but have a scale. Upstream's `getScaleController`.

use super::expected::scale_of;
use crate::common::{Served, controller_of, group_version, namespace, served, well_known};
use crate::{Answer, Cluster, Cx, Plan};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What owners want, by their uids: `None` if they are gone, an error if nobody can say.
pub(super) type Scales = BTreeMap<String, Result<Option<i32>, String>>;

/// An owner, and its namespace.
pub(super) type Owner = (OwnerReference, String);

/// The owners that have to be asked, if the budget depends on what they want.
pub(super) fn to_be_asked(
    cluster: &Cluster,
    budget: &PodDisruptionBudget,
    pods: &[Arc<Pod>],
) -> Vec<Owner> {
    let spec = budget.spec.as_ref();
    let is_number = |value: &IntOrString| matches!(value, IntOrString::Int(_));
    let depends = spec.is_some_and(|spec| {
        let min = spec.min_available.as_ref();
        spec.max_unavailable.is_some() || min.is_some_and(|min| !is_number(min))
    });
    let mut asked: BTreeMap<&str, Owner> = BTreeMap::new();
    for pod in pods.iter().filter(|_| depends) {
        let namespace = namespace(&**pod);
        if let Some(owner) = controller_of(&**pod)
            && !asked.contains_key(owner.uid.as_str())
            && scale_of(cluster, owner, namespace).is_none()
        {
            asked.insert(&owner.uid, (owner.clone(), namespace.to_owned()));
        }
    }
    asked.into_values().collect()
}

/// Asks one owner after the other, and goes on with what they want.
pub(super) fn ask(
    cx: &Cx<'_>,
    mut owners: Vec<Owner>,
    mut scales: Scales,
    then: impl FnOnce(&Cx<'_>, &Scales) -> Plan + Send + 'static,
) -> Plan {
    let Some((owner, namespace)) = owners.pop() else {
        return then(cx, &scales);
    };
    let (group, version) = match group_version(&owner.api_version) {
        Ok((group, version)) => (group.to_owned(), version.to_owned()),
        Err(error) => {
            scales.insert(owner.uid, Err(error));
            return ask(cx, owners, scales, then);
        }
    };
    if let Some(resource) = well_known(&group, &owner.kind) {
        return ask_for_scale(&resource, (owner, namespace), owners, scales, then);
    }
    let kind = owner.kind.clone();
    served(&group, Some(&version), &kind, move |cx, found| {
        let error = match found {
            Ok(resource) if resource.has_scale => {
                return ask_for_scale(&resource, (owner, namespace), owners, scales, then);
            }
            Ok(resource) => {
                let name = resource.group_resource();
                format!("{name} does not implement the scale subresource")
            }
            Err(error) => error,
        };
        scales.insert(owner.uid, Err(error));
        ask(cx, owners, scales, then)
    })
}

fn ask_for_scale(
    resource: &Served,
    (owner, namespace): Owner,
    others: Vec<Owner>,
    mut scales: Scales,
    then: impl FnOnce(&Cx<'_>, &Scales) -> Plan + Send + 'static,
) -> Plan {
    let path = resource.scale_path(&namespace, &owner.name);
    Plan::read(vec![path], move |cx, answers| {
        if let Some(answer) = answers.first() {
            let wanted = wanted(answer, &owner.uid);
            scales.insert(owner.uid, wanted);
        }
        ask(cx, others, scales, then)
    })
}

/// What the owner wants; nothing if another one has its name.
fn wanted(answer: &Answer, uid: &str) -> Result<Option<i32>, String> {
    match answer {
        Ok(scale) if scale["metadata"]["uid"] == *uid => {
            let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
            Ok(Some(i32::try_from(replicas).unwrap_or(i32::MAX)))
        }
        Ok(_) => Ok(None),
        Err(failure) if failure.code == 404 => Ok(None),
        Err(failure) => Err(failure.message.clone()),
    }
}
