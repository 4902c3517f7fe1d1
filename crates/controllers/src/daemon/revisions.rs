//! The revisions of a set. Upstream: `constructHistory` and others of `pkg/controller/daemon/update.go`.

use super::work::Work;
use super::{Again, is_any_failed, selector};
use crate::common::{candidates, claim, label, name, template_hash};
use crate::history;
use crate::{Cx, Key, Outcome, Plan, Write};
use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet};
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The label of pods and revisions that has the hash of the template.
pub(super) const HASH_LABEL: &str = "controller-revision-hash";

/// How many old revisions are kept unless the set says so.
const HISTORY_MAX: i32 = 10;

/// Goes on once the revision of the present template is there, once, and the newest.
pub(super) fn construct(
    cx: &Cx<'_>,
    set: Arc<DaemonSet>,
    revisions: Vec<Arc<ControllerRevision>>,
    again: Again,
) -> Plan {
    let Some(spec) = set.spec.as_ref() else {
        return Plan::nothing();
    };
    let unlabelled = revisions
        .iter()
        .filter(|of| label(&***of, HASH_LABEL).is_none());
    let writes: Vec<Write> = unlabelled.map(|of| labelled(of)).collect();
    if !writes.is_empty() {
        return again.after(Plan::sequence(writes));
    }
    let (current, old): (Vec<_>, Vec<_>) = revisions
        .into_iter()
        .partition(|revision| history::matches(revision, &spec.template));
    let number = old.iter().map(|of| of.revision).max().unwrap_or(0).max(0) + 1;
    // Of several with the same number, the last one.
    let Some(kept) = current.iter().max_by_key(|of| of.revision).cloned() else {
        return snapshot(set, old, number, again);
    };
    if current.len() > 1 {
        return again.after(Plan::sequence(dedup(cx, &set, &current, &kept)));
    }
    if kept.revision < number {
        let mut kept = ControllerRevision::clone(&kept);
        kept.revision = number;
        return again.after(Plan::write(Write::update(&kept)));
    }
    let hash = label(&*kept, HASH_LABEL).unwrap_or_default().to_owned();
    Work::start(cx, set, hash, old, again)
}

/// Gives a revision the label that it lacks; its name is as good as a hash.
fn labelled(revision: &ControllerRevision) -> Write {
    let mut revision = revision.clone();
    let value = name(&revision).to_owned();
    let labels = revision.metadata.labels.get_or_insert_default();
    labels.insert(HASH_LABEL.to_owned(), value);
    Write::update(&revision)
}

/// Pods get the label of the revision that is kept; the others go. Upstream's `dedupCurHistories`.
fn dedup(
    cx: &Cx<'_>,
    set: &DaemonSet,
    current: &[Arc<ControllerRevision>],
    kept: &Arc<ControllerRevision>,
) -> Vec<Write> {
    let hash = label(&**kept, HASH_LABEL);
    let pods = claim(
        set,
        &selector(set),
        candidates::<Pod, _>(cx.cluster, set),
        |_| true,
    )
    .owned;
    let others = pods.iter().filter(|pod| label(&***pod, HASH_LABEL) != hash);
    let patch = json!({"metadata": {"labels": {HASH_LABEL: hash}}});
    let relabel = |pod: &Arc<Pod>| Write::merge::<Pod>(&Key::of(&**pod), "", &patch);
    let mut writes: Vec<Write> = others.map(|pod| relabel(pod).tolerating(&[404])).collect();
    let excess = current.iter().filter(|of| !Arc::ptr_eq(of, kept));
    writes.extend(excess.map(|of| Write::delete(&**of)));
    writes
}

/// Makes the revision of the present template. If another one has its name, that is remembered in the
/// status, which changes the name.
fn snapshot(
    set: Arc<DaemonSet>,
    old: Vec<Arc<ControllerRevision>>,
    number: i64,
    again: Again,
) -> Plan {
    let Some(spec) = set.spec.as_ref() else {
        return Plan::nothing();
    };
    let collisions = set
        .status
        .as_ref()
        .and_then(|status| status.collision_count);
    let hash = template_hash(&spec.template, collisions);
    let given = spec.template.metadata.as_ref();
    let labels = given.and_then(|metadata| metadata.labels.clone());
    let mut labels = labels.unwrap_or_default();
    labels.insert(HASH_LABEL.to_owned(), hash.clone());
    let data = history::patch(&spec.template);
    let revision = history::revision_of(&*set, &hash, labels, data, number);
    let key = Key::of(&revision);
    let write = Write::create(&revision).tolerating(&[409]);
    Plan::write(write).then(move |cx, outcomes| {
        if is_any_failed(outcomes) {
            return Plan::nothing();
        }
        let known = cx
            .cluster
            .get::<ControllerRevision>(&key.namespace, &key.name);
        let template = set.spec.as_ref().map(|spec| &spec.template);
        let is_it = |of: &ControllerRevision| template.is_some_and(|t| history::matches(of, t));
        match (outcomes.first(), known) {
            (_, None) => Plan::retry(format!("the revision {} is not known yet", key.name)),
            (Some(Outcome::Tolerated(_)), Some(other)) if !is_it(&other) => {
                let mut set = DaemonSet::clone(&set);
                let status = set.status.get_or_insert_default();
                status.collision_count = Some(collisions.unwrap_or(0).saturating_add(1));
                again.after(Plan::write(Write::update_status(&set)))
            }
            (_, Some(current)) => {
                let hash = label(&*current, HASH_LABEL).unwrap_or(&hash).to_owned();
                Work::start(cx, set.clone(), hash, old, again)
            }
        }
    })
}

/// Deletes the oldest revisions that no pod has any more. Upstream's `cleanupHistory`.
pub(super) fn clean_up(
    cx: &Cx<'_>,
    set: &DaemonSet,
    old: &[Arc<ControllerRevision>],
) -> Vec<Write> {
    let limit = set
        .spec
        .as_ref()
        .and_then(|spec| spec.revision_history_limit);
    let limit = usize::try_from(limit.unwrap_or(HISTORY_MAX)).unwrap_or(0);
    let excess = old.len().saturating_sub(limit);
    if excess == 0 {
        return Vec::new();
    }
    let pods = claim(
        set,
        &selector(set),
        candidates::<Pod, _>(cx.cluster, set),
        |_| true,
    )
    .owned;
    let live: BTreeSet<&str> = pods
        .iter()
        .filter(|pod| super::target_node(pod).is_some())
        .filter_map(|pod| label(&**pod, HASH_LABEL))
        .collect();
    let mut old: Vec<_> = old.to_vec();
    history::sort(&mut old);
    let is_live =
        |of: &ControllerRevision| label(of, HASH_LABEL).is_some_and(|of| live.contains(of));
    let dead = old.iter().filter(|of| !is_live(of)).take(excess);
    dead.map(|of| Write::delete(&**of)).collect()
}
