//! What the pods and nodes of scheduler_perf look like, as data.
//!
//! Facts of `test/integration/scheduler_perf/templates` at v1.36.4, with what the API server's
//! defaults add.

/// The label that every node bears, with its own name.
pub(crate) const HOSTNAME: &str = "kubernetes.io/hostname";
/// The zone of a node.
pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";
/// The one node that is known by name.
pub(crate) const NAMED_NODE: &str = "scheduler-perf-node";

/// A kind of node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeTemplate {
    /// What the names begin with.
    pub(crate) prefix: &'static str,
    pub(crate) cpu: i64,
    pub(crate) memory_gib: i64,
    pub(crate) pods: i64,
    /// Zones, dealt out in turn.
    pub(crate) zones: &'static [&'static str],
    /// The key of a `NoSchedule` taint.
    pub(crate) taint: Option<&'static str>,
    /// How many EBS volumes the CSI driver attaches, if it is there.
    pub(crate) ebs_volumes: Option<i32>,
    /// Whether in-tree EBS volumes are the CSI driver's.
    pub(crate) ebs_migrated: bool,
}

/// `node-default.yaml`.
pub(crate) const NODE: NodeTemplate = NodeTemplate {
    prefix: "scheduler-perf-",
    cpu: 4,
    memory_gib: 32,
    pods: 110,
    zones: &[],
    taint: None,
    ebs_volumes: None,
    ebs_migrated: false,
};

/// `node-with-name.yaml`.
pub(crate) const ONE_NODE: NodeTemplate = NodeTemplate {
    prefix: NAMED_NODE,
    pods: 90_000,
    ..NODE
};

/// A kind of pod: one container, and at most a few rules about where it goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PodTemplate {
    /// What the names begin with.
    pub(crate) prefix: &'static str,
    pub(crate) image: &'static str,
    /// What the container asks for, if it does: cpu in thousandths, memory in MiB.
    pub(crate) requests: Option<(i64, i64)>,
    pub(crate) priority: i32,
    /// The label that the pod bears and that its own rules select.
    pub(crate) label: Option<(&'static str, &'static str)>,
    pub(crate) gate: Option<&'static str>,
    pub(crate) rule: Rule,
    pub(crate) volume: Volume,
}

/// What a pod asks of its place. Pods are selected by the template's own label.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    None,
    /// Required node affinity to zones.
    Zones(&'static [&'static str]),
    /// Required node affinity to one node, by name.
    Node(&'static str),
    /// A spread constraint.
    Spread {
        max_skew: i32,
        key: &'static str,
        hard: bool,
        honor_taints: bool,
    },
    /// Pod affinity or anti-affinity.
    Affinity {
        anti: bool,
        required: bool,
        key: &'static str,
        scope: Scope,
    },
}

/// Whose pods an affinity term means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope {
    /// Those of the pod's own namespace.
    Own,
    /// Those of these namespaces.
    Named(&'static [&'static str]),
    /// Those of namespaces that bear this label.
    Labelled(&'static str, &'static str),
}

/// The one volume of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Volume {
    None,
    Secret,
    /// A claim, bound to an in-tree EBS volume.
    InTree,
    /// A claim, bound to a CSI EBS volume.
    Csi,
}

const SCHED: Scope = Scope::Named(&["sched-1", "sched-0"]);
/// The label of namespaces in the NSSelector cases.
pub(crate) const TEAM: (&str, &str) = ("team", "devops");
const TEAMS: Scope = Scope::Labelled(TEAM.0, TEAM.1);

/// `pod-default.yaml`, and the pod of cases that name no template.
pub(crate) const POD: PodTemplate = PodTemplate {
    prefix: "pod-",
    image: "registry.k8s.io/pause:3.10.2",
    requests: Some((100, 500)),
    priority: 0,
    label: None,
    gate: None,
    rule: Rule::None,
    volume: Volume::None,
};

/// `light-pod.yaml`: a pod that asks for nothing.
pub(crate) const LIGHT: PodTemplate = PodTemplate {
    prefix: "light-pod-",
    image: "registry.k8s.io/pause:3.10.1",
    requests: None,
    ..POD
};

/// `pod-with-label.yaml`.
pub(crate) const LABELLED: PodTemplate = PodTemplate {
    prefix: "pod-",
    label: Some(("app", "scheduler-perf")),
    ..LIGHT
};

/// `gated-pod.yaml`.
pub(crate) const GATED: PodTemplate = PodTemplate {
    prefix: "gated-pod-",
    gate: Some("test.k8s.io/hold"),
    ..LIGHT
};

/// `gated-pod-with-pod-affinity.yaml`.
pub(crate) const GATED_AFFINITY: PodTemplate = PodTemplate {
    prefix: "gated-pod-",
    gate: Some("scheduling-gate-1"),
    rule: Rule::Affinity {
        anti: false,
        required: true,
        key: HOSTNAME,
        scope: Scope::Own,
    },
    ..LABELLED
};

/// `daemonset-pod.yaml`.
pub(crate) const DAEMON: PodTemplate = PodTemplate {
    prefix: "daemonset-",
    rule: Rule::Node(NAMED_NODE),
    ..LIGHT
};

