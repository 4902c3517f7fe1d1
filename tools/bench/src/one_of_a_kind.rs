//! Pods of which no two are alike: ordinals, indices, one per node.

use crate::objects::{
    Disk, Maker, Placement, ZONES, label_selector, mount, only_node, requests, volume_objects,
};
use crate::source::{Arrival, Pods};
use std::sync::Arc;
use stowplan_base::{Sym, sym};
use stowplan_engine::Snapshot;
use stowplan_engine::model::{
    AffinityTerm, BindingMode, Effect, Kind, NodeSelector, NodeSelectorTerm, Object, OwnerRef, Pod,
    PodAffinity, PodSelectorOwner, Requirement, Selector, SpreadConstraint, StorageClass,
    Toleration, TolerationOp, UnsatisfiableAction,
};

/// How many pods a StatefulSet or a Job has.
const REPLICAS: usize = 100;

/// In turn, an ordinal of a StatefulSet with a claim of its own, a pod of an Indexed Job, and a
/// DaemonSet's pod for one node.
pub(crate) struct OneOfAKind {
    namespace: String,
    /// One per StatefulSet.
    stateful_sets: Vec<Pod>,
    /// One per Job.
    jobs: Vec<Pod>,
    daemon: Pod,
    nodes: Vec<Sym>,
    /// Claims of this class are provisioned where their first pod goes.
    class: Sym,
    made: usize,
}

impl OneOfAKind {
    /// So many pods for the cluster's nodes, and the objects behind them.
    pub(crate) fn new(
        maker: &mut Maker,
        cluster: &mut Snapshot,
        namespace: &str,
        pods: usize,
    ) -> (Self, Vec<Object>) {
        let groups = (pods / 3).div_ceil(REPLICAS).max(1);
        let class = cluster.names.intern("provisioned");
        let mut objects = vec![Object::StorageClass(Arc::new(StorageClass {
            name: class,
            provisioner: sym::AWS_EBS_DRIVER,
            binding_mode: Some(BindingMode::WaitForFirstConsumer),
            allowed_topologies: Box::default(),
        }))];
        let mut stateful_sets = Vec::new();
        let mut jobs = Vec::new();
        for i in 0..groups {
            let (prototype, set) = stateful_set(maker, cluster, namespace, i);
            stateful_sets.push(prototype);
            objects.push(set);
            jobs.push(job(maker, cluster, namespace, i));
        }
        let nodes = cluster.nodes().iter().map(|node| node.node.name).collect();
        let pods = Self {
            namespace: namespace.to_owned(),
            stateful_sets,
            jobs,
            daemon: daemon(maker, cluster, namespace),
            nodes,
            class,
            made: 0,
        };
        (pods, objects)
    }

    /// An ordinal. Every other one finds its claim bound to a volume in some zone.
    fn ordinal(&self, i: usize, maker: &mut Maker, cluster: &mut Snapshot) -> Arrival {
        let set = i % self.stateful_sets.len();
        let ordinal = i / self.stateful_sets.len();
        let name = format!("web-{set}-{ordinal}");
        let mut pod = maker.copy(cluster, &self.stateful_sets[set], &name);
        add_labels(
            &mut pod,
            cluster,
            [
                ("statefulset.kubernetes.io/pod-name", &name),
                ("apps.kubernetes.io/pod-index", &ordinal.to_string()),
            ],
        );
        let claim = format!("data-{name}");
        let objects = if ordinal.is_multiple_of(2) {
            let volume = format!("vol-{}-{name}", self.namespace);
            let (mut volume, claim) =
                maker.bound_claim(cluster, pod.namespace, &claim, &volume, Disk::Csi);
            let zone = cluster.names.intern(ZONES[i % ZONES.len()]);
            volume.node_affinity = Some(NodeSelector {
                terms: [NodeSelectorTerm {
                    expressions: [Requirement::equals(sym::ZONE, zone)].into(),
                    ..NodeSelectorTerm::default()
                }]
                .into(),
            });
            mount(cluster, &mut pod, claim.name);
            volume_objects((volume, claim))
        } else {
            let claim = maker.claim(cluster, pod.namespace, &claim, self.class);
            mount(cluster, &mut pod, claim.name);
            vec![Object::PersistentVolumeClaim(Arc::new(claim))]
        };
        Arrival {
            objects,
            pod: Arc::new(pod),
        }
    }

    fn index(&self, i: usize, maker: &mut Maker, cluster: &mut Snapshot) -> Pod {
        let job = i % self.jobs.len();
        let index = i / self.jobs.len();
        let name = format!("train-{job}-{index}-{}", maker.serial());
        let mut pod = maker.copy(cluster, &self.jobs[job], &name);
        let index = index.to_string();
        add_labels(
            &mut pod,
            cluster,
            [("batch.kubernetes.io/job-completion-index", &index)],
        );
        pod
    }

