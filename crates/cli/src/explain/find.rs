//! Which pod is meant.

use anyhow::{Result, bail};
use std::sync::Arc;
use stowplan_api::load::{Kind, Object as ApiObject};
use stowplan_bridge::convert::api_object;
use stowplan_engine::model::{Kind as EngineKind, Object, Pod};
use stowplan_engine::scheduler::Change;
use stowplan_manifest::Loaded;
use stowplan_report::State;
use stowplan_sim::{Simulation, interner};

/// A pod as if it were on no node yet.
pub(super) struct Found {
    pub(super) pod: Arc<Pod>,
    pub(super) state: State,
}

/// Finds the pod and takes it out of the cluster, if it is in there.
pub(super) fn find(
    simulation: &mut Simulation,
    wanted: &str,
    namespace: Option<&str>,
) -> Result<Found> {
    let (first, name) = match wanted.split_once('/') {
        Some((first, name)) => (Some(first), name),
        None => (None, wanted),
    };
    if name.is_empty() || name.contains('/') {
        bail!("{wanted:?} is no pod's name, expected NAME, NAMESPACE/NAME or KIND/NAME");
    }
    let namespaces: Vec<&str> = [first, namespace, Some("default")]
        .into_iter()
        .flatten()
        .collect();
    // A first part may also be a workload's kind; a namespace given with -n settles that.
    let pod_namespace = match (first, namespace) {
        (Some("pod" | "pods" | "po"), _) => Some(namespace.unwrap_or("default")),
        (Some(first), Some(given)) if first != given && workload_kind(first).is_none() => {
            bail!("{wanted:?} names the namespace {first:?}, but -n says {given:?}")
        }
        (Some(first), Some(given)) if first == given => Some(given),
        (Some(_), Some(_)) => None,
        _ => namespaces.first().copied(),
    };
    if let Some(pod) = pod_namespace.and_then(|namespace| listed(simulation, namespace, name)) {
        return Ok(take_out(simulation, pod));
    }
    if let Some(kind) = first.and_then(workload_kind) {
        let namespace = namespace.unwrap_or("default");
        return one_more(simulation, kind, namespace, name);
    }
    bail!(not_found(simulation, wanted, pod_namespace, name))
}

fn listed(simulation: &mut Simulation, namespace: &str, name: &str) -> Option<Arc<Pod>> {
    let cluster = simulation.scheduler.cluster();
    let (namespace, name) = (cluster.names.get(namespace)?, cluster.names.get(name)?);
    cluster.listed_pod(namespace, name).cloned()
}

fn take_out(simulation: &mut Simulation, pod: Arc<Pod>) -> Found {
    let Some(node) = pod.node_name else {
        return Found {
            pod,
            state: State::Pending,
        };
    };
    let node = simulation.scheduler.cluster().names.text(node).to_owned();
    let gone = Change::Delete {
        kind: EngineKind::Pod,
        namespace: pod.namespace,
        name: pod.name,
    };
    simulation.scheduler.apply(gone, simulation.now);
    let pod = Pod {
        node_name: None,
        nominated_node_name: None,
        ..Pod::clone(&pod)
    };
    Found {
        pod: Arc::new(pod),
        state: State::Bound(node),
    }
}

/// Kinds as people and kubectl write them.
pub(super) fn workload_kind(text: &str) -> Option<Kind> {
    match text.to_ascii_lowercase().as_str() {
        "deployment" | "deployments" | "deploy" => Some(Kind::Deployment),
        "replicaset" | "replicasets" | "rs" => Some(Kind::ReplicaSet),
        "statefulset" | "statefulsets" | "sts" => Some(Kind::StatefulSet),
        "daemonset" | "daemonsets" | "ds" => Some(Kind::DaemonSet),
        "job" | "jobs" => Some(Kind::Job),
        "replicationcontroller" | "replicationcontrollers" | "rc" => {
            Some(Kind::ReplicationController)
        }
        _ => None,
    }
}

fn one_more(simulation: &mut Simulation, kind: Kind, namespace: &str, name: &str) -> Result<Found> {
    let is_wanted = |loaded: &&Loaded| {
        let object = &loaded.object;
        object.kind() == kind && object.namespace() == namespace && object.name() == name
    };
    let Some(workload) = simulation.prepared.objects.iter().find(is_wanted) else {
        bail!("no {} {namespace}/{name} in the input", kind.as_str());
    };
    let title = workload.object.title();
    let Some(made) = simulation.prepared.one_more(workload) else {
        match kind {
            Kind::DaemonSet => {
                bail!("{title} makes its pods by node: name one of them, for example {name}-NODE")
            }
            _ => bail!("{title} makes no more pods: name one of those that it has"),
        }
    };
    let mut found = None;
    for loaded in &made {
        match api_object(
            &mut interner(simulation.scheduler.cluster_mut()),
            &loaded.object,
        )? {
            Some(Object::Pod(pod)) => found = Some(pod),
            Some(object) => simulation
                .scheduler
                .apply(Change::Upsert(object), simulation.now),
            None => {}
        }
    }
    match found {
        Some(pod) => Ok(Found {
            pod,
            state: State::Hypothetical(title),
        }),
        None => bail!("{title} makes no pods"),
    }
}

/// Where else pods of this name are, or why this one cannot be asked about.
fn not_found(simulation: &Simulation, wanted: &str, namespace: Option<&str>, name: &str) -> String {
    let pods = simulation.prepared.objects.iter().filter(|loaded| {
        matches!(loaded.object, ApiObject::Pod(_)) && loaded.object.name() == name
    });
    let elsewhere: Vec<String> = pods
        .map(|loaded| format!("{}/{name}", loaded.object.namespace()))
        .take(5)
        .collect();
    let wanted_pod = namespace.map(|namespace| format!("{namespace}/{name}"));
    match elsewhere.as_slice() {
        [] => format!("no pod {wanted:?} in the input"),
        elsewhere
            if wanted_pod
                .as_ref()
                .is_some_and(|pod| elsewhere.contains(pod)) =>
        {
            format!(
                "pod {wanted:?} is not in the cluster any more: it has finished or was preempted"
            )
        }
        elsewhere => format!(
            "no pod {wanted:?} in the input, but there is {}",
            elsewhere.join(", ")
        ),
    }
}
