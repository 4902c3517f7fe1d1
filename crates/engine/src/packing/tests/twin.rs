//! The policies as a textbook has them.

use super::{Amounts, Instance, Packed};
use crate::packing::Packing;
use stowplan_base::Rng;

/// Bins and what is in them.
struct Textbook {
    sizes: Vec<Amounts>,
    used: Vec<Amounts>,
}

impl Textbook {
    fn new(instance: &Instance) -> Self {
        let mut book = Self {
            sizes: instance.nodes.clone(),
            used: vec![[0, 0]; instance.nodes.len()],
        };
        for (item, at) in instance.old.iter().chain(&instance.daemons) {
            book.put(*item, *at);
        }
        book
    }

    fn put(&mut self, item: Amounts, at: usize) {
        self.used[at][0] += item[0];
        self.used[at][1] += item[1];
    }

    fn fits(&self, item: Amounts, at: usize) -> bool {
        // Who asks for nothing of a resource fits even where there is too little of it.
        (0..2).all(|r| item[r] == 0 || self.used[at][r] + item[r] <= self.sizes[at][r])
    }

    /// Of cpu and memory together, in parts of 2000, to which all sizes come out even.
    fn left_over(&self, item: Amounts, at: usize) -> i64 {
        let left = |r: usize| {
            let left = self.sizes[at][r] - self.used[at][r] - item[r];
            left.max(0) * (2000 / self.sizes[at][r])
        };
        left(0) + left(1)
    }

    /// All bins that are right for the item.
    fn choices(&self, policy: Packing, item: Amounts) -> Vec<usize> {
        let fitting: Vec<usize> = (0..self.sizes.len())
            .filter(|at| self.fits(item, *at))
            .collect();
        let left: Vec<i64> = fitting.iter().map(|at| self.left_over(item, *at)).collect();
        let with = |wanted: Option<&i64>| {
            let bins = fitting.iter().zip(&left);
            bins.filter(|(_, left)| Some(*left) == wanted)
                .map(|(at, _)| *at)
                .collect()
        };
        match policy {
            Packing::FirstFit | Packing::FirstFitDecreasing => {
                fitting.first().copied().into_iter().collect()
            }
            Packing::BestFit => with(left.iter().min()),
            Packing::WorstFit => with(left.iter().max()),
        }
    }
}

/// Items as the policy takes them.
fn turns(instance: &Instance, policy: Packing) -> Vec<usize> {
    let mut turns: Vec<usize> = (0..instance.pods.len()).collect();
    if policy == Packing::FirstFitDecreasing {
        turns.sort_by_key(|i| -instance.pods[*i][0].max(instance.pods[*i][1]));
    }
    turns
}

fn check(instance: &Instance, policy: Packing, seed: u64) -> Packed {
    let packed = instance.pack(policy, seed);
    let mut book = Textbook::new(instance);
    let mut placed = Vec::new();
    for i in turns(instance, policy) {
        let choices = book.choices(policy, instance.pods[i]);
        match packed.nodes[i] {
            Some(at) => {
                assert!(
                    choices.contains(&at),
                    "seed {seed}, {policy:?}: pod {i} is on {at}, not on one of {choices:?} in {instance:?}"
                );
                book.put(instance.pods[i], at);
                placed.push(i);
            }
            None => assert_eq!(
                choices,
                [],
                "seed {seed}, {policy:?}: pod {i} has no place in {instance:?}"
            ),
        }
    }
    assert_eq!(packed.order, placed, "seed {seed}, {policy:?}");
    packed
}

#[test]
fn the_engine_packs_as_the_textbook_does() {
    for seed in 0..300 {
        let instance = Instance::random(&mut Rng::new(seed), 8, 20);
        for policy in Packing::ALL {
            let census = check(&instance, policy, seed).census;
            assert!(
                census.nodes_used >= census.lower_bound.nodes,
                "seed {seed}, {policy:?}: {census:?} of {instance:?}"
            );
        }
    }
}

#[test]
fn policies_differ() {
    // One node is empty, one a quarter full, one half.
    let instance = Instance {
        nodes: vec![[1000, 1000]; 3],
        old: vec![([250, 250], 1), ([500, 500], 2)],
        pods: vec![[250, 250]],
        ..Instance::default()
    };
    let node = |policy| check(&instance, policy, 0).nodes;
    assert_eq!(node(Packing::FirstFit), [Some(0)]);
    assert_eq!(node(Packing::BestFit), [Some(2)]);
    assert_eq!(node(Packing::WorstFit), [Some(0)]);
    assert_eq!(node(Packing::FirstFitDecreasing), [Some(0)]);
}

#[test]
fn decreasing_saves_nodes() {
    let instance = Instance {
        nodes: vec![[1000, 1000]; 4],
        pods: vec![[300, 0], [300, 0], [300, 0], [700, 0], [700, 0], [700, 0]],
        ..Instance::default()
    };
    let used = |policy| check(&instance, policy, 0).census.nodes_used;
    assert_eq!(used(Packing::FirstFit), 4);
    assert_eq!(used(Packing::FirstFitDecreasing), 3);
}
