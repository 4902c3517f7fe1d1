//! Trials.

use super::super::trial::DryRun;
use super::super::{Place, Remedy};
use super::{add_node, framework, place, pod};
use crate::model::{Object, Pod, ResourceId};
use crate::testing::World;
use std::sync::Arc;

/// Node `n1` is full; `n2` is cordoned and lacks a label.
#[test]
fn one_trial_leaves_no_trace_for_the_next() {
    let mut world = World::default();
    add_node(&mut world, "n1", "4", |_, _| {});
    place(&mut world, "a/large", "4", 0, "n1");
    let large = world.snapshot.nodes()[0].pods[0].clone();
    world.snapshot.list_pod(large.clone());
    add_node(&mut world, "n2", "4", |_, node| node.unschedulable = true);
    let csi_node = world.csi_node("n1", &[("csi", Some(1))]);
    world.add(Object::CSINode(Arc::new(csi_node)));
    let (n1, n2) = (world.sym("n1"), world.sym("n2"));
    let remedies = [
        Remedy::Uncordon { node: n2 },
        Remedy::Evict {
            from: Place::Node(n1),
            pods: vec![large],
        },
        Remedy::AddNode { like: n1 },
        Remedy::Free {
            node: n1,
            amounts: vec![(ResourceId::CPU, 1000)],
        },
        // This one does not help.
        Remedy::Label {
            node: n1,
            key: n1,
            value: n2,
        },
    ];
    let pod: Pod = pod(&mut world, "1");
    let framework = framework();
    let mut trials = DryRun::new(&framework, world.cx(), &pod);
    for first in &remedies {
        for remedy in [first].into_iter().chain(&remedies) {
            let helps = trials.helps(remedy);
            let alone = DryRun::new(&framework, world.cx(), &pod).helps(remedy);
            assert_eq!(helps, alone, "{remedy:?} after {first:?}");
            let expected = (!matches!(remedy, Remedy::Label { .. })).then_some(1);
            assert_eq!(helps, expected, "{remedy:?}");
        }
    }
}
