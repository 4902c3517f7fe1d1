//! Many templates with a few replicas each: what a cluster of many teams looks like.

use crate::objects::{
    DEDICATED, IMAGES, Maker, NODE_LABELS, Placement, SPOT, ZONES, image, label_selector, requests,
    service,
};
use crate::source::{Arrival, Pods};
use std::sync::Arc;
use stowplan_base::{Names, Rng, Sym, sym};
use stowplan_engine::Snapshot;
use stowplan_engine::model::{
    AffinityTerm, Effect, HostPort, Kind, Labels, NodeSelector, NodeSelectorTerm, Object, Op,
    OwnerRef, Pod, PodAffinity, PodSelectorOwner, PreferredNodeTerm, Protocol, Requirement,
    Selector, SpreadConstraint, Toleration, TolerationOp, UnsatisfiableAction,
    WeightedAffinityTerm,
};

/// How many pods each template has.
const REPLICAS: usize = 10;

/// The pods of many ReplicaSets.
pub(crate) struct ManyTemplates {
    prototypes: Vec<Pod>,
    /// Which template the next pods are of, the next one last.
    order: Vec<usize>,
}

impl ManyTemplates {
    /// So many pods of a tenth as many templates, in the order of templates or in a random one,
    /// and the ReplicaSets and Services behind them.
    pub(crate) fn new(
        maker: &mut Maker,
        cluster: &mut Snapshot,
        namespace: &str,
        pods: usize,
        shuffled: bool,
    ) -> (Self, Vec<Object>) {
        let templates = pods.div_ceil(REPLICAS);
        let mut rng = Rng::new(0x7465_6d70_6c61_7465);
        let mut prototypes = Vec::with_capacity(templates);
        let mut objects = Vec::new();
        for i in 0..templates {
            prototypes.push(prototype(maker, cluster, namespace, i, &mut rng));
            objects.extend(owners(cluster, namespace, i));
        }
        let mut order: Vec<usize> = (0..pods).rev().map(|pod| pod / REPLICAS).collect();
        if shuffled {
            for i in (1..order.len()).rev() {
                order.swap(i, rng.below(i + 1));
            }
        }
        (Self { prototypes, order }, objects)
    }
}

impl Pods for ManyTemplates {
    fn next(&mut self, maker: &mut Maker, cluster: &mut Snapshot) -> Arrival {
        let template = self.order.pop().unwrap_or_default();
        let name = format!("{}-{}", app(template), maker.serial());
        let pod = maker.copy(cluster, &self.prototypes[template], &name);
        Arrival {
            objects: Vec::new(),
            pod: Arc::new(pod),
        }
    }
}

fn app(template: usize) -> String {
    format!("app-{template}")
}

/// The ReplicaSet of a template, and for every other one a Service.
fn owners(cluster: &mut Snapshot, namespace: &str, template: usize) -> Vec<Object> {
    let app = app(template);
    let mut owners = Vec::new();
    if template.is_multiple_of(2) {
        owners.push(service(cluster, namespace, &app, ("app", &app)));
    }
    let names = &mut cluster.names;
    owners.push(Object::ReplicaSet(Arc::new(PodSelectorOwner {
        kind: Kind::ReplicaSet,
        namespace: names.intern(namespace),
        name: names.intern(&app),
        selector: label_selector(names, ("app", &app)),
    })));
    owners
}

/// A template that is unlike all others. What it asks for can be had.
fn prototype(
    maker: &mut Maker,
    cluster: &mut Snapshot,
    namespace: &str,
    template: usize,
    rng: &mut Rng,
) -> Pod {
    let app = app(template);
    let cpu_milli = [50, 100, 250, 500, 750, 1000, 2000][rng.below(7)] + rng.below(50) as i64;
    let memory_mib = [64, 128, 256, 512, 1024, 2048][rng.below(6)] + rng.below(64) as i64;
    let names = &mut cluster.names;
    let tier = ["web", "api", "worker", "cache"][rng.below(4)];
    let placement = Placement {
        labels: vec![
            (names.intern("app"), names.intern(&app)),
            (names.intern("tier"), names.intern(tier)),
        ],
        priority: [0, 0, 0, 100, 1000][rng.below(5)],
        image: names.intern(&image(rng.below(IMAGES))),
        requests: requests(
            cluster,
            (rng.below(20) > 0).then_some((cpu_milli, memory_mib)),
        ),
    };
    let mut pod = maker.prototype(cluster, namespace, placement);
    let names = &mut cluster.names;
    pod.controller = Some(OwnerRef {
        api_version: names.intern("apps/v1"),
        kind: names.intern("ReplicaSet"),
        name: names.intern(&app),
        uid: format!("uid-of-{app}").into(),
    });
    let own = label_selector(names, ("app", &app));
    choose_nodes(&mut pod, names, rng);
    choose_spread(&mut pod, &own, rng);
    choose_affinity(&mut pod, &own, template, names, rng);
    if rng.below(25) == 0 {
        pod.host_ports = [HostPort {
            ip: None,
            protocol: Protocol::Tcp,
            port: 8000 + (template % 500) as u16,
        }]
        .into();
    }
    pod
}

