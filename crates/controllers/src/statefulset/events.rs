//! Writes of pods and claims, and what is told of them. Upstream: `stateful_pod_control.go`.

use super::retention::{claims_of, has_unexpected_controller, is_owner_up_to_date, with_owners};
use crate::common::name;
use crate::{Cluster, Event, Outcome, Write};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use std::sync::Arc;

/// What is done to a pod.
#[derive(Clone, Copy)]
pub(super) enum Verb {
    Create,
    Update,
    Delete,
}

impl Verb {
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Create => ("Create", "SuccessfulCreate", "FailedCreate"),
            Self::Update => ("Update", "SuccessfulUpdate", "FailedUpdate"),
            Self::Delete => ("Delete", "SuccessfulDelete", "FailedDelete"),
        }
    }
}

/// Upstream's `recordPodEvent`.
pub(super) fn pod_event(verb: Verb, set: &StatefulSet, pod: &str, error: Option<&str>) -> Event {
    let (word, done, failed) = verb.words();
    let what = format!("{word} Pod {pod} in StatefulSet {}", name(set));
    match error {
        None => Event::normal(set, done, format!("{what} successful")),
        Some(error) => Event::warning(set, failed, format!("{what} failed error: {error}")),
    }
}

/// Tells what came of a write to a pod.
fn telling(write: Write, verb: Verb, set: &Arc<StatefulSet>, pod: &Pod) -> Write {
    let (set, pod) = (set.clone(), name(pod).to_owned());
    write.telling(move |outcome| match outcome {
        Outcome::Done(_) | Outcome::Tolerated(_) => Some(pod_event(verb, &set, &pod, None)),
        Outcome::Failed(failure) if failure.is_already_exists() => None,
        Outcome::Failed(failure) => Some(pod_event(verb, &set, &pod, Some(&failure.message))),
        Outcome::Answered(_) | Outcome::Skipped => None,
    })
}

/// Makes a pod.
pub(super) fn create_pod(set: &Arc<StatefulSet>, pod: &Pod) -> Write {
    telling(Write::create(pod), Verb::Create, set, pod)
}

/// Deletes a pod.
pub(super) fn delete_pod(set: &Arc<StatefulSet>, pod: &Pod) -> Write {
    telling(Write::delete(pod), Verb::Delete, set, pod)
}

/// Changes a pod that is not as it should be.
pub(super) fn update_pod(set: &Arc<StatefulSet>, pod: &Pod) -> Write {
    telling(Write::update(pod), Verb::Update, set, pod)
}

/// Makes a claim of a pod. Upstream's `recordClaimEvent`.
pub(super) fn create_claim(
    set: &Arc<StatefulSet>,
    pod: &Pod,
    claim: &PersistentVolumeClaim,
) -> Write {
    let (set, pod, of) = (set.clone(), name(pod).to_owned(), name(claim).to_owned());
    Write::create(claim).telling(move |outcome| {
        let set_name = name(&*set).to_owned();
        match outcome {
            Outcome::Done(_) => {
                let what = format!("Create Claim {of} Pod {pod} in StatefulSet {set_name} success");
                Some(Event::normal(&*set, "SuccessfulCreate", what))
            }
            Outcome::Failed(failure) if !failure.is_already_exists() => {
                let error = &failure.message;
                let what = format!(
                    "Create Claim {of} for Pod {pod} in StatefulSet {set_name} failed error: {error}"
                );
                Some(Event::warning(&*set, "FailedCreate", what))
            }
            _ => None,
        }
    })
}

/// Writes that give the claims of a pod the owners that the policy wants, and what is odd about them.
/// Upstream's `UpdatePodClaimForRetentionPolicy`.
pub(super) fn update_claims(
    cluster: &Cluster,
    set: &Arc<StatefulSet>,
    pod: &Pod,
) -> (Vec<Write>, Vec<Event>) {
    let (mut writes, mut events) = (Vec::new(), Vec::new());
    for claim in claims_of(cluster, set, pod) {
        if has_unexpected_controller(&claim, set, pod) {
            let what = format!(
                "PersistentVolumeClaim {} has a conflicting OwnerReference that acts as a manging \
                 controller, the retention policy is ignored for this claim",
                name(&*claim)
            );
            events.push(Event::warning(&**set, "ConflictingController", what));
        }
        if is_owner_up_to_date(&claim, set, pod) {
            continue;
        }
        let (set, pod_name) = (set.clone(), name(pod).to_owned());
        let write = Write::update(&with_owners(&claim, &set, pod)).telling(move |outcome| {
            let failure = outcome.failure()?;
            let error = format!(
                "could not update claim {} for delete policy ownerRefs: {}",
                name(&*claim),
                failure.message
            );
            Some(pod_event(Verb::Update, &set, &pod_name, Some(&error)))
        });
        writes.push(write);
    }
    (writes, events)
}
