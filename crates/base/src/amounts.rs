//! Amounts of resources, and what the containers of a pod come to together.
//!
//! Upstream: `AggregateContainerRequests` in `k8s.io/component-helpers/resource/helpers.go`.

use std::collections::BTreeMap;
use std::ops::Add;

/// Amounts by resource. A resource that is mentioned as 0 is not the same as an absent one.
pub trait Amounts: Clone + Default {
    /// Adds every amount of another list.
    fn add(&mut self, more: &Self);

    /// Raises every amount to that of another list.
    fn raise_to(&mut self, floor: &Self);
}

impl<K, V> Amounts for BTreeMap<K, V>
where
    K: Clone + Ord,
    V: Copy + PartialOrd + Add<Output = V>,
{
    fn add(&mut self, more: &Self) {
        for (name, amount) in more {
            let sum = self.get(name).map_or(*amount, |here| *here + *amount);
            self.insert(name.clone(), sum);
        }
    }

    fn raise_to(&mut self, floor: &Self) {
        for (name, amount) in floor {
            if self.get(name).is_none_or(|here| here < amount) {
                self.insert(name.clone(), *amount);
            }
        }
    }
}

/// The greater of what runs at the end and what any init container needs while it runs, which includes
/// the sidecars started before it. `init` says of each init container whether it is a sidecar, which
/// keeps running beside the containers (`restartPolicy: Always`).
pub fn of_containers<A: Amounts>(
    containers: impl IntoIterator<Item = A>,
    init: impl IntoIterator<Item = (A, bool)>,
) -> A {
    let mut running = A::default();
    for container in containers {
        running.add(&container);
    }
    let mut sidecars = A::default();
    let mut starting = A::default();
    for (mut own, is_sidecar) in init {
        if is_sidecar {
            running.add(&own);
            sidecars.add(&own);
            starting.raise_to(&sidecars);
        } else {
            own.add(&sidecars);
            starting.raise_to(&own);
        }
    }
    running.raise_to(&starting);
    running
}

/// What counts of something that is being resized in place: what was asked for, what the kubelet has set
/// aside and what it has given, whichever is the most; without the first if the kubelet refused the
/// resize. Upstream: `determineContainerReqs`.
pub fn while_resized<A: Amounts>(asked: &A, allocated: &A, actuated: &A, infeasible: bool) -> A {
    let mut all = actuated.clone();
    all.raise_to(allocated);
    if !infeasible {
        all.raise_to(asked);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(amount: i64) -> BTreeMap<&'static str, i64> {
        BTreeMap::from([("cpu", amount)])
    }

    #[test]
    fn init_containers_count_as_a_maximum_and_sidecars_add_up() {
        let sum = |init: &[(i64, bool)]| {
            let init = init
                .iter()
                .map(|(amount, sidecar)| (cpu(*amount), *sidecar));
            of_containers([cpu(2), cpu(1)], init)
        };
        assert_eq!(sum(&[]), cpu(3));
        assert_eq!(sum(&[(2, false)]), cpu(3));
        assert_eq!(sum(&[(7, false)]), cpu(7));
        assert_eq!(sum(&[(1, true)]), cpu(4));
        assert_eq!(sum(&[(4, false), (1, true), (3, false)]), cpu(4));
        assert_eq!(sum(&[(1, true), (4, false)]), cpu(5));
    }

    #[test]
    fn an_explicit_zero_is_kept() {
        let mut list = BTreeMap::new();
        list.add(&cpu(0));
        assert_eq!(list, cpu(0));
        list.raise_to(&BTreeMap::from([("memory", 0)]));
        assert_eq!(list.len(), 2);
    }

    #[test]
    fn a_refused_resize_does_not_count() {
        assert_eq!(while_resized(&cpu(9), &cpu(1), &cpu(2), false), cpu(9));
        assert_eq!(while_resized(&cpu(9), &cpu(1), &cpu(2), true), cpu(2));
    }
}
