//! The arguments of plugins.
//!
//! `Default` is what upstream's defaulting makes of absent fields.

use super::{BinPackingArgs, Duration, LargestFirstArgs};
use k8s_openapi::api::core::v1::{NodeAffinity, TopologySpreadConstraint};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The arguments of one plugin.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
#[allow(missing_docs)] // The plugins' own names.
pub enum PluginArgs {
    BinPacking(BinPackingArgs),
    DefaultPreemption(DefaultPreemptionArgs),
    DynamicResources(DynamicResourcesArgs),
    InterPodAffinity(InterPodAffinityArgs),
    LargestFirst(LargestFirstArgs),
    NodeAffinity(NodeAffinityArgs),
    NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs),
    NodeResourcesFit(NodeResourcesFitArgs),
    PodTopologySpread(PodTopologySpreadArgs),
    VolumeBinding(VolumeBindingArgs),
    /// Of a plugin that takes none or that is not an in-tree one; `Null` if absent.
    Other(Value),
}

impl Default for PluginArgs {
    fn default() -> Self {
        Self::Other(Value::Null)
    }
}

/// Gives [`PluginArgs::Other`]: the type follows from the plugin's name, which is elsewhere.
impl<'de> Deserialize<'de> for PluginArgs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::Other)
    }
}

/// Arguments of DefaultPreemption.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DefaultPreemptionArgs {
    /// How many candidates to look for, in percent of the nodes.
    pub min_candidate_nodes_percentage: i32,
    /// How many candidates to look for at least.
    pub min_candidate_nodes_absolute: i32,
}

impl Default for DefaultPreemptionArgs {
    fn default() -> Self {
        Self {
            min_candidate_nodes_percentage: 10,
            min_candidate_nodes_absolute: 100,
        }
    }
}

/// Arguments of DynamicResources.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DynamicResourcesArgs {
    /// How long the search for devices may take per node; 0 for any time.
    pub filter_timeout: Duration,
    /// How long PreBind waits for devices.
    pub binding_timeout: Duration,
}

impl Default for DynamicResourcesArgs {
    fn default() -> Self {
        Self {
            filter_timeout: Duration::from_secs(10),
            binding_timeout: Duration::from_secs(600),
        }
    }
}

/// Arguments of InterPodAffinity.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InterPodAffinityArgs {
    /// What an existing pod's required affinity is worth to a newcomer.
    pub hard_pod_affinity_weight: i32,
    /// Whether preferences of existing pods count only if the newcomer has terms of its own.
    pub ignore_preferred_terms_of_existing_pods: bool,
}

impl Default for InterPodAffinityArgs {
    fn default() -> Self {
        Self {
            hard_pod_affinity_weight: 1,
            ignore_preferred_terms_of_existing_pods: false,
        }
    }
}

/// Arguments of NodeAffinity.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeAffinityArgs {
    /// Holds for every pod of the profile.
    pub added_affinity: Option<NodeAffinity>,
}

/// Arguments of NodeResourcesBalancedAllocation.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeResourcesBalancedAllocationArgs {
    /// What is to be balanced; cpu and memory if empty.
    pub resources: Vec<ResourceSpec>,
}

/// Arguments of NodeResourcesFit.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeResourcesFitArgs {
    /// Resources that Filter leaves alone.
    pub ignored_resources: Vec<String>,
    /// Groups of resources that Filter leaves alone.
    pub ignored_resource_groups: Vec<String>,
    /// How nodes are scored.
    pub scoring_strategy: ScoringStrategy,
}

impl Default for NodeResourcesFitArgs {
    fn default() -> Self {
        Self {
            ignored_resources: Vec::new(),
            ignored_resource_groups: Vec::new(),
            scoring_strategy: ScoringStrategy {
                kind: ScoringStrategy::LEAST_ALLOCATED.to_owned(),
                resources: Vec::new(),
                requested_to_capacity_ratio: None,
            },
        }
    }
}

/// `scoringStrategy`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScoringStrategy {
    /// One of the constants below.
    #[serde(rename = "type")]
    pub kind: String,
    /// What counts how much; cpu and memory if empty.
    pub resources: Vec<ResourceSpec>,
    /// The shape of `RequestedToCapacityRatio`.
    pub requested_to_capacity_ratio: Option<RequestedToCapacityRatioParam>,
}

impl ScoringStrategy {
    /// Prefers empty nodes.
    pub const LEAST_ALLOCATED: &str = "LeastAllocated";
    /// Prefers full nodes.
    pub const MOST_ALLOCATED: &str = "MostAllocated";
    /// Prefers as the shape says.
    pub const REQUESTED_TO_CAPACITY_RATIO: &str = "RequestedToCapacityRatio";
}

/// `requestedToCapacityRatio`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestedToCapacityRatioParam {
    /// Scores by utilisation.
    pub shape: Vec<UtilizationShapePoint>,
}

/// A point of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UtilizationShapePoint {
    /// 0 to 100.
    pub utilization: i32,
    /// 0 to 10.
    pub score: i32,
}

/// A resource and what it weighs.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSpec {
    /// The resource.
    pub name: String,
    /// Its weight; 0 becomes 1.
    #[serde(default)]
    pub weight: i64,
}

/// Arguments of PodTopologySpread.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodTopologySpreadArgs {
    /// For pods without constraints of their own, if `defaultingType` is `List`.
    pub default_constraints: Vec<TopologySpreadConstraint>,
    /// One of the constants below; the first if empty.
    pub defaulting_type: String,
}

impl PodTopologySpreadArgs {
    /// Zones and hostnames, softly.
    pub const SYSTEM_DEFAULTING: &str = "System";
    /// `defaultConstraints`.
    pub const LIST_DEFAULTING: &str = "List";
}

/// Arguments of VolumeBinding.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeBindingArgs {
    /// How long PreBind waits for volumes.
    pub bind_timeout_seconds: i64,
    /// Belongs to StorageCapacityScoring, which is off: must be absent.
    pub shape: Option<Vec<UtilizationShapePoint>>,
}

impl Default for VolumeBindingArgs {
    fn default() -> Self {
        Self {
            bind_timeout_seconds: 600,
            shape: None,
        }
    }
}
