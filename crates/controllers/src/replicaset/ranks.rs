//! Which pods go first. Upstream's `ActivePodsWithRanks`.

use crate::common::{
    annotation, created_at, is_pod_active, is_pod_ready, pod_phase, pod_ready_since, sorted, uid,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use std::collections::BTreeMap;
use std::sync::Arc;

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The pods to delete. Among pods that are alike in all else, those go first that share their node with
/// more of `related`. Upstream's `getPodsToDelete`.
pub(crate) fn pods_to_delete(
    pods: Vec<Arc<Pod>>,
    related: &[Arc<Pod>],
    count: usize,
    now: Timestamp,
) -> Vec<Arc<Pod>> {
    if count >= pods.len() {
        return pods;
    }
    let mut on_node: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in related.iter().filter(|pod| is_pod_active(pod)) {
        *on_node.entry(node_name(pod)).or_default() += 1;
    }
    let rank = |pod: &Pod| on_node.get(node_name(pod)).copied().unwrap_or(0);
    let candidates = pods
        .iter()
        .map(|pod| Candidate::new(pod, rank(pod)))
        .collect();
    let sorted = sorted(candidates, &|a: &Candidate<'_>, b: &Candidate<'_>| {
        a.goes_before(b, now)
    });
    let chosen = sorted.into_iter().take(count);
    chosen.map(|candidate| candidate.pod.clone()).collect()
}

fn node_name(pod: &Pod) -> &str {
    let spec = pod.spec.as_ref();
    spec.and_then(|spec| spec.node_name.as_deref())
        .unwrap_or_default()
}

/// A pod, and what its turn depends on.
struct Candidate<'a> {
    pod: &'a Arc<Pod>,
    is_assigned: bool,
    phase: u8,
    is_ready: bool,
    cost: i32,
    /// How many related pods are on its node.
    rank: usize,
    ready_since: Option<Timestamp>,
    /// Of containers, then of sidecars.
    restarts: (i32, i32),
    created: Option<Timestamp>,
}

impl<'a> Candidate<'a> {
    fn new(pod: &'a Arc<Pod>, rank: usize) -> Self {
        Self {
            pod,
            is_assigned: !node_name(pod).is_empty(),
            phase: match pod_phase(pod) {
                "Running" => 2,
                "Unknown" => 1,
                _ => 0,
            },
            is_ready: is_pod_ready(pod),
            cost: deletion_cost(pod),
            rank,
            ready_since: pod_ready_since(pod),
            restarts: max_container_restarts(pod),
            created: created_at(&**pod),
        }
    }

    /// Whether it is to be deleted rather than the other. It is no order: pods whose times are near each
    /// other are told apart by uid, but those of the same time by restarts.
    fn goes_before(&self, other: &Self, now: Timestamp) -> bool {
        if self.is_assigned != other.is_assigned {
            return !self.is_assigned;
        }
        if self.phase != other.phase {
            return self.phase < other.phase;
        }
        if self.is_ready != other.is_ready {
            return !self.is_ready;
        }
        if self.cost != other.cost {
            return self.cost < other.cost;
        }
        if self.rank != other.rank {
            return self.rank > other.rank;
        }
        if self.is_ready && self.ready_since != other.ready_since {
            return self.is_later(other, self.ready_since, other.ready_since, now);
        }
        if self.restarts != other.restarts {
            return self.restarts > other.restarts;
        }
        self.created != other.created && self.is_later(other, self.created, other.created, now)
    }

    /// Whether the first time is after the second, by orders of magnitude; by uid if these are the same.
    /// No time is after any time.
    fn is_later(
        &self,
        other: &Self,
        one: Option<Timestamp>,
        two: Option<Timestamp>,
        now: Timestamp,
    ) -> bool {
        let (Some(one), Some(two)) = (one, two) else {
            return one.is_none();
        };
        match magnitude(now, one).cmp(&magnitude(now, two)) {
            std::cmp::Ordering::Equal => uid(&**self.pod) < uid(&**other.pod),
            order => order.is_lt(),
        }
    }
}

/// The logarithm to base 2 of the nanoseconds since then; -1 if it is yet to come.
fn magnitude(now: Timestamp, then: Timestamp) -> i64 {
    let span_ns = now.as_nanosecond() - then.as_nanosecond();
    match span_ns {
        1.. => i64::from(span_ns.ilog2()),
        _ => -1,
    }
}

/// What is not a plain number costs nothing.
fn deletion_cost(pod: &Pod) -> i32 {
    let Some(text) = annotation(pod, DELETION_COST) else {
        return 0;
    };
    let first = text.bytes().next();
    match first {
        Some(b'-' | b'1'..=b'9') => text.parse().unwrap_or(0),
        _ => 0,
    }
}

fn max_container_restarts(pod: &Pod) -> (i32, i32) {
    let status = pod.status.as_ref();
    let containers = status.and_then(|status| status.container_statuses.as_ref());
    let restarts = containers.into_iter().flatten();
    let regular = restarts.map(|container| container.restart_count).max();
    let spec = pod.spec.as_ref();
    let inits = spec.and_then(|spec| spec.init_containers.as_ref());
    let is_sidecar = |name: &str| {
        let mut inits = inits.into_iter().flatten();
        inits.any(|init| init.name == name && init.restart_policy.as_deref() == Some("Always"))
    };
    let statuses = status.and_then(|status| status.init_container_statuses.as_ref());
    let sidecars = statuses.into_iter().flatten();
    let sidecars = sidecars.filter(|container| is_sidecar(&container.name));
    let sidecar = sidecars.map(|container| container.restart_count).max();
    (regular.unwrap_or(0).max(0), sidecar.unwrap_or(0).max(0))
}

#[cfg(test)]
mod tests;
