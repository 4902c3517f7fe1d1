//! Sets of indices as text has them: `0,2-4,7`. Upstream: `indexed_job_utils.go`.

use super::spec::completion_index;
use k8s_openapi::api::core::v1::Pod;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A set of indices: ranges that ascend and do not touch. Upstream's `orderedIntervals`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Intervals(Vec<(i64, i64)>);

impl Intervals {
    /// The indices below `completions` that a text names; what makes no sense in it is passed over.
    pub(crate) fn parse(text: &str, completions: i64) -> Self {
        let mut all: Vec<(i64, i64)> = Vec::new();
        for range in text.split(',') {
            let mut limits = range.split('-');
            let Some(first) = limits.next().and_then(|first| first.parse().ok()) else {
                continue;
            };
            if first >= completions {
                break;
            }
            let last = match limits.next() {
                Some(last) => match last.parse::<i64>() {
                    Ok(last) => last.min(completions - 1),
                    Err(_) => continue,
                },
                None => first,
            };
            match all.last_mut() {
                Some((_, before)) if *before == first - 1 => *before = last,
                _ => all.push((first, last)),
            }
        }
        Self(all)
    }

    /// With these indices as well.
    pub(crate) fn with(&self, indexes: &BTreeSet<i64>) -> Self {
        self.merge(&Self(
            indexes.iter().map(|index| (*index, *index)).collect(),
        ))
    }

    /// The indices of both.
    pub(crate) fn merge(&self, other: &Self) -> Self {
        let mut both: Vec<_> = self.0.iter().chain(&other.0).copied().collect();
        both.sort_unstable();
        let mut all: Vec<(i64, i64)> = Vec::new();
        for (first, last) in both {
            match all.last_mut() {
                Some((_, before)) if first <= *before + 1 => *before = last.max(*before),
                _ => all.push((first, last)),
            }
        }
        Self(all)
    }

    /// How many indices there are.
    pub(super) fn total(&self) -> i64 {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, index: i64) -> bool {
        let at = self.0.partition_point(|(_, last)| *last < index);
        self.0.get(at).is_some_and(|(first, _)| *first <= index)
    }

    /// How many indices both have.
    pub(super) fn common(&self, other: &Self) -> i64 {
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut count = 0;
        while let (Some(a), Some(b)) = (ours.peek(), theirs.peek()) {
            count += (a.1.min(b.1) - a.0.max(b.0) + 1).max(0);
            let (a_last, b_last) = (a.1, b.1);
            if a_last <= b_last {
                ours.next();
            }
            if b_last <= a_last {
                theirs.next();
            }
        }
        count
    }

    /// The first indices below `completions` that it does not have.
    pub(crate) fn missing(&self, count: usize, completions: i64) -> Vec<i64> {
        let mut found = Vec::new();
        let mut next = 0_i64;
        let ends = std::iter::once((completions, completions));
        for (first, last) in self.0.iter().copied().chain(ends) {
            let until = first.min(completions);
            let room = i64::try_from(count - found.len()).unwrap_or(i64::MAX);
            found.extend(next..until.min(next.saturating_add(room)));
            if found.len() >= count {
                break;
            }
            next = next.max(last + 1);
        }
        found
    }
}

impl fmt::Display for Intervals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{first}")?;
            match last - first {
                0 => {}
                1 => write!(f, ",{last}")?,
                _ => write!(f, "-{last}")?,
            }
        }
        Ok(())
    }
}

/// The indices that pods have.
pub(super) fn indexes_of<'a>(pods: impl IntoIterator<Item = &'a Arc<Pod>>) -> BTreeSet<i64> {
    pods.into_iter()
        .filter_map(|pod| completion_index(pod))
        .collect()
}
