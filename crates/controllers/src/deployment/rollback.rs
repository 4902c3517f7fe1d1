//! Going back to an older template because an annotation asks for it. Upstream's `rollback.go`.

use super::annotations::{ROLLBACK_TO, is_own};
use super::new_set::create;
use super::sets::{HASH_LABEL, Sets, equal_ignore_hash, last_revision, revision};
use crate::common::{annotation, annotations, name};
use crate::{Event, Plan, Write};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use std::sync::Arc;

/// The revision to go back to; 0 is the last one.
pub(super) fn rollback_to(deployment: &Deployment) -> Option<i64> {
    annotation(deployment, ROLLBACK_TO)?.parse().ok()
}

/// Takes the template of a revision, and forgets that this was asked for.
pub(super) fn roll_back(deployment: &Arc<Deployment>, sets: &Sets, to: i64) -> Plan {
    if sets.new.is_none() {
        return create(deployment, sets);
    }
    let to = match to {
        0 => last_revision(sets.all()),
        to => to,
    };
    if to == 0 {
        return give_up(deployment, "Unable to find last revision.");
    }
    match sets.all().find(|set| revision(set) == Some(to)) {
        Some(set) => to_template(deployment, set, to),
        None => give_up(deployment, "Unable to find the revision to rollback to."),
    }
}

fn give_up(deployment: &Deployment, message: &str) -> Plan {
    let event = Event::warning(deployment, "DeploymentRollbackRevisionNotFound", message);
    Plan::write(Write::update(&without_rollback(deployment.clone()))).event(event)
}

fn to_template(deployment: &Arc<Deployment>, set: &ReplicaSet, to: i64) -> Plan {
    let of_set = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
    let mut changed = without_rollback(Deployment::clone(deployment));
    let about = name(&**deployment).to_owned();
    let (Some(template), Some(spec)) = (of_set, changed.spec.as_mut()) else {
        return give_up(deployment, "Unable to find the revision to rollback to.");
    };
    if equal_ignore_hash(&spec.template, template) {
        let message = format!(
            "The rollback revision contains the same template as current deployment {about:?}"
        );
        let event = Event::warning(
            &**deployment,
            "DeploymentRollbackTemplateUnchanged",
            message,
        );
        return Plan::write(Write::update(&changed)).event(event);
    }
    spec.template = template.clone();
    let labels = spec
        .template
        .metadata
        .get_or_insert_default()
        .labels
        .as_mut();
    if let Some(labels) = labels {
        labels.remove(HASH_LABEL);
    }
    // Annotations belong to the template: what was said of it then is said again.
    let noted = changed.metadata.annotations.get_or_insert_default();
    noted.retain(|key, _| is_own(key));
    let of_set = annotations(set).iter().filter(|(key, _)| !is_own(key));
    noted.extend(of_set.map(|(key, value)| (key.clone(), value.clone())));
    let deployment = deployment.clone();
    Plan::write(Write::update(&changed).telling(move |outcome| {
        let message = format!("Rolled back deployment {about:?} to revision {to}");
        let done = outcome.is_done();
        done.then(|| Event::normal(&*deployment, "DeploymentRollback", message))
    }))
}

fn without_rollback(mut deployment: Deployment) -> Deployment {
    if let Some(noted) = &mut deployment.metadata.annotations {
        noted.remove(ROLLBACK_TO);
    }
    deployment
}
