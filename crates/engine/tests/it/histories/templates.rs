//! Templates of pods, covering what every plugin reads.

use super::maker::{FEATURES, Maker, POD_NAME, RESOURCES, SHARD, resource_list};
use stowplan_base::{Quantity, Sym, Time, sym};
use stowplan_engine::model::{
    HostPort, Labels, NodeAffinity, OwnerRef, Pod, PodClaim, PodClaimSource, PodKey, PodRequests,
    Protocol, ResourceList, VolumeSource,
};

/// What many pods have in common.
pub(super) struct Template {
    /// A pod without a name.
    pod: Pod,
    /// Every pod bears labels of its own, as those of a StatefulSet do.
    labels_differ: bool,
}

impl Maker<'_> {
    /// So many templates. Some are twins: all alike but for one thing.
    pub(super) fn templates(&mut self) -> Vec<Template> {
        let mut templates: Vec<Template> = Vec::new();
        for _ in 0..self.plan.templates {
            let template = match templates.is_empty() || self.dice.chance(70) {
                true => self.template(),
                false => {
                    let at = self.dice.below(templates.len());
                    self.twin(&templates[at])
                }
            };
            templates.push(template);
        }
        templates
    }

    fn twin(&mut self, of: &Template) -> Template {
        let other = self.template().pod;
        let mut pod = of.pod.clone();
        let thing = match self.plan.features.volumes && self.dice.chance(40) {
            true => 0,
            false => self.dice.below(18),
        };
        match thing {
            0..=2 => pod.volumes = other.volumes,
            3 => pod.resource_claims = other.resource_claims,
            4 => pod.labels = other.labels,
            5 => pod.controller = other.controller,
            6 => pod.priority = other.priority,
            7 => pod.never_preempts = !pod.never_preempts,
            8 => pod.tolerations = other.tolerations,
            9 => pod.node_affinity = other.node_affinity,
            10 => pod.pod_affinity = other.pod_affinity,
            11 => pod.pod_anti_affinity = other.pod_anti_affinity,
            12 => pod.spread_constraints = other.spread_constraints,
            13 => pod.host_ports = other.host_ports,
            14 => pod.images = other.images,
            15 => pod.required_features = other.required_features,
            16 => pod.requests = other.requests,
            _ => {
                pod.key.namespace = other.key.namespace;
                pod.namespace = other.namespace;
            }
        }
        Template {
            pod,
            labels_differ: of.labels_differ,
        }
    }

    fn template(&mut self) -> Template {
        let on = self.plan.features;
        let mut pod = self.bare_pod();
        let labels_differ = self.dice.chance(25);
        if self.dice.chance(20) {
            return Template { pod, labels_differ };
        }
        if on.taints && self.dice.chance(40) {
            let count = 1 + self.dice.below(2);
            pod.tolerations = (0..count).map(|_| self.toleration()).collect();
        }
        if on.node_affinity {
            self.choose_nodes(&mut pod);
        }
        if on.pod_affinity {
            self.choose_neighbours(&mut pod);
        }
        if on.spread && self.dice.chance(60) {
            let count = *self.dice.pick(&[1, 1, 1, 2, 2, 3]);
            pod.spread_constraints = (0..count).map(|_| self.spread_constraint()).collect();
        }
        if on.ports && self.dice.chance(40) {
            let count = 1 + self.dice.below(2);
            pod.host_ports = (0..count).map(|_| self.host_port()).collect();
        }
        if on.images && self.dice.chance(70) {
            pod.images = self.pod_images();
            pod.container_count = 1 + u32::from(self.dice.chance(30));
        }
        if on.declared_features && self.dice.chance(50) {
            let features = self.dice.some_of(&FEATURES, 40);
            pod.required_features = self.syms(&features);
        }
        if on.volumes && self.dice.chance(60) {
            pod.volumes = self.pod_volumes();
        }
        if on.resource_claims && self.dice.chance(25) {
            pod.resource_claims = [self.pod_claim()].into();
        }
        if on.default_spread && self.dice.chance(70) {
            pod.controller = self.owner();
        }
        if self.dice.chance(2) {
            pod.node_name = Some(self.node_name());
        }
        Template { pod, labels_differ }
    }

    fn bare_pod(&mut self) -> Pod {
        let namespace = self.namespace();
        Pod {
            key: PodKey {
                namespace: self.names.text(namespace).into(),
                name: "".into(),
            },
            namespace,
            name: Sym::EMPTY,
            uid: "".into(),
            resource_version: "".into(),
            labels: self.pod_labels(),
            controller: None,
            terminating: false,
            node_name: None,
            nominated_node_name: None,
            scheduler_name: sym::DEFAULT_SCHEDULER,
            priority: self.priority(),
            never_preempts: self.dice.chance(8),
            start_time: None,
            preempted_by_scheduler: false,
            finished: false,
            scheduling_gates: Box::default(),
            tolerations: Box::default(),
            node_selector: Labels::default(),
            node_affinity: NodeAffinity::default(),
            pod_affinity: None,
            pod_anti_affinity: None,
            affinity_error: None,
            spread_constraints: Box::default(),
            host_ports: Box::default(),
            requests: self.requests(),
            images: Box::default(),
            container_count: 1,
            volumes: Box::default(),
            resource_claims: Box::default(),
            extended_resource_claim: None,
            claim_statuses: Box::default(),
            required_features: Box::default(),
        }
    }

    fn priority(&mut self) -> i32 {
        if !self.plan.features.priorities {
            return 0;
        }
        if self.plan.features.huge && self.dice.chance(30) {
            return *self.dice.pick(&[i32::MIN, i32::MAX, 2_000_001_000]);
        }
        *self.dice.pick(&[0, 0, -5, 10, 10, 100, 100, 1000])
    }

    /// In all forms; their columns are filled in when the pod enters the cluster.
    pub(super) fn requests(&mut self) -> PodRequests {
        let cpu = *self.dice.pick(&[0, 50, 100, 100, 250, 500, 1000]);
        let memory = *self.dice.pick(&[0, 64, 128, 128, 256, 512, 1024]);
        let mut amounts = match self.dice.below(8) {
            0 => Vec::new(),
            _ => self.amounts(cpu, memory),
        };
        if self.plan.features.extended_resources && self.dice.chance(40) {
            let amount = Quantity::from_units(*self.dice.pick(&[0, 1, 1, 2, 3]));
            let known = if self.dice.chance(80) { 3 } else { 4 };
            amounts.push((self.one_of(&RESOURCES[..known]), amount));
        }
        let spec = resource_list(amounts.clone());
        // The kubelet may have given more than the spec says now.
        let total = if self.dice.chance(10) {
            amounts.retain(|(name, _)| *name != sym::CPU);
            amounts.push((sym::CPU, Quantity::from_millis(cpu + 250)));
            resource_list(amounts)
        } else {
            spec.clone()
        };
        requests_of(total, spec)
    }

    fn host_port(&mut self) -> HostPort {
        HostPort {
            ip: match self.dice.below(3) {
                0 => Some(self.one_of(&["10.0.0.1", "10.0.0.2"])),
                _ => None,
            },
            protocol: *self
                .dice
                .pick(&[Protocol::Tcp, Protocol::Tcp, Protocol::Udp]),
            port: *self.dice.pick(&[80, 443, 8080]),
        }
    }

    fn pod_claim(&mut self) -> PodClaim {
        let claim = self.one_of(&["rc0", "rc1"]);
        let source = match self.dice.below(6) {
            0 => PodClaimSource::Unsupported,
            1 => PodClaimSource::Template {
                generated: true,
                claim: None,
            },
            2 => PodClaimSource::Template {
                generated: false,
                claim: None,
            },
            3 => PodClaimSource::Template {
                generated: true,
                claim: Some(claim),
            },
            _ => PodClaimSource::Named(claim),
        };
        PodClaim {
            name: self.sym("device"),
            source,
        }
    }

    fn owner(&mut self) -> Option<OwnerRef> {
        let (api_version, kind) = *self.dice.pick(&[
            ("apps/v1", "ReplicaSet"),
            ("apps/v1", "StatefulSet"),
            ("v1", "ReplicationController"),
            ("batch/v1", "Job"),
        ]);
        Some(OwnerRef {
            api_version: self.sym(api_version),
            kind: self.sym(kind),
            name: self.one_of(&["o0", "o1"]),
            uid: "owner".into(),
        })
    }
}

