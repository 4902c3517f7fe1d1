//! Victims are evicted many at a time, and the last of them alone.

use super::Rig;
use crate::framework::Outcome;
use crate::scheduler::{Effect, Ticket};
use std::sync::Arc;
use stowplan_base::Rng;

/// A preemption of so many victims, begun.
struct Evicting {
    rig: Rig,
    /// What is waited for, the oldest first.
    open: Vec<Ticket>,
}

impl Evicting {
    fn of(victims: usize) -> Self {
        let mut rig = Rig::new();
        rig.node("n", |world, node| {
            world.set_allocatable(node, &[("cpu", "40")]);
        });
        for i in 0..victims {
            rig.assigned(&format!("victim-{i}"), "n", |world, pod| {
                world.set_requests(pod, &[("cpu", "1")]);
            });
        }
        rig.at(1_000).create("p", |world, pod| {
            world.set_requests(pod, &[("cpu", "40")]);
            pod.priority = 10;
        });
        rig.scheduler.schedule_one(rig.now, &mut Rng::new(1));
        let mut evicting = Self {
            rig,
            open: Vec::new(),
        };
        evicting.take_requests();
        evicting
    }

    /// Takes what is asked for; says how the preemption ended, if it did.
    fn take_requests(&mut self) -> Option<bool> {
        let mut ended = None;
        for effect in self.rig.scheduler.take_effects() {
            match effect {
                Effect::Request(request) if request.ticket != Ticket::Nobody => {
                    self.open.push(request.ticket);
                }
                Effect::Preempted { failed, .. } => ended = Some(failed),
                _ => {}
            }
        }
        ended
    }

    fn answer(&mut self, ticket: Ticket, outcome: Outcome) -> Option<bool> {
        self.open.retain(|open| *open != ticket);
        let (uid, now) = (Arc::from("default/p"), self.rig.now);
        self.rig.scheduler.answer(&uid, ticket, outcome, now);
        self.take_requests()
    }

    /// The victim of this number is told and deleted.
    fn evict(&mut self, victim: u32) -> Option<bool> {
        let told = self.answer(Ticket::Told(victim), Outcome::Done(None));
        assert_eq!(told, None, "it is yet to be deleted");
        self.answer(Ticket::Deleted(victim), Outcome::Done(None))
    }
}

fn told(victims: std::ops::Range<u32>) -> Vec<Ticket> {
    victims.map(Ticket::Told).collect()
}

#[test]
fn sixteen_victims_go_at_a_time() {
    let mut evicting = Evicting::of(20);
    assert_eq!(evicting.open, told(0..16));
    // Being told is half of it: the next one waits until a victim is deleted.
    evicting.answer(Ticket::Told(3), Outcome::Done(None));
    assert!(evicting.open.contains(&Ticket::Deleted(3)));
    assert!(!evicting.open.contains(&Ticket::Told(16)));
    evicting.answer(Ticket::Deleted(3), Outcome::Done(None));
    assert_eq!(evicting.open.len(), 16);
    assert!(evicting.open.contains(&Ticket::Told(16)));
}

#[test]
fn the_last_victim_goes_when_all_others_have() {
    let mut evicting = Evicting::of(18);
    for victim in 0..16 {
        assert_eq!(evicting.evict(victim), None);
    }
    assert_eq!(evicting.open, told(16..17), "the last waits");
    assert_eq!(evicting.evict(16), None);
    assert_eq!(evicting.open, told(17..18));
    assert_eq!(evicting.evict(17), Some(false), "over, and nobody stayed");
    assert!(evicting.rig.scheduler.preemption("default/p").is_none());
}

#[test]
fn a_victim_that_is_gone_already_counts_as_evicted() {
    let mut evicting = Evicting::of(2);
    let gone = || Outcome::NotFound("gone".to_owned());
    assert_eq!(evicting.answer(Ticket::Told(0), gone()), None);
    assert_eq!(evicting.open, told(1..2));
    evicting.answer(Ticket::Told(1), Outcome::Done(None));
    assert_eq!(evicting.answer(Ticket::Deleted(1), gone()), Some(false));
}

#[test]
fn once_a_victim_stays_no_more_are_begun_with() {
    for outcome in [
        Outcome::Failed("forbidden".to_owned()),
        Outcome::Unknown("no answer".to_owned()),
    ] {
        let mut evicting = Evicting::of(20);
        assert_eq!(evicting.answer(Ticket::Told(0), outcome), None);
        assert_eq!(evicting.open, told(1..16), "nobody takes its place");
        for victim in 1..15 {
            assert_eq!(evicting.evict(victim), None, "what was begun is ended");
        }
        assert_eq!(evicting.evict(15), Some(true));
        assert!(evicting.open.is_empty(), "the rest stay");
        assert_eq!(evicting.rig.place("p"), "active", "it is tried at once");
    }
}
