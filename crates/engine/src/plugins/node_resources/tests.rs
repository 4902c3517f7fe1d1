mod filter;
mod hints;
mod score;
mod summaries;

use super::fit::*;
use crate::NodeInfo;
use crate::framework::{
    Code, Filter, FilterState, PreFilter, PreFilterResult, PreScoreResult, Score, ScoreState,
};
use crate::model::{Node, Pod};
use crate::testing::World;

type Amounts = [(&'static str, &'static str)];

const GPU: &str = "example.com/gpu";

fn pod(world: &mut World, name: &str, requests: &Amounts) -> Pod {
    let mut pod = world.pod(name, &[]);
    world.set_requests(&mut pod, requests);
    pod
}

fn node(world: &mut World, name: &str, allocatable: &Amounts) -> Node {
    let mut node = world.node(name, &[]);
    world.set_allocatable(&mut node, allocatable);
    node
}

/// A node `n` with one pod on it.
fn one_node(allocatable: &Amounts, used: &Amounts) -> World {
    let mut world = World::default();
    let n = node(&mut world, "n", allocatable);
    world.add_node(n);
    let p = pod(&mut world, "default/used", used);
    world.add_pod(p, "n");
    world
}

fn the_node(world: &World) -> &NodeInfo {
    &world.snapshot.nodes()[0]
}

fn filter(world: &World, args: NodeResourcesFitArgs, pod: &Pod) -> Option<(Code, String)> {
    let plugin = NodeResourcesFit::new(args);
    let PreFilterResult::Ready(state) = plugin.pre_filter(world.cx(), pod) else {
        panic!("NodeResourcesFit never skips and never narrows");
    };
    let status = plugin
        .filter(world.cx(), &state, pod, the_node(world))
        .err()?;
    Some((status.code, status.message(&world.snapshot)))
}
