//! Pods.

use super::{Maker, label_selector};
use crate::workloads::{PodTemplate, Rule, Scope, Volume};
use stowplan_base::{Names, Quantity, Sym, sym};
use stowplan_engine::Snapshot;
use stowplan_engine::model::{
    AffinityTerm, Effect, Labels, NodeAffinity, NodeSelector, NodeSelectorTerm, Op, Pod,
    PodAffinity, PodKey, PodRequests, PodVolume, Requirement, ResourceList, Selector,
    SpreadConstraint, Toleration, TolerationOp, UnsatisfiableAction, VolumeSource,
    WeightedAffinityTerm,
};

/// The parts of a pod that say where it may go, for pods that are made from no template.
#[derive(Default)]
pub(crate) struct Placement {
    pub(crate) labels: Vec<(Sym, Sym)>,
    pub(crate) priority: i32,
    pub(crate) requests: PodRequests,
    pub(crate) image: Sym,
}

impl Maker {
    /// A pending pod without a name, to be copied. It has one container.
    pub(crate) fn prototype(
        &mut self,
        cluster: &mut Snapshot,
        namespace: &str,
        placement: Placement,
    ) -> Pod {
        let names = &mut cluster.names;
        // What DefaultTolerationSeconds adds to every pod.
        let tolerate = |key| Toleration {
            key,
            op: TolerationOp::Exists,
            value: Sym::EMPTY,
            effect: Some(Effect::NoExecute),
        };
        let tolerations = [
            tolerate(names.intern("node.kubernetes.io/not-ready")),
            tolerate(names.intern("node.kubernetes.io/unreachable")),
        ];
        Pod {
            key: PodKey {
                namespace: namespace.into(),
                name: "".into(),
            },
            namespace: names.intern(namespace),
            name: Sym::EMPTY,
            uid: "".into(),
            resource_version: self.no_version.clone(),
            labels: Labels::new(placement.labels),
            controller: None,
            terminating: false,
            node_name: None,
            nominated_node_name: None,
            scheduler_name: sym::DEFAULT_SCHEDULER,
            priority: placement.priority,
            never_preempts: false,
            start_time: None,
            preempted_by_scheduler: false,
            finished: false,
            scheduling_gates: Box::default(),
            tolerations: tolerations.into(),
            node_selector: Labels::default(),
            node_affinity: NodeAffinity::default(),
            pod_affinity: None,
            pod_anti_affinity: None,
            affinity_error: None,
            spread_constraints: Box::default(),
            host_ports: Box::default(),
            requests: placement.requests,
            images: [placement.image].into(),
            container_count: 1,
            volumes: Box::default(),
            resource_claims: Box::default(),
            extended_resource_claim: None,
            claim_statuses: Box::default(),
            required_features: Box::default(),
        }
    }

    /// The pod of a template, to be copied.
    pub(crate) fn of_template(
        &mut self,
        cluster: &mut Snapshot,
        namespace: &str,
        template: &PodTemplate,
    ) -> Pod {
        let placement = Placement {
            labels: template
                .label
                .into_iter()
                .map(|(key, value)| (cluster.names.intern(key), cluster.names.intern(value)))
                .collect(),
            priority: template.priority,
            requests: requests(cluster, template.requests),
            image: cluster.names.intern(template.image),
        };
        let mut pod = self.prototype(cluster, namespace, placement);
        let names = &mut cluster.names;
        if let Some(gate) = template.gate {
            pod.scheduling_gates = [names.intern(gate)].into();
        }
        if template.volume == Volume::Secret {
            pod.volumes = [PodVolume {
                name: names.intern("secret"),
                source: VolumeSource::Other,
                migration: None,
            }]
            .into();
        }
        apply_rule(&mut pod, template, names);
        pod
    }

    /// A copy of a prototype under a name of its own.
    pub(crate) fn copy(&mut self, cluster: &mut Snapshot, prototype: &Pod, name: &str) -> Pod {
        Pod {
            key: PodKey {
                namespace: prototype.key.namespace.clone(),
                name: name.into(),
            },
            name: cluster.names.intern(name),
            uid: self.uid(),
            ..prototype.clone()
        }
    }
}