/// The same in every form that is counted.
fn requests_of(total: ResourceList, spec: ResourceList) -> PodRequests {
    let amount = |name| total.get(name).unwrap_or(Quantity::ZERO);
    let (cpu, memory) = (amount(sym::CPU).milli_value(), amount(sym::MEMORY).value());
    let mut scoring: Vec<_> = spec.iter().collect();
    for (name, least) in [
        (sym::CPU, Quantity::from_millis(100)),
        (sym::MEMORY, Quantity::from_units(200 << 20)),
    ] {
        if spec.get(name).is_none_or(Quantity::is_zero) {
            scoring.retain(|(n, _)| *n != name);
            scoring.push((name, least));
        }
    }
    PodRequests {
        scoring: ResourceList::new(scoring),
        non_zero_cpu_milli: if cpu == 0 { 100 } else { cpu },
        non_zero_memory: if memory == 0 { 200 << 20 } else { memory },
        total,
        spec,
        ..PodRequests::default()
    }
}

impl Template {
    /// One more pod of this kind.
    pub(super) fn instance(&self, serial: usize, maker: &mut Maker<'_>) -> Pod {
        let mut pod = self.pod.clone();
        let text = format!("p{serial}");
        pod.name = maker.sym(&text);
        pod.uid = format!("uid-{serial}").into();
        pod.key.name = text.into();
        if self.labels_differ {
            let own = [
                (maker.sym(POD_NAME), pod.name),
                (maker.sym(SHARD), maker.sym(&(serial % 3).to_string())),
            ];
            pod.labels = Labels::new(pod.labels.iter().chain(own));
        }
        for volume in &mut pod.volumes {
            if let VolumeSource::Ephemeral { claim } = &mut volume.source {
                *claim = maker.sym(&ephemeral_claim(&pod.key));
            }
        }
        if maker.plan.features.nominations && maker.dice.chance(10) {
            pod.nominated_node_name = Some(maker.node_name());
        }
        pod
    }
}

