//! The queue's data structures against plain models, and at size.

use super::heap::Heap;
use super::in_flight::{Happening, InFlight};
use super::{Env, Nominator, PluginId, PluginIds, Profiles, QueueConfig, QueuedPod};
use super::{PodId, SchedulingQueue};
use crate::framework::ClusterEvent;
use crate::model::Pod;
use crate::plugins::registry::default_framework;
use crate::testing::World;
use std::collections::BTreeMap;
use std::sync::Arc;
use stowplan_base::{Duration, Rng, Time};

fn queued(world: &mut World, name: usize, millis: i64) -> QueuedPod {
    let pod = world.pod(&format!("ns/{name}"), &[]);
    QueuedPod::new(Arc::new(pod), Time::from_millis(millis))
}

fn earlier(a: &QueuedPod, b: &QueuedPod) -> bool {
    a.timestamp < b.timestamp
}

#[test]
fn the_heap_is_a_sorted_map() {
    let mut world = World::default();
    let mut rng = Rng::new(3);
    let mut heap = Heap::default();
    let mut model: BTreeMap<PodId, i64> = BTreeMap::new();
    for millis in 0..5_000 {
        let pod = queued(&mut world, rng.below(100), millis);
        let id = pod.id();
        match rng.below(4) {
            0 => {
                let first = model.iter().min_by_key(|(_, t)| **t).map(|(id, _)| *id);
                assert_eq!(heap.pop(earlier).map(|pod| pod.id()), first);
                first.and_then(|id| model.remove(&id));
            }
            1 => {
                assert_eq!(
                    heap.remove(id, earlier).is_some(),
                    model.remove(&id).is_some()
                );
            }
            2 => {
                let later = Time::from_millis(millis);
                let changed = heap.update(id, |pod| pod.timestamp = later, earlier);
                assert_eq!(changed, model.contains_key(&id));
                model.entry(id).and_modify(|t| *t = millis);
            }
            _ => {
                heap.insert(pod, earlier);
                model.insert(id, millis);
            }
        }
        assert_eq!(heap.len(), model.len());
        assert!(model.keys().all(|id| heap.contains(*id)));
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
                in_flight.remember(|| Happening {
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
    let mut nominator = Nominator::default();
    let mut env = Env {
        now: Time::from_secs(1),
        profiles: &profiles,
        cluster: &world.snapshot,
        nominator: &mut nominator,
        preempting: &world.preempting,
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
    let happening = |event| Happening {
        event,
        old: None,
        new: None,
    };
    // Nobody whom it might help: no pod is looked at.
    for _ in 0..PODS {
        queue.move_all(
            &mut env,
            happening(ClusterEvent::ASSIGNED_POD_DELETE),
            |_| true,
        );
    }
    queue.move_all(&mut env, happening(ClusterEvent::FORCE_ACTIVATE), |_| true);
    assert_eq!(queue.backoff(&profiles).len(), PODS);
    env.now = Time::from_secs(5);
    queue.flush_backoff(&mut env);
    for _ in 0..PODS {
        let pod = queue.pop(&env).expect("there are more");
        queue.done(&pod.pod.uid);
    }
    assert!(queue.is_empty());
}
