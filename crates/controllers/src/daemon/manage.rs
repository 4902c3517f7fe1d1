//! Which nodes lack a pod, and which pods are too many. Upstream's `manage` and `podsShouldBeOnNode`.

use super::revisions::HASH_LABEL;
use super::work::{Changes, Work, sort_pods};
use crate::common::{
    is_deleting, is_pod_available, is_pod_ready, label, name, namespace, pod_phase, scaled_value,
    uid,
};
use crate::{Cx, Event};
use k8s_openapi::api::core::v1::{Node, Pod};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Looks at all nodes.
pub(super) fn manage(cx: &Cx<'_>, work: &Work) -> Changes {
    let mut changes = Changes::default();
    let by_node = work.by_node(cx);
    let nodes = cx.cluster.all::<Node>();
    for node in &nodes {
        let pods = by_node.get(name(&**node)).map(Vec::as_slice);
        look(cx, work, node, pods.unwrap_or_default(), &mut changes);
    }
    // Those that wait for a node that is gone would wait forever.
    let known: BTreeSet<&str> = nodes.iter().map(|node| name(&**node)).collect();
    let lost = by_node
        .iter()
        .filter(|(node, _)| !known.contains(node.as_str()));
    let waits = |pod: &&Arc<Pod>| {
        let spec = pod.spec.as_ref();
        let on = spec.and_then(|spec| spec.node_name.as_deref());
        on.unwrap_or_default().is_empty()
    };
    let lost = lost.flat_map(|(_, pods)| pods.iter().filter(waits));
    changes.delete.extend(lost.cloned());
    changes
}

fn look(cx: &Cx<'_>, work: &Work, node: &Node, pods: &[Arc<Pod>], changes: &mut Changes) {
    let fit = work.fit(node);
    if pods.is_empty() {
        if fit.should_run {
            changes.create.push(name(node).to_owned());
        }
        return;
    }
    let mut left: Vec<_> = pods
        .iter()
        .filter(|pod| !is_deleting(&***pod))
        .cloned()
        .collect();
    if !fit.should_continue {
        changes.delete.append(&mut left);
        return;
    }
    left.retain(|pod| is_running(cx, work, node, pod, changes));
    sort_pods(&mut left);
    if !allows_surge(work) {
        changes.delete.extend(left.into_iter().skip(1));
    } else if left.len() > 1 {
        keep_two(cx, work, left, changes);
    } else if left.is_empty() && fit.should_run {
        changes.create.push(name(node).to_owned());
    }
}

/// Pods that are finished go; those that failed not faster and faster, since a node may turn them down.
fn is_running(
    cx: &Cx<'_>,
    work: &Work,
    node: &Node,
    pod: &Arc<Pod>,
    changes: &mut Changes,
) -> bool {
    let of = format!(
        "{}/{} on node {}",
        namespace(&**pod),
        name(&**pod),
        name(node)
    );
    let event = match pod_phase(pod) {
        "Failed" => {
            let status = work.set.status.as_ref();
            let generation = status.and_then(|status| status.observed_generation);
            let key = format!(
                "{}/{}/{}",
                uid(&*work.set),
                generation.unwrap_or(0),
                name(node)
            );
            if let Some(wait) = work.backoff.hold(key, cx.now) {
                changes.wait = Some(changes.wait.map_or(wait, |other| other.min(wait)));
                return false;
            }
            let what = format!("Found failed daemon pod {of}, will try to kill it");
            Event::warning(&*work.set, "FailedDaemonPod", what)
        }
        "Succeeded" => {
            let what = format!("Found succeeded daemon pod {of}, will try to delete it");
            Event::normal(&*work.set, "SucceededDaemonPod", what)
        }
        _ => return true,
    };
    changes.events.push(event);
    changes.delete.push(pod.clone());
    false
}

/// Whether a node may have two pods while one replaces the other. Upstream's `AllowsSurge`.
fn allows_surge(work: &Work) -> bool {
    let surge = work
        .rolling()
        .and_then(|rolling| rolling.max_surge.as_ref());
    let surge = surge.and_then(|surge| scaled_value(surge, 1, true));
    surge.is_some_and(|surge| surge > 0)
}

/// Keeps the oldest pod of the present revision, and the oldest of another one as long as that is ready and
/// the new one is not available.
fn keep_two(cx: &Cx<'_>, work: &Work, pods: Vec<Arc<Pod>>, changes: &mut Changes) {
    let is_new = |pod: &Arc<Pod>| label(&**pod, HASH_LABEL) == Some(&*work.hash);
    let (mut new, mut old): (Vec<_>, Vec<_>) = pods.into_iter().partition(is_new);
    let excess = new.split_off(new.len().min(1));
    changes.delete.extend(excess);
    let excess = old.split_off(old.len().min(1));
    changes.delete.extend(excess);
    if let (Some(new), Some(old)) = (new.first(), old.first())
        && (!is_pod_ready(old) || is_pod_available(new, work.min_ready_s, cx.now))
    {
        changes.delete.push(old.clone());
    }
}
