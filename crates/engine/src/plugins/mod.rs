//! The in-tree plugins, one file or folder each, filter and score side by side.

#[cfg(test)]
mod asked;
pub mod bin_packing;
mod change;
mod claims;
pub(crate) mod crowd;
pub mod default_binder;
pub mod default_preemption;
pub mod dynamic_resources;
#[cfg(test)]
#[allow(dead_code, unreachable_pub)] // It is written as plugins are, and not registered.
mod example;
pub mod image_locality;
pub mod inter_pod_affinity;
pub mod largest_first;
pub mod node_affinity;
pub mod node_declared_features;
pub mod node_name;
pub mod node_ports;
pub mod node_resources;
pub mod node_unschedulable;
pub mod node_volume_limits;
mod normalize;
pub mod pod_topology_spread;
pub mod priority_sort;
pub mod registry;
pub mod scheduling_gates;
pub mod taint_toleration;
pub mod volume_binding;
pub mod volume_restrictions;
pub mod volume_zone;

/// The example in ARCHITECTURE.md is `example.rs`, which compiles.
#[cfg(test)]
mod tests {
    #[test]
    fn the_architecture_shows_the_example_as_it_is() {
        let page = include_str!("../../../../ARCHITECTURE.md");
        assert!(page.contains(include_str!("example.rs")));
    }
}
