//! Amounts of resources, and what a pod and its containers come to.
//!
//! Upstream: `k8s.io/component-helpers/resource/helpers.go`.

use crate::resource_names::is_pod_level;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Amounts by resource. A resource that is mentioned as 0 is not the same as an absent one.
pub trait Amounts: Clone + Default {
    /// Adds every amount of another list.
    fn add(&mut self, more: &Self);

    /// Raises every amount to that of another list.
    fn raise_to(&mut self, floor: &Self);

    /// Takes over every amount of another list that a pod as a whole can ask for.
    fn set_pod_level(&mut self, amounts: &Self);

    /// Adds to what is here and is not 0.
    fn add_to_present(&mut self, more: &Self);
}

impl<K, V> Amounts for BTreeMap<K, V>
where
    K: Clone + Ord + AsRef<str>,
    V: Clone + Default + PartialOrd + for<'a> AddAssign<&'a V>,
{
    fn add(&mut self, more: &Self) {
        for (name, amount) in more {
            match self.get_mut(name) {
                Some(here) => *here += amount,
                None => drop(self.insert(name.clone(), amount.clone())),
            }
        }
    }

    fn raise_to(&mut self, floor: &Self) {
        for (name, amount) in floor {
            if self.get(name).is_none_or(|here| here < amount) {
                self.insert(name.clone(), amount.clone());
            }
        }
    }

    fn set_pod_level(&mut self, amounts: &Self) {
        for (name, amount) in amounts {
            if is_pod_level(name.as_ref()) {
                self.insert(name.clone(), amount.clone());
            }
        }
    }

    fn add_to_present(&mut self, more: &Self) {
        for (name, amount) in more {
            if let Some(here) = self.get_mut(name).filter(|here| **here != V::default()) {
                *here += amount;
            }
        }
    }
}

/// What a pod asks for: what its containers come to together, what it asks for as a whole in the place
/// of that, and what running it takes besides. Upstream: `PodRequests`.
pub fn requests_of_pod<A: Amounts>(containers: A, pod_level: &A, overhead: &A) -> A {
    let mut requests = containers;
    requests.set_pod_level(pod_level);
    requests.add(overhead);
    requests
}

/// What a pod may use at the most: likewise, but overhead sets no limit where there is none. Upstream:
/// `PodLimits`.
pub fn limits_of_pod<A: Amounts>(containers: A, pod_level: &A, overhead: &A) -> A {
    let mut limits = containers;
    limits.set_pod_level(pod_level);
    limits.add_to_present(overhead);
    limits
}

/// What the containers of a pod come to together: the greater of what runs at the end and what any init container needs while it runs, which includes
/// the sidecars started before it. Upstream: `AggregateContainerRequests`. `init` says of each init container whether it is a sidecar, which
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
    fn a_pod_as_a_whole_replaces_the_sum_and_overhead_comes_on_top() {
        let containers = BTreeMap::from([("cpu", 1), ("example.com/gpu", 1)]);
        let pod_level = BTreeMap::from([("cpu", 3), ("example.com/gpu", 9)]);
        let overhead = BTreeMap::from([("cpu", 10), ("memory", 10)]);
        assert_eq!(
            requests_of_pod(containers, &pod_level, &overhead),
            BTreeMap::from([("cpu", 13), ("example.com/gpu", 1), ("memory", 10)])
        );
    }

    #[test]
    fn overhead_limits_nothing_that_has_no_limit() {
        let containers = BTreeMap::from([("cpu", 1), ("memory", 0)]);
        let overhead = BTreeMap::from([("cpu", 10), ("memory", 10), ("pods", 10)]);
        assert_eq!(
            limits_of_pod(containers, &BTreeMap::new(), &overhead),
            BTreeMap::from([("cpu", 11), ("memory", 0)])
        );
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
