//! Random namespaces, services, owners, budgets and device claims.

use super::maker::{Maker, NAMESPACES};
use std::sync::Arc;
use stowplan_base::{Sym, Time};
use stowplan_engine::model::{
    ClaimReservation, DeviceClass, Kind, Labels, Namespace, Object, PodDisruptionBudget,
    PodSelectorOwner, ResourceClaim, ResourceSlice,
};

impl Maker<'_> {
    /// What a cluster has to begin with, nodes and pods aside.
    pub(super) fn first_objects(&mut self) -> Vec<Object> {
        let mut objects = Vec::new();
        for name in &NAMESPACES[..self.plan.namespaces] {
            if self.dice.chance(90) {
                let namespace = self.namespace_named(name);
                objects.push(Object::Namespace(Arc::new(namespace)));
            }
        }
        if self.plan.features.volumes {
            objects.extend(self.storage());
        }
        for _ in 0..40 {
            objects.extend(self.small_object());
        }
        objects
    }

    /// Some object that is neither node nor pod; `None` if this history has none of the kind.
    pub(super) fn object(&mut self) -> Option<Object> {
        if self.plan.features.volumes && self.dice.chance(50) {
            return Some(self.storage_object());
        }
        if self.plan.features.pod_affinity && self.dice.chance(20) {
            let name = *self.dice.pick(&NAMESPACES[..self.plan.namespaces]);
            let namespace = self.namespace_named(name);
            return Some(Object::Namespace(Arc::new(namespace)));
        }
        self.small_object()
    }

    fn small_object(&mut self) -> Option<Object> {
        let on = self.plan.features;
        match self.dice.below(8) {
            0..=2 if on.default_spread => Some(self.selector_owner()),
            3 | 4 if on.budgets => Some(Object::PodDisruptionBudget(Arc::new(self.budget()))),
            5 | 6 if on.resource_claims => {
                Some(Object::ResourceClaim(Arc::new(self.resource_claim())))
            }
            7 if on.resource_claims && self.dice.chance(20) => {
                let name = self.one_of(&["slice0", "slice1"]);
                Some(Object::ResourceSlice(Arc::new(ResourceSlice { name })))
            }
            7 if on.resource_claims && on.extended_resources => {
                Some(Object::DeviceClass(Arc::new(self.device_class())))
            }
            _ => None,
        }
    }

    fn namespace_named(&mut self, name: &str) -> Namespace {
        let team = (self.sym("team"), self.one_of(&["a", "b"]));
        let labels = self.dice.chance(80).then_some(team);
        Namespace {
            name: self.sym(name),
            labels: Labels::new(labels),
        }
    }

    fn selector_owner(&mut self) -> Object {
        let kind = *self.dice.pick(&[
            Kind::Service,
            Kind::Service,
            Kind::ReplicaSet,
            Kind::StatefulSet,
            Kind::ReplicationController,
        ]);
        let plain = matches!(kind, Kind::Service | Kind::ReplicationController);
        let owner = Arc::new(PodSelectorOwner {
            kind,
            namespace: self.namespace(),
            name: self.one_of(&["o0", "o1"]),
            selector: if plain {
                self.map_selector()
            } else {
                self.pod_selector()
            },
        });
        match kind {
            Kind::Service => Object::Service(owner),
            Kind::ReplicaSet => Object::ReplicaSet(owner),
            Kind::StatefulSet => Object::StatefulSet(owner),
            _ => Object::ReplicationController(owner),
        }
    }

    fn budget(&mut self) -> PodDisruptionBudget {
        let pods = 1 + self.dice.below(40);
        PodDisruptionBudget {
            namespace: self.namespace(),
            name: self.one_of(&["b0", "b1", "b2"]),
            selector: self.pod_selector(),
            disruptions_allowed: *self.dice.pick(&[-1, 0, 0, 1, 2]),
            disrupted_pods: match self.dice.below(4) {
                0 => [self.sym(&format!("p{pods}"))].into(),
                _ => Box::default(),
            },
        }
    }

    fn resource_claim(&mut self) -> ResourceClaim {
        let reserved = ClaimReservation {
            uid: "somebody".into(),
        };
        let allocated = self.dice.chance(50);
        ResourceClaim {
            namespace: self.namespace(),
            name: self.one_of(&["rc0", "rc1"]),
            uid: "claim".into(),
            terminating: self.dice.chance(10),
            controller: None,
            allocated,
            reserved_for: self
                .dice
                .chance(20)
                .then_some(reserved)
                .into_iter()
                .collect(),
            status: if allocated { "allocated" } else { "" }.into(),
        }
    }

    fn device_class(&mut self) -> DeviceClass {
        let name = *self.dice.pick(&["c0", "c1"]);
        let resource = self.one_of(&["example.com/gpu", "example.com/late"]);
        DeviceClass {
            name: self.sym(name),
            created: self
                .dice
                .chance(80)
                .then(|| Time::from_secs(self.dice.between(1, 3))),
            extended_resource_name: self.dice.chance(80).then_some(resource),
            implicit_resource_name: self.sym(&format!("deviceclass.resource.kubernetes.io/{name}")),
        }
    }

    /// What some object would be removed by; it need not exist.
    pub(super) fn removal(&mut self) -> Option<(Kind, Sym, Sym)> {
        let object = self.object()?;
        let (namespace, name) = object.key();
        Some((object.kind(), namespace, name))
    }
}
