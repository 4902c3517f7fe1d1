//! Labels.

use super::{add_node, check, pod};
use crate::model::{NodeSelector, NodeSelectorTerm, Op, Requirement};
use crate::testing::World;

/// A term of these requirements: a key, and its values; none ask only that the key be there.
fn term(world: &mut World, requirements: &[(&str, &[&str])]) -> NodeSelectorTerm {
    let requirement = |(key, values): &(&str, &[&str])| Requirement {
        key: world.sym(key),
        op: if values.is_empty() {
            Op::Exists
        } else {
            Op::In
        },
        values: values.iter().map(|value| world.sym(value)).collect(),
    };
    NodeSelectorTerm {
        expressions: requirements.iter().map(requirement).collect(),
        ..NodeSelectorTerm::default()
    }
}

#[test]
fn one_label_will_do_for_one_of_several_terms() {
    let mut world = World::default();
    add_node(&mut world, "n1", "4", |world, node| {
        node.labels = world.labels(&[("arch", "arm")]);
    });
    let mut pod = pod(&mut world, "1");
    let terms = [
        // Two labels are missing.
        term(&mut world, &[("disk", &["ssd"]), ("gpu", &[])]),
        term(&mut world, &[("zone", &["a", "b"]), ("arch", &["arm"])]),
        term(&mut world, &[("spot", &[])]),
    ];
    pod.node_affinity.required = Some(NodeSelector {
        terms: terms.into(),
    });
    check(&world, &pod, &["label n1 zone=a (1)", "label n1 spot= (1)"]);
}

#[test]
fn the_selector_and_a_term_may_ask_for_the_same_label() {
    let mut world = World::default();
    add_node(&mut world, "n1", "4", |_, _| {});
    let mut pod = pod(&mut world, "1");
    pod.node_selector = world.labels(&[("disk", "ssd")]);
    let terms = [term(&mut world, &[("disk", &["nvme", "ssd"])])];
    pod.node_affinity.required = Some(NodeSelector {
        terms: terms.into(),
    });
    check(&world, &pod, &["label n1 disk=ssd (1)"]);
}