/// Selectors, node affinity and tolerations.
fn choose_nodes(pod: &mut Pod, names: &mut Names, rng: &mut Rng) {
    let mut label = |names: &mut Names| {
        let (key, values) = NODE_LABELS[rng.below(NODE_LABELS.len())];
        let value = values[rng.below(values.len())];
        (names.intern(key), names.intern(value))
    };
    let (selected, preferred, other) = (label(names), label(names), label(names));
    match rng.below(10) {
        0 | 1 => pod.node_selector = Labels::new([selected]),
        2 => {
            let apart = &ZONES[rng.below(ZONES.len())];
            pod.node_affinity.required = Some(NodeSelector {
                terms: [node_term(sym::ZONE, Op::NotIn, [names.intern(apart)])].into(),
            });
        }
        3 => {
            // Either of two labels will do.
            let terms = [selected, other].map(|(key, value)| node_term(key, Op::In, [value]));
            pod.node_affinity.required = Some(NodeSelector {
                terms: terms.into(),
            });
        }
        _ => {}
    }
    if rng.below(4) == 0 {
        let preferred = [preferred, other].map(|(key, value)| PreferredNodeTerm {
            weight: 1 + rng.below(100) as i32,
            term: node_term(key, Op::In, [value]),
        });
        pod.node_affinity.preferred = preferred.into();
    }
    let mut tolerations = pod.tolerations.to_vec();
    if rng.below(5) == 0 {
        tolerations.push(Toleration {
            key: names.intern(DEDICATED.0),
            op: TolerationOp::Equal,
            value: names.intern(DEDICATED.1),
            effect: Some(Effect::NoSchedule),
        });
    }
    if rng.below(5) == 0 {
        tolerations.push(Toleration {
            key: names.intern(SPOT),
            op: TolerationOp::Exists,
            value: Sym::EMPTY,
            effect: None,
        });
    }
    pod.tolerations = tolerations.into();
}

fn node_term<const N: usize>(key: Sym, op: Op, values: [Sym; N]) -> NodeSelectorTerm {
    NodeSelectorTerm {
        expressions: [Requirement {
            key,
            op,
            values: values.into(),
        }]
        .into(),
        ..NodeSelectorTerm::default()
    }
}

/// Spread over zones, hosts or both, hard or soft. Those without any get the default constraints.
fn choose_spread(pod: &mut Pod, own: &Selector, rng: &mut Rng) {
    let mut constraint = |topology_key, hard| SpreadConstraint {
        max_skew: 1 + rng.below(3) as i32,
        topology_key,
        when_unsatisfiable: match hard {
            true => UnsatisfiableAction::DoNotSchedule,
            false => UnsatisfiableAction::ScheduleAnyway,
        },
        selector: own.clone(),
        min_domains: 1,
        honor_node_affinity: true,
        // Else a zone or host that the pod cannot go to would hold it back.
        honor_node_taints: true,
        match_label_keys: Box::default(),
    };
    let zone_hard = constraint(sym::ZONE, true);
    let zone_soft = constraint(sym::ZONE, false);
    let host_hard = constraint(sym::HOSTNAME, true);
    let host_soft = constraint(sym::HOSTNAME, false);
    pod.spread_constraints = match rng.below(10) {
        0 => [zone_hard].into(),
        1 => [zone_soft].into(),
        2 => [host_hard].into(),
        3 => [host_soft].into(),
        4 => [zone_hard, host_soft].into(),
        5 => [zone_soft, host_soft].into(),
        _ => Box::default(),
    };
}

/// Affinity among the template's own pods, or to those of an earlier template.
fn choose_affinity(
    pod: &mut Pod,
    own: &Selector,
    template: usize,
    names: &mut Names,
    rng: &mut Rng,
) {
    let namespace = pod.namespace;
    let term = |selector: &Selector, topology_key| AffinityTerm {
        namespaces: [namespace].into(),
        namespace_selector: Selector::Nothing,
        selector: selector.clone(),
        topology_key,
    };
    let weight = 1 + rng.below(100) as i32;
    let required = |term| PodAffinity {
        required: [term].into(),
        ..PodAffinity::default()
    };
    let preferred = |term| PodAffinity {
        preferred: [WeightedAffinityTerm { weight, term }].into(),
        ..PodAffinity::default()
    };
    let friend = app(rng.below(template.max(1)));
    let friend = label_selector(names, ("app", &friend));
    let cache = label_selector(names, ("tier", "cache"));
    match rng.below(12) {
        0 => pod.pod_anti_affinity = Some(required(term(own, sym::HOSTNAME))),
        1 => pod.pod_anti_affinity = Some(preferred(term(own, sym::HOSTNAME))),
        2 => pod.pod_anti_affinity = Some(preferred(term(own, sym::ZONE))),
        3 => pod.pod_affinity = Some(preferred(term(&friend, sym::ZONE))),
        4 => pod.pod_affinity = Some(preferred(term(&cache, sym::HOSTNAME))),
        // A hard spread over zones would contradict it.
        5 if pod.spread_constraints.is_empty() => {
            pod.pod_affinity = Some(required(term(own, sym::ZONE)));
        }
        _ => {}
    }
}