/// The name of the claim behind a pod's generic ephemeral volume.
pub(super) fn ephemeral_claim(pod: &PodKey) -> String {
    format!("{}-scratch", pod.name)
}

impl Maker<'_> {
    /// The pod after some change; what is immutable in the API changes now and then all the same.
    pub(super) fn changed_pod(&mut self, pod: &Pod, templates: &[Template]) -> Pod {
        let mut changed = pod.clone();
        match self.dice.below(20) {
            0..=4 => changed.terminating = true,
            5 => {
                changed.terminating = true;
                changed.preempted_by_scheduler = true;
            }
            6..=9 => {
                let (key, value) = self.pod_label();
                let without = pod.labels.iter().filter(|(k, _)| *k != key);
                let kept: Vec<_> = without.collect();
                let put = self.dice.chance(70).then_some((key, value));
                changed.labels = Labels::new(kept.into_iter().chain(put));
            }
            10..=13 => changed.requests = self.requests(),
            14 | 15 => changed.finished = true,
            16 => changed.resource_version = "changed".into(),
            17 => changed.start_time = Some(Time::from_secs(self.dice.between(1, 5))),
            18 => changed.node_name = Some(self.node_name()),
            _ => changed = respecified(pod, self.dice.pick(templates)),
        }
        changed
    }
}

/// The same pod as if made from another template.
fn respecified(pod: &Pod, template: &Template) -> Pod {
    Pod {
        key: pod.key.clone(),
        namespace: pod.namespace,
        name: pod.name,
        uid: pod.uid.clone(),
        node_name: pod.node_name,
        start_time: pod.start_time,
        ..template.pod.clone()
    }
}
