//! Names of things that are gone are forgotten, and nothing else changes.

use super::*;
use crate::framework::{Command, Outcome};
use crate::model::{AffinityTerm, PodAffinity, PodSelectorOwner, Requirement, Selector};
use crate::scheduler::Effect;
use stowplan_base::{Marks, Rng};

impl Rig {
    /// A pod with a name and a label that no other ever had. Some keep away from their like, by that
    /// label, and some have a volume of their own; nodes change with them.
    fn wave(&mut self, n: usize) {
        let app = format!("app-{}", n % 7);
        let own = format!("own-{n}");
        if n.is_multiple_of(3) {
            let (volume, claim) = self.build(|world| {
                let mut volume = world.volume(&format!("volume-{n}"), "");
                volume.csi = world.csi("disks", &format!("handle-{n}"));
                let claim = format!("default/claim-{n}");
                (volume, world.bound_claim(&claim, &format!("volume-{n}")))
            });
            self.upsert(Object::PersistentVolume(Arc::new(volume)));
            self.upsert(Object::PersistentVolumeClaim(Arc::new(claim)));
        }
        self.create(&format!("p{n}"), |world, pod| {
            pod.labels = world.labels(&[("app", &app), ("own", &own)]);
            world.set_requests(pod, &[("cpu", "300m")]);
            let (key, value) = match n % 3 {
                0 => {
                    let claimed = world.pod_with_claims("default/_", &[&format!("claim-{n}")]);
                    pod.volumes = claimed.volumes;
                    return;
                }
                1 => (world.sym("app"), world.sym(&app)),
                _ => (world.sym("own"), world.sym(&own)),
            };
            let term = AffinityTerm {
                namespaces: [pod.namespace].into(),
                namespace_selector: Selector::Nothing,
                selector: Selector::All([Requirement::equals(key, value)].into()),
                topology_key: world.sym("kubernetes.io/hostname"),
            };
            pod.pod_anti_affinity = Some(PodAffinity {
                required: [term].into(),
                ..PodAffinity::default()
            });
        });
        if n.is_multiple_of(10) {
            let zone = format!("zone-{n}");
            let name = format!("n{}", n / 10 % 8);
            let csi = self.build(|world| world.csi_node(&name, &[("disks", Some(2))]));
            self.upsert(Object::CSINode(Arc::new(csi)));
            self.node(&name, |world, node| {
                let hostname = node.labels.iter().collect::<Vec<_>>();
                let zone = world.labels(&[("zone", &zone)]);
                node.labels = crate::model::Labels::new(hostname.into_iter().chain(zone.iter()));
            });
        }
        if n.is_multiple_of(25) {
            let service = self.build(|world| PodSelectorOwner {
                kind: Kind::Service,
                namespace: world.sym("default"),
                name: world.sym(&format!("service-{n}")),
                selector: Selector::All(
                    [Requirement::equals(world.sym("own"), world.sym(&own))].into(),
                ),
            });
            self.upsert(Object::Service(Arc::new(service)));
        }
        if n % 25 == 20 {
            self.delete(Kind::Service, "default", &format!("service-{}", n - 20));
        }
        if let Some(old) = n.checked_sub(40) {
            self.delete_pod(&format!("p{old}"));
            let claim = format!("claim-{old}");
            self.delete(Kind::PersistentVolumeClaim, "default", &claim);
            self.delete(Kind::PersistentVolume, "", &format!("volume-{old}"));
        }
    }

    /// Tries what can be tried; who went where, and what others were told.
    fn decisions(&mut self, rng: &mut Rng) -> Vec<String> {
        let mut told = Vec::new();
        while self.scheduler.schedule_one(self.now, rng).is_some() {
            self.carry_out_all(&mut told);
        }
        told
    }

    fn carry_out_all(&mut self, told: &mut Vec<String>) {
        for effect in self.scheduler.take_effects() {
            let done = self.carry_out(effect);
            told.push(done);
            self.carry_out_all(told);
        }
    }

    fn carry_out(&mut self, effect: Effect) -> String {
        if let Some((pod, node)) = effect.as_bind() {
            let mut bound = Pod::clone(pod);
            bound.node_name = Some(node);
            self.upsert_pod(bound);
        }
        match effect {
            Effect::Request(request) => {
                let done = Outcome::Done(None);
                let (uid, ticket) = (&request.pod.uid, request.ticket);
                self.scheduler.answer(uid, ticket, done, self.now);
                let names = &self.scheduler.cluster.names;
                match request.command {
                    Command::Bind { pod, node } => format!("{} to {}", pod.key, names.text(node)),
                    Command::Event(event) => event.note.render(names),
                    Command::Delete(target) => format!("{} deleted", names.text(target.key.2)),
                    Command::Patch(_) | Command::PatchStatus { .. } => "written".to_owned(),
                }
            }
            Effect::Failed { pod, failure, .. } => format!("{} nowhere: {failure:?}", pod.key),
            Effect::Bound { queued, .. } => format!("{} bound", queued.pod.key),
            Effect::BindFailed { pod, .. } => format!("{} not bound", pod.key),
            Effect::Preempted { pod, failed, .. } => format!("{} preempted: {failed}", pod.key),
        }
    }
}

#[test]
fn decisions_stay_the_same() {
    let (mut swept, mut twin) = (Rig::new(), Rig::new());
    let mut rngs = [Rng::new(3), Rng::new(3)];
    for n in 0..600 {
        for rig in [&mut swept, &mut twin] {
            rig.wave(n);
            rig.at(i64::try_from(n).unwrap() * 500);
        }
        if n % 13 == 0 {
            swept.scheduler.sweep_names(|_: &mut Marks| {});
        }
        let told = swept.decisions(&mut rngs[0]);
        assert_eq!(told, twin.decisions(&mut rngs[1]), "wave {n}");
    }
    let names = |rig: &Rig| rig.scheduler.cluster.names.len();
    assert!(names(&twin) > 1200, "{}", names(&twin));
    assert!(names(&swept) < 300, "{}", names(&swept));
    let symbols = swept.scheduler.cluster.names.symbols();
    assert!(symbols < 600, "symbols are used again: {symbols}");
}

#[test]
fn what_others_hold_stays() {
    let mut rig = Rig::new();
    let [held, gone] = ["held", "gone"].map(|text| rig.sym(text));
    rig.scheduler
        .sweep_names(|marks| std::hash::Hash::hash(&held, marks));
    let names = &rig.scheduler.cluster.names;
    assert_eq!((names.text(held), names.text(gone)), ("held", ""));
    assert!(!rig.scheduler.has_many_names());
}
