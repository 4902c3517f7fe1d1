//! The permissions of a wanted rule, list by list: at each, values that the same held rules have are one
//! branch, and branches at which the same held rules are left are one node.

use super::product::{Product, Row};
use super::words::Held;
use super::{Budget, Missing, TooMany};
use std::collections::BTreeMap;

/// What becomes of the permissions below a choice from some lists.
enum Node {
    /// All are held.
    Held,
    /// None is.
    Missing,
    /// The elements of the next list below which something is missing: its place, the node there.
    Split(Vec<(u32, usize)>),
}

/// See the module.
pub(super) struct Tree<'p, 'a> {
    product: &'p Product<'a>,
    nodes: Vec<Node>,
    /// How many permissions are missing below each node.
    counts: Vec<u64>,
    root: usize,
}

const HELD: usize = 0;

impl<'p, 'a> Tree<'p, 'a> {
    pub(super) fn grow(
        product: &'p Product<'a>,
        held: &[Held<'_>],
        budget: &mut Budget,
    ) -> Result<Self, TooMany> {
        let mut rows = Vec::new();
        for rule in held {
            rows.extend(product.rows(rule, budget)?);
        }
        let mut grower = TreeBuilder {
            tree: Self {
                product,
                nodes: vec![Node::Held],
                counts: vec![0],
                root: HELD,
            },
            known: BTreeMap::new(),
            rows: &rows,
            budget,
        };
        let all = (0..rows.len()).collect();
        grower.tree.root = grower.node(0, all)?;
        Ok(grower.tree)
    }

    /// Says what is missing.
    pub(super) fn tell(&self, missing: &mut Missing<'a>) {
        let before = missing.told.len();
        self.tell_from(self.root, &mut Vec::new(), missing);
        let told = (missing.told.len() - before) as u64;
        let untold = self
            .counts
            .get(self.root)
            .map_or(0, |count| count.saturating_sub(told));
        missing.untold = missing.untold.saturating_add(untold);
    }

    /// Says what is missing below a node to which these places lead; `false` once that is enough.
    fn tell_from(&self, node: usize, places: &mut Vec<usize>, missing: &mut Missing<'a>) -> bool {
        let next = self.product.lists.get(places.len());
        let mut tell = |place: usize, child: usize| {
            places.push(place);
            let more = self.tell_from(child, places, missing);
            places.pop();
            more
        };
        match (self.nodes.get(node), next) {
            (Some(Node::Missing), Some(list)) => (0..list.which.len()).all(|at| tell(at, node)),
            (Some(Node::Split(open)), _) => {
                let mut open = open.iter();
                open.all(|(place, child)| tell(*place as usize, *child))
            }
            (Some(Node::Missing), None) => match self.product.single(places) {
                Some(single) => missing.tell(single),
                None => true,
            },
            (Some(Node::Held) | None, _) => true,
        }
    }
}

struct TreeBuilder<'g, 'p, 'a> {
    tree: Tree<'p, 'a>,
    /// Nodes by depth and the rules that are left.
    known: BTreeMap<(usize, Vec<usize>), usize>,
    rows: &'g [Vec<Row>],
    budget: &'g mut Budget,
}

impl TreeBuilder<'_, '_, '_> {
    fn row(&self, rule: usize, depth: usize) -> Option<&Row> {
        self.rows.get(rule)?.get(depth)
    }

    /// The node below which only these rules have what was chosen so far.
    fn node(&mut self, depth: usize, rules: Vec<usize>) -> Result<usize, TooMany> {
        self.budget.spend(1 + rules.len())?;
        let lists = self.tree.product.lists.len();
        let has_rest = |rule: &usize| {
            let mut rest = (depth..lists).map(|at| self.row(*rule, at));
            rest.all(|row| row.is_some_and(Row::is_all))
        };
        if rules.iter().any(has_rest) {
            return Ok(HELD);
        }
        if let Some(known) = self.known.get(&(depth, rules.clone())) {
            return Ok(*known);
        }
        let node = match rules.is_empty() {
            true => {
                let count = self.tree.product.len_from(depth);
                self.add(Node::Missing, count)
            }
            false => self.split(depth, &rules)?,
        };
        self.known.insert((depth, rules), node);
        Ok(node)
    }

    fn split(&mut self, depth: usize, rules: &[usize]) -> Result<usize, TooMany> {
        let product = self.tree.product;
        let Some(list) = product.lists.get(depth) else {
            return Ok(HELD);
        };
        let mut children = Vec::with_capacity(list.distinct());
        for which in 0..list.distinct() {
            self.budget.spend(rules.len())?;
            let has = |rule: &usize| self.row(*rule, depth).is_some_and(|row| row.has(which));
            let left = rules.iter().copied().filter(has).collect();
            children.push(self.node(depth + 1, left)?);
        }
        self.budget.spend(list.which.len())?;
        let (mut open, mut count) = (Vec::new(), 0_u64);
        for (place, which) in list.which.iter().enumerate() {
            let child = children.get(*which as usize).copied().unwrap_or(HELD);
            if child != HELD {
                open.push((u32::try_from(place).unwrap_or(u32::MAX), child));
                let below = self.tree.counts.get(child).copied().unwrap_or_default();
                count = count.saturating_add(below);
            }
        }
        match open.is_empty() {
            true => Ok(HELD),
            false => Ok(self.add(Node::Split(open), count)),
        }
    }

    fn add(&mut self, node: Node, count: u64) -> usize {
        self.tree.nodes.push(node);
        self.tree.counts.push(count);
        self.tree.nodes.len() - 1
    }
}
