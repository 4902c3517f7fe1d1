//! Where pods come from.

use crate::objects::{Disk, Maker, mount, namespace, volume_objects};
use crate::workloads::{PodTemplate, Scale, TEAM, Volume, Where};
use std::sync::Arc;
use stowplan_engine::Snapshot;
use stowplan_engine::model::{Object, Pod};

/// A new pod, and what is created just before it.
pub(crate) struct Arrival {
    /// Claims and volumes.
    pub(crate) objects: Vec<Object>,
    /// The pod.
    pub(crate) pod: Arc<Pod>,
}

/// An endless row of pods.
pub(crate) trait Pods {
    /// The next one.
    fn next(&mut self, maker: &mut Maker, cluster: &mut Snapshot) -> Arrival;
}

/// The namespaces that a step's pods live in, with the objects of those that are new.
pub(crate) fn namespaces(place: Where, step: usize, scale: Scale) -> Vec<String> {
    match place {
        Where::Step => vec![format!("namespace-{step}")],
        Where::In(name) => vec![name.to_owned()],
        Where::Teams(prefix, count) => {
            let count = if count == 1 { 1 } else { scale.pods(count) };
            (0..count).map(|i| format!("{prefix}-{i}")).collect()
        }
    }
}

/// The namespaces as objects.
pub(crate) fn namespace_objects(
    cluster: &mut Snapshot,
    place: Where,
    names: &[String],
) -> Vec<Object> {
    let label = matches!(place, Where::Teams(..)).then_some(TEAM);
    names
        .iter()
        .map(|name| namespace(cluster, name, label))
        .collect()
}

/// Pods of one template, dealt out over namespaces.
pub(crate) struct Alike {
    template: PodTemplate,
    /// One per namespace.
    prototypes: Vec<Pod>,
    made: usize,
}

impl Alike {
    pub(crate) fn new(
        maker: &mut Maker,
        cluster: &mut Snapshot,
        template: PodTemplate,
        namespaces: &[String],
    ) -> Self {
        let prototypes = namespaces
            .iter()
            .map(|namespace| maker.of_template(cluster, namespace, &template));
        Self {
            template,
            prototypes: prototypes.collect(),
            made: 0,
        }
    }
}

impl Pods for Alike {
    fn next(&mut self, maker: &mut Maker, cluster: &mut Snapshot) -> Arrival {
        let serial = maker.serial();
        let prototype = &self.prototypes[self.made % self.prototypes.len()];
        self.made += 1;
        let name = format!("{}{serial}", self.template.prefix);
        let mut pod = maker.copy(cluster, prototype, &name);
        let disk = match self.template.volume {
            Volume::InTree => Some(Disk::InTree),
            Volume::Csi => Some(Disk::Csi),
            Volume::None | Volume::Secret => None,
        };
        let mut objects = Vec::new();
        if let Some(disk) = disk {
            let claim = format!("pvc-{serial}");
            let volume = format!("vol-{serial}");
            let pair = maker.bound_claim(cluster, pod.namespace, &claim, &volume, disk);
            mount(cluster, &mut pod, pair.1.name);
            objects = volume_objects(pair);
        }
        Arrival {
            objects,
            pod: Arc::new(pod),
        }
    }
}
