//! Pods and pod templates, as far as scheduling reads them.
//!
//! Upstream: `ValidatePodSpec` in `pkg/apis/core/validation/validation.go`. What only a kubelet reads
//! (images, commands, probes, mounts) is not looked at.

use super::resources::{self, Level};
use super::{Errors, affinity, selector};
use crate::field::Path;
use k8s_openapi::api::core::v1::{Container, ContainerPort, PodSpec};
use std::collections::BTreeSet;

/// A pod's spec, at `path`.
pub(super) fn spec(given: &PodSpec, path: &Path, errors: &mut Errors) {
    if given.containers.is_empty() {
        errors.push(path.child("containers").required(""));
    }
    let mut names = BTreeSet::new();
    containers(
        &given.containers,
        &mut names,
        &path.child("containers"),
        errors,
    );
    let init = given.init_containers.as_deref().unwrap_or_default();
    containers(init, &mut names, &path.child("initContainers"), errors);
    resources::pod_level(given, path, errors);
    resources::amounts(given.overhead.as_ref(), &path.child("overhead"), errors);
    selector::labels(
        given.node_selector.as_ref(),
        &path.child("nodeSelector"),
        errors,
    );
    if let Some(given) = &given.affinity {
        affinity::affinity(given, &path.child("affinity"), errors);
    }
    let constraints = given
        .topology_spread_constraints
        .as_deref()
        .unwrap_or_default();
    affinity::spread(
        constraints,
        &path.child("topologySpreadConstraints"),
        errors,
    );
    let tolerations = given.tolerations.as_deref().unwrap_or_default();
    affinity::tolerations(tolerations, &path.child("tolerations"), errors);
    if let Some(policy) = given.preemption_policy.as_deref() {
        preemption_policy(policy, &path.child("preemptionPolicy"), errors);
    }
    let gates_path = path.child("schedulingGates");
    let mut gates = BTreeSet::new();
    for (i, gate) in given.scheduling_gates.iter().flatten().enumerate() {
        selector::label_key(&gate.name, &gates_path.index(i), errors);
        if !gates.insert(&gate.name) {
            errors.push(gates_path.index(i).duplicate(&gate.name));
        }
    }
    volumes(given, path, errors);
}

/// `preemptionPolicy` of a pod or PriorityClass.
pub(super) fn preemption_policy(policy: &str, path: &Path, errors: &mut Errors) {
    const POLICIES: &[&str] = &["PreemptLowerPriority", "Never"];
    if policy.is_empty() {
        errors.push(path.required(""));
    } else if !POLICIES.contains(&policy) {
        errors.push(path.not_supported(policy, POLICIES));
    }
}

fn containers<'a>(
    given: &'a [Container],
    names: &mut BTreeSet<&'a str>,
    path: &Path,
    errors: &mut Errors,
) {
    for (i, container) in given.iter().enumerate() {
        let path = path.index(i);
        if container.name.is_empty() {
            errors.push(path.child("name").required(""));
        } else if !names.insert(&container.name) {
            errors.push(path.child("name").duplicate(&container.name));
        }
        if let Some(given) = &container.resources {
            resources::requirements(given, Level::Container, &path.child("resources"), errors);
        }
        let ports_path = path.child("ports");
        for (i, given) in container.ports.iter().flatten().enumerate() {
            port(given, &ports_path.index(i), errors);
        }
    }
}

fn port(given: &ContainerPort, path: &Path, errors: &mut Errors) {
    const RANGE: &str = "must be between 1 and 65535, inclusive";
    if given.container_port == 0 {
        errors.push(path.child("containerPort").required(""));
    } else if !(1..=65535).contains(&given.container_port) {
        errors.push(
            path.child("containerPort")
                .invalid(given.container_port, RANGE),
        );
    }
    if let Some(host_port) = given.host_port
        && !(0..=65535).contains(&host_port)
    {
        errors.push(path.child("hostPort").invalid(host_port, RANGE));
    }
    if let Some(protocol) = given.protocol.as_deref()
        && !["SCTP", "TCP", "UDP"].contains(&protocol)
    {
        errors.push(
            path.child("protocol")
                .not_supported(protocol, &["SCTP", "TCP", "UDP"]),
        );
    }
}

fn volumes(given: &PodSpec, path: &Path, errors: &mut Errors) {
    let path = path.child("volumes");
    let mut names = BTreeSet::new();
    for (i, volume) in given.volumes.iter().flatten().enumerate() {
        let path = path.index(i);
        if volume.name.is_empty() {
            errors.push(path.child("name").required(""));
        } else if !names.insert(&volume.name) {
            errors.push(path.child("name").duplicate(&volume.name));
        }
        if let Some(claim) = &volume.persistent_volume_claim
            && claim.claim_name.is_empty()
        {
            errors.push(path.child("persistentVolumeClaim.claimName").required(""));
        }
        let template = volume
            .ephemeral
            .as_ref()
            .and_then(|e| e.volume_claim_template.as_ref());
        if let Some(template) = template {
            let path = path.child("ephemeral.volumeClaimTemplate.spec");
            super::storage::claim_spec(&template.spec, &path, errors);
        }
    }
}
