//! The claims of a pod: made from templates, told in its status, reserved if it has a node.

use super::{Known, is_done, known, pod_claims};
use crate::common::{
    annotation, controller_of, is_controlled_by, is_deleting, name, namespace, uid,
};
use crate::{Cx, Event, Key, Outcome, Plan, Write};
use k8s_openapi::api::core::v1::{Pod, PodResourceClaim, PodResourceClaimStatus};
use k8s_openapi::api::resource::v1::{
    ResourceClaim, ResourceClaimConsumerReference, ResourceClaimTemplate,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::json;
use std::sync::Arc;

/// Says for which entry of a pod a claim was made.
const OF_POD: &str = "resource.kubernetes.io/pod-claim-name";

/// How long the part of a name may be that is not made up.
const BASE_MAX: usize = 57;

/// How many may share a claim.
const CONSUMERS_MAX: usize = 256;

/// Upstream's `syncPod`.
pub(super) fn sync(cx: &Cx<'_>, key: &Key) -> Plan {
    let Some(pod) = cx.cluster.get::<Pod>(&key.namespace, &key.name) else {
        return Plan::nothing();
    };
    // One that is done has no use for a claim, and would lose it at once.
    if is_deleting(&*pod) || is_done(&pod) {
        return Plan::nothing();
    }
    let (mut found, mut made, mut writes) = (Vec::new(), Vec::new(), Vec::new());
    let mut failed = None;
    for claim in pod_claims(&pod) {
        match needed(cx, &pod, claim) {
            Ok(Needed::Nothing) => {}
            Ok(Needed::Told(existing)) => found.push((claim.name.clone(), existing)),
            Ok(Needed::Made(new)) => {
                made.push(claim.name.clone());
                writes.push(create(&pod, &claim.name, &new));
            }
            Err(why) => {
                failed = Some((claim.name.clone(), why));
                break;
            }
        }
    }
    if let Some((claim, why)) = failed {
        let event = trouble(&pod, &claim, &why);
        let mut plan = Plan::sequence(writes).event(event);
        plan.error = Some(format!("pod {key}, PodResourceClaim {claim}: {why}"));
        return plan;
    }
    if writes.is_empty() {
        return tell(cx, &pod, found);
    }
    Plan::sequence(writes).then(move |cx, outcomes| {
        if !outcomes.iter().all(Outcome::is_done) {
            return Plan::nothing();
        }
        let names = outcomes.iter().filter_map(|outcome| {
            let claim = outcome.object::<ResourceClaim>()?;
            Some(name(&*claim).to_owned())
        });
        found.extend(made.into_iter().zip(names));
        tell(cx, &pod, found)
    })
}

fn trouble(pod: &Pod, claim: &str, why: &str) -> Event {
    let message = format!("PodResourceClaim {claim}: {why}");
    Event::warning(pod, "FailedResourceClaimCreation", message)
}

/// What has to be done for an entry of a pod.
enum Needed {
    Nothing,
    /// The claim is there, but the pod does not say so.
    Told(String),
    Made(Box<ResourceClaim>),
}

/// Upstream's `handleClaim`.
fn needed(cx: &Cx<'_>, pod: &Pod, claim: &PodResourceClaim) -> Result<Needed, String> {
    match known(pod, claim) {
        Known::Unknown => {
            return Err(format!(
                "checking for claim before creating it: pod claim \"{}\": none of the supported fields are set",
                claim.name
            ));
        }
        Known::NotNeeded | Known::Named(_) => return Ok(Needed::Nothing),
        Known::Made(made) => {
            let there = cx.cluster.get::<ResourceClaim>(namespace(pod), made);
            if there.is_some_and(|there| is_for(&there, pod)) {
                return Ok(Needed::Nothing);
            }
        }
        Known::Missing => {}
    }
    let template = claim.resource_claim_template_name.as_deref();
    let template = template.unwrap_or_default();
    // One that was made before the pod could be told.
    let owned = cx.cluster.owned::<ResourceClaim>(uid(pod));
    let is_it = |one: &&Arc<ResourceClaim>| {
        annotation(&***one, OF_POD) == Some(&claim.name) && is_for(one, pod)
    };
    if let Some(orphan) = owned.iter().find(is_it) {
        return Ok(Needed::Told(name(&**orphan).to_owned()));
    }
    let from = cx
        .cluster
        .get::<ResourceClaimTemplate>(namespace(pod), template);
    let Some(from) = from else {
        return Err(format!(
            "resource claim template {template:?}: resourceclaimtemplate.resource.k8s.io {template:?} not found"
        ));
    };
    Ok(Needed::Made(Box::new(from_template(pod, claim, &from))))
}

/// Whether a claim was made for this pod. Upstream's `IsForPod`.
fn is_for(claim: &ResourceClaim, pod: &Pod) -> bool {
    namespace(claim) == namespace(pod)
        && is_controlled_by(claim, pod)
        && controller_of(claim).is_some_and(|owner| owner.kind == "Pod")
}

fn from_template(
    pod: &Pod,
    claim: &PodResourceClaim,
    template: &ResourceClaimTemplate,
) -> ResourceClaim {
    let given = template.spec.metadata.clone().unwrap_or_default();
    let mut annotations = given.annotations.unwrap_or_default();
    annotations.insert(OF_POD.to_owned(), claim.name.clone());
    ResourceClaim {
        metadata: ObjectMeta {
            namespace: Some(namespace(pod).to_owned()),
            generate_name: Some(base_name(name(pod), &claim.name)),
            labels: given.labels,
            annotations: Some(annotations),
            owner_references: Some(vec![OwnerReference {
                api_version: "v1".to_owned(),
                kind: "Pod".to_owned(),
                name: name(pod).to_owned(),
                uid: uid(pod).to_owned(),
                controller: Some(true),
                block_owner_deletion: None,
            }]),
            ..ObjectMeta::default()
        },
        spec: template.spec.spec.clone(),
        status: None,
    }
}

/// What names of claims begin with: if it is too long, both names lose a part in proportion.
fn base_name(pod: &str, claim: &str) -> String {
    let whole = format!("{pod}-{claim}-");
    if whole.len() <= BASE_MAX {
        return whole;
    }
    // Names are ASCII.
    let part = |name: &str| {
        let end = name.len() * BASE_MAX / whole.len();
        name.get(..end).unwrap_or(name).to_owned()
    };
    format!("{}-{}", part(pod), part(claim))
}

fn create(pod: &Arc<Pod>, entry: &str, claim: &ResourceClaim) -> Write {
    let (pod, entry) = (pod.clone(), entry.to_owned());
    Write::create(claim).telling(move |outcome: &Outcome| {
        let failure = outcome.failure()?;
        let why = format!("create ResourceClaim : {}", failure.message);
        Some(trouble(&pod, &entry, &why))
    })
}

/// Tells in the status of a pod which claims are its, then reserves them.
fn tell(cx: &Cx<'_>, pod: &Arc<Pod>, new: Vec<(String, String)>) -> Plan {
    if new.is_empty() {
        return reserve(cx, &Key::of(&**pod));
    }
    let status = pod.status.as_ref();
    let before = status.and_then(|status| status.resource_claim_statuses.as_ref());
    let before = before.into_iter().flatten();
    let mut statuses: Vec<PodResourceClaimStatus> = before
        .filter(|status| new.iter().all(|(entry, _)| *entry != status.name))
        .cloned()
        .collect();
    statuses.extend(new.into_iter().map(|(name, claim)| PodResourceClaimStatus {
        name,
        resource_claim_name: Some(claim),
    }));
    let key = Key::of(&**pod);
    let patch = json!({
        "metadata": {"uid": pod.metadata.uid},
        "status": {"resourceClaimStatuses": statuses},
    });
    let write = Write::strategic_merge::<Pod>(&key, "/status", &patch);
    Plan::write(write).then(
        move |cx, outcomes| match outcomes.iter().all(Outcome::is_done) {
            true => reserve(cx, &key),
            false => Plan::nothing(),
        },
    )
}

/// Reserves the allocated claims of a pod that has a node, as the scheduler does for all others.
fn reserve(cx: &Cx<'_>, key: &Key) -> Plan {
    let Some(pod) = cx.cluster.get::<Pod>(&key.namespace, &key.name) else {
        return Plan::nothing();
    };
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    if node.unwrap_or_default().is_empty() {
        return Plan::nothing();
    }
    let mut writes = Vec::new();
    for claim in pod_claims(&pod) {
        let (used, must_own) = match known(&pod, claim) {
            Known::Named(used) => (used, false),
            Known::Made(used) => (used, true),
            Known::NotNeeded => continue,
            Known::Missing | Known::Unknown => break,
        };
        let Some(there) = cx.cluster.get::<ResourceClaim>(&key.namespace, used) else {
            break;
        };
        if must_own && !is_for(&there, &pod) {
            let (claim, pod) = (Key::of(&*there), Key::of(&*pod));
            let mut plan = Plan::sequence(writes);
            plan.error = Some(format!(
                "ResourceClaim {claim} was not created for pod {pod} (pod is not owner)"
            ));
            return plan;
        }
        writes.extend(reservation(&there, &pod));
    }
    Plan::sequence(writes)
}

fn reservation(claim: &ResourceClaim, pod: &Pod) -> Option<Write> {
    let status = claim.status.as_ref()?;
    status.allocation.as_ref()?;
    let consumers = status.reserved_for.as_deref().unwrap_or_default();
    let is_reserved = consumers.iter().any(|one| one.uid == uid(pod));
    if is_reserved || consumers.len() >= CONSUMERS_MAX {
        return None;
    }
    let mut changed = claim.clone();
    let status = changed.status.get_or_insert_default();
    let consumers = status.reserved_for.get_or_insert_default();
    consumers.push(ResourceClaimConsumerReference {
        api_group: None,
        resource: "pods".to_owned(),
        name: name(pod).to_owned(),
        uid: uid(pod).to_owned(),
    });
    Some(Write::update_status(&changed))
}
