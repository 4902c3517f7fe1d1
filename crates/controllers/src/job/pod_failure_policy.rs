//! What a failed pod means. Upstream: `pod_failure_policy.go`.

use crate::common::{name, namespace};
use k8s_openapi::api::batch::v1::{
    JobSpec, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyOnPodConditionsPattern,
};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodCondition};

/// What the failure of a pod means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// It counts.
    Count,
    /// It does not count.
    Ignore,
    /// The Job has failed, for this reason.
    FailJob(String),
    /// The index has failed.
    FailIndex,
}

/// What the first rule that matches says. Upstream's `matchPodFailurePolicy`.
pub(super) fn judge(spec: &JobSpec, pod: &Pod) -> Verdict {
    let Some(policy) = &spec.pod_failure_policy else {
        return Verdict::Count;
    };
    for (at, rule) in policy.rules.iter().enumerate() {
        let action = rule.action.as_str();
        let (namespace, name) = (namespace(pod), name(pod));
        let matched = match (&rule.on_exit_codes, &rule.on_pod_conditions) {
            (Some(codes), _) => on_exit_codes(pod, codes).map(|(container, code)| {
                format!("Container {container} for pod {namespace}/{name} failed with exit code {code} matching {action} rule at index {at}")
            }),
            (None, Some(patterns)) => on_pod_conditions(pod, patterns).map(|condition| {
                let type_ = &condition.type_;
                format!("Pod {namespace}/{name} has condition {type_} matching {action} rule at index {at}")
            }),
            (None, None) => None,
        };
        match (matched, action) {
            (Some(_), "Ignore") => return Verdict::Ignore,
            (Some(_), "FailIndex") => return Verdict::FailIndex,
            (Some(_), "Count") => return Verdict::Count,
            (Some(message), "FailJob") => return Verdict::FailJob(message),
            _ => {}
        }
    }
    Verdict::Count
}

/// Whether the failure of a pod counts.
pub(super) fn counts(spec: &JobSpec, pod: &Pod) -> bool {
    judge(spec, pod) != Verdict::Ignore
}

fn on_exit_codes<'a>(
    pod: &'a Pod,
    wanted: &PodFailurePolicyOnExitCodesRequirement,
) -> Option<(&'a str, i32)> {
    let status = pod.status.as_ref()?;
    let containers = status.container_statuses.iter().flatten();
    let init = status.init_container_statuses.iter().flatten();
    containers.chain(init).find_map(|container| {
        let code = exit_code(container)?;
        let only = wanted.container_name.as_ref();
        let is_meant = only.is_none_or(|only| *only == container.name);
        (is_meant && code != 0 && operator_matches(code, wanted))
            .then_some((container.name.as_str(), code))
    })
}

fn exit_code(container: &ContainerStatus) -> Option<i32> {
    let terminated = container.state.as_ref()?.terminated.as_ref()?;
    Some(terminated.exit_code)
}

fn operator_matches(code: i32, wanted: &PodFailurePolicyOnExitCodesRequirement) -> bool {
    match wanted.operator.as_str() {
        "In" => wanted.values.contains(&code),
        "NotIn" => !wanted.values.contains(&code),
        _ => false,
    }
}

fn on_pod_conditions<'a>(
    pod: &'a Pod,
    wanted: &[PodFailurePolicyOnPodConditionsPattern],
) -> Option<&'a PodCondition> {
    let mut conditions = pod.status.as_ref()?.conditions.iter().flatten();
    conditions.find(|condition| {
        let mut patterns = wanted.iter();
        patterns.any(|pattern| {
            let status = pattern.status.as_deref().unwrap_or("True");
            pattern.type_ == condition.type_ && status == condition.status
        })
    })
}
