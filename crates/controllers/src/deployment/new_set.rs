//! The ReplicaSet with the Deployment's template. Upstream's `getNewReplicaSet`.

use super::annotations::{Annotations, set, set_for_new};
use super::conditions::{PROGRESSING, condition, of, reason, with};
use super::limits::new_replicas;
use super::sets::{REVISION, Sets, equal_ignore_hash, max_revision, with_hash};
use super::status::has_progress_deadline;
use crate::common::{controller_ref, is_controlled_by, name, namespace, template_hash};
use crate::{Cx, Event, Failure, Outcome, Plan, Write};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use std::sync::Arc;

/// The longest name of an object.
const NAME_MAX: usize = 253;

/// Makes the new set and the Deployment agree on revision and annotations, if there is one and they do
/// not. They bring the Deployment back.
pub(super) fn sync_revision(cx: &Cx<'_>, deployment: &Deployment, sets: &Sets) -> Option<Plan> {
    let new = sets.new.as_ref()?;
    let spec = deployment.spec.as_ref()?;
    let revision = max_revision(&sets.old).saturating_add(1);
    let mut noted = new.metadata.annotations.clone().unwrap_or_default();
    let is_other = set_for_new(&mut noted, deployment, revision, true);
    let min_ready_s = new.spec.as_ref().and_then(|spec| spec.min_ready_seconds);
    if is_other || min_ready_s.unwrap_or(0) != spec.min_ready_seconds.unwrap_or(0) {
        let mut set = ReplicaSet::clone(new);
        if is_other {
            set.metadata.annotations = Some(noted);
        }
        set.spec.get_or_insert_default().min_ready_seconds = spec.min_ready_seconds;
        return Some(Plan::write(Write::update(&set)));
    }
    let revision = crate::common::annotation(&**new, REVISION).unwrap_or_default();
    let mut changed = with_revision(deployment, revision);
    if has_progress_deadline(deployment) && of(deployment, PROGRESSING).is_none() {
        let message = format!("Found new replica set {:?}", name(&**new));
        let found = condition(PROGRESSING, "True", reason::FOUND_NEW, message, cx.now);
        changed = Some(with(changed.as_ref().unwrap_or(deployment), found));
    }
    changed.map(|changed| Plan::write(Write::update_status(&changed)))
}

/// The Deployment with a revision, if that is news.
fn with_revision(deployment: &Deployment, revision: &str) -> Option<Deployment> {
    if crate::common::annotation(deployment, REVISION).unwrap_or_default() == revision {
        return None;
    }
    let mut deployment = deployment.clone();
    let noted = deployment.metadata.annotations.get_or_insert_default();
    set(noted, REVISION, revision);
    Some(deployment)
}

/// Makes the new set. It brings the Deployment back.
pub(super) fn create(deployment: &Arc<Deployment>, sets: &Sets) -> Plan {
    let Some(spec) = &deployment.spec else {
        return Plan::nothing();
    };
    let revision = max_revision(&sets.old).saturating_add(1);
    let replicas = new_replicas(deployment, &sets.old, 0);
    let set = new_set(
        deployment,
        spec,
        &hash(deployment, spec),
        revision,
        replicas,
    );
    let (about, made) = (deployment.clone(), name(&set).to_owned());
    let tell = move |outcome: &Outcome| {
        let message = format!("Scaled up replica set {made} from 0 to {replicas}");
        let is_news = outcome.is_done() && replicas > 0;
        is_news.then(|| Event::normal(&*about, "ScalingReplicaSet", message))
    };
    let write = Write::create(&set).tolerating(&[403, 409]).telling(tell);
    let deployment = deployment.clone();
    Plan::write(write).then(move |cx, outcomes| match outcomes.first() {
        Some(Outcome::Done(_)) => created(cx, &deployment, &set, revision),
        Some(Outcome::Tolerated(failure)) if failure.is_already_exists() => {
            already_exists(cx, &deployment, &set, failure)
        }
        Some(Outcome::Tolerated(failure)) if failure.is_namespace_terminating() => Plan::nothing(),
        Some(Outcome::Tolerated(failure)) => {
            let mut plan = not_created(cx, &deployment, &set, failure);
            plan.error = Some(failure.message.clone());
            plan
        }
        Some(Outcome::Failed(failure)) => not_created(cx, &deployment, &set, failure),
        Some(Outcome::Answered(_) | Outcome::Skipped) | None => Plan::nothing(),
    })
}

/// The hash in the name of the set with the Deployment's template.
pub(crate) fn hash(deployment: &Deployment, spec: &DeploymentSpec) -> String {
    let status = deployment.status.as_ref();
    let collisions = status.and_then(|status| status.collision_count);
    template_hash(&spec.template, collisions)
}

