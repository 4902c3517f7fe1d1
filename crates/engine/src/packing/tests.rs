//! Policies through the whole engine, against textbook ones over plain vectors.

mod bounds;
mod twin;

use super::*;
use crate::Snapshot;
use crate::fast::Path;
use crate::framework::{Framework, PluginArgs, PluginSet, Plugins, Point, expand};
use crate::model::{Kind, Object, OwnerRef};
use crate::plugins::bin_packing::BinPackingArgs;
use crate::plugins::largest_first::LargestFirstArgs;
use crate::plugins::registry::in_tree;
use crate::queue::{Profiles, QueueConfig};
use crate::scheduler::{Change, Scheduler};
use crate::testing::World;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::{Duration, Rng, Sym, Time};

/// Cpu in thousandths and memory in bytes: small numbers, so that shares come out even.
type Amounts = [i64; 2];

/// What is to be packed.
#[derive(Clone, Debug, Default)]
struct Instance {
    nodes: Vec<Amounts>,
    /// Old pods, by the number of their node.
    old: Vec<(Amounts, usize)>,
    /// Old pods of a DaemonSet.
    daemons: Vec<(Amounts, usize)>,
    /// New pods, in the order of their arrival.
    pods: Vec<Amounts>,
}

/// What came of it.
struct Packed {
    /// Per new pod, where it is.
    nodes: Vec<Option<usize>>,
    /// The numbers of the new pods that found a place, in the order of placement.
    order: Vec<usize>,
    census: Census,
}

/// The default profile with a packing policy.
fn framework(policy: Packing) -> Framework {
    let mut plugins = Plugins::default();
    *plugins.at_mut(Point::Score) = PluginSet::enabling([("BinPacking", 0)]);
    if policy == Packing::FirstFitDecreasing {
        let sort = plugins.at_mut(Point::QueueSort);
        *sort = PluginSet::enabling([("LargestFirst", 0)]);
        sort.disabled.push("*".to_owned());
    }
    let mut args = PluginArgs::default();
    args.set("BinPacking", BinPackingArgs { policy });
    // So that neither resource counts for more than the other.
    args.entry("LargestFirst", |args: &mut LargestFirstArgs| {
        for (_, unit) in &mut args.reference {
            *unit = 1000;
        }
    });
    let plugins = plugins.merged_with_defaults();
    expand("default-scheduler", &plugins, &args, &in_tree())
        .unwrap_or_else(|error| panic!("{error}"))
}

impl Instance {
    /// A random one: up to so many nodes of different sizes, and pods.
    fn random(rng: &mut Rng, nodes: usize, pods: usize) -> Self {
        let mut instance = Self::default();
        let size = |rng: &mut Rng| [50 * rng.below(15) as i64, 50 * rng.below(15) as i64];
        for _ in 0..=rng.below(nodes) {
            let sizes = [500, 1000, 2000];
            let [cpu, memory] = [(); 2].map(|()| sizes[rng.below(3)]);
            instance.nodes.push([cpu, memory]);
        }
        for at in 0..instance.nodes.len() {
            if rng.below(3) == 0 {
                instance.old.push((size(rng), at));
            }
            if rng.below(3) == 0 {
                instance.daemons.push(([50, 100], at));
            }
        }
        for _ in 0..rng.below(pods + 1) {
            let pod = size(rng);
            instance.pods.push(pod);
        }
        instance
    }

    /// Lets the scheduler place the new pods: from what it keeps, and by looking at every node.
    fn pack(&self, policy: Packing, seed: u64) -> Packed {
        let [fast, plain] = [Path::Fast, Path::Plain].map(|path| self.pack_on(path, policy, seed));
        assert_eq!(fast.nodes, plain.nodes, "seed {seed}, {policy:?}: {self:?}");
        assert_eq!(fast.order, plain.order, "seed {seed}, {policy:?}: {self:?}");
        fast
    }