/// `pod-low-priority.yaml`.
pub(crate) const LOW: PodTemplate = PodTemplate {
    requests: Some((900, 500)),
    ..POD
};

/// `pod-high-priority.yaml`.
pub(crate) const HIGH: PodTemplate = PodTemplate {
    prefix: "pod-high-priority-",
    requests: Some((3000, 500)),
    priority: 10,
    ..POD
};

/// `pod-high-priority-large-cpu.yaml`: larger than any node.
pub(crate) const TOO_LARGE: PodTemplate = PodTemplate {
    prefix: "pod-h-",
    requests: Some((9000, 500)),
    priority: 10,
    ..POD
};

/// `pod-with-node-affinity.yaml`.
pub(crate) const NODE_AFFINITY: PodTemplate = PodTemplate {
    prefix: "node-affinity-",
    rule: Rule::Zones(&["zone1", "zone2"]),
    ..POD
};

/// `pod-with-topology-spreading.yaml`.
pub(crate) const SPREAD: PodTemplate = spread("spreading-pod-", true);
/// `pod-with-preferred-topology-spreading.yaml`.
pub(crate) const PREFERRED_SPREAD: PodTemplate = spread("spreading-pod-", false);

const fn spread(prefix: &'static str, hard: bool) -> PodTemplate {
    PodTemplate {
        prefix,
        label: Some(("color", "blue")),
        rule: Rule::Spread {
            max_skew: 5,
            key: ZONE,
            hard,
            honor_taints: false,
        },
        ..POD
    }
}

/// `pod-with-node-inclusion-policy.yaml`.
pub(crate) const INCLUSION_POLICY: PodTemplate = PodTemplate {
    prefix: "spreading-pod-with-node-inclusion-policy-",
    label: Some(("foo", "bar")),
    rule: Rule::Spread {
        max_skew: 1,
        key: HOSTNAME,
        hard: true,
        honor_taints: true,
    },
    ..POD
};

/// `pod-with-pod-affinity.yaml`.
pub(crate) const AFFINITY: PodTemplate = near("blue", true, ZONE, SCHED);
/// `pod-with-preferred-pod-affinity.yaml`.
pub(crate) const PREFERRED_AFFINITY: PodTemplate = near("red", false, HOSTNAME, SCHED);
/// `pod-with-pod-anti-affinity.yaml`.
pub(crate) const ANTI_AFFINITY: PodTemplate = apart("green", true, SCHED);
/// `pod-with-preferred-pod-anti-affinity.yaml`.
pub(crate) const PREFERRED_ANTI_AFFINITY: PodTemplate = apart("yellow", false, SCHED);
/// `pod-affinity-ns-selector.yaml`.
pub(crate) const AFFINITY_NS: PodTemplate = near("blue", true, ZONE, TEAMS);
/// `pod-preferred-affinity-ns-selector.yaml`.
pub(crate) const PREFERRED_AFFINITY_NS: PodTemplate = near("red", false, HOSTNAME, TEAMS);
/// `pod-anti-affinity-ns-selector.yaml`.
pub(crate) const ANTI_AFFINITY_NS: PodTemplate = apart("green", true, TEAMS);
/// `pod-preferred-anti-affinity-ns-selector.yaml`.
pub(crate) const PREFERRED_ANTI_AFFINITY_NS: PodTemplate = apart("green", false, TEAMS);

/// `pod-with-pod-anti-affinity-label.yaml`: what others want to be apart from.
pub(crate) const ANTI_AFFINITY_LABEL: PodTemplate = PodTemplate {
    prefix: "anti-affinity-matching-pod-",
    label: Some(("color", "green")),
    ..POD
};

const fn near(color: &'static str, required: bool, key: &'static str, scope: Scope) -> PodTemplate {
    PodTemplate {
        prefix: "affinity-pod-",
        label: Some(("color", color)),
        rule: Rule::Affinity {
            anti: false,
            required,
            key,
            scope,
        },
        ..POD
    }
}

const fn apart(color: &'static str, required: bool, scope: Scope) -> PodTemplate {
    PodTemplate {
        prefix: "anti-affinity-pod-",
        label: Some(("color", color)),
        rule: Rule::Affinity {
            anti: true,
            required,
            key: HOSTNAME,
            scope,
        },
        ..POD
    }
}

/// `pod-with-secret-volume.yaml`.
pub(crate) const SECRET: PodTemplate = PodTemplate {
    prefix: "secret-volume-",
    volume: Volume::Secret,
    ..POD
};

/// The pod of cases that name no template, with `pv-aws.yaml` and `pvc.yaml`.
pub(crate) const IN_TREE: PodTemplate = PodTemplate {
    volume: Volume::InTree,
    ..POD
};

/// The pod of cases that name no template, with `pv-csi.yaml` and `pvc.yaml`.
pub(crate) const CSI: PodTemplate = PodTemplate {
    volume: Volume::Csi,
    ..POD
};

/// `pod-high-priority.yaml` with `pv-aws.yaml` and `pvc.yaml`.
pub(crate) const HIGH_IN_TREE: PodTemplate = PodTemplate {
    volume: Volume::InTree,
    ..HIGH
};