/// A set with the Deployment's template.
pub(crate) fn new_set(
    deployment: &Deployment,
    spec: &DeploymentSpec,
    hash: &str,
    revision: i64,
    replicas: i32,
) -> ReplicaSet {
    let mut template = spec.template.clone();
    let meta = template.metadata.get_or_insert_default();
    let labels = with_hash(meta.labels.as_ref(), hash);
    meta.labels = Some(labels.clone());
    let mut noted = Annotations::new();
    set_for_new(&mut noted, deployment, revision, false);
    ReplicaSet {
        metadata: ObjectMeta {
            name: Some(set_name(name(deployment), hash)),
            namespace: Some(namespace(deployment).to_owned()),
            owner_references: Some(vec![controller_ref(deployment)]),
            labels: Some(labels),
            annotations: Some(noted),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            replicas: Some(replicas),
            min_ready_seconds: spec.min_ready_seconds,
            selector: LabelSelector {
                match_labels: Some(with_hash(spec.selector.match_labels.as_ref(), hash)),
                match_expressions: spec.selector.match_expressions.clone(),
            },
            template: Some(template),
        }),
        status: None,
    }
}

/// The name of a set: that of its Deployment, cut if it has to be, and a hash.
fn set_name(deployment: &str, hash: &str) -> String {
    let room = NAME_MAX.saturating_sub(hash.len() + 1);
    let kept = match room {
        0 => deployment,
        room => deployment.get(..room).unwrap_or(deployment),
    };
    format!("{kept}-{hash}")
}

fn created(cx: &Cx<'_>, deployment: &Deployment, set: &ReplicaSet, revision: i64) -> Plan {
    let mut changed = with_revision(deployment, &revision.to_string());
    if has_progress_deadline(deployment) {
        let message = format!("Created new replica set {:?}", name(set));
        let made = condition(
            PROGRESSING,
            "True",
            reason::NEW_REPLICA_SET,
            message,
            cx.now,
        );
        changed = Some(with(changed.as_ref().unwrap_or(deployment), made));
    }
    match changed {
        Some(changed) => Plan::write(Write::update_status(&changed)),
        None => Plan::nothing(),
    }
}

/// Either it is the new set, which was not known yet, or the hashes of two templates are the same by
/// chance. Then the next try has another hash.
fn already_exists(
    cx: &Cx<'_>,
    deployment: &Deployment,
    wanted: &ReplicaSet,
    failure: &Failure,
) -> Plan {
    let known = cx
        .cluster
        .get::<ReplicaSet>(namespace(wanted), name(wanted));
    let Some(known) = known else {
        return Plan::retry(failure.message.clone());
    };
    let template = known.spec.as_ref().and_then(|spec| spec.template.as_ref());
    let both = template.zip(deployment.spec.as_ref());
    let is_equal = both.is_some_and(|(one, spec)| equal_ignore_hash(one, &spec.template));
    if is_controlled_by(&*known, deployment) && is_equal {
        return Plan::retry(failure.message.clone());
    }
    let mut deployment = deployment.clone();
    let status = deployment.status.get_or_insert_default();
    let collisions = status.collision_count.unwrap_or(0);
    status.collision_count = Some(collisions.saturating_add(1));
    Plan::write(Write::update_status(&deployment))
}

fn not_created(cx: &Cx<'_>, deployment: &Deployment, set: &ReplicaSet, failure: &Failure) -> Plan {
    let why = &failure.message;
    let message = format!("Failed to create new replica set {:?}: {why}", name(set));
    let event = Event::warning(deployment, reason::FAILED_CREATE, message.clone());
    if !has_progress_deadline(deployment) {
        return Plan::nothing().event(event);
    }
    let failed = condition(PROGRESSING, "False", reason::FAILED_CREATE, message, cx.now);
    Plan::write(Write::update_status(&with(deployment, failed))).event(event)
}

#[cfg(test)]
mod tests {
    use super::set_name;

    #[test]
    fn names_are_cut_to_fit() {
        assert_eq!(set_name("web", "5d9f"), "web-5d9f");
        assert_eq!(set_name("", "5d9f"), "-5d9f");
        let (fits, long) = ("n".repeat(248), "n".repeat(253));
        assert_eq!(set_name(&fits, "5d9f"), format!("{fits}-5d9f"));
        assert_eq!(set_name(&long, "5d9f"), format!("{fits}-5d9f"));
        let hash = "h".repeat(260);
        assert_eq!(set_name("web", &hash), format!("web-{hash}"));
    }
}
