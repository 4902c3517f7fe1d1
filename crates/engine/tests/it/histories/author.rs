//! Writes a history while it happens.

use super::event::{Event, World};
use super::maker::{Dice, Maker};
use super::plan::{Features, Plan, Size};
use super::profiles::Profile;
use super::templates::{Template, ephemeral_claim};
use std::sync::Arc;
use stowplan_base::{Names, Sym, Time};
use stowplan_engine::framework::Nomination;
use stowplan_engine::framework::PreemptionReport;
use stowplan_engine::model::{Kind, Object, Pod};
use stowplan_engine::schedule::Attempt;

/// At most so many pods wait for another attempt.
const PENDING_MAX: usize = 12;

/// Whoever decides what happens next.
pub(super) struct Author {
    dice: Dice,
    pub(super) plan: Plan,
    templates: Vec<Template>,
    /// The uids of pods on nodes; some may be gone already.
    placed: Vec<Arc<str>>,
    pending: Vec<Pod>,
    serial: usize,
    /// So many steps go by without a decision.
    quiet: usize,
    profiles: usize,
}

impl Author {
    /// The author of the history of this seed, and the profiles that decide in it.
    pub(super) fn new(seed: u64, size: Size, names: &mut Names) -> (Self, Vec<Profile>) {
        let mut dice = Dice::new(seed);
        let plan = Plan::roll(size, &mut dice);
        let mut maker = Maker {
            dice: &mut dice,
            names,
            plan: &plan,
        };
        let profiles = maker.profiles();
        let templates = maker.templates();
        let author = Self {
            dice,
            plan,
            templates,
            placed: Vec::new(),
            pending: Vec::new(),
            serial: 0,
            quiet: 0,
            profiles: profiles.len(),
        };
        (author, profiles)
    }

    fn maker<'a>(&'a mut self, names: &'a mut Names) -> Maker<'a> {
        Maker {
            dice: &mut self.dice,
            names,
            plan: &self.plan,
        }
    }

    /// The cluster as it is at first.
    pub(super) fn beginning(&mut self, names: &mut Names) -> Vec<Event> {
        let nodes = self.plan.nodes;
        let mut maker = self.maker(names);
        let mut events = Vec::new();
        for n in 0..nodes {
            let name = maker.sym(&format!("n{n}"));
            events.push(Event::Put(Object::Node(Arc::new(maker.node(name)))));
        }
        events.extend(maker.first_objects().into_iter().map(Event::Put));
        let pods = match self.plan.features.crowded {
            true => self.plan.pods,
            false => self.plan.pods / 2,
        };
        for _ in 0..pods {
            events.push(self.pod_anywhere(names));
        }
        events
    }

    /// What happens next.
    pub(super) fn next(&mut self, world: &mut World) -> Vec<Event> {
        if self.quiet > 0 {
            self.quiet -= 1;
            return self.change(world);
        }
        if self.dice.chance(self.plan.decisions_percent) {
            return self.decisions(world);
        }
        if self.dice.chance(2) {
            self.quiet = self.dice.below(200);
        }
        self.change(world)
    }

    /// One pod is decided about, in one profile or in all of them.
    fn decisions(&mut self, world: &mut World) -> Vec<Event> {
        let names = &mut world.snapshot.names;
        let mut events = Vec::new();
        let pod = match self.dice.below(20) {
            0..=2 if !self.pending.is_empty() => self.some_pending(),
            // Whoever found no room asks again and again.
            4..=9 if self.plan.features.crowded && !self.pending.is_empty() => self.some_pending(),
            3 if self.dice.chance(50) => match self.some_placed(world) {
                Some(pod) => Pod::clone(&pod),
                None => return events,
            },
            _ => {
                let pod = self.new_pod(names);
                events.extend(self.ephemeral_claim(&pod, names));
                pod
            }
        };
        let pod = Arc::new(pod);
        let first = self.dice.below(self.profiles);
        let count = if self.dice.chance(20) {
            self.profiles
        } else {
            1
        };
        for i in 0..count {
            let profile = (first + i) % self.profiles;
            events.push(Event::Decide(pod.clone(), profile));
        }
        events
    }

    fn some_pending(&mut self) -> Pod {
        let at = self.dice.below(self.pending.len());
        self.pending.swap_remove(at)
    }

