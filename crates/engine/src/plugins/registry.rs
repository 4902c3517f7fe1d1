//! All in-tree plugins by name. Upstream's `pkg/scheduler/framework/plugins/registry.go`, with two
//! of our own for bin packing.

use super::{
    bin_packing, default_binder, default_preemption, dynamic_resources, image_locality,
    inter_pod_affinity, largest_first, node_affinity, node_declared_features, node_name,
    node_ports, node_resources, node_unschedulable, node_volume_limits, pod_topology_spread,
    priority_sort, scheduling_gates, taint_toleration, volume_binding, volume_restrictions,
    volume_zone,
};
use crate::framework::{Framework, PluginArgs, Plugins, Registry, expand};

/// Every in-tree plugin: one line each.
#[rustfmt::skip]
pub fn in_tree() -> Registry {
    use node_resources::{balanced_allocation, fit};
    Registry::default()
        .with("SchedulingGates", || scheduling_gates::SchedulingGates.build())
        .with("PrioritySort", || priority_sort::PrioritySort.build())
        .with("NodeUnschedulable", || node_unschedulable::NodeUnschedulable.build())
        .with("NodeName", || node_name::NodeName.build())
        .with("TaintToleration", || taint_toleration::TaintToleration.build())
        .with_args("NodeAffinity", |args| node_affinity::NodeAffinity::new(args).build())
        .with("NodePorts", || node_ports::NodePorts.build())
        .with_args("NodeResourcesFit", |args| fit::NodeResourcesFit::new(args).build())
        .with("VolumeRestrictions", || volume_restrictions::VolumeRestrictions.build())
        .with("NodeVolumeLimits", || node_volume_limits::NodeVolumeLimits.build())
        .with_args("VolumeBinding", |args| volume_binding::VolumeBinding::new(args).build())
        .with("VolumeZone", || volume_zone::VolumeZone.build())
        .with_args("PodTopologySpread", |args| pod_topology_spread::PodTopologySpread::new(args).build())
        .with_args("InterPodAffinity", |args| inter_pod_affinity::InterPodAffinity::new(args).build())
        .with_args("DynamicResources", |args| dynamic_resources::DynamicResources::new(args).build())
        .with_args("DefaultPreemption", |args| default_preemption::DefaultPreemption::new(args).build())
        .with_args("NodeResourcesBalancedAllocation", |args| balanced_allocation::NodeResourcesBalancedAllocation::new(args).build())
        .with("ImageLocality", || image_locality::ImageLocality.build())
        .with("DefaultBinder", || default_binder::DefaultBinder.build())
        .with("NodeDeclaredFeatures", || node_declared_features::NodeDeclaredFeatures.build())
        .with_args("BinPacking", |args| bin_packing::BinPacking.build(args))
        .with_args("LargestFirst", |args| largest_first::LargestFirst::new(args).build())
}

/// The profile that runs when there is no configuration: `default-scheduler`, with the default
/// plugins and arguments.
pub fn default_framework() -> Framework {
    expand(
        "default-scheduler",
        &Plugins::default_plugins(),
        &PluginArgs::default(),
        &in_tree(),
    )
    .expect("the default profile is valid")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::args::{ArgErrors, ArgNames, ArgValue, FieldPath};
    use crate::model::ResourceNames;
    use stowplan_base::Names;

    #[test]
    fn arguments_that_say_nothing_are_the_default() {
        let registry = in_tree();
        for name in registry.names().filter(|name| registry.takes_args(name)) {
            let (mut names, mut resources) = (Names::new(), ResourceNames::default());
            let mut errors = ArgErrors::default();
            let names = ArgNames {
                names: &mut names,
                resources: &mut resources,
            };
            let path = FieldPath::default();
            let decoded = registry.decode(name, ArgValue::Null, &path, &mut errors, names);
            // A plugin may insist on arguments: then it must say so.
            if !errors.unreadable.is_empty() || !errors.invalid.is_empty() {
                continue;
            }
            let mut args = PluginArgs::default();
            args.insert(name, decoded.expect("they can be read"));
            let default = registry.default_args(name);
            assert_eq!(format!("{args:?}"), format!("{default:?}"), "{name}");
        }
    }
}
