//! Services, by the pods that they select.

use super::Objects;
use crate::model::{Labels, Op, PodSelectorOwner};
use std::sync::Arc;
use stowplan_base::{Lookup, Sym};

/// All Services, to be found by a label that their pods bear.
#[derive(Clone, Debug, Default)]
pub struct Services {
    all: Objects<PodSelectorOwner>,
    /// By namespace and one of the labels that they select by.
    by_label: Lookup<(Sym, Sym, Sym), Vec<Arc<PodSelectorOwner>>>,
}

impl Services {
    /// The Services of a namespace that may select pods with these labels: those that do are among
    /// them.
    pub(crate) fn selecting<'a>(
        &'a self,
        namespace: Sym,
        labels: &'a Labels,
    ) -> impl Iterator<Item = &'a Arc<PodSelectorOwner>> {
        labels
            .iter()
            .filter_map(move |(key, value)| self.by_label.get(&(namespace, key, value)))
            .flatten()
    }

    /// All of them.
    pub(super) fn all(&self) -> &Objects<PodSelectorOwner> {
        &self.all
    }

    /// The Service of this name.
    pub(crate) fn get(&self, namespace: Sym, name: Sym) -> Option<&Arc<PodSelectorOwner>> {
        self.all.get(namespace, name)
    }

    pub(super) fn insert(
        &mut self,
        service: Arc<PodSelectorOwner>,
    ) -> Option<Arc<PodSelectorOwner>> {
        let (namespace, name) = (service.namespace, service.name);
        let old = self.remove(namespace, name);
        // The label that the fewest others are found by.
        let found = |label: &(Sym, Sym, Sym)| self.by_label.get(label).map_or(0, Vec::len);
        if let Some(label) = labels(&service).min_by_key(found) {
            let services = self.by_label.or_insert_with(label, Vec::new);
            services.push(service.clone());
        }
        self.all.insert(namespace, name, service);
        old
    }

    pub(super) fn remove(&mut self, namespace: Sym, name: Sym) -> Option<Arc<PodSelectorOwner>> {
        let old = self.all.remove(namespace, name)?;
        for label in labels(&old) {
            let Some(services) = self.by_label.get_mut(&label) else {
                continue;
            };
            services.retain(|service| !Arc::ptr_eq(service, &old));
            if services.is_empty() {
                self.by_label.remove(&label);
            }
        }
        Some(old)
    }
}

/// The labels that a Service selects by. One without any selects nothing.
fn labels(service: &PodSelectorOwner) -> impl Iterator<Item = (Sym, Sym, Sym)> {
    let requirements = service.selector.requirements().iter();
    requirements
        .filter(|requirement| requirement.op == Op::In)
        .filter_map(|requirement| match requirement.values[..] {
            [value] => Some((service.namespace, requirement.key, value)),
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, Requirement, Selector};
    use crate::testing::World;
    use stowplan_base::Rng;

    #[test]
    fn whoever_selects_a_pod_is_found() {
        let (mut world, mut rng) = (World::default(), Rng::new(9));
        let (keys, values) = (["k0", "k1", "k2"], ["a", "b"]);
        let mut services = Services::default();
        let mut all: Vec<Arc<PodSelectorOwner>> = Vec::new();
        for _ in 0..2000 {
            let (namespace, name) = (["x", "y"][rng.below(2)], format!("s{}", rng.below(9)));
            let (namespace, name) = (world.sym(namespace), world.sym(&name));
            let mut some = |rng: &mut Rng| -> Vec<(Sym, Sym)> {
                let some = keys.iter().filter(|_| rng.below(2) == 0);
                let some: Vec<_> = some.collect();
                let pair = |key: &&str| (world.sym(key), world.sym(values[rng.below(2)]));
                some.into_iter().map(pair).collect()
            };
            let (selected, labels) = (some(&mut rng), Labels::new(some(&mut rng)));
            all.retain(|service| (service.namespace, service.name) != (namespace, name));
            services.remove(namespace, name);
            if rng.below(4) > 0 {
                let equal = |(key, value): (Sym, Sym)| Requirement::equals(key, value);
                let service = Arc::new(PodSelectorOwner {
                    kind: Kind::Service,
                    namespace,
                    name,
                    selector: match selected.is_empty() {
                        true => Selector::Nothing,
                        false => Selector::All(selected.into_iter().map(equal).collect()),
                    },
                });
                all.push(service.clone());
                services.insert(service);
            }
            let names = &world.snapshot.names;
            let selects = |service: &&Arc<PodSelectorOwner>| {
                service.namespace == namespace && service.selector.matches(&labels, names)
            };
            let mut expected: Vec<_> = all.iter().filter(selects).map(|s| s.name).collect();
            let found = services.selecting(namespace, &labels).filter(selects);
            let mut found: Vec<_> = found.map(|s| s.name).collect();
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected);
        }
    }
}
