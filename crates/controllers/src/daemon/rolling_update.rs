//! Replacing pods of other revisions. Upstream's `rollingUpdate`.

use super::work::{ByNode, Changes, Work};
use crate::Cx;
use crate::common::{is_deleting, is_pod_available, name, scaled_value};
use k8s_openapi::api::core::v1::{Node, Pod};
use std::sync::Arc;

/// How many nodes should have a pod, and how many of them may be without one or have two.
struct Limits {
    desired: usize,
    surge: usize,
    unavailable: usize,
}

/// The pods of a node that nobody has deleted: at most one of the present revision and one of another.
struct OnNode<'a> {
    new: Option<&'a Arc<Pod>>,
    old: Option<&'a Arc<Pod>>,
}

/// What has to be done; nothing if pods are replaced when somebody deletes them.
pub(super) fn rolling_update(cx: &Cx<'_>, work: &Work) -> Changes {
    let strategy = work
        .set
        .spec
        .as_ref()
        .and_then(|spec| spec.update_strategy.as_ref());
    let word = strategy.and_then(|strategy| strategy.type_.as_deref());
    if word.unwrap_or("RollingUpdate") != "RollingUpdate" {
        return Changes::default();
    }
    let mut by_node = work.by_node(cx);
    match limits(cx, work, &mut by_node) {
        Ok(limits) if limits.surge == 0 => replace(cx, work, &by_node, &limits),
        Ok(limits) => surge(cx, work, &by_node, &limits),
        Err(error) => Changes {
            error: Some(error),
            ..Changes::default()
        },
    }
}

/// Also gives nodes that should have a pod and have none an empty list. Upstream's
/// `updatedDesiredNodeCounts`.
fn limits(cx: &Cx<'_>, work: &Work, by_node: &mut ByNode) -> Result<Limits, String> {
    let mut desired: i32 = 0;
    for node in cx.cluster.all::<Node>() {
        if work.fit(&node).should_run {
            desired = desired.saturating_add(1);
            by_node.entry(name(&*node).to_owned()).or_default();
        }
    }
    let rolling = work.rolling();
    let count = |value: Option<&_>, what: &str| match value {
        None => Ok(0),
        Some(value) => {
            scaled_value(value, desired, true).ok_or_else(|| format!("invalid value for {what}"))
        }
    };
    let unavailable = count(
        rolling.and_then(|r| r.max_unavailable.as_ref()),
        "MaxUnavailable",
    )?;
    let surge = count(rolling.and_then(|r| r.max_surge.as_ref()), "MaxSurge")?;
    let is_stuck = desired > 0 && unavailable == 0 && surge == 0;
    let unavailable = if is_stuck { 1 } else { unavailable };
    let size = |number: i32| usize::try_from(number).unwrap_or(0);
    Ok(Limits {
        desired: size(desired),
        surge: size(surge),
        unavailable: size(unavailable),
    })
}

impl<'a> OnNode<'a> {
    /// Nothing if there are too many. Upstream's `findUpdatedPodsOnNode`.
    fn of(work: &Work, pods: &'a [Arc<Pod>]) -> Option<Self> {
        let mut on = Self {
            new: None,
            old: None,
        };
        for pod in pods.iter().filter(|pod| !is_deleting(&***pod)) {
            let place = match work.is_updated(pod) {
                true => &mut on.new,
                false => &mut on.old,
            };
            if place.replace(pod).is_some() {
                return None;
            }
        }
        Some(on)
    }
}

/// Deletes old pods that are not available, and as many others as may be unavailable.
fn replace(cx: &Cx<'_>, work: &Work, by_node: &ByNode, limits: &Limits) -> Changes {
    let is_available = |pod: &Pod| is_pod_available(pod, work.min_ready_s, cx.now);
    let (mut unavailable, mut delete, mut candidates) = (0, Vec::new(), Vec::new());
    for pods in by_node.values() {
        match OnNode::of(work, pods) {
            Some(OnNode {
                new: Some(new),
                old: None,
            }) => {
                unavailable += usize::from(!is_available(new));
            }
            Some(OnNode {
                new: None,
                old: Some(old),
            }) if is_available(old) => {
                candidates.push(old.clone());
            }
            Some(OnNode {
                new: None,
                old: Some(old),
            }) => {
                unavailable += 1;
                delete.push(old.clone());
            }
            // What is missing or too many is not for an update to put right.
            _ => unavailable += 1,
        }
    }
    let left = limits.unavailable.saturating_sub(unavailable);
    delete.extend(candidates.into_iter().take(left));
    Changes {
        delete,
        ..Changes::default()
    }
}

/// Makes new pods beside old ones, and deletes old ones once new ones are available.
fn surge(cx: &Cx<'_>, work: &Work, by_node: &ByNode, limits: &Limits) -> Changes {
    let is_available = |pod: &Pod| is_pod_available(pod, work.min_ready_s, cx.now);
    let should_run = |node: &str| {
        let node = cx.cluster.get::<Node>("", node);
        node.map(|node| work.fit(&node).should_run)
    };
    let mut changes = Changes::default();
    let (mut surging, mut available) = (0, 0);
    let (mut unwanted, mut candidates) = (Vec::new(), Vec::new());
    for (node, pods) in by_node {
        let Some(on) = OnNode::of(work, pods) else {
            surging += 1;
            continue;
        };
        available += usize::from(on.old.or(on.new).is_some_and(|pod| is_available(pod)));
        let Some(old) = on.old else { continue };
        match on.new {
            Some(new) if is_available(new) => changes.delete.push(old.clone()),
            Some(_) => surging += 1,
            None => match (should_run(node), is_available(old)) {
                (None, _) => {
                    changes.error = Some(format!("couldn't get node for nodeName \"{node}\""));
                    return Changes {
                        error: changes.error,
                        ..Changes::default()
                    };
                }
                (Some(true), true) => candidates.push(node.clone()),
                (Some(true), false) => changes.create.push(node.clone()),
                (Some(false), true) => unwanted.push(old.clone()),
                (Some(false), false) => changes.delete.push(old.clone()),
            },
        }
    }
    // Where it should not run any more it stays until enough others are available.
    let deletable = available.saturating_sub(limits.desired);
    changes.delete.extend(unwanted.into_iter().take(deletable));
    let left = limits.surge.saturating_sub(surging);
    changes.create.extend(candidates.into_iter().take(left));
    changes
}
