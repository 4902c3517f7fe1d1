//! Which of the permissions that somebody wants to grant they do not hold.
//!
//! A rule is a product: each of its groups with each of its resources, verbs and names. Upstream
//! multiplies it out (`Covers` in
//! `k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go`); here values that the held rules
//! cannot tell apart are looked at once. What is found is the same, in the same order.

mod product;
mod tree;
mod words;

use crate::Rule;
use product::Product;
use stowplan_apimachinery::limits;
use tree::Tree;
use words::{Held, Words};

/// What a permission is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum What<'a> {
    Resource {
        group: &'a str,
        resource: &'a str,
        name: Option<&'a str>,
    },
    Url(&'a str),
}

/// One verb on one thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Single<'a> {
    pub(crate) what: What<'a>,
    pub(crate) verb: &'a str,
}

impl Single<'_> {
    fn bytes(&self) -> usize {
        let what = match self.what {
            What::Resource {
                group,
                resource,
                name,
            } => group.len() + resource.len() + name.map_or(0, str::len),
            What::Url(url) => url.len(),
        };
        what + self.verb.len()
    }
}

/// Permissions that are not held.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Missing<'a> {
    /// In upstream's order, and as often as they are wanted.
    pub(crate) told: Vec<Single<'a>>,
    bytes: usize,
    /// How many there are beside these.
    pub(crate) untold: u64,
}

impl<'a> Missing<'a> {
    /// Takes one in, unless there are enough.
    fn tell(&mut self, single: Single<'a>) -> bool {
        let enough = self.told.len() >= limits::MISSING_PERMISSIONS
            || self.bytes >= limits::MISSING_PERMISSION_BYTES;
        if !enough {
            self.bytes += single.bytes();
            self.told.push(single);
        }
        !enough
    }
}

/// It would take too long to compare.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct TooMany;

/// The steps that are left.
pub(crate) struct Budget(pub(crate) u64);

impl Budget {
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), TooMany> {
        let left = self.0.checked_sub(steps as u64);
        self.0 = left.ok_or(TooMany)?;
        Ok(())
    }
}

/// What of the wanted rules is not held.
pub(crate) fn missing<'a>(
    held: &[Rule],
    wanted: &'a [Rule],
    budget: &mut Budget,
) -> Result<Missing<'a>, TooMany> {
    let words = Words::of(wanted);
    let held: Vec<Held<'_>> = held.iter().map(|rule| Held::new(rule, &words)).collect();
    let mut missing = Missing::default();
    for rule in wanted {
        for product in [
            Product::resources(rule, &words),
            Product::urls(rule, &words),
        ] {
            if product.len() > 0 {
                Tree::grow(&product, &held, budget)?.tell(&mut missing);
            }
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests;