fn apply_rule(pod: &mut Pod, template: &PodTemplate, names: &mut Names) {
    let own = match template.label {
        Some(label) => label_selector(names, label),
        None => Selector::Nothing,
    };
    match template.rule {
        Rule::None => {}
        Rule::Zones(zones) => {
            let term = NodeSelectorTerm {
                expressions: [Requirement {
                    key: sym::ZONE,
                    op: Op::In,
                    values: zones.iter().map(|zone| names.intern(zone)).collect(),
                }]
                .into(),
                ..NodeSelectorTerm::default()
            };
            pod.node_affinity.required = Some(NodeSelector {
                terms: [term].into(),
            });
        }
        Rule::Node(node) => {
            pod.node_affinity.required = Some(only_node(names.intern(node)));
        }
        Rule::Spread {
            max_skew,
            key,
            hard,
            honor_taints,
        } => {
            pod.spread_constraints = [SpreadConstraint {
                max_skew,
                topology_key: names.intern(key),
                when_unsatisfiable: match hard {
                    true => UnsatisfiableAction::DoNotSchedule,
                    false => UnsatisfiableAction::ScheduleAnyway,
                },
                selector: own,
                min_domains: 1,
                honor_node_affinity: true,
                honor_node_taints: honor_taints,
                match_label_keys: Box::default(),
            }]
            .into();
        }
        Rule::Affinity {
            anti,
            required,
            key,
            scope,
        } => {
            let term = term(names, pod.namespace, own, key, scope);
            let terms = match required {
                true => PodAffinity {
                    required: [term].into(),
                    ..PodAffinity::default()
                },
                false => PodAffinity {
                    preferred: [WeightedAffinityTerm { weight: 1, term }].into(),
                    ..PodAffinity::default()
                },
            };
            let stanza = match anti {
                true => &mut pod.pod_anti_affinity,
                false => &mut pod.pod_affinity,
            };
            *stanza = Some(terms);
        }
    }
}

fn term(
    names: &mut Names,
    namespace: Sym,
    selector: Selector,
    key: &str,
    scope: Scope,
) -> AffinityTerm {
    let (namespaces, namespace_selector) = match scope {
        Scope::Own => ([namespace].into(), Selector::Nothing),
        Scope::Named(list) => (
            list.iter().map(|name| names.intern(name)).collect(),
            Selector::Nothing,
        ),
        Scope::Labelled(key, value) => (Box::default(), label_selector(names, (key, value))),
    };
    AffinityTerm {
        namespaces,
        namespace_selector,
        selector,
        topology_key: names.intern(key),
    }
}

/// The node selector of a DaemonSet's pod: one node, by name.
pub(crate) fn only_node(node: Sym) -> NodeSelector {
    let term = NodeSelectorTerm {
        fields: [Requirement::equals(sym::METADATA_NAME, node)].into(),
        ..NodeSelectorTerm::default()
    };
    NodeSelector {
        terms: [term].into(),
    }
}

/// What one container asks for, as (cpu in thousandths, memory in MiB).
pub(crate) fn requests(cluster: &mut Snapshot, asked: Option<(i64, i64)>) -> PodRequests {
    let amounts = |cpu_milli, mib: i64| {
        ResourceList::new([
            (sym::CPU, Quantity::from_millis(cpu_milli)),
            (sym::MEMORY, Quantity::from_units(mib << 20)),
        ])
    };
    let list = asked.map_or_else(ResourceList::default, |(cpu, mib)| amounts(cpu, mib));
    // What a container counts for in scores if it asks for nothing.
    let (cpu, mib) = asked.unwrap_or((100, 200));
    let columns = cluster.resource_names.resources(&list, &cluster.names);
    PodRequests {
        total: list.clone(),
        total_columns: columns.clone(),
        spec: list,
        spec_columns: columns,
        scoring: amounts(cpu, mib),
        non_zero_cpu_milli: cpu,
        non_zero_memory: mib << 20,
    }
}
