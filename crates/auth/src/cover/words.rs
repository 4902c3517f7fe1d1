//! Words as numbers: rules are compared often, their words once.

use crate::Rule;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The words of the rules that are wanted. Others need not be told apart.
pub(super) struct Words<'a>(BTreeMap<Cow<'a, str>, u32>);

/// `*/scale` of `deployments/scale`.
fn any_of_subresource(resource: &str) -> Option<String> {
    let (_, below) = resource.split_once('/')?;
    Some(format!("*/{below}"))
}

impl<'a> Words<'a> {
    pub(super) fn of(rules: &'a [Rule]) -> Self {
        let mut words = Self(BTreeMap::new());
        for rule in rules {
            let lists = [&rule.api_groups, &rule.resources, &rule.resource_names];
            let lists = lists.into_iter().chain([&rule.verbs]);
            lists.flatten().for_each(|word| words.add(word.into()));
            let below = rule.resources.iter().filter_map(|r| any_of_subresource(r));
            below.for_each(|word| words.add(word.into()));
        }
        words
    }

    fn add(&mut self, word: Cow<'a, str>) {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0.entry(word).or_insert(next);
    }

    pub(super) fn number(&self, word: &str) -> Option<u32> {
        self.0.get(word).copied()
    }

    /// The number of what stands for a subresource of any resource.
    pub(super) fn any_of_subresource(&self, resource: &str) -> Option<u32> {
        self.number(&any_of_subresource(resource)?)
    }
}

/// A list of a rule that is held.
pub(super) struct Set {
    /// Whether it has a `*`.
    pub(super) any: bool,
    /// In order.
    numbers: Vec<u32>,
}

impl Set {
    fn new(list: &[String], words: &Words<'_>) -> Self {
        let mut numbers: Vec<u32> = list.iter().filter_map(|w| words.number(w)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let any = list.iter().any(|word| word == "*");
        Self { any, numbers }
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.numbers.binary_search(&number).is_ok()
    }
}

/// A rule that is held.
pub(super) struct Held<'a> {
    pub(super) groups: Set,
    pub(super) resources: Set,
    pub(super) verbs: Set,
    /// `None` for all.
    pub(super) names: Option<Set>,
    pub(super) urls: &'a [String],
}

impl<'a> Held<'a> {
    pub(super) fn new(rule: &'a Rule, words: &Words<'_>) -> Self {
        let set = |list| Set::new(list, words);
        let named = !rule.resource_names.is_empty();
        Self {
            groups: set(&rule.api_groups),
            resources: set(&rule.resources),
            verbs: set(&rule.verbs),
            names: named.then(|| set(&rule.resource_names)),
            urls: &rule.non_resource_urls,
        }
    }
}
