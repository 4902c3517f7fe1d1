//! Who might adopt whom, by labels, without looking at a whole namespace.

use super::{Selector, controller_of, is_deleting, labels, namespace, uid};
use crate::Keys;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_cache::{Cluster, Delta, Object};

/// The index of objects that nobody controls: by each of their labels, and by their namespace. It takes
/// [`orphan_places`].
pub const ORPHANS: &str = "orphans";

/// The index of objects that select others: by one of the labels that they ask for. It takes
/// [`selector_place`].
pub const SELECTORS: &str = "selectors";

/// The label that says most, if it is asked for.
const HASH_LABEL: &str = "pod-template-hash";

/// Where an object is filed in [`ORPHANS`].
pub fn orphan_places<K: Object>(object: &K) -> Vec<String> {
    match controller_of(object) {
        Some(_) => Vec::new(),
        None => places(object),
    }
}

/// Where an object that asks for these labels is filed in [`SELECTORS`].
pub fn selector_place(namespace: &str, wanted: Option<&BTreeMap<String, String>>) -> String {
    let wanted = wanted.filter(|wanted| !wanted.is_empty());
    let most_telling = |wanted: &BTreeMap<String, String>| {
        let hash = wanted.get_key_value(HASH_LABEL);
        let (key, value) = hash.or_else(|| wanted.first_key_value())?;
        Some(place(namespace, key, value))
    };
    wanted
        .and_then(most_telling)
        .unwrap_or_else(|| everywhere(namespace))
}

/// Those that nobody controls and that may have all these labels.
pub fn orphans<K: Object>(
    cluster: &Cluster,
    namespace: &str,
    wanted: Option<&BTreeMap<String, String>>,
) -> Vec<Arc<K>> {
    let place = selector_place(namespace, wanted);
    cluster.of::<K>().indexed(ORPHANS, &place)
}

/// Those that an owner has to [claim](super::claim) or let alone: all that name it among their owners, and
/// all that nobody controls and that may have these labels.
pub fn claimable<O: Object, K: Object>(
    cluster: &Cluster,
    owner: &O,
    wanted: Option<&BTreeMap<String, String>>,
) -> Vec<Arc<K>> {
    let is_named = |object: &K| {
        let mut owners = object.metadata().owner_references.iter().flatten();
        owners.any(|named| named.uid == uid(owner))
    };
    let mut candidates = cluster.owned::<K>(uid(owner));
    let others = orphans::<K>(cluster, namespace(owner), wanted).into_iter();
    candidates.extend(others.filter(|object| !is_named(object)));
    candidates
}

/// Whoever controls an object that changed, or did so before, is to look; if nobody does, all who might
/// adopt it.
pub fn enqueue_owners<O: Object, K: Object>(
    cluster: &Cluster,
    delta: &Delta<'_, K>,
    keys: &mut Keys,
    selector: impl Fn(&O) -> Selector,
) {
    let object = &**delta.object();
    let before = delta.before().map(|before| &**before);
    let controller = controller_of(object);
    let was = before.and_then(controller_of);
    for reference in [controller, was].into_iter().flatten() {
        let known = cluster.get::<O>(namespace(object), &reference.name);
        let Some(owner) = known.filter(|_| reference.kind == O::KIND) else {
            continue;
        };
        if uid(&*owner) == reference.uid {
            keys.add_object(&*owner);
        }
    }
    let is_other =
        before.is_none_or(|before| labels(before) != labels(object) || was != controller);
    let is_gone = matches!(delta, Delta::Deleted(_)) || is_deleting(object);
    if controller.is_some() || is_gone || !is_other {
        return;
    }
    for owner in selecting::<O, K>(cluster, object) {
        let selector = selector(&owner);
        if !selector.is_everything() && selector.matches(labels(object)) {
            keys.add_object(&*owner);
        }
    }
}

/// Those that may select an object.
pub fn selecting<O: Object, K: Object>(cluster: &Cluster, object: &K) -> Vec<Arc<O>> {
    let store = cluster.of::<O>();
    let places = places(object).into_iter();
    places
        .flat_map(|place| store.indexed(SELECTORS, &place))
        .collect()
}

fn places<K: Object>(object: &K) -> Vec<String> {
    let namespace = namespace(object);
    let labels = labels(object).iter();
    let mut places: Vec<String> = labels
        .map(|(key, value)| place(namespace, key, value))
        .collect();
    places.push(everywhere(namespace));
    places
}

fn place(namespace: &str, key: &str, value: &str) -> String {
    format!("{namespace}/{key}={value}")
}

fn everywhere(namespace: &str) -> String {
    format!("{namespace}/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::apps::v1::ReplicaSet;
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    fn set_places(set: &ReplicaSet) -> Vec<String> {
        let selector = set.spec.as_ref().map(|spec| &spec.selector);
        let wanted = selector.and_then(|selector| selector.match_labels.as_ref());
        vec![selector_place(namespace(set), wanted)]
    }

    fn pod(name: &str, labels: serde_json::Value, is_owned: bool) -> Pod {
        let owners = [
            json!({"kind": "Job", "name": "j", "apiVersion": "batch/v1", "uid": "j", "controller": is_owned}),
        ];
        let meta =
            json!({"namespace": "a", "name": name, "labels": labels, "ownerReferences": owners});
        serde_json::from_value(json!({ "metadata": meta })).expect("a pod")
    }

    #[test]
    fn orphans_and_selectors_find_each_other_by_one_label() {
        let cluster = Cluster::default();
        cluster.of::<Pod>().add_index(ORPHANS, orphan_places::<Pod>);
        cluster.of::<ReplicaSet>().add_index(SELECTORS, set_places);
        for (name, selector) in [
            ("app", json!({"matchLabels": {"app": "x"}})),
            (
                "hash",
                json!({"matchLabels": {"app": "x", "pod-template-hash": "1"}}),
            ),
            ("other", json!({"matchLabels": {"app": "y"}})),
            (
                "any",
                json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
            ),
        ] {
            let set = json!({"metadata": {"namespace": "a", "name": name}, "spec": {"selector": selector}});
            cluster.add::<ReplicaSet>(serde_json::from_value(set).expect("a set"));
        }
        let bare = pod("bare", json!({"app": "x", "tier": "1"}), false);
        cluster.add(bare.clone());
        cluster.add(pod("owned", json!({"app": "x"}), true));
        let sets = selecting::<ReplicaSet, Pod>(&cluster, &bare);
        let names: Vec<&str> = sets.iter().map(|set| super::super::name(&**set)).collect();
        assert_eq!(names, ["app", "any"]);
        let count = |wanted: &[(&str, &str)]| {
            let pairs = wanted.iter();
            let wanted = pairs.map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            orphans::<Pod>(&cluster, "a", Some(&wanted.collect())).len()
        };
        assert_eq!(count(&[("app", "x")]), 1);
        assert_eq!(count(&[("app", "y")]), 0);
        assert_eq!(count(&[("app", "x"), ("pod-template-hash", "1")]), 0);
        assert_eq!(orphans::<Pod>(&cluster, "a", None).len(), 1);
        assert_eq!(orphans::<Pod>(&cluster, "b", None).len(), 0);
    }
}
