//! Which workload has its turn when, and what it wants.

use super::{Cluster, Workloads};
use crate::Source;
use crate::road::made_up_uid;
use serde_json::Value;
use std::collections::BTreeMap;
use stowplan_apimachinery::{Edit, View as _, meta};
use stowplan_controllers::expand::{
    Owner, View, daemon_set, deployment, job, replica_set, stateful_set,
};

/// Whether objects of a kind want pods.
pub(super) fn is_workload(kind: &str) -> bool {
    matches!(
        kind,
        "DaemonSet" | "Deployment" | "Job" | "ReplicaSet" | "ReplicationController" | "StatefulSet"
    )
}

/// One workload that wants something; a ReplicaSet may be one that a Deployment has just made.
pub(super) struct Turn {
    source: Source,
    workload: Value,
    is_new: bool,
}

/// The workloads in the order in which they have their turns: Deployments that have no ReplicaSet, then
/// the others as they were read, ReplicaSets with as many pods as their Deployments want.
pub(super) fn turns(workloads: &Workloads) -> Vec<Turn> {
    let (deployments, others): (Vec<_>, Vec<_>) = workloads
        .all
        .iter()
        .partition(|(_, workload)| workload.text("kind") == "Deployment");
    // Places among the others, by namespace and name of the Deployment.
    let mut sets: BTreeMap<(&str, String), Vec<usize>> = BTreeMap::new();
    for (place, (_, workload)) in others.iter().enumerate() {
        if let Some(owner) = Owner::of(workload).filter(|_| is_set(workload)) {
            let key = (meta::namespace(workload), owner.name);
            sets.entry(key).or_default().push(place);
        }
    }
    let turn = |(source, workload): &(Source, Value), is_new| Turn {
        source: source.clone(),
        workload: workload.clone(),
        is_new,
    };
    let mut turns: Vec<Turn> = others.iter().map(|other| turn(other, false)).collect();
    let mut first = Vec::new();
    for given in deployments {
        let key = (meta::namespace(&given.1), meta::name(&given.1).to_owned());
        let own: Vec<usize> = sets.get(&key).into_iter().flatten().copied().collect();
        let own = own
            .into_iter()
            .filter(|place| deployment::is_own(&others[*place].1, &given.1));
        let own: Vec<usize> = own.collect();
        if own.is_empty() {
            first.push(turn(given, true));
            continue;
        }
        let values: Vec<&Value> = own.iter().map(|place| &others[*place].1).collect();
        let Some(newest) = deployment::reconcile(&View::default(), &given.1, &values) else {
            continue;
        };
        let is_newest = |place: &&usize| meta::name(&others[**place].1) == meta::name(&newest);
        if let Some(place) = own.iter().find(is_newest) {
            turns[*place].workload = newest;
        }
    }
    first.extend(turns);
    first
}

fn is_set(workload: &Value) -> bool {
    workload.text("kind") == "ReplicaSet"
}

/// What a workload wants that is not there.
pub(super) fn wanted(cluster: &Cluster, turn: &Turn) -> Vec<(Source, Value)> {
    let wanted = match turn.is_new {
        true => from_scratch(&cluster.view, &turn.workload),
        false => reconcile(&cluster.view, &turn.workload),
    };
    let at = |wanted| (turn.source.clone(), wanted);
    wanted.into_iter().map(at).collect()
}

fn reconcile(view: &View, workload: &Value) -> Vec<Value> {
    match workload.text("kind") {
        "StatefulSet" => stateful_set::reconcile(view, workload),
        "DaemonSet" => daemon_set::reconcile(view, workload),
        "Job" => job::reconcile(view, workload),
        _ => replica_set::reconcile(view, workload),
    }
}

/// The pods of a Deployment that has no ReplicaSet, and the ReplicaSet.
fn from_scratch(view: &View, given: &Value) -> Vec<Value> {
    let Some(mut set) = deployment::reconcile(view, given, &[]) else {
        return Vec::new();
    };
    if meta::uid(&set).is_empty() {
        let uid = made_up_uid("ReplicaSet", meta::namespace(&set), meta::name(&set));
        set.at_mut("metadata").set("uid", uid);
    }
    let mut wanted = replica_set::reconcile(view, &set);
    wanted.push(set);
    wanted
}

/// One more pod of a workload, on top of all that it should have: what would become of it?
///
/// The pod comes first, then the claims that come with it. `None` if there is no such workload, if it
/// makes no pods by number (a DaemonSet), or if all its numbers are taken (an Indexed Job).
pub(super) fn one_more(
    view: &View,
    workloads: &Workloads,
    (kind, namespace, name): &(&str, String, String),
) -> Option<Vec<Value>> {
    let is_it = |workload: &Value| {
        workload.text("kind") == *kind
            && meta::namespace(workload) == namespace
            && meta::name(workload) == name
    };
    let (_, workload) = workloads.all.iter().find(|(_, workload)| is_it(workload))?;
    let mut workload = workload.clone();
    let spec = workload.at_mut("spec");
    let field = if *kind == "Job" {
        "parallelism"
    } else {
        "replicas"
    };
    let more = spec.int(field).unwrap_or(1).saturating_add(1);
    spec.set(field, more);
    if *kind == "Job" {
        spec.unset("completions");
        spec.unset("suspend");
        workload.unset("status");
    }
    let mut made = match *kind {
        "DaemonSet" => return None,
        "Deployment" => {
            let sets = workloads.all.iter().map(|(_, set)| set);
            let own = sets.filter(|set| is_set(set) && deployment::is_own(set, &workload));
            let own: Vec<&Value> = own.collect();
            match own.is_empty() {
                true => from_scratch(view, &workload),
                false => reconcile(view, &deployment::reconcile(view, &workload, &own)?),
            }
        }
        _ => reconcile(view, &workload),
    };
    let is_pod = |made: &Value| made.text("kind") == "Pod";
    let pod = made.remove(made.iter().rposition(is_pod)?);
    let is_claim = |made: &Value| made.text("kind") == "PersistentVolumeClaim";
    made.retain(is_claim);
    made.insert(0, pod);
    Some(made)
}
