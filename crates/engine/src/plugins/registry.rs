//! All in-tree plugins by name. Upstream's `pkg/scheduler/framework/plugins/registry.go`, with two
//! of our own for bin packing.

use super::bin_packing::{BinPacking, BinPackingArgs};
use super::default_binder::DefaultBinder;
use super::default_preemption::{DefaultPreemption, DefaultPreemptionArgs};
use super::dynamic_resources::{DynamicResources, DynamicResourcesArgs};
use super::image_locality::ImageLocality;
use super::inter_pod_affinity::{InterPodAffinity, InterPodAffinityArgs};
use super::largest_first::{LargestFirst, LargestFirstArgs};
use super::node_affinity::{NodeAffinity, NodeAffinityArgs};
use super::node_declared_features::NodeDeclaredFeatures;
use super::node_name::NodeName;
use super::node_ports::NodePorts;
use super::node_resources::balanced_allocation::{
    NodeResourcesBalancedAllocation, NodeResourcesBalancedAllocationArgs,
};
use super::node_resources::fit::{NodeResourcesFit, NodeResourcesFitArgs};
use super::node_unschedulable::NodeUnschedulable;
use super::node_volume_limits::NodeVolumeLimits;
use super::pod_topology_spread::{PodTopologySpread, PodTopologySpreadArgs};
use super::priority_sort::PrioritySort;
use super::scheduling_gates::SchedulingGates;
use super::taint_toleration::TaintToleration;
use super::volume_binding::{VolumeBinding, VolumeBindingArgs};
use super::volume_restrictions::VolumeRestrictions;
use super::volume_zone::VolumeZone;
use crate::framework::{AnyPlugin, Framework, Plugins, expand};
use std::borrow::Cow;

/// A profile's `pluginConfig`: the arguments of every plugin that takes some, at their defaults
/// unless set.
#[derive(Clone, Debug, Default)]
pub struct PluginArgs {
    /// `BinPackingArgs`.
    pub bin_packing: BinPackingArgs,
    /// `DefaultPreemptionArgs`.
    pub default_preemption: DefaultPreemptionArgs,
    /// `DynamicResourcesArgs`.
    pub dynamic_resources: DynamicResourcesArgs,
    /// `InterPodAffinityArgs`.
    pub inter_pod_affinity: InterPodAffinityArgs,
    /// `LargestFirstArgs`.
    pub largest_first: LargestFirstArgs,
    /// `NodeAffinityArgs`.
    pub node_affinity: NodeAffinityArgs,
    /// `NodeResourcesBalancedAllocationArgs`.
    pub node_resources_balanced_allocation: NodeResourcesBalancedAllocationArgs,
    /// `NodeResourcesFitArgs`.
    pub node_resources_fit: NodeResourcesFitArgs,
    /// `PodTopologySpreadArgs`.
    pub pod_topology_spread: PodTopologySpreadArgs,
    /// `VolumeBindingArgs`.
    pub volume_binding: VolumeBindingArgs,
}

type Constructor = Box<dyn Fn(&PluginArgs) -> AnyPlugin>;

/// The plugins that a profile can enable.
pub struct Registry {
    plugins: Vec<(&'static str, Constructor)>,
}

impl Default for Registry {
    fn default() -> Self {
        Self::in_tree()
    }
}

impl Registry {
    /// Every in-tree plugin.
    pub fn in_tree() -> Self {
        Self {
            plugins: Vec::new(),
        }
        .with("SchedulingGates", |_| SchedulingGates.build())
        .with("PrioritySort", |_| PrioritySort.build())
        .with("NodeUnschedulable", |_| NodeUnschedulable.build())
        .with("NodeName", |_| NodeName.build())
        .with("TaintToleration", |_| TaintToleration.build())
        .with("NodeAffinity", |args| {
            NodeAffinity::new(args.node_affinity.clone()).build()
        })
        .with("NodePorts", |_| NodePorts.build())
        .with("NodeResourcesFit", |args| {
            NodeResourcesFit::new(args.node_resources_fit.clone()).build()
        })
        .with("VolumeRestrictions", |_| VolumeRestrictions.build())
        .with("NodeVolumeLimits", |_| NodeVolumeLimits.build())
        .with("VolumeBinding", |args| {
            VolumeBinding::new(args.volume_binding.clone()).build()
        })
        .with("VolumeZone", |_| VolumeZone.build())
        .with("PodTopologySpread", |args| {
            PodTopologySpread::new(args.pod_topology_spread.clone()).build()
        })
        .with("InterPodAffinity", |args| {
            InterPodAffinity::new(args.inter_pod_affinity.clone()).build()
        })
        .with("DynamicResources", |args| {
            DynamicResources::new(args.dynamic_resources.clone()).build()
        })
        .with("DefaultPreemption", |args| {
            DefaultPreemption::new(args.default_preemption.clone()).build()
        })
        .with("NodeResourcesBalancedAllocation", |args| {
            let args = args.node_resources_balanced_allocation.clone();
            NodeResourcesBalancedAllocation::new(args).build()
        })
        .with("ImageLocality", |_| ImageLocality.build())
        .with("DefaultBinder", |_| DefaultBinder.build())
        .with("NodeDeclaredFeatures", |_| NodeDeclaredFeatures.build())
        .with("BinPacking", |args| BinPacking.build(&args.bin_packing))
        .with("LargestFirst", |args| {
            LargestFirst::new(args.largest_first.clone()).build()
        })
    }

    /// The registry with one plugin more; a plugin of the same name is replaced.
    ///
    /// A name that is made at run time is kept for as long as the process lives.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<Cow<'static, str>>,
        new: impl Fn(&PluginArgs) -> AnyPlugin + 'static,
    ) -> Self {
        let name = match name.into() {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => name.leak(),
        };
        self.plugins.retain(|(known, _)| *known != name);
        self.plugins.push((name, Box::new(new)));
        self
    }

    /// The names of all plugins.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.plugins.iter().map(|(name, _)| *name)
    }

    /// A new plugin, if there is one of this name.
    pub fn build(&self, name: &str, args: &PluginArgs) -> Option<AnyPlugin> {
        let (name, new) = self.plugins.iter().find(|(known, _)| *known == name)?;
        Some(new(args).named(name))
    }
}

/// The profile that runs when there is no configuration: `default-scheduler`, with the default
/// plugins and arguments.
pub fn default_framework() -> Framework {
    let args = PluginArgs::default();
    expand(
        "default-scheduler",
        &Plugins::default_plugins(),
        &args,
        &Registry::in_tree(),
    )
    .expect("the default profile is valid")
}