    fn pack_on(&self, path: Path, policy: Packing, seed: u64) -> Packed {
        let mut world = World::default();
        for (i, [cpu, memory]) in self.nodes.iter().enumerate() {
            let mut node = world.node(&format!("n{i}"), &[]);
            let amounts = [("cpu", format!("{cpu}m")), ("memory", memory.to_string())];
            world.set_allocatable(
                &mut node,
                &amounts.each_ref().map(|(k, v)| (*k, v.as_str())),
            );
            world.add_node(node);
        }
        let kinds = [("old", &self.old), ("daemon", &self.daemons)];
        for (kind, pods) in kinds {
            for (i, (amounts, at)) in pods.iter().enumerate() {
                let mut pod = pod(&mut world, &format!("default/{kind}{i}"), *amounts);
                pod.controller = (kind == "daemon").then(|| daemon_set(&mut world));
                world.add_pod(pod, &format!("n{at}"));
            }
        }
        let named = self.pods.iter().enumerate();
        let new: Vec<Pod> = named
            .map(|(i, amounts)| pod(&mut world, &format!("default/p{i}"), *amounts))
            .collect();
        let (scheduler, order) = schedule(world.snapshot, (policy, path), new, seed);
        let number = |pod: &Pod| pod.key.name.strip_prefix('p').and_then(|n| n.parse().ok());
        let on: BTreeMap<usize, usize> = scheduler
            .cluster()
            .nodes()
            .iter()
            .enumerate()
            .flat_map(|(at, node)| node.pods.iter().map(move |pod| (number(pod), at)))
            .filter_map(|(pod, at)| Some((pod?, at)))
            .collect();
        Packed {
            nodes: (0..self.pods.len()).map(|i| on.get(&i).copied()).collect(),
            order: order.iter().filter_map(|pod| number(pod)).collect(),
            census: census(scheduler.cluster(), |pod| number(pod).is_some()),
        }
    }
}

fn pod(world: &mut World, name: &str, [cpu, memory]: Amounts) -> Pod {
    let mut pod = world.pod(name, &[]);
    let (cpu, memory) = (format!("{cpu}m"), memory.to_string());
    world.set_requests(&mut pod, &[("cpu", &cpu), ("memory", &memory)]);
    pod
}

fn daemon_set(world: &mut World) -> OwnerRef {
    OwnerRef {
        api_version: world.sym("apps/v1"),
        kind: world.sym("DaemonSet"),
        name: world.sym("agent"),
        uid: "agent".into(),
    }
}

/// Schedules the pods until nothing is left to be tried; returns those that were bound, in order.
fn schedule(
    mut cluster: Snapshot,
    (policy, path): (Packing, Path),
    pods: Vec<Pod>,
    seed: u64,
) -> (Scheduler, Vec<Arc<Pod>>) {
    let mut now = Time::from_secs(1);
    let profiles = Profiles::new(vec![framework(policy)], &mut cluster.names);
    let mut scheduler = Scheduler::new(cluster, profiles, QueueConfig::default(), now);
    scheduler.set_path(path);
    for pod in pods {
        now = now + Duration::from_millis(1);
        scheduler.apply(Change::Upsert(Object::Pod(Arc::new(pod))), now);
    }
    let mut rng = Rng::new(seed);
    let mut bound = Vec::new();
    while scheduler.schedule_one(now, &mut rng).is_some() {
        for effect in scheduler.take_effects() {
            let Some((pod, node)) = effect.as_bind() else {
                continue;
            };
            let running = Pod {
                node_name: Some(node),
                ..Pod::clone(pod)
            };
            scheduler.apply(Change::Upsert(Object::Pod(Arc::new(running))), now);
            scheduler.bound(&pod.uid);
            bound.push(pod.clone());
        }
    }
    (scheduler, bound)
}

#[test]
fn names_are_unique_and_found() {
    for policy in Packing::ALL {
        assert_eq!(Packing::from_name(policy.name()), Some(policy));
    }
    assert_eq!(Packing::from_name("NextFit"), None);
}

