//! Pods.

use super::selector::{labels, node_affinity, selector};
use super::{ConvertError, Interner};
use std::sync::Arc;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_api::k8s::apimachinery::pkg::apis::meta::v1 as meta;
use stowplan_base::{Sym, Time, sym};
use stowplan_engine::model::{
    AffinityTerm, Effect, HostPort, OwnerRef, Pod, PodAffinity, PodKey, Protocol, Selector,
    SpreadConstraint, Toleration, TolerationOp, UnsatisfiableAction, WeightedAffinityTerm,
};

/// A pod. A missing uid becomes `namespace/name`.
pub fn pod(interner: &mut Interner<'_>, pod: &core::Pod) -> Result<Pod, ConvertError> {
    let meta = &pod.metadata;
    let no_spec = core::PodSpec::default();
    let spec = pod.spec.as_ref().unwrap_or(&no_spec);
    let no_status = core::PodStatus::default();
    let status = pod.status.as_ref().unwrap_or(&no_status);
    let key = pod_key(meta);
    let namespace = interner.sym(&key.namespace);
    let affinity = spec.affinity.as_ref();
    let (pod_affinity, pod_anti_affinity, affinity_error) =
        pod_affinities(interner, namespace, affinity);
    let (images, container_count) = super::images::pod_images(interner, pod);
    Ok(Pod {
        namespace,
        name: interner.sym(&key.name),
        uid: meta
            .uid
            .clone()
            .map_or_else(|| key.to_string().into(), Into::into),
        resource_version: meta.resource_version.clone().unwrap_or_default().into(),
        labels: labels(interner, meta.labels.as_ref()),
        controller: controller(interner, meta),
        terminating: meta.deletion_timestamp.is_some(),
        node_name: interner.some_sym(spec.node_name.as_deref()),
        nominated_node_name: interner.some_sym(status.nominated_node_name.as_deref()),
        scheduler_name: interner
            .some_sym(spec.scheduler_name.as_deref())
            .unwrap_or(sym::DEFAULT_SCHEDULER),
        priority: spec.priority.unwrap_or(0),
        never_preempts: spec.preemption_policy.as_deref() == Some("Never"),
        start_time: status.start_time.as_ref().map(time),
        preempted_by_scheduler: preempted_by_scheduler(status),
        finished: matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")),
        scheduling_gates: spec
            .scheduling_gates
            .iter()
            .flatten()
            .map(|gate| interner.sym(&gate.name))
            .collect(),
        tolerations: spec
            .tolerations
            .iter()
            .flatten()
            .map(|t| toleration(interner, t))
            .collect(),
        node_selector: labels(interner, spec.node_selector.as_ref()),
        node_affinity: node_affinity(interner, affinity.and_then(|a| a.node_affinity.as_ref())),
        pod_affinity,
        pod_anti_affinity,
        spread_constraints: spread_constraints(
            interner,
            spec.topology_spread_constraints
                .as_deref()
                .unwrap_or_default(),
            "spec.topologySpreadConstraints",
        )?,
        host_ports: host_ports(interner, spec),
        requests: super::requests::pod_requests(interner, pod)?,
        images,
        container_count,
        volumes: super::storage::pod_volumes(interner, pod),
        resource_claims: super::devices::pod_claims(interner, pod),
        extended_resource_claim: interner.some_sym(
            status
                .extended_resource_claim_status
                .as_ref()
                .map(|s| s.resource_claim_name.as_str()),
        ),
        claim_statuses: super::devices::claim_statuses(status),
        required_features: super::features::required_features(interner, pod),
        affinity_error,
        key,
    })
}

fn pod_key(meta: &meta::ObjectMeta) -> PodKey {
    let namespace = meta
        .namespace
        .as_deref()
        .filter(|ns| !ns.is_empty())
        .unwrap_or("default");
    PodKey {
        namespace: namespace.into(),
        name: meta.name.as_deref().unwrap_or_default().into(),
    }
}

