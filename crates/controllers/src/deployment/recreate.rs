//! All old pods go before new ones come. Upstream's `recreate.go`.

use super::cleanup::clean_up;
use super::new_set::create;
use super::scale::resize;
use super::sets::{Sets, wanted};
use super::status::{is_complete, rollout};
use super::{Finish, carry_out};
use crate::common::{is_controlled_by, is_pod_finished, uid};
use crate::{Cluster, Cx, Plan};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use std::sync::Arc;

/// The next step of a roll-out.
pub(super) fn roll_out(cx: &Cx<'_>, deployment: &Arc<Deployment>, sets: &Sets) -> Plan {
    let old = sets.old.iter();
    let writes: Vec<_> = old.filter_map(|set| resize(deployment, set, 0)).collect();
    if !writes.is_empty() {
        return carry_out(deployment, writes, Finish::Rollout);
    }
    if old_pods_running(cx.cluster, sets) {
        return rollout(cx, deployment, sets);
    }
    let Some(new) = &sets.new else {
        return create(deployment, sets);
    };
    let mut writes: Vec<_> = resize(deployment, new, wanted(deployment))
        .into_iter()
        .collect();
    if is_complete(deployment) {
        writes.extend(clean_up(deployment, &sets.old));
    }
    match writes.is_empty() {
        true => rollout(cx, deployment, sets),
        false => carry_out(deployment, writes, Finish::Rollout),
    }
}

/// Whether an old set says that it has pods, or has pods that are not finished, even if it does not say so.
fn old_pods_running(cluster: &Cluster, sets: &Sets) -> bool {
    let says_so = |set: &Arc<ReplicaSet>| {
        let status = set.status.as_ref();
        status.is_some_and(|status| status.replicas > 0)
    };
    let has_pods = |set: &Arc<ReplicaSet>| {
        let pods = cluster.owned::<Pod>(uid(&**set));
        let is_running = |pod: &Arc<Pod>| is_controlled_by(&**pod, &**set) && !is_pod_finished(pod);
        pods.iter().any(is_running)
    };
    sets.old.iter().any(says_so) || sets.old.iter().any(has_pods)
}
