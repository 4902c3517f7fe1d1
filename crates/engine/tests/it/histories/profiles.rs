//! The profiles that decide in a history: the default one, and two that are made up.

use super::describe::spelled;
use super::maker::{DISK, Maker};
use stowplan_engine::framework::PluginArgs;
use stowplan_engine::framework::{Framework, PluginSet, Plugins, Point, expand};
use stowplan_engine::model::{
    NodeAffinity, NodeSelector, NodeSelectorTerm, Op, Requirement, SpreadConstraint,
};
use stowplan_engine::packing::Packing;
use stowplan_engine::plugins::bin_packing::BinPackingArgs;
use stowplan_engine::plugins::inter_pod_affinity::InterPodAffinityArgs;
use stowplan_engine::plugins::node_affinity::NodeAffinityArgs;
use stowplan_engine::plugins::node_resources::balanced_allocation::NodeResourcesBalancedAllocationArgs;
use stowplan_engine::plugins::node_resources::fit::{
    NodeResourcesFitArgs, ResourceSpec, ScoringStrategy, ScoringStrategyKind,
};
use stowplan_engine::plugins::pod_topology_spread::{DefaultConstraints, PodTopologySpreadArgs};
use stowplan_engine::plugins::registry::{default_framework, in_tree};

/// Points at which a plugin can be missing without every attempt being an error.
const HARMLESS: [(Point, &[&str]); 5] = [
    (
        Point::PreFilter,
        &["NodeAffinity", "VolumeZone", "NodeVolumeLimits"],
    ),
    (
        Point::Filter,
        &[
            "NodeUnschedulable",
            "NodeName",
            "TaintToleration",
            "NodeAffinity",
            "NodePorts",
            "NodeResourcesFit",
            "VolumeRestrictions",
            "NodeVolumeLimits",
            "VolumeBinding",
            "VolumeZone",
            "PodTopologySpread",
            "InterPodAffinity",
            "DynamicResources",
            "NodeDeclaredFeatures",
        ],
    ),
    (
        Point::PreScore,
        &[
            "NodeAffinity",
            "NodeResourcesFit",
            "VolumeBinding",
            "NodeResourcesBalancedAllocation",
        ],
    ),
    (
        Point::Score,
        &[
            "TaintToleration",
            "NodeAffinity",
            "NodeResourcesFit",
            "VolumeBinding",
            "PodTopologySpread",
            "InterPodAffinity",
            "DynamicResources",
            "NodeResourcesBalancedAllocation",
            "ImageLocality",
        ],
    ),
    (
        Point::PostFilter,
        &["DynamicResources", "DefaultPreemption"],
    ),
];

/// Points at which a plugin's absence breaks those behind it.
const HARMFUL: [(Point, &str); 11] = [
    (Point::PreFilter, "NodeDeclaredFeatures"),
    (Point::PreFilter, "NodePorts"),
    (Point::PreFilter, "NodeResourcesFit"),
    (Point::PreFilter, "VolumeRestrictions"),
    (Point::PreFilter, "VolumeBinding"),
    (Point::PreFilter, "PodTopologySpread"),
    (Point::PreFilter, "InterPodAffinity"),
    (Point::PreFilter, "DynamicResources"),
    (Point::PreScore, "TaintToleration"),
    (Point::PreScore, "PodTopologySpread"),
    (Point::PreScore, "InterPodAffinity"),
];

/// Plugins that look at a pod's volumes.
const ON_VOLUMES: [&str; 4] = [
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
];

/// Which plugins run with what weight, where they do not, and with what arguments.
fn summary(plugins: &Plugins, args: &PluginArgs) -> String {
    let enabled = plugins.multi_point.enabled.iter();
    let enabled: Vec<_> = enabled
        .map(|p| format!("{}*{}", p.name, p.weight))
        .collect();
    let mut text = enabled.join(" ");
    for point in Point::ALL {
        for name in &plugins.at(point).disabled {
            text.push_str(&format!("\nno {point:?} of {name}"));
        }
    }
    format!("{text}\n{args:?}")
}

/// A profile, and how it differs from the default.
pub(super) struct Profile {
    pub(super) framework: Framework,
    pub(super) summary: String,
}

