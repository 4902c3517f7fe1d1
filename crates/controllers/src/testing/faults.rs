//! Sieve's patterns, for any controller: every write fails once, loses its answer once, or is the last one of a
//! process; controllers see things late, and not all of them. Whatever happens, it comes to the same end, and
//! never goes beyond its bounds.

mod batch;
mod network;
mod others;
mod workloads;

use super::World;
use crate::Controller;
use crate::common::{is_deleting, is_pod_finished, is_pod_ready, name, namespace};
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use std::time::Duration;

/// Something that controllers do.
struct Scenario {
    /// The controllers, as a process begins with them.
    controllers: fn() -> Vec<Box<dyn Controller>>,
    /// What there is at first.
    start: fn(&mut World),
    /// What users do, one after the other, each when all is at rest.
    steps: &'static [fn(&mut World)],
    /// What kubelets and others do: one thing at a time. Says whether there was anything to do.
    live: fn(&mut World) -> bool,
    /// What must hold whenever something has changed.
    check: fn(&World),
    /// How it came out.
    end: fn(&World) -> String,
    /// How long a rest is watched.
    span: Duration,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default)]
struct Fault {
    refuse_at: Option<usize>,
    lose_at: Option<usize>,
    crash_at: Option<usize>,
    lag: Option<usize>,
    misses_events: bool,
}

impl Scenario {
    /// Plays it with all faults.
    fn play(&self) {
        let (wanted, writes) = self.play_with(Fault::default());
        assert!(writes > 0, "nothing is written");
        let check = |fault: Fault| {
            let (found, _) = self.play_with(fault);
            assert_eq!(found, wanted, "{fault:?}");
        };
        let lags = [0, 1, 3, 10, usize::MAX].map(Some);
        for lag in lags {
            for misses_events in [false, true] {
                check(Fault {
                    lag,
                    misses_events,
                    ..Fault::default()
                });
            }
        }
        for number in 1..=writes {
            let (at, fault) = (Some(number), Fault::default());
            check(Fault {
                refuse_at: at,
                ..fault
            });
            check(Fault {
                lose_at: at,
                ..fault
            });
            check(Fault {
                crash_at: at,
                ..fault
            });
            // Late as well, by one lag after the other.
            let late = Fault {
                lag: lags[number % lags.len()],
                misses_events: number % 2 == 0,
                ..fault
            };
            check(Fault {
                refuse_at: at,
                ..late
            });
            check(Fault {
                crash_at: at,
                ..late
            });
        }
    }

    /// Tells how it came out, and how much was written.
    fn play_with(&self, fault: Fault) -> (String, usize) {
        let mut world = World::default();
        (self.start)(&mut world);
        let trouble = &mut world.trouble;
        trouble.refuse_at = fault.refuse_at;
        trouble.lose_at = fault.lose_at;
        trouble.crash_at = fault.crash_at;
        trouble.lag = fault.lag;
        trouble.misses_events = fault.misses_events;
        trouble.check = Some(self.check);
        let mut controllers = self.begin(&mut world);
        self.rest(&mut world, &mut controllers, fault);
        for step in self.steps {
            step(&mut world);
            self.rest(&mut world, &mut controllers, fault);
        }
        ((self.end)(&world), world.trouble.written)
    }

    fn begin(&self, world: &mut World) -> Vec<Box<dyn Controller>> {
        world.list_again();
        let controllers = (self.controllers)();
        for (number, controller) in controllers.iter().enumerate() {
            world.join(number, &**controller);
        }
        controllers
    }

    /// Until nothing happens any more.
    fn rest(&self, world: &mut World, controllers: &mut Vec<Box<dyn Controller>>, fault: Fault) {
        let mut left = self.span;
        for _ in 0..50_000 {
            if world.trouble.has_crashed {
                *controllers = self.begin(world);
            }
            while world.untold() > fault.lag.unwrap_or(0) {
                world.tell_next();
            }
            let next = world.queue.lock().expect("no panic").ready.pop_front();
            if let Some((number, key)) = next {
                let (again, failed) = world.sync_key(&*controllers[number], &key);
                let again = if failed {
                    Some(Duration::from_secs(1))
                } else {
                    again
                };
                let mut queue = world.queue.lock().expect("no panic");
                queue
                    .waiting
                    .extend(again.map(|again| (again, number, key)));
                continue;
            }
            if world.untold() > 0 {
                world.tell_next();
                continue;
            }
            if (self.live)(world) {
                continue;
            }
            let first = world
                .queue
                .lock()
                .expect("no panic")
                .waiting
                .first()
                .map(|first| first.0);
            match first.filter(|first| *first <= left) {
                Some(passes) => {
                    left -= passes;
                    world.pass(passes);
                }
                None => return world.pass(left),
            }
        }
        panic!("it never comes to rest: {fault:?}");
    }
}

/// The pods that nobody has deleted and that have not ended.
fn active(world: &World) -> Vec<Pod> {
    let mut pods = world.on_server::<Pod>();
    pods.retain(|pod| !is_deleting(pod) && !is_pod_finished(pod));
    pods
}

/// Lets one pod run, or go if somebody has deleted it. With an exit it comes to this phase.
fn kubelet(world: &mut World, exit: Option<&str>) -> bool {
    for pod in world.on_server::<Pod>() {
        let (space, pod_name) = (namespace(&pod).to_owned(), name(&pod).to_owned());
        if is_deleting(&pod) {
            let holds = |pod: &Pod| !crate::common::finalizers(pod).is_empty();
            if !holds(&pod) {
                world.remove::<Pod>(&space, &pod_name);
                return true;
            }
            if is_pod_finished(&pod) {
                continue;
            }
        }
        let phase = exit.unwrap_or("Running");
        let is_there = match exit {
            Some(_) => is_pod_finished(&pod),
            None => is_pod_ready(&pod) || is_pod_finished(&pod),
        };
        if is_there {
            continue;
        }
        let (is_ready, since) = (if exit.is_some() { "False" } else { "True" }, world.now);
        world.change_on_server::<Pod>(&space, &pod_name, |pod| {
            pod.spec.get_or_insert_default().node_name.get_or_insert_with(|| "n1".to_owned());
            let exit_code = i32::from(phase == "Failed");
            let status = json!({
                "phase": phase,
                "podIPs": [{"ip": format!("10.0.0.{}", pod_name.len())}],
                "conditions": [{"type": "Ready", "status": is_ready, "lastTransitionTime": super::seconds(since)}],
                "containerStatuses": exit.map(|_| json!([{
                    "name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
                    "state": {"terminated": {"exitCode": exit_code, "finishedAt": super::seconds(since)}},
                }])),
            });
            pod.status = serde_json::from_value(status).expect("a status");
        });
        return true;
    }
    false
}

fn run(world: &mut World) -> bool {
    kubelet(world, None)
}

/// Nothing more to say.
const MINUTES: Duration = Duration::from_secs(600);
