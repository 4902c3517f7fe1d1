//! What pods request. Upstream: `calculateRequests` in `replica_calculator.go`.

use crate::common::{amount, name};
use k8s_openapi::api::core::v1::{Container, Pod, ResourceRequirements};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What each pod requests of a resource, in thousandths: as a whole if it says so, else all containers that
/// stay, or one of them.
pub(super) fn requests(
    pods: &[Arc<Pod>],
    container: Option<&str>,
    resource: &str,
) -> Result<BTreeMap<String, i64>, String> {
    let one = |pod: &Arc<Pod>| {
        let whole = pod.spec.as_ref().and_then(|spec| spec.resources.as_ref());
        let request = match (container, whole.filter(|whole| requests_anything(whole))) {
            (None, Some(whole)) => whole_pod(pod, whole, resource),
            (container, _) => containers(pod, container, resource),
        };
        Ok((name(&**pod).to_owned(), request?))
    };
    pods.iter().map(one).collect()
}

/// Whether a pod says what it requests as a whole: upstream counts cpu, memory and huge pages only.
fn requests_anything(whole: &ResourceRequirements) -> bool {
    let mut named = whole.requests.iter().flatten();
    named.any(|(name, _)| is_for_whole_pods(name))
}

fn is_for_whole_pods(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || resource.starts_with("hugepages-")
}

fn whole_pod(pod: &Pod, whole: &ResourceRequirements, resource: &str) -> Result<i64, String> {
    if let Some(request) = request(Some(whole), resource).filter(|_| is_for_whole_pods(resource)) {
        return Ok(request);
    }
    // What the pod does not say as a whole is the sum of what its containers say.
    let spec = pod.spec.as_ref();
    let all = spec.into_iter().flat_map(|spec| &spec.containers);
    let stay = staying(pod);
    let named: Vec<i64> = all
        .chain(stay)
        .filter_map(|one| request(one.resources.as_ref(), resource))
        .collect();
    if named.is_empty() {
        let name = name(pod);
        return Err(format!(
            "missing pod-level request for {resource} in Pod {name}"
        ));
    }
    Ok(named
        .iter()
        .fold(0, |sum: i64, one| sum.saturating_add(*one)))
}

fn containers(pod: &Pod, wanted: Option<&str>, resource: &str) -> Result<i64, String> {
    let spec = pod.spec.as_ref();
    let all = spec.into_iter().flat_map(|spec| &spec.containers);
    let mut sum = 0_i64;
    let is_wanted = |one: &&Container| wanted.is_none_or(|wanted| wanted == one.name);
    let mut found = false;
    for one in all.chain(staying(pod)).filter(is_wanted) {
        found = true;
        let Some(request) = request(one.resources.as_ref(), resource) else {
            let (container, pod) = (&one.name, name(pod));
            return Err(format!(
                "missing request for {resource} in container {container} of Pod {pod}"
            ));
        };
        sum = sum.saturating_add(request);
    }
    match wanted {
        Some(wanted) if !found => Err(format!("container {wanted} not found in Pod {}", name(pod))),
        _ => Ok(sum),
    }
}

/// Init containers that stay.
fn staying(pod: &Pod) -> impl Iterator<Item = &Container> {
    let spec = pod.spec.as_ref();
    let inits = spec
        .into_iter()
        .flat_map(|spec| spec.init_containers.iter().flatten());
    inits.filter(|one| one.restart_policy.as_deref() == Some("Always"))
}

fn request(resources: Option<&ResourceRequirements>, resource: &str) -> Option<i64> {
    let quantity = resources?.requests.as_ref()?.get(resource)?;
    i64::try_from(amount(quantity)?).ok()
}
