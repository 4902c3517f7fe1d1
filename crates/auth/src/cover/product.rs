//! A wanted rule as the lists whose product its permissions are.

use super::words::{Held, Set, Words};
use super::{Budget, Single, TooMany, What};
use crate::Rule;
use crate::rule::url_matches;
use std::collections::BTreeMap;

/// A value of a list.
struct Value<'a> {
    text: &'a str,
    number: u32,
    /// The number of `*/scale`, for `deployments/scale`.
    any_of_subresource: Option<u32>,
}

/// One list, as it is given and without repetitions.
pub(super) struct List<'a> {
    /// For each element as given, which of the distinct ones it is.
    pub(super) which: Vec<u32>,
    distinct: Vec<Value<'a>>,
}

impl<'a> List<'a> {
    fn new(texts: &'a [String], words: &Words<'_>) -> Self {
        Self::with(texts, words, |_| None)
    }

    fn of_resources(texts: &'a [String], words: &Words<'_>) -> Self {
        Self::with(texts, words, |text| words.any_of_subresource(text))
    }

    fn with(
        texts: &'a [String],
        words: &Words<'_>,
        any_of_subresource: impl Fn(&str) -> Option<u32>,
    ) -> Self {
        let mut known: BTreeMap<&str, u32> = BTreeMap::new();
        let mut distinct = Vec::new();
        let which = texts.iter().map(|text| {
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            *known.entry(text).or_insert_with(|| {
                distinct.push(Value {
                    text,
                    number: words.number(text).unwrap_or(u32::MAX),
                    any_of_subresource: any_of_subresource(text),
                });
                next
            })
        });
        let which = which.collect();
        Self { which, distinct }
    }

    pub(super) fn distinct(&self) -> usize {
        self.distinct.len()
    }

    /// The text of an element.
    fn text(&self, at: usize) -> &'a str {
        let which = self.which.get(at).map(|which| *which as usize);
        let value = which.and_then(|which| self.distinct.get(which));
        value.map_or("", |value| value.text)
    }
}

/// What of a list a held rule has.
pub(super) enum Row {
    All,
    Some(Vec<bool>),
}

impl Row {
    fn of(list: &List<'_>, has: impl Fn(&Value<'_>) -> bool) -> Option<Self> {
        let found: Vec<bool> = list.distinct.iter().map(has).collect();
        match (found.contains(&true), found.contains(&false)) {
            (true, false) => Some(Self::All),
            (true, true) => Some(Self::Some(found)),
            (false, _) => None,
        }
    }

    pub(super) fn has(&self, which: usize) -> bool {
        match self {
            Self::All => true,
            Self::Some(found) => found.get(which).copied().unwrap_or_default(),
        }
    }

    pub(super) fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }
}

#[derive(PartialEq, Eq)]
enum Kind {
    /// Groups, resources and verbs.
    Resources,
    /// Groups, resources, verbs and names.
    Named,
    /// URLs and verbs.
    Urls,
}

/// The lists, in the order in which they are multiplied.
pub(super) struct Product<'a> {
    kind: Kind,
    pub(super) lists: Vec<List<'a>>,
}

impl<'a> Product<'a> {
    pub(super) fn resources(rule: &'a Rule, words: &Words<'_>) -> Self {
        let list = |texts| List::new(texts, words);
        let mut lists = vec![
            list(&rule.api_groups),
            List::of_resources(&rule.resources, words),
            list(&rule.verbs),
        ];
        let kind = match rule.resource_names.is_empty() {
            true => Kind::Resources,
            false => {
                lists.push(list(&rule.resource_names));
                Kind::Named
            }
        };
        Self { kind, lists }
    }

    pub(super) fn urls(rule: &'a Rule, words: &Words<'_>) -> Self {
        let lists = [&rule.non_resource_urls, &rule.verbs];
        Self {
            kind: Kind::Urls,
            lists: lists.map(|texts| List::new(texts, words)).into(),
        }
    }

    /// How many permissions it has.
    pub(super) fn len(&self) -> u64 {
        self.len_from(0)
    }

    /// How many there are once that many lists have been chosen from.
    pub(super) fn len_from(&self, depth: usize) -> u64 {
        let lists = self.lists.iter().skip(depth);
        let lens = lists.map(|list| list.which.len() as u64);
        lens.fold(1, u64::saturating_mul)
    }

    /// What of each list a held rule has; `None` if it has nothing of one of them.
    pub(super) fn rows(
        &self,
        held: &Held<'_>,
        budget: &mut Budget,
    ) -> Result<Option<Vec<Row>>, TooMany> {
        // A rule about some names says nothing about all of them.
        budget.spend(1)?;
        if held.names.is_some() && self.kind != Kind::Named {
            return Ok(None);
        }
        let mut rows = Vec::with_capacity(self.lists.len());
        for (at, list) in self.lists.iter().enumerate() {
            let row = match self.kind {
                Kind::Urls if at == 0 => url_row(list, held.urls, budget)?,
                _ => {
                    let set = match (&self.kind, at) {
                        (Kind::Urls, _) | (_, 2) => Some(&held.verbs),
                        (_, 0) => Some(&held.groups),
                        (_, 1) => Some(&held.resources),
                        _ => held.names.as_ref(),
                    };
                    let wild = at != 3;
                    set_row(list, set, wild, budget)?
                }
            };
            match row {
                Some(row) => rows.push(row),
                None => return Ok(None),
            }
        }
        Ok(Some(rows))
    }

    /// The permission at these places of the lists.
    pub(super) fn single(&self, places: &[usize]) -> Option<Single<'a>> {
        let text = |at: usize| {
            let place = places.get(at)?;
            Some(self.lists.get(at)?.text(*place))
        };
        Some(match self.kind {
            Kind::Urls => Single {
                what: What::Url(text(0)?),
                verb: text(1)?,
            },
            Kind::Resources | Kind::Named => Single {
                what: What::Resource {
                    group: text(0)?,
                    resource: text(1)?,
                    name: text(3),
                },
                verb: text(2)?,
            },
        })
    }
}

/// `wild`: whether a `*` stands for everything.
fn set_row(
    list: &List<'_>,
    set: Option<&Set>,
    wild: bool,
    budget: &mut Budget,
) -> Result<Option<Row>, TooMany> {
    budget.spend(1)?;
    let Some(set) = set.filter(|set| !(wild && set.any)) else {
        return Ok(Some(Row::All));
    };
    budget.spend(list.distinct())?;
    Ok(Row::of(list, |value| {
        set.has(value.number) || value.any_of_subresource.is_some_and(|n| set.has(n))
    }))
}

fn url_row(
    list: &List<'_>,
    patterns: &[String],
    budget: &mut Budget,
) -> Result<Option<Row>, TooMany> {
    let steps = |text: &str| 1 + text.len() / 64;
    let bytes: usize = patterns.iter().map(|p| steps(p)).sum();
    budget.spend(1 + list.distinct().saturating_mul(bytes))?;
    Ok(Row::of(list, |value| {
        patterns.iter().any(|p| url_matches(p, value.text))
    }))
}
