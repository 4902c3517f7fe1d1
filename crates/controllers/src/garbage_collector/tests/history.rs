//! Random histories: users create, delete and change objects while reflectors lag behind and workers stop
//! between any two requests. In the end nothing is left that should be gone, and nothing was deleted that
//! had an owner (the server asserts that at each deletion).

use super::super::*;
use super::server::{Object, Server, is_namespaced};
use super::world::{World, gvk};
use std::sync::Arc;

const KINDS: [&str; 4] = ["Pod", "ReplicaSet", "CustomThing", "ClusterThing"];
const POLICIES: [Policy; 3] = [Policy::Background, Policy::Foreground, Policy::Orphan];

/// Numbers that a seed foresees.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % limit.max(1)
    }
}

fn user(world: &mut World, random: &mut Random, count: &mut u32) {
    let all: Vec<Object> = world.server.objects.values().cloned().collect();
    match random.below(6) {
        0..=2 => {
            *count += 1;
            let kind = KINDS[random.below(KINDS.len())];
            let namespace = match is_namespaced(kind) {
                true => ["a", "b"][random.below(2)],
                false => "",
            };
            let mut finalizers = vec!["keep.me/here", ORPHAN, FOREGROUND];
            finalizers.retain(|_| random.below(8) == 0);
            let uid = format!("u{count}");
            let object = Object {
                identity: Identity {
                    gvk: gvk(kind),
                    namespace: namespace.into(),
                    name: uid.as_str().into(),
                    uid: uid.as_str().into(),
                },
                owners: owners(&all, random),
                finalizers: finalizers.into_iter().map(str::to_owned).collect(),
                deleting: false,
                version: 0,
            };
            world.server.store(object);
        }
        3 if !all.is_empty() => {
            let object = &all[random.below(all.len())];
            let policy = POLICIES[random.below(3)];
            world.server.delete(&object.identity.uid, policy);
        }
        4 if !all.is_empty() => {
            let mut object = all[random.below(all.len())].clone();
            object.owners = owners(&all, random);
            world.server.store(object);
        }
        5 if !all.is_empty() => {
            let mut object = all[random.below(all.len())].clone();
            object.finalizers.retain(|have| have != "keep.me/here");
            world.server.store(object);
        }
        _ => {}
    }
}

/// Some owners: of those that are there, or of those that never were, sometimes by a wrong name.
fn owners(all: &[Object], random: &mut Random) -> Vec<Owner> {
    let mut owners: Vec<Owner> = Vec::new();
    for _ in 0..random.below(3) {
        let identity = match random.below(6) {
            0 => super::world::identity(&format!("Pod/a/never{}", random.below(3))),
            _ if all.is_empty() => continue,
            _ => all[random.below(all.len())].identity.clone(),
        };
        let name = match random.below(12) {
            0 => "wrong".into(),
            _ => identity.name.clone(),
        };
        if owners.iter().any(|owner| owner.uid == identity.uid) {
            continue;
        }
        owners.push(Owner {
            gvk: identity.gvk,
            name,
            uid: identity.uid,
            controller: None,
            block: [None, Some(true), Some(false)][random.below(3)],
        });
    }
    owners
}

/// Who names whom, by looking at everything.
fn compare_graph(world: &World) {
    let graph = &world.graph;
    for uid in graph.nodes.keys() {
        let names = |node: &&graph::Node| node.owners.iter().any(|owner| owner.uid == *uid);
        let slow: Vec<Arc<str>> = graph
            .nodes
            .values()
            .filter(names)
            .map(|node| node.identity.uid.clone())
            .collect();
        let dependents = graph.dependents(uid);
        let mut fast: Vec<Arc<str>> = dependents.into_iter().map(|id| id.uid).collect();
        fast.sort();
        assert_eq!(fast, slow, "{uid}");
    }
}

/// What must not be there when everything has come to rest.
fn is_garbage(server: &Server, object: &Object) -> Option<&'static str> {
    let has = |finalizer: &str| object.finalizers.iter().any(|have| have == finalizer);
    let is_cluster_scoped = object.identity.namespace.is_empty();
    // It refers to an owner that has a namespace: nobody looks at it, as upstream.
    let is_odd = |owner: &Owner| is_cluster_scoped && is_namespaced(&owner.gvk.kind);
    if object.owners.iter().any(is_odd) && !object.deleting {
        return None;
    }
    if !object.deleting {
        let is_owned = object.owners.is_empty() || server.has_solid_owner(object);
        return (!is_owned).then_some("nobody owns it");
    }
    if has(ORPHAN) {
        return Some("its dependents should have forgotten it");
    }
    let blocks = |other: &&Object| {
        let mut owners = other.owners.iter();
        owners.any(|owner| owner.uid == object.identity.uid && owner.blocks())
    };
    let waits = server.objects.values().any(|other| blocks(&other));
    (has(FOREGROUND) && !waits).then_some("it waits for nobody")
}

#[test]
fn in_the_end_nothing_is_left_that_should_be_gone() {
    let mut deleted = 0;
    for seed in 1..400_u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut world = World::default();
        let mut count = 0;
        for _ in 0..150 {
            match random.below(5) {
                0 => user(&mut world, &mut random, &mut count),
                1 | 2 => {
                    let telling = world.telling();
                    if !telling.is_empty() {
                        world.tell(&telling[random.below(telling.len())]);
                        compare_graph(&world);
                    }
                }
                3 => {
                    world.begin();
                }
                _ if world.jobs() > 0 => world.step(random.below(world.jobs())),
                _ => world.retry(),
            }
        }
        world.settle();
        compare_graph(&world);
        for object in world.server.objects.values() {
            let why = is_garbage(&world.server, object);
            assert_eq!(why, None, "seed {seed}: {object:?}");
        }
        let log = world.take_log();
        deleted += log.iter().filter(|line| line.starts_with("delete")).count();
    }
    assert!(deleted > 1_000, "{deleted}");
}
