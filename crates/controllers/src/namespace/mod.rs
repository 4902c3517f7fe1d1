//! What the status of a namespace says while it is deleted. Upstream:
//! `pkg/controller/namespace/deletion/status_condition_utils.go`. `controller-manager` deletes the content.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, NamespaceCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::BTreeMap;

/// The finalizer of a namespace that has content: `spec.finalizers`.
pub const FINALIZER: &str = "kubernetes";

/// Each condition: its type, and reason and message when all is well.
const CONDITIONS: [[&str; 3]; 5] = [
    [
        "NamespaceDeletionDiscoveryFailure",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ],
    [
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ],
    [
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ],
    [
        "NamespaceContentRemaining",
        "ContentRemoved",
        "All content successfully removed",
    ],
    [
        "NamespaceFinalizersRemaining",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ],
];

/// What was found when the content of a namespace was deleted.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Findings {
    /// Groups and versions of which the server cannot tell, and why.
    pub undiscovered: BTreeMap<String, String>,
    /// Why nothing could be discovered.
    pub discovery_error: Option<String>,
    /// Why something could not be deleted.
    pub errors: Vec<String>,
    /// How many objects are left, by name and group of their resource.
    pub remaining: BTreeMap<(String, String), usize>,
    /// How many objects a finalizer holds.
    pub finalizers: BTreeMap<String, usize>,
}

impl Findings {
    /// Why not all resources could be discovered.
    pub fn discovery_failure(&self) -> Option<String> {
        if let Some(error) = &self.discovery_error {
            return Some(error.clone());
        }
        if self.undiscovered.is_empty() {
            return None;
        }
        let groups = self.undiscovered.iter();
        let groups: Vec<String> = groups.map(|(gv, why)| format!("{gv}: {why}")).collect();
        let groups = groups.join(", ");
        Some(format!(
            "unable to retrieve the complete list of server APIs: {groups}"
        ))
    }

    /// Puts conditions into the status; says whether any changed.
    pub fn apply(&self, namespace: &mut Namespace, now: Timestamp) -> bool {
        let status = namespace.status.get_or_insert_default();
        let conditions = status.conditions.get_or_insert_default();
        let mut has_changed = false;
        for [type_, ok_reason, ok_message] in CONDITIONS {
            let (state, reason, message) = match self.problem(type_) {
                Some((reason, message)) => ("True", reason, message),
                None => ("False", ok_reason, ok_message.to_owned()),
            };
            let mut condition = NamespaceCondition {
                type_: type_.to_owned(),
                status: state.to_owned(),
                reason: Some(reason.to_owned()),
                message: Some(message),
                last_transition_time: Some(Time(now)),
            };
            let Some(old) = conditions.iter_mut().find(|old| old.type_ == type_) else {
                conditions.push(condition);
                has_changed = true;
                continue;
            };
            if old.status == condition.status {
                condition.last_transition_time = old.last_transition_time.clone();
            }
            if *old != condition {
                *old = condition;
                has_changed = true;
            }
        }
        has_changed
    }

    /// Reason and message, if all is not well.
    fn problem(&self, type_: &str) -> Option<(&'static str, String)> {
        match type_ {
            "NamespaceDeletionDiscoveryFailure" => {
                let why = self.discovery_failure()?;
                let message = match (self.discovery_error.is_some(), self.undiscovered.len()) {
                    (true, _) => why,
                    (false, count) => {
                        format!("Discovery failed for some groups, {count} failing: {why}")
                    }
                };
                Some(("DiscoveryFailed", message))
            }
            "NamespaceDeletionContentFailure" if !self.errors.is_empty() => {
                let mut errors = self.errors.clone();
                errors.sort();
                let (count, errors) = (errors.len(), errors.join(", "));
                let message =
                    format!("Failed to delete all resource types, {count} remaining: {errors}");
                Some(("ContentDeletionFailed", message))
            }
            "NamespaceContentRemaining" if !self.remaining.is_empty() => {
                let told = self.remaining.iter().map(|((resource, group), count)| {
                    format!("{resource}.{group} has {count} resource instances")
                });
                let message = format!("Some resources are remaining: {}", sorted(told));
                Some(("SomeResourcesRemain", message))
            }
            "NamespaceFinalizersRemaining" if !self.finalizers.is_empty() => {
                let told = self
                    .finalizers
                    .iter()
                    .map(|(finalizer, count)| format!("{finalizer} in {count} resource instances"));
                let told = sorted(told);
                let message =
                    format!("Some content in the namespace has finalizers remaining: {told}");
                Some(("SomeFinalizersRemain", message))
            }
            _ => None,
        }
    }
}

fn sorted(told: impl Iterator<Item = String>) -> String {
    let mut told: Vec<String> = told.collect();
    told.sort();
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(namespace: &Namespace) -> Vec<String> {
        let status = namespace.status.as_ref().unwrap();
        let conditions = status.conditions.iter().flatten();
        let show = |condition: &NamespaceCondition| {
            let reason = condition.reason.as_deref().unwrap();
            let message = condition.message.as_deref().unwrap();
            format!("{} {reason}: {message}", condition.status)
        };
        conditions.map(show).collect()
    }

    /// Upstream: `TestUpdateConditions`.
    #[test]
    fn conditions_say_what_is_wrong_and_that_all_is_well() {
        let mut namespace = Namespace::default();
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        assert!(Findings::default().apply(&mut namespace, now));
        assert_eq!(
            shown(&namespace),
            CONDITIONS.map(|[_, reason, message]| format!("False {reason}: {message}"))
        );
        let later: Timestamp = "2026-03-01T13:00:00Z".parse().unwrap();
        assert!(!Findings::default().apply(&mut namespace, later));
        let findings = Findings {
            undiscovered: [("x.dev/v1".to_owned(), "stale".to_owned())].into(),
            errors: vec!["b".to_owned(), "a".to_owned()],
            remaining: [
                (("things".to_owned(), "x.dev".to_owned()), 2),
                (("pods".to_owned(), String::new()), 1),
            ]
            .into(),
            finalizers: [("keep.me/here".to_owned(), 3)].into(),
            ..Findings::default()
        };
        assert!(findings.apply(&mut namespace, later));
        assert!(!findings.apply(&mut namespace, later));
        assert_eq!(
            shown(&namespace),
            [
                "True DiscoveryFailed: Discovery failed for some groups, 1 failing: unable to retrieve the \
                 complete list of server APIs: x.dev/v1: stale",
                "False ParsedGroupVersions: All legacy kube types successfully parsed",
                "True ContentDeletionFailed: Failed to delete all resource types, 2 remaining: a, b",
                "True SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances, \
                 things.x.dev has 2 resource instances",
                "True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: \
                 keep.me/here in 3 resource instances",
            ]
        );
        let conditions = namespace.status.unwrap().conditions.unwrap();
        let times: Vec<_> = conditions
            .iter()
            .map(|condition| condition.last_transition_time.as_ref().unwrap().0 == later)
            .collect();
        assert_eq!(times, [true, false, true, true, true]);
    }
}
