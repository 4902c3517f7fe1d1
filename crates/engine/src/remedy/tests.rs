//! One test per kind of change.

mod blocking_pods;
mod bounds;
mod labels;
mod new_nodes;
mod trials;
mod volumes;

use super::{Place, Remedy, remedies};
use crate::framework::PluginArgs;
use crate::framework::{Framework, Plugins, expand};
use crate::model::{Effect, HostPort, Pod, Protocol, Taint};
use crate::plugins::registry::in_tree;
use crate::testing::World;

fn framework() -> Framework {
    let plugins = Plugins::default().merged_with_defaults();
    let args = PluginArgs::default();
    expand("default-scheduler", &plugins, &args, &in_tree())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// What is suggested, one line each.
fn check(world: &World, pod: &Pod, expected: &[&str]) {
    let names = &world.snapshot.names;
    let text = |sym| names.text(sym).to_owned();
    let suggestions = remedies(&framework(), world.cx(), pod).suggestions;
    let lines: Vec<String> = suggestions
        .iter()
        .map(|suggestion| {
            let nodes = suggestion.nodes;
            let line = match &suggestion.remedy {
                Remedy::Ungate { gates } => format!("ungate {}", gates.len()),
                Remedy::Tolerate { taint } => format!("tolerate {}", text(taint.key)),
                Remedy::Uncordon { node } => format!("uncordon {}", text(*node)),
                Remedy::Label { node, key, value } => {
                    format!("label {} {}={}", text(*node), text(*key), text(*value))
                }
                Remedy::Free { node, amounts } => {
                    let amounts = amounts.iter().map(|(resource, amount)| {
                        let name = world.snapshot.resource_names.name(*resource);
                        format!(" {} {amount}", text(name))
                    });
                    format!("free {}{}", text(*node), amounts.collect::<String>())
                }
                Remedy::Evict { from, pods } => {
                    let pods: String = pods.iter().map(|p| format!(" {}", p.key.name)).collect();
                    let from = match *from {
                        Place::Node(node) => text(node),
                        Place::Domain { key, value } => format!("{}={}", text(key), text(value)),
                        Place::Anywhere => "*".to_owned(),
                    };
                    format!("evict {from}{pods}")
                }
                Remedy::AddNode { like } => format!("add {}", text(*like)),
            };
            format!("{line} ({nodes})")
        })
        .collect();
    assert_eq!(lines, expected);
}

fn add_node(
    world: &mut World,
    name: &str,
    cpu: &str,
    change: impl FnOnce(&mut World, &mut crate::model::Node),
) {
    let mut node = world.node(name, &[("kubernetes.io/hostname", name)]);
    world.set_allocatable(&mut node, &[("cpu", cpu), ("memory", "8Gi")]);
    change(world, &mut node);
    world.add_node(node);
}

fn pod(world: &mut World, cpu: &str) -> Pod {
    let mut pod = world.pod("a/pending", &[]);
    world.set_requests(&mut pod, &[("cpu", cpu)]);
    pod
}

fn place(world: &mut World, name: &str, cpu: &str, priority: i32, node: &str) {
    let mut other = world.pod(name, &[]);
    world.set_requests(&mut other, &[("cpu", cpu)]);
    other.priority = priority;
    world.add_pod(other, node);
}

#[test]
fn a_pod_that_fits_needs_nothing() {
    let mut world = World::default();
    add_node(&mut world, "n1", "4", |_, _| {});
    let pod = pod(&mut world, "1");
    check(&world, &pod, &[]);
}

#[test]
fn room_is_made_where_least_is_missing() {
    let mut world = World::default();
    add_node(&mut world, "n1", "4", |_, _| {});
    add_node(&mut world, "n2", "4", |_, _| {});
    place(&mut world, "a/large", "3", 10, "n1");
    place(&mut world, "a/small", "500m", 0, "n2");
    place(&mut world, "a/medium", "1", 0, "n2");
    place(&mut world, "a/high", "1", 10, "n2");
    let pod = pod(&mut world, "2");
    check(
        &world,
        &pod,
        &[
            "free n2 cpu 500 (1)",
            "free n1 cpu 1000 (1)",
            "evict n2 medium (1)",
            "evict n1 large (1)",
            "add n1 (1)",
        ],
    );
}

#[test]
fn the_least_change_comes_first_whatever_its_kind() {
    let mut world = World::default();
    add_node(&mut world, "n1", "4", |_, _| {});
    add_node(&mut world, "n2", "4", |_, _| {});
    let port = HostPort {
        ip: None,
        protocol: Protocol::Tcp,
        port: 80,
    };
    place(&mut world, "a/full", "4", 0, "n1");
    let mut holder = world.pod("a/holder", &[]);
    world.set_requests(&mut holder, &[("cpu", "100m")]);
    holder.host_ports = [port].into();
    world.add_pod(holder, "n2");
    let mut pod = pod(&mut world, "2");
    pod.host_ports = [port].into();
    check(
        &world,
        &pod,
        &[
            "evict n2 holder (1)",
            "free n1 cpu 2000 (1)",
            "evict n1 full (1)",
            "add n1 (1)",
        ],
    );
}

#[test]
fn a_pod_that_is_larger_than_any_node_needs_a_larger_node() {
    let mut world = World::default();
    add_node(&mut world, "n1", "4", |_, _| {});
    let pod = pod(&mut world, "6");
    check(&world, &pod, &["free n1 cpu 2000 (1)"]);
}

#[test]
fn taints_are_tolerated_and_nodes_uncordoned() {
    let mut world = World::default();
    for name in ["n1", "n2"] {
        add_node(&mut world, name, "4", |world, node| {
            let taint = Taint {
                key: world.sym("gpu"),
                value: world.sym("yes"),
                effect: Effect::NoSchedule,
            };
            node.taints = [taint].into();
        });
    }
    add_node(&mut world, "n3", "4", |world, node| {
        let cordon = Taint {
            key: world.sym("node.kubernetes.io/unschedulable"),
            value: world.sym(""),
            effect: Effect::NoSchedule,
        };
        node.taints = [cordon].into();
        node.unschedulable = true;
    });
    let pod = pod(&mut world, "1");
    check(&world, &pod, &["tolerate gpu (2)", "uncordon n3 (1)"]);
}

#[test]
fn a_node_gets_the_label_that_is_asked_for() {
    let mut world = World::default();
    add_node(&mut world, "n1", "4", |_, _| {});
    add_node(&mut world, "full", "4", |_, _| {});
    place(&mut world, "a/large", "4", 0, "full");
    let mut pod = pod(&mut world, "1");
    pod.node_selector = world.labels(&[("disk", "ssd")]);
    check(&world, &pod, &["label n1 disk=ssd (1)"]);
}

#[test]
fn a_port_is_given_up() {
    let mut world = World::default();
    add_node(&mut world, "n1", "4", |_, _| {});
    let port = HostPort {
        ip: None,
        protocol: Protocol::Tcp,
        port: 80,
    };
    let mut holder = world.pod("a/holder", &[]);
    holder.host_ports = [port].into();
    world.add_pod(holder, "n1");
    let mut pod = pod(&mut world, "1");
    pod.host_ports = [port].into();
    check(&world, &pod, &["evict n1 holder (1)", "add n1 (1)"]);
}

#[test]
fn a_gated_pod_is_told_what_comes_after_its_gates() {
    let mut world = World::default();
    add_node(&mut world, "n1", "4", |_, _| {});
    let mut pod = pod(&mut world, "1");
    pod.scheduling_gates = [world.sym("wait")].into();
    check(&world, &pod, &["ungate 1 (1)"]);
    world.set_requests(&mut pod, &[("cpu", "5")]);
    check(&world, &pod, &[]);
}

#[test]
fn nothing_is_told_that_does_not_help() {
    let mut world = World::default();
    // Two things are wrong with each node.
    add_node(&mut world, "n1", "1", |_, node| node.unschedulable = true);
    let mut large = pod(&mut world, "2");
    large.node_selector = world.labels(&[("disk", "ssd")]);
    check(&world, &large, &[]);
}
