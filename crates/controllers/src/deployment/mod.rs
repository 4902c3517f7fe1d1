//! Deployments: ReplicaSets that replace each other.
//!
//! Upstream: `pkg/controller/deployment`. Each look at a Deployment takes the first step that is to be taken:
//!
//! ```text
//! adopt and release ▶ paused or resumed ▶ revision ▶ roll back ▶ scale ▶ roll out ▶ clean up ▶ status
//! ```
//!
//! What it writes changes the Deployment or a ReplicaSet of it, and that brings the Deployment back. Where
//! upstream goes on in the same sync, it mostly fails with a conflict and comes back, too.

mod annotations;
mod cleanup;
mod conditions;
mod limits;
mod new_set;
mod recreate;
mod rollback;
mod rolling;
mod scale;
mod sets;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use new_set::{hash, new_set};
pub(crate) use sets::{HASH_LABEL, REVISION, wanted};

use crate::common::{
    Claimed, ORPHANS, SELECTORS, Selector, claim, claimable, controller_of, enqueue_owners,
    is_deleting, namespace, orphan_places, selector_place, uid,
};
use crate::{Cluster, Controller, Cx, Delta, Event, Key, Keys, Outcome, Plan, Watches, Write};
use conditions::{PROGRESSING, condition, is_because, of, reason, with};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use limits::{Strategy, strategy};
use sets::Sets;
use std::sync::Arc;

/// The Deployment controller.
#[derive(Default)]
pub struct Deployments;

impl Controller for Deployments {
    fn watch(&self, watches: &mut Watches) {
        watches.index::<ReplicaSet>(ORPHANS, orphan_places::<ReplicaSet>);
        watches.index::<Deployment>(SELECTORS, |deployment| {
            let wanted = selector(deployment).and_then(|selector| selector.match_labels.as_ref());
            vec![selector_place(namespace(deployment), wanted)]
        });
        watches.on_each::<Deployment>();
        watches.on::<ReplicaSet>(|cluster, delta, keys| {
            enqueue_owners::<Deployment, ReplicaSet>(cluster, delta, keys, |deployment| {
                Selector::new(selector(deployment))
            });
        });
        watches.on::<Pod>(pod_changed);
    }

    fn sync(&self, cx: &Cx<'_>, key: &Key) -> Plan {
        let known = cx.cluster.get::<Deployment>(&key.namespace, &key.name);
        let Some(deployment) = known else {
            return Plan::nothing();
        };
        if selector(&deployment).is_none_or(|selector| *selector == LabelSelector::default()) {
            return selecting_all(&deployment);
        }
        let mut claimed = claim_sets(cx.cluster, &deployment);
        if let Some(plan) = claimed.take_plan(&*deployment) {
            return plan;
        }
        let sets = Sets::of(&deployment, claimed.owned);
        step(cx, &deployment, &sets)
    }
}

fn selector(deployment: &Deployment) -> Option<&LabelSelector> {
    deployment.spec.as_ref().map(|spec| &spec.selector)
}

/// A Deployment that recreates its pods waits for the last of the old ones.
fn pod_changed(cluster: &Cluster, delta: &Delta<'_, Pod>, keys: &mut Keys) {
    let Delta::Deleted(pod) = delta else {
        return;
    };
    let set = controller_of(&***pod).and_then(|reference| {
        let set = cluster.get::<ReplicaSet>(namespace(&***pod), &reference.name)?;
        (reference.kind == "ReplicaSet" && uid(&*set) == reference.uid).then_some(set)
    });
    let Some(set) = set else {
        return;
    };
    let deployment = controller_of(&*set).and_then(|reference| {
        let deployment = cluster.get::<Deployment>(namespace(&*set), &reference.name)?;
        let is_it = reference.kind == "Deployment" && uid(&*deployment) == reference.uid;
        is_it.then_some(deployment)
    });
    if let Some(deployment) = deployment
        && matches!(strategy(&deployment), Strategy::Recreate)
    {
        keys.add_object(&*deployment);
    }
}

fn claim_sets(cluster: &Cluster, deployment: &Deployment) -> Claimed<ReplicaSet> {
    let selector = selector(deployment);
    let wanted = selector.and_then(|selector| selector.match_labels.as_ref());
    let candidates = claimable::<Deployment, ReplicaSet>(cluster, deployment, wanted);
    claim(deployment, &Selector::new(selector), candidates, |_| true)
}

