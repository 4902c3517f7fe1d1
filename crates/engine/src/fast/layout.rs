//! Where in a group's key each rule finds what it sees.

use super::class::Profile;
use crate::NodeInfo;
use crate::framework::{CycleState, Rule};
use crate::model::Pod;
use std::ops::Range;

/// The parts of the keys of one class: the tag, what domain filters see, raw scores, what domain
/// scores see. Keys of rejected nodes end where the filter stands that rejects them.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) filters: Vec<(Rule, Range<usize>)>,
    /// Plugins whose raw score is one word of the key.
    pub(super) raws: Vec<(usize, usize)>,
    pub(super) scores: Vec<(usize, Range<usize>)>,
}

impl Layout {
    /// The layout as any node shows it.
    pub(super) fn new(
        Profile { framework, plan }: Profile<'_>,
        cycle: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Self {
        let mut layout = Self::default();
        let mut key = vec![0];
        for &rule in &plan.domain_filters {
            if framework.filters(rule, cycle) {
                let start = key.len();
                framework.filter_group_key(rule, cycle, node, &mut key);
                layout.filters.push((rule, start..key.len()));
            }
        }
        for &plugin in &plan.relative_scores {
            if framework.scores(plugin, cycle) {
                layout.raws.push((plugin, key.len()));
                key.push(0);
            }
        }
        for &plugin in &plan.domain_scores {
            if framework.scores(plugin, cycle) {
                let start = key.len();
                framework.score_group_key(plugin, cycle, pod, node, &mut key);
                layout.scores.push((plugin, start..key.len()));
            }
        }
        layout
    }
}
