//! Workloads of our own: many kinds of pods, and clusters beyond upstream's sizes.

use super::template::*;
use super::{Source, Step, Where, Workload};
use Step::{Measure, MixedNodes, Nodes};

/// Zones for clusters of this size.
const ZONED: NodeTemplate = NodeTemplate {
    zones: &["moon-1", "moon-2", "moon-3"],
    ..NODE
};

pub(super) const WORKLOADS: &[Workload] = &[
    // 5,000 templates of ten replicas each.
    Workload {
        name: "ManyTemplates/5000Nodes_50000Pods_Together",
        steps: &[
            MixedNodes(5000),
            Measure(
                50_000,
                Source::ManyTemplates { shuffled: false },
                Where::Step,
            ),
        ],
    },
    Workload {
        name: "ManyTemplates/5000Nodes_50000Pods_Shuffled",
        steps: &[
            MixedNodes(5000),
            Measure(
                50_000,
                Source::ManyTemplates { shuffled: true },
                Where::Step,
            ),
        ],
    },
    Workload {
        name: "OneOfAKind/5000Nodes_10000Pods",
        steps: &[
            MixedNodes(5000),
            Measure(10_000, Source::OneOfAKind, Where::Step),
        ],
    },
    Workload {
        name: "Scale/100kNodes_1MPods",
        steps: &[
            Nodes(100_000, ZONED),
            Measure(1_000_000, Source::Template(POD), Where::Step),
        ],
    },
    Workload {
        name: "Scale/1MNodes",
        steps: &[
            Nodes(1_000_000, ZONED),
            Measure(100_000, Source::Template(POD), Where::Step),
        ],
    },
];
