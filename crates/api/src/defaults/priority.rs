//! Priorities of pods.
//!
//! Upstream: the admission plugin Priority, `plugin/pkg/admission/priority/admission.go`.

use crate::field::{FieldError, Path};
use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use std::collections::BTreeMap;

/// Classes that every cluster has.
pub const SYSTEM_PRIORITY_CLASSES: &[(&str, i32)] = &[
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

const PREEMPT_LOWER_PRIORITY: &str = "PreemptLowerPriority";

/// What a class gives to a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Grant {
    class: String,
    value: i32,
    policy: String,
}

/// The PriorityClasses of a cluster.
#[derive(Clone, Debug)]
pub struct PriorityClasses {
    classes: BTreeMap<String, Grant>,
    /// For pods that name no class.
    default: Grant,
}

impl PriorityClasses {
    /// These classes and the system's own. Of several global defaults the lowest counts.
    pub fn new<'a>(given: impl IntoIterator<Item = &'a PriorityClass>) -> Self {
        let grant = |class: &str, value: i32, policy: Option<&str>| Grant {
            class: class.to_owned(),
            value,
            policy: policy.unwrap_or(PREEMPT_LOWER_PRIORITY).to_owned(),
        };
        let mut default: Option<Grant> = None;
        let mut classes: BTreeMap<String, Grant> = SYSTEM_PRIORITY_CLASSES
            .iter()
            .map(|(name, value)| ((*name).to_owned(), grant(name, *value, None)))
            .collect();
        for class in given {
            let name = class.metadata.name.as_deref().unwrap_or_default();
            let granted = grant(
                name,
                class.value.unwrap_or(0),
                class.preemption_policy.as_deref(),
            );
            if class.global_default == Some(true)
                && default
                    .as_ref()
                    .is_none_or(|default| default.value > granted.value)
            {
                default = Some(granted.clone());
            }
            classes.insert(name.to_owned(), granted);
        }
        Self {
            classes,
            default: default.unwrap_or_else(|| grant("", 0, None)),
        }
    }

    /// Gives a pod its priority and preemption policy, or says at `spec` why it cannot have them.
    ///
    /// A priority that is already there stays: stored pods keep theirs whatever becomes of the
    /// class, and dumps may come without classes. Only where a pod that is `new` contradicts its
    /// class it is refused, as the API server does. Other than there, a bare `spec.priority` without
    /// a class is taken as it stands.
    pub(super) fn admit(
        &self,
        spec: &mut PodSpec,
        new: bool,
        at: &Path,
        errors: &mut Vec<FieldError>,
    ) {
        let class = spec.priority_class_name.as_deref().unwrap_or_default();
        let granted = match (class, spec.priority) {
            ("", Some(_)) => None,
            ("", None) => Some(&self.default),
            (class, None) => match self.classes.get(class) {
                None => {
                    let detail = format!("no PriorityClass with name {class} was found");
                    return errors.push(at.child("priorityClassName").forbidden(detail));
                }
                found => found,
            },
            (class, Some(_)) => self.classes.get(class).filter(|_| new),
        };
        if let Some(granted) = granted {
            if let Some(priority) = spec.priority
                && priority != granted.value
            {
                let detail = format!(
                    "the integer value of priority ({priority}) must not be provided in pod spec; priority admission controller computed {} from the given PriorityClass name",
                    granted.value
                );
                return errors.push(at.child("priority").forbidden(detail));
            }
            if let Some(policy) = spec.preemption_policy.as_deref()
                && policy != granted.policy
            {
                let detail = format!(
                    "the string value of PreemptionPolicy ({policy}) must not be provided in pod spec; priority admission controller computed {} from the given PriorityClass name",
                    granted.policy
                );
                return errors.push(at.child("preemptionPolicy").forbidden(detail));
            }
            spec.priority = Some(granted.value);
            spec.preemption_policy = Some(granted.policy.clone());
            if !granted.class.is_empty() {
                spec.priority_class_name = Some(granted.class.clone());
            }
        }
        spec.preemption_policy
            .get_or_insert_with(|| PREEMPT_LOWER_PRIORITY.to_owned());
    }
}