impl Maker<'_> {
    /// The default profile, one with other arguments and weights, and one that leaves plugins out.
    pub(super) fn profiles(&mut self) -> Vec<Profile> {
        let default = Profile {
            framework: default_framework(),
            summary: "the default".to_owned(),
        };
        let missing = 1 + self.dice.below(4);
        vec![default, self.profile(0), self.profile(missing)]
    }

    fn profile(&mut self, missing: usize) -> Profile {
        let mut args = self.arguments();
        let mut plugins = Plugins::default_plugins();
        for plugin in &mut plugins.multi_point.enabled {
            plugin.weight = *self.dice.pick(&[0, 1, 1, 2, 3, 10]);
        }
        if self.plan.features.huge {
            let at = self.dice.below(plugins.multi_point.enabled.len());
            plugins.multi_point.enabled[at].weight = *self.dice.pick(&[100_000, i32::MAX]);
        }
        if self.dice.chance(50) {
            self.dice.shuffle(&mut plugins.multi_point.enabled);
        }
        for _ in 0..missing {
            let (point, names) = *self.dice.pick(&HARMLESS);
            let name = *self.dice.pick(names);
            plugins.at_mut(point).disabled.push(name.to_owned());
        }
        if self.dice.chance(10) {
            let policy = *self.dice.pick(&Packing::ALL);
            args.set("BinPacking", BinPackingArgs { policy });
            let packing = PluginSet::enabling([("BinPacking", 1)]);
            plugins.multi_point.enabled.extend(packing.enabled);
        }
        if missing > 0 && self.dice.chance(15) {
            let (point, name) = *self.dice.pick(&HARMFUL);
            plugins.at_mut(point).disabled.push(name.to_owned());
            // Without its filter (or score) the plugin can do without its preparation.
            let user = if point == Point::PreFilter {
                Point::Filter
            } else {
                Point::Score
            };
            if self.dice.chance(50) {
                plugins.at_mut(user).disabled.push(name.to_owned());
            }
        }
        if missing > 0 && self.plan.features.volumes && self.dice.chance(50) {
            self.leave_one_rule_on_volumes(&mut plugins);
        }
        let framework = expand("made-up", &plugins, &args, &in_tree())
            .unwrap_or_else(|error| panic!("a made-up profile is valid: {error}"));
        Profile {
            framework,
            summary: spelled(&summary(&plugins, &args), self.names),
        }
    }

    /// One filter that looks at a pod's volumes is asked without its PreFilter, and no other is: so
    /// none has to follow dry runs.
    fn leave_one_rule_on_volumes(&mut self, plugins: &mut Plugins) {
        let left = *self.dice.pick(&["VolumeZone", "NodeVolumeLimits"]);
        for name in ON_VOLUMES {
            let disabled = &mut plugins.at_mut(Point::PreFilter).disabled;
            disabled.push(name.to_owned());
            if name != left {
                let disabled = &mut plugins.at_mut(Point::Filter).disabled;
                disabled.push(name.to_owned());
            }
        }
    }

    fn arguments(&mut self) -> PluginArgs {
        let mut args = PluginArgs::default();
        let mut fit = NodeResourcesFitArgs {
            scoring_strategy: ScoringStrategy {
                kind: self.strategy(),
                resources: self.scored_resources(),
            },
            ..NodeResourcesFitArgs::default()
        };
        if self.dice.chance(15) {
            fit.ignored_resources = vec!["example.com/fpga".to_owned()];
        }
        if self.dice.chance(15) {
            fit.ignored_resource_groups = vec!["example.com".to_owned()];
        }
        args.set("NodeResourcesFit", fit);
        let resources = self.scored_resources();
        let balanced = NodeResourcesBalancedAllocationArgs { resources };
        args.set("NodeResourcesBalancedAllocation", balanced);
        let affinity = InterPodAffinityArgs {
            hard_pod_affinity_weight: *self.dice.pick(&[0, 1, 100]),
            ignore_preferred_terms_of_existing_pods: self.dice.chance(40),
        };
        args.set("InterPodAffinity", affinity);
        if self.dice.chance(60) {
            let count = self.dice.below(3);
            let constraints = (0..count).map(|_| self.default_constraint()).collect();
            let defaults = DefaultConstraints::List(constraints);
            args.set("PodTopologySpread", PodTopologySpreadArgs { defaults });
        }
        if self.dice.chance(40) {
            let added_affinity = self.added_affinity();
            args.set("NodeAffinity", NodeAffinityArgs { added_affinity });
        }
        args
    }

    fn strategy(&mut self) -> ScoringStrategyKind {
        match self.dice.below(4) {
            0 => ScoringStrategyKind::LeastAllocated,
            1 => ScoringStrategyKind::MostAllocated,
            2 => ScoringStrategyKind::RequestedToCapacityRatio(vec![(0, 0), (100, 10)]),
            _ => ScoringStrategyKind::RequestedToCapacityRatio(vec![(0, 10), (40, 3), (100, 0)]),
        }
    }

    fn scored_resources(&mut self) -> Vec<ResourceSpec> {
        let mut resources = ResourceSpec::cpu_and_memory();
        if self.dice.chance(40) {
            return resources;
        }
        let more = [
            "ephemeral-storage",
            "example.com/gpu",
            "example.com/late",
            "pods",
        ];
        resources.extend(
            self.dice
                .some_of(&more, 30)
                .into_iter()
                .map(|name| ResourceSpec {
                    name: name.to_owned(),
                    weight: 1,
                }),
        );
        for resource in &mut resources {
            resource.weight = self.dice.between(1, 5);
        }
        self.dice.shuffle(&mut resources);
        resources
    }

    fn default_constraint(&mut self) -> SpreadConstraint {
        SpreadConstraint {
            match_label_keys: Box::default(),
            min_domains: 1,
            ..self.spread_constraint()
        }
    }

    fn added_affinity(&mut self) -> NodeAffinity {
        let not_hdd = Requirement {
            key: self.sym(DISK),
            op: Op::NotIn,
            values: self.syms(&["hdd"]),
        };
        let term = NodeSelectorTerm {
            expressions: [not_hdd].into(),
            ..NodeSelectorTerm::default()
        };
        let required = NodeSelector {
            terms: [term].into(),
        };
        let mut preferred = self.preferred_node_term();
        preferred.term.error = None;
        NodeAffinity {
            required: self.dice.chance(50).then_some(required),
            preferred: [preferred].into(),
        }
    }
}
