//! The queue's data structures against plain models, and at size.

use super::heap::Heap;
use super::in_flight::{InFlight, InFlightEvent};
use super::pool::Pool;
use super::slots::{Slots, SubQueue};
use super::{PluginId, PluginIds, Profiles, QueueConfig, QueueContext, QueuedPod};
use super::{PodId, SchedulingQueue};
use crate::framework::ClusterEvent;
use crate::meter::Meter;
use crate::model::Pod;
use crate::plugins::registry::default_framework;
use crate::testing::World;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stowplan_base::{Duration, Rng, Time};

fn queued(world: &mut World, name: usize, millis: i64) -> QueuedPod {
    let pod = world.pod(&format!("ns/{name}"), &[]);
    QueuedPod::new(Arc::new(pod), Time::from_millis(millis))
}

fn earlier(a: &QueuedPod, b: &QueuedPod) -> bool {
    a.timestamp < b.timestamp
}

/// Go's `container/heap` over times, swap by swap.
#[derive(Default)]
struct GoHeap(Vec<(PodId, i64)>);

impl GoHeap {
    fn position(&self, id: PodId) -> Option<usize> {
        self.0.iter().position(|(other, _)| *other == id)
    }

    fn push(&mut self, id: PodId, time: i64) {
        self.0.push((id, time));
        self.up(self.0.len() - 1);
    }

    fn remove(&mut self, at: usize) -> PodId {
        let last = self.0.len() - 1;
        if at != last {
            self.0.swap(at, last);
            self.fix(at, last);
        }
        self.0.swap_remove(last).0
    }

    fn fix(&mut self, at: usize, len: usize) {
        if !self.down(at, len) {
            self.up(at);
        }
    }

