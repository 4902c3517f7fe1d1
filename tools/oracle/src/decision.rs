//! Recorded decisions: a cluster, a pod, and the whole tournament.

mod comparable;
mod fast;
mod recorder;

use crate::diff::diff;
use anyhow::{Context, Result};
use comparable::normalize;
use recorder::Recorder;
use serde_json::Value;
use std::sync::Arc;
use stowplan_bridge::config::profile_from_json;
use stowplan_bridge::convert::{Interner, object};
use stowplan_engine::Snapshot;
use stowplan_engine::explain::explain;
use stowplan_engine::fast::Path;
use stowplan_engine::framework::{Cx, Framework, Underway};
use stowplan_engine::model::{Kind, Object, Pod};

/// Runs one case on these paths; returns the differences, none if all is equal.
pub fn run_case(case: &Value, paths: &[Path]) -> Vec<String> {
    let differences = World::load(case).and_then(|mut world| {
        let mut expected = case["expect"].clone();
        normalize(&mut expected);
        let mut lines = Vec::new();
        for path in paths {
            lines.extend(match path {
                Path::Plain => world.differences(&expected),
                Path::Fast => fast::differences(&mut world, &expected)?,
            });
        }
        Ok(lines)
    });
    differences.unwrap_or_else(|error| vec![format!("the case cannot be loaded: {error:#}")])
}

/// Decides a case afresh; the answer has the form of a case's `expect`.
pub fn decide(case: &Value) -> Result<Value> {
    Ok(World::load(case)?.record())
}

/// Lists in a case and the kind that they hold.
const LISTS: &[(&str, Kind)] = &[
    ("nodes", Kind::Node),
    ("pods", Kind::Pod),
    ("namespaces", Kind::Namespace),
    ("podDisruptionBudgets", Kind::PodDisruptionBudget),
    ("persistentVolumes", Kind::PersistentVolume),
    ("persistentVolumeClaims", Kind::PersistentVolumeClaim),
    ("storageClasses", Kind::StorageClass),
    ("csiNodes", Kind::CSINode),
    ("csiDrivers", Kind::CSIDriver),
    ("csiStorageCapacities", Kind::CSIStorageCapacity),
    ("volumeAttachments", Kind::VolumeAttachment),
    ("services", Kind::Service),
    ("replicaSets", Kind::ReplicaSet),
    ("statefulSets", Kind::StatefulSet),
    ("replicationControllers", Kind::ReplicationController),
];

/// A case, ready to be decided.
struct World {
    cluster: Snapshot,
    underway: Underway,
    framework: Framework,
    pod: Arc<Pod>,
}

impl World {
    fn load(case: &Value) -> Result<Self> {
        let mut cluster = Snapshot::new();
        let mut pending = Vec::new();
        for (list, kind) in LISTS {
            for (i, json) in case["objects"][*list]
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
            {
                let at = || format!("objects.{list}[{i}]");
                match object(&mut interner(&mut cluster), *kind, json).with_context(at)? {
                    Object::Pod(pod) if !pod.is_assigned() => pending.push(pod),
                    object => {
                        cluster.upsert(object);
                    }
                }
            }
        }
        let profile = Some(&case["profile"]).filter(|profile| !profile.is_null());
        let framework =
            profile_from_json(profile, &mut interner(&mut cluster)).context("profile")?;
        let Object::Pod(pod) =
            object(&mut interner(&mut cluster), Kind::Pod, &case["pod"]).context("pod")?
        else {
            unreachable!("the kind is Pod")
        };
        let mut world = Self {
            cluster,
            underway: Underway::default(),
            framework,
            pod,
        };
        world.nominate(pending);
        Ok(world)
    }

    /// Pending pods with a nomination reach the nominator through the queue: finished pods, those
    /// of other schedulers and gated ones never do.
    fn nominate(&mut self, pending: Vec<Arc<Pod>>) {
        for pod in pending {
            let Some(node) = pod.nominated_node_name else {
                continue;
            };
            let gated = self.with_cx(|cx| self.framework.run_pre_enqueue(cx, &pod, None).is_some());
            if !pod.finished && pod.scheduler_name == self.pod.scheduler_name && !gated {
                self.underway.nominator.add(pod, node);
            }
        }
    }

    /// The decision in the form of a case's `expect`.
    fn record(&self) -> Value {
        let explanation = self.with_cx(|cx| explain(&self.framework, cx, &self.pod, false));
        self.recorder().explanation(&explanation)
    }

    /// What differs from a comparable recording on the plain path.
    fn differences(&self, expected: &Value) -> Vec<String> {
        let mut got = self.record();
        normalize(&mut got);
        let lines = diff(expected, &got).into_iter();
        lines.map(|line| format!("plain: {line}")).collect()
    }

    fn recorder(&self) -> Recorder<'_> {
        Recorder {
            cluster: &self.cluster,
            framework: &self.framework,
            pod: &self.pod,
        }
    }

    /// Nobody is being preempted.
    fn with_cx<T>(&self, f: impl FnOnce(Cx<'_>) -> T) -> T {
        f(Cx {
            cluster: &self.cluster,
            underway: &self.underway,
        })
    }
}

fn interner(cluster: &mut Snapshot) -> Interner<'_> {
    Interner {
        names: &mut cluster.names,
        resource_names: &mut cluster.resource_names,
    }
}
