//! NodeResourcesFit.

use crate::framework::{Plugin, Point};
/// `NodeResourcesFitArgs`.
#[derive(Clone, Debug)]
pub struct NodeResourcesFitArgs {
    /// `ignoredResources`.
    pub ignored_resources: Vec<String>,
    /// `ignoredResourceGroups`.
    pub ignored_resource_groups: Vec<String>,
    /// `scoringStrategy`.
    pub scoring_strategy: ScoringStrategy,
}

impl Default for NodeResourcesFitArgs {
    fn default() -> Self {
        Self {
            ignored_resources: Vec::new(),
            ignored_resource_groups: Vec::new(),
            scoring_strategy: ScoringStrategy {
                kind: ScoringStrategyKind::LeastAllocated,
                resources: ResourceSpec::cpu_and_memory(),
            },
        }
    }
}

/// `scoringStrategy`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScoringStrategy {
    /// `type`, with what belongs to it.
    pub kind: ScoringStrategyKind,
    /// `resources`.
    pub resources: Vec<ResourceSpec>,
}

/// `scoringStrategy.type`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScoringStrategyKind {
    /// Prefers empty nodes.
    LeastAllocated,
    /// Prefers full nodes.
    MostAllocated,
    /// A function of utilisation, given by its points (utilization 0..=100, score 0..=10).
    RequestedToCapacityRatio(Vec<(i32, i32)>),
}

/// A resource and what it weighs in a score.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceSpec {
    /// `name`.
    pub name: String,
    /// `weight`.
    pub weight: i64,
}

impl ResourceSpec {
    /// `cpu` and `memory`, one each: the default everywhere.
    pub fn cpu_and_memory() -> Vec<Self> {
        ["cpu", "memory"]
            .map(|name| Self {
                name: name.to_owned(),
                weight: 1,
            })
            .to_vec()
    }
}

/// The plugin.
#[derive(Clone, Debug)]
pub struct NodeResourcesFit {
    args: NodeResourcesFitArgs,
}

impl NodeResourcesFit {
    /// The plugin with its arguments.
    pub fn new(args: NodeResourcesFitArgs) -> Self {
        Self { args }
    }
}

impl Plugin for NodeResourcesFit {
    const NAME: &'static str = "NodeResourcesFit";
    const POINTS: &'static [Point] = &[
        Point::PreFilter,
        Point::Filter,
        Point::PreScore,
        Point::Score,
    ];
    type Filter = ();
    type Score = ();
}