/// Nobody can mean all pods.
fn selecting_all(deployment: &Deployment) -> Plan {
    let message = "This deployment is selecting all pods. A non-empty selector is required.";
    let plan = Plan::nothing().event(Event::warning(deployment, "SelectingAll", message));
    let status = deployment.status.clone().unwrap_or_default();
    let generation = deployment.metadata.generation;
    if status.observed_generation.unwrap_or(0) >= generation.unwrap_or(0) {
        return plan;
    }
    let mut changed = deployment.clone();
    changed.status.get_or_insert_default().observed_generation = generation;
    Plan {
        events: plan.events,
        ..Plan::write(Write::update_status(&changed))
    }
}

/// The next step. Upstream's `syncDeployment`.
fn step(cx: &Cx<'_>, deployment: &Arc<Deployment>, sets: &Sets) -> Plan {
    let is_paused = is_paused(deployment);
    if !is_deleting(&**deployment)
        && let Some(plan) = check_paused(cx, deployment, is_paused)
    {
        return plan;
    }
    if let Some(plan) = new_set::sync_revision(cx, deployment, sets) {
        return plan;
    }
    if is_deleting(&**deployment) {
        return status::plain_status(cx, deployment, sets);
    }
    if is_paused {
        return scale(cx, deployment, sets);
    }
    if let Some(to) = rollback::rollback_to(deployment) {
        return rollback::roll_back(deployment, sets, to);
    }
    if scale::is_scaling_event(deployment, sets) {
        return scale(cx, deployment, sets);
    }
    match strategy(deployment) {
        Strategy::Recreate => recreate::roll_out(cx, deployment, sets),
        Strategy::RollingUpdate(_) => rolling::roll_out(cx, deployment, sets),
        Strategy::Unknown(other) => {
            Plan::retry(format!("unexpected deployment strategy type: {other}"))
        }
    }
}

fn is_paused(deployment: &Deployment) -> bool {
    let spec = deployment.spec.as_ref();
    spec.and_then(|spec| spec.paused).unwrap_or(false)
}

/// Tells of a pause, and of its end: time does not count while a Deployment is paused. Upstream's
/// `checkPausedConditions`.
fn check_paused(cx: &Cx<'_>, deployment: &Deployment, is_paused: bool) -> Option<Plan> {
    let current = of(deployment, PROGRESSING);
    let is_told = is_because(current, reason::PAUSED);
    let is_timed_out = is_because(current, reason::TIMED_OUT);
    if !status::has_progress_deadline(deployment) || is_timed_out || is_paused == is_told {
        return None;
    }
    let (why, message) = match is_paused {
        true => (reason::PAUSED, "Deployment is paused"),
        false => (reason::RESUMED, "Deployment is resumed"),
    };
    let changed = with(
        deployment,
        condition(PROGRESSING, "Unknown", why, message, cx.now),
    );
    Some(Plan::write(Write::update_status(&changed)))
}

/// Scales without rolling out. Upstream's `sync`.
fn scale(cx: &Cx<'_>, deployment: &Arc<Deployment>, sets: &Sets) -> Plan {
    let mut writes = scale::scale(deployment, sets);
    let is_at_rest = is_paused(deployment) && rollback::rollback_to(deployment).is_none();
    if writes.is_empty() && is_at_rest {
        writes = cleanup::clean_up(deployment, &sets.old);
    }
    match writes.is_empty() {
        true => status::plain_status(cx, deployment, sets),
        false => carry_out(deployment, writes, Finish::Plain),
    }
}

/// Which status is told after a step.
#[derive(Clone, Copy)]
enum Finish {
    /// Without progress.
    Plain,
    /// With progress.
    Rollout,
}

/// Writes, then tells how things are. The Deployment is the one that was acted upon, so that its status
/// does not claim to have seen a newer generation.
fn carry_out(deployment: &Arc<Deployment>, writes: Vec<Write>, finish: Finish) -> Plan {
    let deployment = deployment.clone();
    Plan::sequence(writes).then(move |cx, outcomes| {
        let is_done =
            |outcome: &Outcome| matches!(outcome, Outcome::Done(_) | Outcome::Tolerated(_));
        if !outcomes.iter().all(is_done) {
            return Plan::nothing();
        }
        let sets = Sets::known(cx.cluster, &deployment);
        match finish {
            Finish::Plain => status::plain_status(cx, &deployment, &sets),
            Finish::Rollout => status::rollout(cx, &deployment, &sets),
        }
    })
}
