//! The workloads of scheduler_perf at v1.36.4 (`*/performance-config.yaml`), at the size of its performance
//! runs or larger.
//!
//! Upstream's variants that differ only in feature gates are one workload here.

use super::template::*;
use super::{Churn, Source, Step, Where, Workload};
use Step::{Gated, Measure, Nodes, Pods};
use Where::{In, Teams};

const ZONE1: NodeTemplate = NodeTemplate {
    zones: &["zone1"],
    ..NODE
};

const MOONS: NodeTemplate = NodeTemplate {
    zones: &["moon-1", "moon-2", "moon-3"],
    ..NODE
};

/// `node-with-taint.yaml`.
const TAINTED: NodeTemplate = NodeTemplate {
    prefix: "taint-node-",
    taint: Some("foo"),
    ..NODE
};

const EBS: NodeTemplate = NodeTemplate {
    ebs_volumes: Some(39),
    ..NODE
};

const EBS_MIGRATED: NodeTemplate = NodeTemplate {
    ebs_migrated: true,
    ..EBS
};

const fn like(template: PodTemplate) -> Source {
    Source::Template(template)
}

const SERVICE: (&str, &str) = ("app", "scheduler-perf");

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        name: "SchedulingBasic/5000Nodes_10000Pods",
        steps: &[
            Nodes(5000, NODE),
            Pods(1000, POD, Where::Step),
            Measure(10_000, like(POD), Where::Step),
        ],
    },
    Workload {
        name: "SchedulingBasic/5000Nodes_50000Pods",
        steps: &[
            Nodes(5000, NODE),
            Pods(5000, POD, Where::Step),
            Measure(50_000, like(POD), Where::Step),
        ],
    },
    Workload {
        name: "SchedulingNodeAffinity/5000Nodes_10000Pods",
        steps: &[
            Nodes(5000, ZONE1),
            Pods(5000, NODE_AFFINITY, Where::Step),
            Measure(10_000, like(NODE_AFFINITY), Where::Step),
        ],
    },
    Workload {
        name: "TopologySpreading/5000Nodes_5000Pods",
        steps: &[
            Nodes(5000, MOONS),
            Pods(5000, POD, Where::Step),
            Measure(5000, like(SPREAD), Where::Step),
        ],
    },
    Workload {
        name: "PreferredTopologySpreading/5000Nodes_5000Pods",
        steps: &[
            Nodes(5000, MOONS),
            Pods(5000, POD, Where::Step),
            Measure(5000, like(PREFERRED_SPREAD), Where::Step),
        ],
    },
    Workload {
        name: "DefaultTopologySpreading/5000Nodes_50000Pods",
        steps: &[
            Nodes(5000, MOONS),
            Step::Service("service-ns", SERVICE),
            Pods(5000, POD, Where::Step),
            Measure(50_000, like(LABELLED), In("service-ns")),
        ],
    },
    Workload {
        name: "SchedulingWithNodeInclusionPolicy/5000Nodes",
        steps: &[
            Nodes(4000, NODE),
            Nodes(1000, TAINTED),
            Measure(4000, like(INCLUSION_POLICY), Where::Step),
        ],
    },
    Workload {
        name: "SchedulingPodAntiAffinity/5000Nodes_2000Pods",
        steps: &[
            Nodes(5000, NODE),
            Pods(1000, ANTI_AFFINITY, In("sched-0")),
            Measure(2000, like(ANTI_AFFINITY), In("sched-1")),
        ],
    },
    Workload {
        name: "SchedulingPodMatchingAntiAffinity/5000Nodes_5000Pods",
        steps: &[
            Nodes(5000, NODE),
            Pods(1000, ANTI_AFFINITY, In("sched-0")),
            Measure(5000, like(ANTI_AFFINITY_LABEL), In("sched-1")),
        ],
    },
    Workload {
        name: "SchedulingPodAffinity/5000Nodes_5000Pods",
        steps: &[
            Nodes(5000, ZONE1),
            Pods(5000, AFFINITY, In("sched-0")),
            Measure(5000, like(AFFINITY), In("sched-1")),
        ],
    },
    Workload {
        name: "SchedulingPreferredPodAffinity/5000Nodes_5000Pods",
        steps: &[
            Nodes(5000, NODE),
            Pods(5000, PREFERRED_AFFINITY, In("sched-0")),
            Measure(5000, like(PREFERRED_AFFINITY), In("sched-1")),
        ],
    },
    Workload {
        name: "SchedulingPreferredPodAntiAffinity/5000Nodes_5000Pods",
        steps: &[
            Nodes(5000, NODE),
            Pods(5000, PREFERRED_ANTI_AFFINITY, In("sched-0")),
            Measure(5000, like(PREFERRED_ANTI_AFFINITY), In("sched-1")),
        ],
    },
    // 6,000 nodes, whatever its name says.
    Workload {
        name: "SchedulingRequiredPodAntiAffinityWithNSSelector/5000Nodes_2000Pods",
        steps: &[
            Nodes(6000, NODE),
            Pods(4000, ANTI_AFFINITY_NS, Teams("init-ns", 100)),
            Measure(2000, like(ANTI_AFFINITY_NS), Teams("measure-ns", 1)),
        ],
    },
    Workload {
        name: "SchedulingPreferredAntiAffinityWithNSSelector/5000Nodes_2000Pods",
        steps: &[
            Nodes(5000, NODE),
            Pods(4000, PREFERRED_ANTI_AFFINITY_NS, Teams("init-ns", 100)),
            Measure(
                2000,
                like(PREFERRED_ANTI_AFFINITY_NS),
                Teams("measure-ns", 1),
            ),
        ],
    },
    Workload {
        name: "SchedulingRequiredPodAffinityWithNSSelector/5000Nodes_2000Pods",
        steps: &[
            Nodes(5000, ZONE1),
            Pods(5000, AFFINITY_NS, Teams("init-ns", 100)),
            Measure(2000, like(AFFINITY_NS), Teams("measure-ns", 1)),
        ],
    },
    Workload {
        name: "SchedulingPreferredAffinityWithNSSelector/5000Nodes_5000Pods",
        steps: &[
            Nodes(5000, NODE),
            Pods(5000, PREFERRED_AFFINITY_NS, Teams("init-ns", 100)),
            Measure(5000, like(PREFERRED_AFFINITY_NS), Teams("measure-ns", 1)),
        ],
    },
    Workload {
        name: "MixedSchedulingBasePod/5000Nodes_5000Pods",
        steps: &[
            Nodes(5000, ZONE1),
            Pods(2000, POD, In("sched-0")),
            Pods(2000, AFFINITY, In("sched-0")),
            Pods(2000, ANTI_AFFINITY, In("sched-0")),
            Pods(2000, PREFERRED_AFFINITY, In("sched-0")),
            Pods(2000, PREFERRED_ANTI_AFFINITY, In("sched-0")),
            Measure(5000, like(POD), Where::Step),
        ],
    },
    Workload {
        name: "SchedulingGatedPodsWithPodAffinityImpactForThroughput/1Node_10000GatedPods",
        steps: &[
            Nodes(1, ONE_NODE),
            Gated(10_000, GATED_AFFINITY, Where::Step),
            Measure(20_000, like(LABELLED), Where::Step),
        ],
    },
    Workload {
        name: "SchedulingWithMixedChurn/5000Nodes_10000Pods",
        steps: &[
            Nodes(5000, NODE),
            Step::Churn(Churn::Mixed),
            Measure(10_000, like(POD), Where::Step),
        ],
    },
    Workload {
        name: "SchedulingWhileGated/1Node_10000GatedPods",
        steps: &[
            Nodes(1, ONE_NODE),
            Gated(10_000, GATED, Where::Step),
            Pods(20_000, LIGHT, In("namespace-3")),
            Step::Delete("namespace-3"),
            Measure(20_000, like(LIGHT), Where::Step),
        ],
    },
    Workload {
        name: "SchedulingDaemonset/15000Nodes",
        steps: &[
            Nodes(1, ONE_NODE),
            Nodes(15_000, NODE),
            Measure(30_000, like(DAEMON), Where::Step),
        ],
    },
    Workload {
        name: "PreemptionBasic/1000Nodes",
        steps: &[
            Nodes(1000, NODE),
            Pods(4000, LOW, Where::Step),
            Measure(1000, like(HIGH), Where::Step),
        ],
    },
    // In upstream's file, but commented out.
    Workload {
        name: "PreemptionBasic/5000Nodes",
        steps: &[
            Nodes(5000, NODE),
            Pods(20_000, LOW, Where::Step),
            Measure(5000, like(HIGH), Where::Step),
        ],
    },
    Workload {
        name: "PreemptionAsync/5000Nodes",
        steps: &[
            Nodes(5000, NODE),
            Pods(20_000, LOW, Where::Step),
            Step::Churn(Churn::HighPriority),
            Measure(5000, like(POD), Where::Step),
        ],
    },
    Workload {
        name: "Unschedulable/5kNodes/100Init/10kPods",
        steps: &[
            Nodes(5000, NODE),
            Pods(100, POD, Where::Step),
            Step::Churn(Churn::TooLarge),
            Measure(10_000, like(POD), Where::Step),
        ],
    },
    Workload {
        name: "Unschedulable/5kNodes/20kInit/10kPods",
        steps: &[
            Nodes(5000, NODE),
            Pods(20_000, POD, Where::Step),
            Step::Churn(Churn::TooLarge),
            Measure(10_000, like(POD), Where::Step),
        ],
    },
    Workload {
        name: "SchedulingSecrets/5000Nodes_10000Pods",
        steps: &[
            Nodes(5000, NODE),
            Pods(1000, SECRET, Where::Step),
            Measure(10_000, like(SECRET), Where::Step),
        ],
    },
    Workload {
        name: "SchedulingInTreePVs/5000Nodes_2000Pods",
        steps: &[
            Nodes(5000, NODE),
            Pods(1000, IN_TREE, Where::Step),
            Measure(2000, like(IN_TREE), Where::Step),
        ],
    },
    Workload {
        name: "SchedulingMigratedInTreePVs/5000Nodes_5000Pods",
        steps: &[
            Nodes(5000, EBS_MIGRATED),
            Pods(5000, IN_TREE, Where::Step),
            Measure(5000, like(IN_TREE), Where::Step),
        ],
    },
    Workload {
        name: "SchedulingCSIPVs/5000Nodes_5000Pods",
        steps: &[
            Nodes(5000, EBS),
            Pods(5000, CSI, Where::Step),
            Measure(5000, like(CSI), Where::Step),
        ],
    },
    Workload {
        name: "PreemptionPVs/1000Nodes",
        steps: &[
            Nodes(1000, NODE),
            Pods(4000, LOW, Where::Step),
            Measure(1000, like(HIGH_IN_TREE), Where::Step),
        ],
    },
];