    fn new_pod(&mut self, names: &mut Names) -> Pod {
        self.serial += 1;
        // The lower ones more often, so that some classes are warm and others are not.
        let bound = self.templates.len();
        let at = match self.plan.size {
            Size::ManyTemplates => self.dice.below(bound),
            _ => self.dice.below(bound).min(self.dice.below(bound)),
        };
        let mut maker = Maker {
            dice: &mut self.dice,
            names,
            plan: &self.plan,
        };
        self.templates[at].instance(self.serial, &mut maker)
    }

    /// Most pods with a generic ephemeral volume have their claim already.
    fn ephemeral_claim(&mut self, pod: &Pod, names: &mut Names) -> Option<Event> {
        let has_one = pod.volumes.iter().any(|volume| volume.is_ephemeral());
        if !has_one || self.dice.chance(10) {
            return None;
        }
        let mut maker = self.maker(names);
        let name = maker.sym(&ephemeral_claim(&pod.key));
        let claim = maker.ephemeral_claim_of(pod, name);
        Some(Event::Put(Object::PersistentVolumeClaim(Arc::new(claim))))
    }

    /// What follows from a decision.
    pub(super) fn follow(&mut self, pod: &Pod, attempt: &Attempt, world: &World) -> Vec<Event> {
        if world.snapshot.pod(&pod.uid).is_some() {
            return Vec::new();
        }
        let crowded = self.plan.features.crowded || self.placed.len() > 2 * self.plan.pods;
        match attempt {
            Attempt::Error(_) => Vec::new(),
            Attempt::Placed(placement) if self.dice.chance(if crowded { 25 } else { 75 }) => {
                let at = *self.dice.pick(&placement.best);
                let node = world.snapshot.nodes()[at].node.name;
                self.bind(pod.clone(), node)
            }
            Attempt::Placed(_) => self.wait(pod.clone()),
            Attempt::Unschedulable {
                nomination,
                preemption,
                ..
            } => {
                let mut pod = pod.clone();
                let mut events = Vec::new();
                if let (Nomination::Set(Some(node)), Some(report)) = (nomination, preemption)
                    && self.dice.chance(60)
                {
                    pod.nominated_node_name = Some(*node);
                    events.push(Event::Nominate(Arc::new(pod.clone()), *node));
                    events.extend(self.evict(report));
                }
                events.extend(self.wait(pod));
                events
            }
        }
    }

    /// The pod is assumed on the node, and most often the API confirms it, sooner or later.
    fn bind(&mut self, mut pod: Pod, node: Sym) -> Vec<Event> {
        self.pending.retain(|waiting| waiting.uid != pod.uid);
        self.placed.push(pod.uid.clone());
        let mut events = vec![
            Event::Denominate(pod.uid.clone()),
            Event::Assume(Arc::new(pod.clone()), node),
        ];
        if self.dice.chance(60) {
            pod.node_name = Some(node);
            if self.dice.chance(70) {
                pod.start_time = Some(Time::from_secs(self.dice.between(1, 5)));
            }
            events.push(Event::Put(Object::Pod(Arc::new(pod))));
        }
        events
    }

    /// The pod waits for another attempt; if too many do, one gives up.
    fn wait(&mut self, pod: Pod) -> Vec<Event> {
        self.pending.retain(|waiting| waiting.uid != pod.uid);
        self.pending.push(pod);
        if self.pending.len() <= PENDING_MAX {
            return Vec::new();
        }
        let at = self.dice.below(self.pending.len());
        let gone = self.pending.swap_remove(at);
        vec![Event::Denominate(gone.uid)]
    }

    /// Victims go at once, or later, or not at all.
    fn evict(&mut self, report: &PreemptionReport) -> Vec<Event> {
        let victims = report.chosen().map_or(&[][..], |chosen| &chosen.victims);
        let mut events = Vec::new();
        for victim in victims {
            match self.dice.below(10) {
                0..=4 => events.push(Event::RemovePod(victim.uid.clone())),
                5..=8 => events.push(Event::Put(Object::Pod(Arc::new(Pod {
                    terminating: true,
                    preempted_by_scheduler: true,
                    ..Pod::clone(victim)
                })))),
                _ => {}
            }
        }
        events
    }

