//! `resourceclaim-controller`: claims for pods that name a template, and reservations that end with their
//! pods.
//!
//! Upstream: `pkg/controller/resourceclaim`. One key is a pod, one is a claim. Claims of pod groups are
//! behind a gate that is off in 1.36.

mod claims;
mod pods;
#[cfg(test)]
mod tests;

use crate::common::{is_deleting, is_pod_finished, name, namespace};
use crate::{Cluster, Controller, Cx, Delta, Key, Keys, Plan, Watches};
use k8s_openapi::api::core::v1::{Pod, PodResourceClaim};
use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceClaimTemplate};

/// The index of pods by the claims that they use.
const BY_CLAIM: &str = "resource-claims";
/// The index of pods by the templates that they name.
const BY_TEMPLATE: &str = "resource-claim-templates";

/// Keys of claims are told from those of pods by this: names cannot contain it.
const CLAIM: char = '/';

/// `resourceclaim-controller`.
#[derive(Default)]
pub struct ResourceClaims;

impl Controller for ResourceClaims {
    fn watch(&self, watches: &mut Watches) {
        watches.index::<Pod>(BY_CLAIM, |pod| {
            let used = used_claims(pod).into_iter();
            used.map(|claim| place(namespace(pod), &claim)).collect()
        });
        watches.index::<Pod>(BY_TEMPLATE, |pod| {
            let named = pod_claims(pod).iter();
            let named = named.filter_map(|one| one.resource_claim_template_name.as_deref());
            named
                .map(|template| place(namespace(pod), template))
                .collect()
        });
        watches.on::<Pod>(|_, delta, keys| {
            let is_gone = matches!(delta, Delta::Deleted(_));
            pod_changed(delta.object(), is_gone, keys);
        });
        watches.on::<ResourceClaim>(|cluster, delta, keys| {
            let claim = delta.object();
            if !matches!(delta, Delta::Deleted(_)) {
                keys.add(claim_key(namespace(&**claim), name(&**claim)));
            }
            wake(cluster, BY_CLAIM, namespace(&**claim), name(&**claim), keys);
        });
        watches.on::<ResourceClaimTemplate>(|cluster, delta, keys| {
            let template = delta.object();
            let (space, name) = (namespace(&**template), name(&**template));
            wake(cluster, BY_TEMPLATE, space, name, keys);
        });
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        match key.name.strip_prefix(CLAIM) {
            Some(claim) => claims::sync(cx, &Key::new(&key.namespace, claim)),
            None => pods::sync(cx, key),
        }
    }

    fn component(&self) -> Option<&'static str> {
        Some("resource_claim")
    }

    fn workers(&self) -> usize {
        10
    }
}

fn place(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

fn claim_key(namespace: &str, name: &str) -> Key {
    Key::new(namespace, &format!("{CLAIM}{name}"))
}

/// Looks at the pods that name a claim or a template.
fn wake(cluster: &Cluster, index: &str, namespace: &str, name: &str, keys: &mut Keys) {
    let pods = cluster.of::<Pod>().indexed(index, &place(namespace, name));
    pods.iter().for_each(|pod| pod_changed(pod, false, keys));
}

/// Upstream's `enqueuePod`: a pod that will not run any more sets its claims free.
fn pod_changed(pod: &Pod, is_gone: bool, keys: &mut Keys) {
    let used = used_claims(pod);
    if pod_claims(pod).is_empty() && used.is_empty() {
        return;
    }
    if is_gone || is_done(pod) {
        let used = used.iter();
        used.for_each(|claim| keys.add(claim_key(namespace(pod), claim)));
    }
    if !is_gone && !is_deleting(pod) {
        keys.add_object(pod);
    }
}

/// Whether it will not run any more. Upstream's `isPodDone`.
fn is_done(pod: &Pod) -> bool {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    is_pod_finished(pod) || (is_deleting(pod) && node.unwrap_or_default().is_empty())
}

/// What a pod says of the claims that it needs.
fn pod_claims(pod: &Pod) -> &[PodResourceClaim] {
    let spec = pod.spec.as_ref();
    spec.and_then(|spec| spec.resource_claims.as_deref())
        .unwrap_or_default()
}

/// What is known of the claim that a pod needs. Upstream's `resourceclaim.Name`.
#[derive(PartialEq, Eq, Debug)]
enum Known<'a> {
    /// The user named it.
    Named(&'a str),
    /// It was made for the pod.
    Made(&'a str),
    /// It was found not to be needed.
    NotNeeded,
    /// It has not been made yet.
    Missing,
    /// Neither a claim nor a template: the API has grown.
    Unknown,
}

fn known<'a>(pod: &'a Pod, claim: &'a PodResourceClaim) -> Known<'a> {
    if let Some(name) = &claim.resource_claim_name {
        return Known::Named(name);
    }
    if claim.resource_claim_template_name.is_none() {
        return Known::Unknown;
    }
    let statuses = pod.status.as_ref();
    let statuses = statuses.and_then(|status| status.resource_claim_statuses.as_ref());
    let mut statuses = statuses.into_iter().flatten();
    match statuses.find(|status| status.name == claim.name) {
        None => Known::Missing,
        Some(status) => match &status.resource_claim_name {
            Some(name) => Known::Made(name),
            None => Known::NotNeeded,
        },
    }
}

/// The names of all claims of a pod, that of its extended resources included.
fn used_claims(pod: &Pod) -> Vec<String> {
    let of_spec = pod_claims(pod)
        .iter()
        .filter_map(|claim| match known(pod, claim) {
            Known::Named(name) | Known::Made(name) => Some(name.to_owned()),
            Known::NotNeeded | Known::Missing | Known::Unknown => None,
        });
    let status = pod.status.as_ref();
    let extended = status.and_then(|status| status.extended_resource_claim_status.as_ref());
    let extended = extended.map(|extended| extended.resource_claim_name.clone());
    of_spec.chain(extended).collect()
}
