//! The in-tree plugins, one file or folder each, filter and score side by side.

#[cfg(test)]
mod asked;
pub mod bin_packing;
pub(crate) mod blocking_pods;
mod change;
mod claims;
pub mod default_binder;
pub mod default_preemption;
pub mod dynamic_resources;
#[cfg(test)]
#[allow(dead_code, unreachable_pub)] // It is written as plugins are, and not registered.
mod example;
#[cfg(test)]
#[allow(dead_code, unreachable_pub)] // As the other one.
mod example_score;
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

/// The examples in ARCHITECTURE.md are `example.rs` and a part of `example_score.rs`, which compile.
#[cfg(test)]
mod tests {
    #[test]
    fn the_architecture_shows_the_examples_as_they_are() {
        let page = include_str!("../../../../ARCHITECTURE.md");
        assert!(page.contains(include_str!("example.rs")));
        let score = include_str!("example_score.rs");
        let (_, score) = score.split_once("impl Score").expect("it scores");
        let (score, _) = score.split_once("\n}\n").expect("it ends");
        assert!(page.contains(score), "{score}");
    }
}