    /// Something changes.
    fn change(&mut self, world: &mut World) -> Vec<Event> {
        let crowded = self.placed.len() > self.plan.pods;
        match self.dice.below(100) {
            0..=14 if !crowded => vec![self.pod_anywhere(&mut world.snapshot.names)],
            0..=29 => self.remove_pod(crowded),
            30..=49 => self.change_pod(world),
            50..=69 => self.change_node(world),
            70..=72 => self.replace_node(world),
            73 | 74 => vec![self.remove_node(world)],
            75..=79 if self.plan.features.nominations => self.change_nomination(world),
            80 => vec![self.churn(&mut world.snapshot.names)],
            81..=85 => {
                let removal = self.maker(&mut world.snapshot.names).removal();
                let event = |(kind, namespace, name)| Event::Remove(kind, namespace, name);
                removal.map(event).into_iter().collect()
            }
            _ => {
                let object = self.maker(&mut world.snapshot.names).object();
                object.map(Event::Put).into_iter().collect()
            }
        }
    }

    /// A pod stands on some node, be there room or not; now and then on one that does not exist.
    fn pod_anywhere(&mut self, names: &mut Names) -> Event {
        let mut pod = self.new_pod(names);
        pod.node_name = Some(self.maker(names).node_name());
        let Features {
            priorities,
            crowded,
            ..
        } = self.plan.features;
        if priorities && (crowded || self.dice.chance(60)) {
            pod.priority = *self.dice.pick(&[-10, -10, -5, 0]);
        }
        if self.dice.chance(80) {
            pod.start_time = Some(Time::from_secs(self.dice.between(1, 5)));
        }
        self.placed.push(pod.uid.clone());
        Event::Put(Object::Pod(Arc::new(pod)))
    }

    /// A pod goes, or several if there are too many.
    fn remove_pod(&mut self, crowded: bool) -> Vec<Event> {
        let mut events = Vec::new();
        for _ in 0..if crowded { 3 } else { 1 } {
            if !self.placed.is_empty() {
                let at = self.dice.below(self.placed.len());
                events.push(Event::RemovePod(self.placed.swap_remove(at)));
            }
        }
        events
    }

    fn some_placed(&mut self, world: &World) -> Option<Arc<Pod>> {
        if self.placed.is_empty() {
            return None;
        }
        let at = self.dice.below(self.placed.len());
        let found = world.snapshot.pod(&self.placed[at]).cloned();
        if found.is_none() {
            self.placed.swap_remove(at);
        }
        found
    }

    fn change_pod(&mut self, world: &mut World) -> Vec<Event> {
        let Some(pod) = self.some_placed(world) else {
            return Vec::new();
        };
        let mut pod = Pod::clone(&pod);
        pod.node_name = world.snapshot.node_of_pod(&pod.uid);
        let mut maker = Maker {
            dice: &mut self.dice,
            names: &mut world.snapshot.names,
            plan: &self.plan,
        };
        let changed = maker.changed_pod(&pod, &self.templates);
        vec![Event::Put(Object::Pod(Arc::new(changed)))]
    }

    fn change_node(&mut self, world: &mut World) -> Vec<Event> {
        if world.snapshot.nodes().is_empty() {
            return Vec::new();
        }
        let at = self.dice.below(world.snapshot.nodes().len());
        let node = world.snapshot.nodes()[at].node.clone();
        let changed = self.maker(&mut world.snapshot.names).changed_node(&node);
        vec![Event::Put(Object::Node(Arc::new(changed)))]
    }

    /// A node appears, or is another one under the same name.
    fn replace_node(&mut self, world: &mut World) -> Vec<Event> {
        let mut maker = self.maker(&mut world.snapshot.names);
        let name = maker.node_name();
        let node = maker.node(name);
        vec![Event::Put(Object::Node(Arc::new(node)))]
    }

    fn remove_node(&mut self, world: &mut World) -> Event {
        let name = self.maker(&mut world.snapshot.names).node_name();
        Event::Remove(Kind::Node, Sym::EMPTY, name)
    }

    fn change_nomination(&mut self, world: &mut World) -> Vec<Event> {
        if self.pending.is_empty() {
            return Vec::new();
        }
        let at = self.dice.below(self.pending.len());
        let pod = self.pending[at].clone();
        if self.dice.chance(40) {
            return vec![Event::Denominate(pod.uid)];
        }
        let node = self.maker(&mut world.snapshot.names).node_name();
        vec![Event::Nominate(Arc::new(pod), node)]
    }

    fn churn(&mut self, names: &mut Names) -> Event {
        let mut pod = self.new_pod(names);
        pod.node_name = Some(self.maker(names).node_name());
        if self.dice.chance(10) {
            return Event::Parade(Arc::new(pod), 300 + self.dice.below(2_500));
        }
        let times = *self.dice.pick(&[2, 40, 300, 5_000]);
        Event::Churn(Arc::new(pod), times)
    }
}