    fn up(&mut self, mut at: usize) {
        while at > 0 && self.0[at].1 < self.0[(at - 1) / 2].1 {
            self.0.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn down(&mut self, start: usize, len: usize) -> bool {
        let mut at = start;
        while 2 * at + 1 < len {
            let mut child = 2 * at + 1;
            if child + 1 < len && self.0[child + 1].1 < self.0[child].1 {
                child += 1;
            }
            if self.0[child].1 >= self.0[at].1 {
                break;
            }
            self.0.swap(at, child);
            at = child;
        }
        at > start
    }
}

#[test]
fn the_heap_is_gos_even_where_pods_are_equal() {
    let mut world = World::default();
    let mut rng = Rng::new(3);
    let (mut slots, mut heap) = (Slots::default(), Heap::default());
    let mut model = GoHeap::default();
    for _ in 0..20_000 {
        let millis = i64::try_from(rng.below(5)).expect("small");
        let pod = queued(&mut world, rng.below(100), millis);
        let id = pod.id();
        let at = model.position(id);
        assert_eq!(slots.find(id).is_some(), at.is_some());
        match (rng.below(4), slots.find(id)) {
            (0, _) => {
                let first = (!model.0.is_empty()).then(|| model.remove(0));
                let popped = heap.peek().map(|slot| {
                    heap.remove(&mut slots, slot, earlier);
                    slots.remove(slot).id()
                });
                assert_eq!(popped, first);
            }
            (1, Some(slot)) => {
                heap.remove(&mut slots, slot, earlier);
                assert_eq!(slots.remove(slot).id(), id);
                at.map(|at| model.remove(at));
            }
            (_, Some(slot)) => {
                slots.pod_mut(slot).timestamp = Time::from_millis(millis);
                heap.fix(&mut slots, slot, earlier);
                let at = at.expect("as the slots say");
                model.0[at].1 = millis;
                model.fix(at, model.0.len());
            }
            (_, None) => {
                let slot = slots.insert(pod, SubQueue::Active);
                heap.push(&mut slots, slot, earlier);
                model.push(id, millis);
            }
        }
        let order: Vec<_> = heap.iter().map(|slot| slots.pod(slot).id()).collect();
        let expected: Vec<_> = model.0.iter().map(|(id, _)| *id).collect();
        assert_eq!(order, expected);
    }
}

#[test]
fn the_pool_knows_who_rejected_whom() {
    let mut world = World::default();
    let mut rng = Rng::new(4);
    let (mut slots, mut pool) = (Slots::default(), Pool::default());
    let mut model: BTreeMap<PodId, PluginIds> = BTreeMap::new();
    let some = |rng: &mut Rng| -> PluginIds {
        let mut plugins: PluginIds = [PluginId::new(rng.below(4))].into_iter().collect();
        plugins.insert(PluginId::new(rng.below(4)));
        plugins
    };
    for _ in 0..5_000 {
        let mut pod = queued(&mut world, rng.below(50), 0);
        let id = pod.id();
        match slots.find(id) {
            Some(slot) => {
                let SubQueue::Pool(group) = slots.sub_queue(slot) else {
                    panic!("there is nothing but the pool");
                };
                pool.remove(&mut slots, slot, group);
                slots.remove(slot);
                model.remove(&id);
            }
            None => {
                pod.set_rejectors(some(&mut rng), PluginIds::NONE);
                model.insert(id, pod.rejectors());
                pool.insert(&mut slots, pod);
            }
        }
        let asked = some(&mut rng);
        let found: BTreeSet<_> = pool
            .rejected_by(asked)
            .map(|slot| slots.pod(slot).id())
            .collect();
        let expected = model.iter().filter(|(_, by)| by.intersects(asked));
        assert!(expected.map(|(id, _)| id).eq(&found));
        assert_eq!(pool.iter().count(), model.len());
    }
}

#[test]
fn marks_and_events_are_a_plain_list() {
    enum Entry {
        Pod(usize),
        Event,
    }
    let mut world = World::default();
    let pods: Vec<Arc<Pod>> = (0..20)
        .map(|i| Arc::new(world.pod(&format!("ns/{i}"), &[])))
        .collect();
    let mut rng = Rng::new(5);
    let mut in_flight = InFlight::default();
    let mut model: Vec<Entry> = Vec::new();
    for _ in 0..5_000 {
        let pod = rng.below(pods.len());
        let uid = &*pods[pod].uid;
        let mark = |e: &Entry| matches!(e, Entry::Pod(p) if *p == pod);
        match rng.below(3) {
            0 => {
                let is_new = !model.iter().any(mark);
                assert_eq!(in_flight.start(pods[pod].clone()), is_new);
                if is_new {
                    model.push(Entry::Pod(pod));
                }
            }
            1 => {
                in_flight.remember(|| InFlightEvent {
                    event: ClusterEvent::FORCE_ACTIVATE,
                    old: None,
                    new: None,
                });
                if model.iter().any(|e| matches!(e, Entry::Pod(_))) {
                    model.push(Entry::Event);
                }
            }
            _ => {
                let at = model.iter().position(mark);
                let missed = at.map(|at| {
                    let after = model[at..].iter();
                    after.filter(|e| matches!(e, Entry::Event)).count()
                });
                assert_eq!(in_flight.events_since(uid).map(Iterator::count), missed);
                in_flight.done(uid);
                if let Some(at) = at {
                    model.remove(at);
                    let kept = model.iter().position(|e| matches!(e, Entry::Pod(_)));
                    model.drain(..kept.unwrap_or(model.len()));
                }
            }
        }
        assert_eq!(in_flight.entries().count(), model.len());
    }
}

#[test]
fn plugin_ids_are_a_set() {
    let ids = [0, 5, 127].map(PluginId::new);
    let set: PluginIds = ids.into_iter().collect();
    assert_eq!(set.iter().collect::<Vec<_>>(), ids);
    assert!(!set.contains(PluginId::new(6)));
    assert!(set.intersects([ids[2]].into_iter().collect()));
    assert!(PluginIds::NONE.is_empty());
}

#[test]
fn backoff_never_overflows() {
    let mut world = World::default();
    let mut pod = queued(&mut world, 0, 0);
    let seconds = |config: QueueConfig, pod: &QueuedPod| {
        let expiry = config.backoff_expiry(pod);
        expiry.map(|expiry| expiry.as_millis() / 1_000)
    };
    let config = QueueConfig::default();
    assert_eq!(seconds(config, &pod), None, "it never failed");
    for (failures, expected) in [(1, 1), (4, 8), (5, 10), (63, 10), (64, 10), (u32::MAX, 10)] {
        pod.unschedulable_count = failures;
        assert_eq!(seconds(config, &pod), Some(expected), "{failures} failures");
    }
    let off = QueueConfig {
        max_backoff: Duration::ZERO,
        ..config
    };
    assert_eq!(seconds(off, &pod), None);
    assert!(!off.is_backing_off(&pod, Time::from_millis(0)));
}

#[test]
fn a_hundred_thousand_pods_pass_through() {
    const PODS: usize = 100_000;
    let mut world = World::default();
    let template = world.pod("ns/p", &[]);
    let profiles = Profiles::new(vec![default_framework()], &mut world.snapshot.names);
    let mut queue = SchedulingQueue::new(QueueConfig::default());
    let pods: Vec<_> = (0..PODS)
        .map(|i| {
            let name = format!("p{i}");
            Arc::new(Pod {
                name: world.sym(&name),
                uid: name.as_str().into(),
                priority: i32::try_from(i % 7).expect("small"),
                ..template.clone()
            })
        })
        .collect();
    let mut env = QueueContext {
        now: Time::from_secs(1),
        profiles: &profiles,
        cluster: &world.snapshot,
        underway: &mut world.underway,
        meter: &Meter::default(),
    };
    for pod in &pods {
        queue.add(&mut env, pod.clone());
    }
    let rejected = profiles.find("NodeName").into_iter().collect();
    let mut last = i32::MAX;
    for _ in 0..PODS {
        let mut pod = queue.pop(&env).expect("there are more");
        assert!(pod.pod.priority <= last);
        last = pod.pod.priority;
        pod.set_rejectors(rejected, PluginIds::NONE);
        queue.add_unschedulable(&mut env, pod);
    }
    assert_eq!(queue.pool().count(), PODS);
    assert!(!queue.can_pop());
    let event_in_flight = |event| InFlightEvent {
        event,
        old: None,
        new: None,
    };
    // Nobody whom it might help: no pod is looked at.
    for _ in 0..PODS {
        queue.move_all(
            &mut env,
            event_in_flight(ClusterEvent::ASSIGNED_POD_DELETE),
            |_| true,
        );
    }
    queue.move_all(
        &mut env,
        event_in_flight(ClusterEvent::FORCE_ACTIVATE),
        |_| true,
    );
    assert_eq!(queue.backoff(&profiles, env.cx()).len(), PODS);
    env.now = Time::from_secs(5);
    queue.flush_backoff(&mut env);
    for _ in 0..PODS {
        let pod = queue.pop(&env).expect("there are more");
        queue.done(&pod.pod.uid);
    }
    assert!(queue.is_empty());
}
