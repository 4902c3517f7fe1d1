//! How much is tried.

use super::super::candidates::{Candidate, Rejected};
use super::super::{Case, REMEDIES_MAX, Remedy, TRIALS_MAX, blocking_pods, in_order, verified};
use super::blocking_pods::HOST;
use super::{add_node, framework, pod};
use crate::plugins::inter_pod_affinity;
use crate::schedule::{Coverage, find_feasible};
use crate::testing::World;

/// A hundred new nodes, each a little larger than the one before.
fn many(world: &mut World) -> Vec<Candidate> {
    let candidates = (0..100).map(|at| Candidate {
        remedy: Remedy::AddNode {
            like: world.sym(&format!("n{at}")),
        },
        change: f64::from(at),
        order: at as usize,
    });
    in_order(candidates.collect())
}

#[test]
fn trials_are_few_even_if_none_helps() {
    let mut trials = 0;
    let found = verified(many(&mut World::default()), |_| {
        trials += 1;
        None
    });
    assert_eq!((found.suggestions.len(), trials), (0, TRIALS_MAX));
    assert_eq!(found.untried, 100 - TRIALS_MAX);
}

#[test]
fn nothing_is_tried_once_enough_is_known() {
    let mut trials = 0;
    let found = verified(many(&mut World::default()), |_| {
        trials += 1;
        (trials > 2).then_some(1)
    });
    assert_eq!(
        (found.suggestions.len(), trials),
        (REMEDIES_MAX, REMEDIES_MAX + 2)
    );
    assert_eq!(found.untried, 0, "no more were wanted");
}

/// Nodes of one domain are looked at together, of many domains the least crowded, and none where
/// whole domains would have to go.
#[test]
fn who_has_to_go_is_worked_out_for_few_domains() {
    for (key, expected) in [(HOST, TRIALS_MAX), ("zone", 2), ("region", 0)] {
        let mut world = World::default();
        for at in 0..100 {
            let name = format!("n{at}");
            add_node(&mut world, &name, "4", |world, node| {
                let zone = ["a", "b"][at % 2];
                node.labels = world.labels(&[(HOST, &name), ("zone", zone), ("region", "r")]);
            });
            let other = world.pod(&format!("a/p{at}"), &[("app", "web")]);
            world.add_pod(other, &name);
        }
        let mut pod = pod(&mut world, "1");
        super::blocking_pods::keep_away(&mut world, &mut pod, key, "web");
        let framework = framework();
        let found = find_feasible(&framework, world.cx(), &pod, Coverage::Everything);
        let found = found.unwrap_or_else(|error| panic!("{error:?}"));
        let case = Case {
            framework: &framework,
            cx: world.cx(),
            found: &found,
            pod: &pod,
        };
        let rejected = |at| Rejected {
            at,
            unresolvable: false,
        };
        let nodes: Vec<_> = (0..100).map(rejected).collect();
        let in_the_way = inter_pod_affinity::blocking_pods(&world.snapshot, &pod);
        let candidates = blocking_pods::gone(case, &in_the_way, &nodes);
        assert_eq!(candidates.len(), expected, "{key}");
    }
}