/// A point in time.
pub fn time(time: &meta::Time) -> Time {
    let nanos = time.0.as_nanosecond();
    Time::from_nanos(nanos.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
}

/// The owner with `controller: true`.
pub fn controller(interner: &mut Interner<'_>, meta: &meta::ObjectMeta) -> Option<OwnerRef> {
    let owner = meta
        .owner_references
        .iter()
        .flatten()
        .find(|o| o.controller == Some(true))?;
    Some(OwnerRef {
        api_version: interner.sym(&owner.api_version),
        kind: interner.sym(&owner.kind),
        name: interner.sym(&owner.name),
        uid: owner.uid.as_str().into(),
    })
}

fn preempted_by_scheduler(status: &core::PodStatus) -> bool {
    let mut conditions = status.conditions.iter().flatten();
    conditions
        .find(|condition| condition.type_ == "DisruptionTarget")
        .is_some_and(|condition| {
            condition.status == "True"
                && condition.reason.as_deref() == Some("PreemptionByScheduler")
        })
}

/// A taint's or toleration's effect; `None` if absent or unknown.
pub fn effect(text: Option<&str>) -> Option<Effect> {
    match text {
        Some("NoSchedule") => Some(Effect::NoSchedule),
        Some("PreferNoSchedule") => Some(Effect::PreferNoSchedule),
        Some("NoExecute") => Some(Effect::NoExecute),
        _ => None,
    }
}

fn toleration(interner: &mut Interner<'_>, toleration: &core::Toleration) -> Toleration {
    Toleration {
        key: interner.sym(toleration.key.as_deref().unwrap_or_default()),
        op: match toleration.operator.as_deref() {
            None | Some("" | "Equal") => TolerationOp::Equal,
            Some("Exists") => TolerationOp::Exists,
            Some(_) => TolerationOp::Unknown,
        },
        value: interner.sym(toleration.value.as_deref().unwrap_or_default()),
        effect: effect(toleration.effect.as_deref()),
    }
}

/// `podAffinity`, `podAntiAffinity`, and the first thing in them that cannot be parsed.
fn pod_affinities(
    interner: &mut Interner<'_>,
    namespace: Sym,
    affinity: Option<&core::Affinity>,
) -> (Option<PodAffinity>, Option<PodAffinity>, Option<Box<str>>) {
    let mut error = None;
    let near = affinity.and_then(|a| a.pod_affinity.as_ref()).map(|terms| {
        let required = &terms.required_during_scheduling_ignored_during_execution;
        let preferred = &terms.preferred_during_scheduling_ignored_during_execution;
        pod_affinity(
            interner,
            namespace,
            required.as_deref(),
            preferred.as_deref(),
            &mut error,
        )
    });
    let apart = affinity
        .and_then(|a| a.pod_anti_affinity.as_ref())
        .map(|terms| {
            let required = &terms.required_during_scheduling_ignored_during_execution;
            let preferred = &terms.preferred_during_scheduling_ignored_during_execution;
            pod_affinity(
                interner,
                namespace,
                required.as_deref(),
                preferred.as_deref(),
                &mut error,
            )
        });
    (near, apart, error)
}

/// `podAffinity` or `podAntiAffinity`. As upstream, one broken term empties its whole list.
fn pod_affinity(
    interner: &mut Interner<'_>,
    namespace: Sym,
    required: Option<&[core::PodAffinityTerm]>,
    preferred: Option<&[core::WeightedPodAffinityTerm]>,
    error: &mut Option<Box<str>>,
) -> PodAffinity {
    let mut noted = |message: String| {
        error.get_or_insert(message.into());
    };
    let required: Result<Box<[_]>, _> = required
        .unwrap_or_default()
        .iter()
        .map(|term| affinity_term(interner, namespace, term))
        .collect();
    let preferred: Result<Box<[_]>, _> = preferred
        .unwrap_or_default()
        .iter()
        .map(|weighted| {
            let term = affinity_term(interner, namespace, &weighted.pod_affinity_term)?;
            Ok(WeightedAffinityTerm {
                weight: weighted.weight,
                term,
            })
        })
        .collect();
    PodAffinity {
        required: required.map_err(&mut noted).unwrap_or_default(),
        preferred: preferred.map_err(&mut noted).unwrap_or_default(),
    }
}

fn affinity_term(
    interner: &mut Interner<'_>,
    namespace: Sym,
    term: &core::PodAffinityTerm,
) -> Result<AffinityTerm, String> {
    let named = term.namespaces.as_deref().unwrap_or_default();
    let namespaces: Box<[Sym]> = if named.is_empty() && term.namespace_selector.is_none() {
        [namespace].into()
    } else {
        named.iter().map(|name| interner.sym(name)).collect()
    };
    Ok(AffinityTerm {
        namespaces,
        namespace_selector: selector(interner, term.namespace_selector.as_ref())?,
        selector: selector(interner, term.label_selector.as_ref())?,
        topology_key: interner.sym(&term.topology_key),
    })
}

/// Spread constraints of a pod or of a profile; `path` names the list in errors.
pub fn spread_constraints(
    interner: &mut Interner<'_>,
    constraints: &[core::TopologySpreadConstraint],
    path: &str,
) -> Result<Box<[SpreadConstraint]>, ConvertError> {
    constraints
        .iter()
        .enumerate()
        .map(|(i, constraint)| {
            let selector: Selector = selector(interner, constraint.label_selector.as_ref())
                .map_err(|e| ConvertError::new(format!("{path}[{i}].labelSelector"), e))?;
            Ok(SpreadConstraint {
                max_skew: constraint.max_skew,
                topology_key: interner.sym(&constraint.topology_key),
                when_unsatisfiable: match constraint.when_unsatisfiable.as_str() {
                    "ScheduleAnyway" => UnsatisfiableAction::ScheduleAnyway,
                    "DoNotSchedule" | "" => UnsatisfiableAction::DoNotSchedule,
                    other => {
                        return Err(ConvertError::new(
                            format!("{path}[{i}].whenUnsatisfiable"),
                            format!(
                                "Unsupported value: {other:?}: supported values: \"DoNotSchedule\", \"ScheduleAnyway\""
                            ),
                        ));
                    }
                },
                selector,
                min_domains: constraint.min_domains.unwrap_or(1),
                honor_node_affinity: constraint.node_affinity_policy.as_deref() != Some("Ignore"),
                honor_node_taints: constraint.node_taints_policy.as_deref() == Some("Honor"),
                match_label_keys: constraint
                    .match_label_keys
                    .iter()
                    .flatten()
                    .map(|key| interner.sym(key))
                    .collect(),
            })
        })
        .collect()
}

/// The ports that containers and sidecars hold on the node. Ordinary init containers are over
/// before anything serves.
fn host_ports(interner: &mut Interner<'_>, spec: &core::PodSpec) -> Box<[HostPort]> {
    let sidecars = spec
        .init_containers
        .iter()
        .flatten()
        .filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let ports = spec
        .containers
        .iter()
        .chain(sidecars)
        .flat_map(|c| c.ports.iter().flatten());
    ports
        .filter_map(|port| {
            let number = u16::try_from(port.host_port?).ok().filter(|n| *n > 0)?;
            let ip = port
                .host_ip
                .as_deref()
                .filter(|ip| !ip.is_empty() && *ip != "0.0.0.0");
            Some(HostPort {
                ip: ip.map(|ip| interner.sym(ip)),
                protocol: match port.protocol.as_deref() {
                    Some("UDP") => Protocol::Udp,
                    Some("SCTP") => Protocol::Sctp,
                    _ => Protocol::Tcp,
                },
                port: number,
            })
        })
        .collect()
}

/// The uid of an object, or the empty string.
pub fn uid(meta: &meta::ObjectMeta) -> Arc<str> {
    meta.uid.as_deref().unwrap_or_default().into()
}
