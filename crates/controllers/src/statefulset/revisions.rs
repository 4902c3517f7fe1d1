//! Which revisions of a set there are, and which of them pods should have.
//!
//! Upstream: `getStatefulSetRevisions` and `truncateHistory` of
//! `pkg/controller/statefulset/stateful_set_control.go`.

use crate::common::{is_deleting, name, namespace};
use crate::history;
use crate::{Cx, Outcome, Plan, Write};
use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many old revisions are kept unless the set says so.
const HISTORY_MAX: i32 = 10;

/// The revision that pods have, the one that they should get, and how often names of revisions collided.
pub(super) struct Versions {
    pub(super) current: Arc<ControllerRevision>,
    pub(super) update: Arc<ControllerRevision>,
    pub(super) collisions: i32,
}

/// What comes after it is known which revisions there are.
type Next = fn(&Cx<'_>, Arc<StatefulSet>, Versions) -> Plan;

/// Goes on with the revisions of a set, once the one of its present template is there and the newest.
pub(super) fn with_versions(
    cx: &Cx<'_>,
    set: Arc<StatefulSet>,
    revisions: Vec<Arc<ControllerRevision>>,
    collisions: i32,
    next: Next,
) -> Plan {
    let Some(spec) = set.spec.as_ref() else {
        return Plan::nothing();
    };
    let latest = revisions.last();
    let number = latest.map_or(1, |latest| latest.revision + 1);
    let is_equal = |revision: &&Arc<ControllerRevision>| history::matches(revision, &spec.template);
    let write = match revisions.iter().rev().find(is_equal).cloned() {
        Some(update) if latest.is_some_and(|latest| Arc::ptr_eq(latest, &update)) => {
            let versions = versions(&set, &revisions, update, collisions);
            return next(cx, set, versions);
        }
        // A rollback: what was is the newest again.
        Some(update) => {
            let mut update = ControllerRevision::clone(&update);
            update.revision = number;
            Write::update(&update)
        }
        // The garbage collector may be at work.
        None if is_deleting(&*set) => return Plan::nothing(),
        None => {
            let update = history::new_revision(&*set, &spec.template, number, collisions);
            Write::create(&update).tolerating(&[409])
        }
    };
    let key = write.key.name.clone();
    Plan::write(write).then(move |cx, outcomes| {
        let known = cx.cluster.get::<ControllerRevision>(namespace(&*set), &key);
        match (outcomes.first(), known) {
            (Some(Outcome::Done(_)), Some(update)) => {
                let versions = versions(&set, &revisions, update, collisions);
                next(cx, set, versions)
            }
            (Some(Outcome::Tolerated(_)), Some(other)) => {
                let template = set.spec.as_ref().map(|spec| &spec.template);
                match template.is_some_and(|template| history::matches(&other, template)) {
                    true => {
                        let versions = versions(&set, &revisions, other, collisions);
                        next(cx, set, versions)
                    }
                    false => with_versions(cx, set, revisions, collisions.saturating_add(1), next),
                }
            }
            (Some(Outcome::Done(_) | Outcome::Tolerated(_)), None) => {
                Plan::retry(format!("the revision {key} is not known yet"))
            }
            _ => Plan::nothing(),
        }
    })
}

fn versions(
    set: &StatefulSet,
    revisions: &[Arc<ControllerRevision>],
    update: Arc<ControllerRevision>,
    collisions: i32,
) -> Versions {
    let status = set.status.as_ref();
    let current = status.and_then(|status| status.current_revision.as_deref());
    let is_current = |revision: &&Arc<ControllerRevision>| Some(name(&***revision)) == current;
    let current = revisions.iter().find(is_current).unwrap_or(&update).clone();
    Versions {
        current,
        update,
        collisions,
    }
}

/// Deletes the oldest revisions that nobody has any more, except for so many. `live` are the names of those
/// that somebody has.
pub(super) fn truncate(
    set: &StatefulSet,
    revisions: &[Arc<ControllerRevision>],
    live: &BTreeSet<&str>,
) -> Vec<Write> {
    let spec = set.spec.as_ref();
    let limit = spec.and_then(|spec| spec.revision_history_limit);
    let Ok(limit) = usize::try_from(limit.unwrap_or(HISTORY_MAX)) else {
        return Vec::new();
    };
    let is_dead = |revision: &&Arc<ControllerRevision>| !live.contains(name(&***revision));
    let dead: Vec<_> = revisions.iter().filter(is_dead).collect();
    let excess = dead.len().saturating_sub(limit);
    let oldest = dead.into_iter().take(excess);
    oldest.map(|revision| Write::delete(&**revision)).collect()
}
