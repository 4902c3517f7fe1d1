//! Templates → the engine's objects.
//!
//! Objects are made as `stowplan-bridge` would make them, defaults of the API server included, but without
//! the detour through the API's types: a million of them have to be made.

mod mixed;
mod pods;
mod storage;

pub(super) use mixed::{DEDICATED, IMAGES, NODE_LABELS, SPOT, ZONES, image};
pub(super) use pods::{Placement, only_node, requests};
pub(super) use storage::{Disk, mount, volume_objects};

use super::workloads::{HOSTNAME, NAMED_NODE, NodeTemplate, ZONE};
use std::sync::Arc;
use stowplan_base::{Names, Quantity, Rng, Sym, sym};
use stowplan_engine::Snapshot;
use stowplan_engine::model::{
    CsiDriverLimit, CsiNode, Effect, Kind, Labels, Namespace, Node, Object, PodSelectorOwner,
    Requirement, ResourceList, Selector, Taint,
};

/// Makes objects. Names are counted, uids are drawn: one seed, one cluster.
pub(super) struct Maker {
    rng: Rng,
    /// What every object's `resourceVersion` is: the simulated API has none.
    no_version: Arc<str>,
    /// How many pods were named.
    named: usize,
}

impl Maker {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            no_version: "".into(),
            named: 0,
        }
    }

    /// A number that no other pod of the cluster has in its name.
    pub(super) fn serial(&mut self) -> usize {
        self.named += 1;
        self.named - 1
    }

    /// A new uid, as long as real ones are.
    fn uid(&mut self) -> Arc<str> {
        let (a, b) = (self.rng.next_u64(), self.rng.next_u64());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            0x8000 | (b >> 50),
            b & 0xffff_ffff_ffff
        )
        .into()
    }

    /// The `i`th node of a template, and its CSINode if drivers run on it.
    pub(super) fn node(
        &mut self,
        cluster: &mut Snapshot,
        template: &NodeTemplate,
        i: usize,
    ) -> Vec<Object> {
        let name = match template.prefix {
            NAMED_NODE => NAMED_NODE.to_owned(),
            prefix => format!("{prefix}{i}"),
        };
        let names = &mut cluster.names;
        let name = names.intern(&name);
        let mut labels = vec![(names.intern(HOSTNAME), name)];
        if let Some(zone) = template.zones.get(i % template.zones.len().max(1)) {
            labels.push((names.intern(ZONE), names.intern(zone)));
        }
        let mut amounts = vec![
            (sym::CPU, Quantity::from_units(template.cpu)),
            (sym::MEMORY, gib(template.memory_gib)),
            (sym::PODS, Quantity::from_units(template.pods)),
        ];
        let taints = template.taint.map(|key| Taint {
            key: names.intern(key),
            value: Sym::EMPTY,
            effect: Effect::NoSchedule,
        });
        let mut objects = Vec::new();
        if let Some(count) = template.ebs_volumes {
            let resource = names.intern("attachable-volumes-csi-ebs.csi.aws.com");
            amounts.push((resource, Quantity::from_units(count.into())));
            let migrated = template.ebs_migrated.then_some(sym::AWS_EBS_PLUGIN);
            objects.push(Object::CSINode(Arc::new(CsiNode {
                name,
                migrated_plugins: migrated.into_iter().collect(),
                drivers: [CsiDriverLimit {
                    name: sym::AWS_EBS_DRIVER,
                    count: Some(count),
                }]
                .into(),
            })));
        }
        let mut node = self.bare_node(cluster, name, labels, amounts);
        node.taints = taints.into_iter().collect();
        objects.push(Object::Node(Arc::new(node)));
        objects
    }

    /// A ready node.
    pub(super) fn bare_node(
        &mut self,
        cluster: &mut Snapshot,
        name: Sym,
        labels: Vec<(Sym, Sym)>,
        allocatable: Vec<(Sym, Quantity)>,
    ) -> Node {
        let allocatable_list = ResourceList::new(allocatable);
        let Snapshot {
            names,
            resource_names,
            ..
        } = cluster;
        Node {
            name,
            uid: self.uid(),
            labels: Labels::new(labels),
            annotations: Labels::default(),
            unschedulable: false,
            taints: Box::default(),
            allocatable: resource_names.resources(&allocatable_list, names),
            allocatable_list,
            conditions: [(names.intern("Ready"), names.intern("True"))].into(),
            images: Box::default(),
            declared_features: Box::default(),
        }
    }
}

/// A namespace, with the label that the API server adds.
pub(super) fn namespace(cluster: &mut Snapshot, name: &str, label: Option<(&str, &str)>) -> Object {
    let names = &mut cluster.names;
    let own = ("kubernetes.io/metadata.name", name);
    let labels: Vec<_> = [own]
        .into_iter()
        .chain(label)
        .map(|(key, value)| (names.intern(key), names.intern(value)))
        .collect();
    Object::Namespace(Arc::new(Namespace {
        name: names.intern(name),
        labels: Labels::new(labels),
    }))
}

/// A service that selects pods by one label.
pub(super) fn service(
    cluster: &mut Snapshot,
    namespace: &str,
    name: &str,
    label: (&str, &str),
) -> Object {
    let names = &mut cluster.names;
    Object::Service(Arc::new(PodSelectorOwner {
        kind: Kind::Service,
        namespace: names.intern(namespace),
        name: names.intern(name),
        selector: label_selector(names, label),
    }))
}

/// `matchLabels` of one label.
pub(super) fn label_selector(names: &mut Names, (key, value): (&str, &str)) -> Selector {
    Selector::All([Requirement::equals(names.intern(key), names.intern(value))].into())
}

fn gib(n: i64) -> Quantity {
    Quantity::from_units(n << 30)
}
