//! Who has to look at an object that changed, and which objects an owner may have.

use super::{ORPHANS, Selector, controller_of, labels, namespace, orphan_places, orphans, uid};
use crate::{Keys, Watches};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use std::sync::Arc;
use stowplan_cache::{Cluster, Delta, Object};

/// Files the objects of a kind that nobody controls, so that [`candidates`] finds them.
pub fn index_orphans<K: Object>(watches: &mut Watches) {
    watches.index::<K>(ORPHANS, orphan_places::<K>);
}

/// The objects that an owner controls or could adopt: those that name it as their controller, and those of
/// its namespace that nobody controls. Upstream's `FilterPodsByOwner`.
pub fn candidates<K: Object, O: Object>(cluster: &Cluster, owner: &O) -> Vec<Arc<K>> {
    let store = cluster.of::<K>();
    let mut found = store.owned(uid(owner));
    found.retain(|object| controller_of(&**object).is_some());
    found.extend(orphans::<K>(cluster, namespace(owner), None));
    found
}

/// Looks at the owner of an object that changed: the one that controls it, the one that did so before, or
/// all that select it if nobody does.
pub fn add_owners<K: Object, O: Object>(
    cluster: &Cluster,
    delta: &Delta<'_, K>,
    keys: &mut Keys,
    selector: fn(&O) -> Selector,
) {
    let object = &**delta.object();
    let now = controller_of(object);
    let before = delta.before().map(|before| controller_of(&**before));
    let is_changed = before.is_some_and(|before| before != now);
    if is_changed && let Some(before) = before.flatten() {
        add_owner::<O>(cluster, namespace(object), before, keys);
    }
    if let Some(now) = now {
        add_owner::<O>(cluster, namespace(object), now, keys);
        return;
    }
    let is_relabelled = delta
        .before()
        .is_none_or(|before| labels(&**before) != labels(object));
    if matches!(delta, Delta::Deleted(_)) || !(is_relabelled || is_changed) {
        return;
    }
    for owner in cluster.namespace::<O>(namespace(object)) {
        let selector = selector(&owner);
        if !selector.is_everything() && selector.matches(labels(object)) {
            keys.add_object(&*owner);
        }
    }
}

fn add_owner<O: Object>(
    cluster: &Cluster,
    namespace: &str,
    reference: &OwnerReference,
    keys: &mut Keys,
) {
    if reference.kind != O::KIND {
        return;
    }
    if let Some(owner) = cluster.get::<O>(namespace, &reference.name)
        && uid(&*owner) == reference.uid
    {
        keys.add_object(&*owner);
    }
}
