//! Which changes may let a pod in that affinity kept out.

use crate::framework::{Action, ClusterEvent, EventResource, Hint, Registration};
use crate::model::{AffinityTerm, Labels, Node, Object, Pod};
use stowplan_base::{Names, Sym};

pub(super) fn events() -> Vec<Registration> {
    let pod = Action::ADD.or(Action::UPDATE_POD_LABEL).or(Action::DELETE);
    let node = Action::ADD.or(Action::UPDATE_NODE_LABEL);
    vec![
        Registration::hinted(EventResource::Pod, pod),
        Registration::hinted(EventResource::Node, node),
    ]
}

pub(super) fn hint(
    names: &Names,
    event: &ClusterEvent,
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Hint {
    if event.resource == EventResource::Node {
        let old = old.and_then(Object::as_node).map(|node| &**node);
        let new = new.and_then(Object::as_node).map(|node| &**node);
        after_node_change(pod, old, new)
    } else {
        let old = old.and_then(Object::as_pod).map(|pod| &**pod);
        let new = new.and_then(Object::as_pod).map(|pod| &**pod);
        after_pod_change(pod, old, new, names)
    }
}

fn queue_if(helps: bool) -> Hint {
    if helps { Hint::Queue } else { Hint::Skip }
}

/// Whether `pod` is meant by every term; by no terms nobody is meant. Namespace selectors are not
/// looked up here: they are asked about a namespace without labels, as upstream asks them.
fn matches_all(terms: &[AffinityTerm], pod: &Pod, names: &Names) -> bool {
    let unknown = Labels::default();
    !terms.is_empty() && terms.iter().all(|term| term.matches(pod, &unknown, names))
}

fn after_pod_change(pod: &Pod, old: Option<&Pod>, new: Option<&Pod>, names: &Names) -> Hint {
    if old.is_some() && new.is_some_and(|new| new.uid == pod.uid) {
        // Its labels changed: somebody's anti-affinity may not mean it any more.
        return Hint::Queue;
    }
    let nowhere = |p: &Pod| p.node_name.is_none() && p.nominated_node_name.is_none();
    if old.is_some_and(nowhere) || new.is_some_and(nowhere) {
        return Hint::Skip;
    }
    if let Some(error) = &pod.affinity_error {
        return Hint::Error(error.to_string());
    }
    let wanted = |p: &Pod| matches_all(pod.required_affinity(), p, names);
    let unwanted = |p: &Pod| matches_all(pod.required_anti_affinity(), p, names);
    match (old, new) {
        (Some(old), Some(new)) => {
            queue_if(!wanted(old) && wanted(new) || unwanted(old) && !unwanted(new))
        }
        (None, Some(new)) => queue_if(wanted(new)),
        (Some(old), None) => {
            queue_if(unwanted(old) || matches_all(old.required_anti_affinity(), pod, names))
        }
        // Nothing is known of the change: try.
        (None, None) => Hint::Queue,
    }
}

fn after_node_change(pod: &Pod, old: Option<&Node>, new: Option<&Node>) -> Hint {
    if let Some(error) = &pod.affinity_error {
        return Hint::Error(error.to_string());
    }
    let Some(new) = new else {
        return Hint::Queue;
    };
    let domain = |node: &Node, term: &AffinityTerm| node.labels.get(term.topology_key);
    let affinity = pod.required_affinity();
    let anti_affinity = pod.required_anti_affinity();
    let Some(old) = old else {
        // A new node helps affinity if it is in some domain, and anti-affinity wherever it is.
        let in_domain = affinity.iter().any(|term| domain(new, term).is_some());
        return queue_if(in_domain || !anti_affinity.is_empty());
    };
    let change = |term: &AffinityTerm| -> (Option<Sym>, Option<Sym>) {
        (domain(old, term), domain(new, term))
    };
    let joined = |term: &AffinityTerm| {
        let (before, after) = change(term);
        after.is_some() && before != after
    };
    let left = |term: &AffinityTerm| {
        let (before, after) = change(term);
        before.is_some() && before != after
    };
    queue_if(affinity.iter().any(joined) || anti_affinity.iter().any(left))
}