    fn agent(&self, i: usize, maker: &mut Maker, cluster: &mut Snapshot) -> Pod {
        let name = format!("agent-{}", maker.serial());
        let mut pod = maker.copy(cluster, &self.daemon, &name);
        pod.node_affinity.required = Some(only_node(self.nodes[i % self.nodes.len()]));
        pod
    }
}

impl Pods for OneOfAKind {
    fn next(&mut self, maker: &mut Maker, cluster: &mut Snapshot) -> Arrival {
        let i = self.made / 3;
        let kind = self.made % 3;
        self.made += 1;
        let pod = match kind {
            0 => return self.ordinal(i, maker, cluster),
            1 => self.index(i, maker, cluster),
            _ => self.agent(i, maker, cluster),
        };
        Arrival {
            objects: Vec::new(),
            pod: Arc::new(pod),
        }
    }
}

fn add_labels<const N: usize>(pod: &mut Pod, cluster: &mut Snapshot, labels: [(&str, &str); N]) {
    let names = &mut cluster.names;
    let more: Vec<_> = labels
        .iter()
        .map(|(key, value)| (names.intern(key), names.intern(value)))
        .collect();
    pod.labels = stowplan_engine::model::Labels::new(pod.labels.iter().chain(more));
}

/// A prototype with one label, which is returned as a selector too.
fn labelled(
    maker: &mut Maker,
    cluster: &mut Snapshot,
    namespace: &str,
    label: (&str, &str),
    asked: (i64, i64),
) -> (Pod, Selector) {
    let names = &mut cluster.names;
    let placement = Placement {
        labels: vec![(names.intern(label.0), names.intern(label.1))],
        priority: 0,
        image: names.intern("registry.k8s.io/pause:3.10.2"),
        requests: requests(cluster, Some(asked)),
    };
    let pod = maker.prototype(cluster, namespace, placement);
    (pod, label_selector(&mut cluster.names, label))
}

fn controlled_by(pod: &mut Pod, cluster: &mut Snapshot, api_version: &str, kind: &str, name: &str) {
    let names = &mut cluster.names;
    pod.controller = Some(OwnerRef {
        api_version: names.intern(api_version),
        kind: names.intern(kind),
        name: names.intern(name),
        uid: format!("uid-of-{kind}-{name}").into(),
    });
}

/// Ordinals stay off each other's nodes and spread over zones as far as their volumes allow.
fn stateful_set(
    maker: &mut Maker,
    cluster: &mut Snapshot,
    namespace: &str,
    i: usize,
) -> (Pod, Object) {
    let name = format!("web-{i}");
    let (mut pod, own) = labelled(maker, cluster, namespace, ("app", &name), (500, 1024));
    controlled_by(&mut pod, cluster, "apps/v1", "StatefulSet", &name);
    pod.pod_anti_affinity = Some(PodAffinity {
        required: [AffinityTerm {
            namespaces: [pod.namespace].into(),
            namespace_selector: Selector::Nothing,
            selector: own.clone(),
            topology_key: sym::HOSTNAME,
        }]
        .into(),
        ..PodAffinity::default()
    });
    pod.spread_constraints = [SpreadConstraint {
        max_skew: 1,
        topology_key: sym::ZONE,
        when_unsatisfiable: UnsatisfiableAction::ScheduleAnyway,
        selector: own.clone(),
        min_domains: 1,
        honor_node_affinity: true,
        honor_node_taints: false,
        match_label_keys: Box::default(),
    }]
    .into();
    let set = Object::StatefulSet(Arc::new(PodSelectorOwner {
        kind: Kind::StatefulSet,
        namespace: pod.namespace,
        name: cluster.names.intern(&name),
        selector: own,
    }));
    (pod, set)
}

fn job(maker: &mut Maker, cluster: &mut Snapshot, namespace: &str, i: usize) -> Pod {
    let name = format!("train-{i}");
    let asked = (250 + 10 * (i as i64 % 50), 256 + 16 * (i as i64 % 64));
    let label = ("batch.kubernetes.io/job-name", name.as_str());
    let (mut pod, _) = labelled(maker, cluster, namespace, label, asked);
    controlled_by(&mut pod, cluster, "batch/v1", "Job", &name);
    pod
}

/// The pod of an agent that runs everywhere.
fn daemon(maker: &mut Maker, cluster: &mut Snapshot, namespace: &str) -> Pod {
    let (mut pod, _) = labelled(maker, cluster, namespace, ("app", "agent"), (50, 64));
    controlled_by(&mut pod, cluster, "apps/v1", "DaemonSet", "agent");
    let names = &mut cluster.names;
    let pressures = [
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
    ];
    let tolerate = |key, effect| Toleration {
        key,
        op: TolerationOp::Exists,
        value: Sym::EMPTY,
        effect,
    };
    let mut tolerations = pod.tolerations.to_vec();
    for pressure in pressures {
        let key = names.intern(&format!("node.kubernetes.io/{pressure}"));
        tolerations.push(tolerate(key, Some(Effect::NoSchedule)));
    }
    tolerations.push(tolerate(Sym::EMPTY, None));
    pod.tolerations = tolerations.into();
    pod
}