#[test]
fn what_a_node_is_worth() {
    let mut world = World::default();
    for other in ["first", "second"] {
        let node = world.node(other, &[]);
        world.add_node(node);
    }
    let mut node = world.node("n", &[]);
    world.set_allocatable(
        &mut node,
        &[("cpu", "4"), ("memory", "8Gi"), ("x.com/gpu", "2")],
    );
    world.add_node(node);
    let mut busy = world.pod("default/busy", &[]);
    world.set_requests(&mut busy, &[("cpu", "1"), ("x.com/gpu", "1")]);
    world.add_pod(busy, "n");
    let mut pod = world.pod("default/new", &[]);
    let mut keys = |requests: &[(&str, &str)]| {
        world.set_requests(&mut pod, requests);
        let node = &world.snapshot.nodes()[2];
        Packing::ALL.map(|policy| policy.key(&pod, node))
    };
    // Three quarters of the cpu, all of the memory.
    assert_eq!(keys(&[]), [-2, -1_750_000, 1_750_000, -2]);
    assert_eq!(
        keys(&[("cpu", "1"), ("memory", "2Gi")]),
        [-2, -1_250_000, 1_250_000, -2]
    );
    // The last GPU is gone, and of the storage there was none.
    assert_eq!(
        keys(&[("x.com/gpu", "1"), ("ephemeral-storage", "1")]),
        [-2, -1_750_000, 1_750_000, -2]
    );
}

#[test]
fn first_fit_goes_by_arrival_whoever_left() {
    let mut world = World::default();
    for name in ["a", "b", "c"] {
        let mut node = world.node(name, &[]);
        world.set_allocatable(&mut node, &[("cpu", "4")]);
        world.add_node(node);
    }
    let gone = world.sym("a");
    world.snapshot.remove(Kind::Node, Sym::EMPTY, gone);
    let pod = world.pod("default/new", &[]);
    let framework = framework(Packing::FirstFit);
    let explanation = crate::explain::explain(&framework, world.cx(), &pod, false);
    let first = world.sym("b");
    let first = world.snapshot.node_position(first);
    assert_eq!(explanation.best, [first.unwrap()]);
}

#[test]
fn keys_stay_small() {
    let mut world = World::default();
    let node = world.node("n", &[]);
    world.add_node(node);
    let mut pod = world.pod("default/new", &[]);
    let names: Vec<String> = (0..2000).map(|i| format!("x.com/r{i}")).collect();
    let asked: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    let plenty: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "9E")).collect();
    world.set_requests(&mut pod, &asked);
    let mut node = world.node("n", &[]);
    world.set_allocatable(&mut node, &plenty);
    world.add_node(node);
    let node = &world.snapshot.nodes()[0];
    for policy in Packing::ALL {
        let key = policy.key(&pod, node);
        assert!(key.abs() <= Packing::KEY_MAX, "{policy:?}: {key}");
    }
}

#[test]
fn a_policy_takes_the_place_of_all_scores() {
    let mut world = World::default();
    for name in ["a", "b"] {
        let mut node = world.node(name, &[]);
        world.set_allocatable(&mut node, &[("cpu", "4")]);
        world.add_node(node);
    }
    let mut pod = world.pod("default/new", &[]);
    world.set_requests(&mut pod, &[("cpu", "1")]);
    let framework = framework(Packing::FirstFit);
    assert_eq!(framework.packing(), Some(Packing::FirstFit));
    let explanation = crate::explain::explain(&framework, world.cx(), &pod, false);
    assert_eq!(explanation.best, [0]);
    assert_eq!(explanation.scores.totals, [0, -1]);
    let [scores] = &explanation.scores.plugins[..] else {
        panic!("one plugin scores");
    };
    assert_eq!(scores.plugin, "BinPacking");
    assert_eq!(scores.raw, [Some(0), Some(-1)]);
    assert!(explanation.skipped_scores.is_empty());
}
