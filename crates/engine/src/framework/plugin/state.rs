//! State that is kept for pods that are alike, so that a rule is asked less often.
//!
//! Nobody has to implement these traits: a rule whose state is not kept is asked in every attempt.
//! Every method has a default that is right for any rule of its [`Scope`].

use crate::framework::{
    Changed, Cx, Fit, Invalidation, NodesToCheck, PreFilterResult, PreScoreResult, Reads, Scope,
};
use crate::model::{Kind, Pod};
use crate::{Fact, NodeInfo, ResourceSummary};

/// A kind of objects, neither pods nor nodes, and whether what the plugin `P` keeps for a pod is of no use
/// any more once this one came, changed or went.
pub type InvalidatedBy<P> = (Kind, fn(&P, Cx<'_>, &Pod, Changed<'_>) -> bool);

/// What the plugin `P` leaves for Filter, kept for pods of one signature.
pub trait FilterState<P: 'static>: Sized {
    /// How far Filter looks. A rule that looks no farther than it must is asked more rarely.
    ///
    /// Unless this is [`Scope::Cluster`], the pod that Filter sees may be an example of pods that are
    /// alike: then its name, its volumes and claims and the labels that no selector reads are left
    /// out.
    const SCOPE: Scope;

    /// Which other objects can make the state worthless. Objects of kinds that are not named here never do.
    const INVALIDATED_BY: &'static [InvalidatedBy<P>] = &[];

    /// Whether the pod alone tells that the plugin has nothing to do for it: PreFilter would skip,
    /// and Reserve and PreBind would ask for nothing.
    fn ignores(_plugin: &P, _pod: &Pod) -> bool {
        false
    }

    /// Whether Filter accepts every node now, whatever pods may be on it, and Reserve and PreBind ask
    /// for nothing. For [`Scope::Cluster`].
    fn accepts_all(&self, _plugin: &P, _cx: Cx<'_>) -> bool {
        false
    }

    /// About which nodes Filter has to be asked. For [`Scope::Cluster`].
    fn nodes_to_check(&self, _plugin: &P, _cx: Cx<'_>, _pod: &Pod) -> NodesToCheck {
        NodesToCheck::All
    }

    /// Whether Filter would accept the node, as far as its cpu and memory say so; where they do not,
    /// Filter is asked.
    fn fits_summary(&self, _plugin: &P, _summary: &ResourceSummary) -> bool {
        false
    }

    /// What of a node Filter ([`Scope::Object`]) or [`group_key`](Self::group_key)
    /// ([`Scope::Domains`]) reads; `None` if every node has to be looked at.
    fn reads(&self, _plugin: &P, _pod: &Pod) -> Option<Reads> {
        None
    }

    /// As PreFilter, but with the state also where there is nothing to check for now
    /// ([`skips`](Self::skips)) and may be later. `None` is as PreFilter.
    fn prepare(_plugin: &P, _cx: Cx<'_>, _pod: &Pod) -> Option<PreFilterResult<Self>> {
        None
    }

    /// Whether PreFilter would skip now.
    fn skips(&self) -> bool {
        false
    }

    /// The [marks](crate::model::Labels::marks) of labels of which a pod must bear one to matter to
    /// the state, save for pods that matter because of terms of their own.
    fn label_marks(&self) -> u64 {
        u64::MAX
    }

    /// Whether pods like `other` matter to the state when they come or go.
    fn is_affected_by(&self, _plugin: &P, _cx: Cx<'_>, _pod: &Pod, _other: &Pod) -> bool {
        true
    }

    /// A fact came to hold or ceased to: makes of the state what PreFilter would make of it.
    fn update(
        &mut self,
        _plugin: &P,
        _cx: Cx<'_>,
        _pod: &Pod,
        _fact: Fact<'_>,
        _holds: bool,
    ) -> Invalidation {
        Invalidation::Nothing
    }

    /// All that Filter sees of a node: nodes with the same key get the same verdict. Always as many
    /// words. For [`Scope::Domains`].
    fn group_key(&self, _node: &NodeInfo, _key: &mut Vec<u64>) {}

    /// Does the pod fit on nodes with this key? For [`Scope::Domains`].
    fn filter_group(&self, _key: &[u64]) -> Fit {
        Ok(())
    }

    /// About how many bytes the state refers to: for state that grows with the cluster.
    fn bytes(&self) -> usize {
        0
    }
}

/// What the plugin `P` leaves for Score, kept for pods of one signature.
pub trait ScoreState<P: 'static>: Sized {
    /// How far Score looks.
    const SCOPE: Scope;

    /// As [`FilterState::INVALIDATED_BY`].
    const INVALIDATED_BY: &'static [InvalidatedBy<P>] = &[];

    /// The score, where the node's cpu and memory say it; where they do not, Score is asked.
    fn score_summary(&self, _plugin: &P, _summary: &ResourceSummary) -> Option<i64> {
        None
    }

    /// What of a node Score ([`Scope::Object`]) or [`group_key`](Self::group_key)
    /// ([`Scope::Domains`]) reads; `None` if every node has to be looked at.
    fn reads(&self, _plugin: &P, _pod: &Pod) -> Option<Reads> {
        None
    }

    /// As PreScore, but before the feasible nodes are known, and with the state also where there is
    /// nothing to tell nodes apart by for now ([`skips`](Self::skips)). `None` is as PreScore with no
    /// feasible nodes.
    fn prepare(_plugin: &P, _cx: Cx<'_>, _pod: &Pod) -> Option<PreScoreResult<Self>> {
        None
    }

    /// Whether PreScore would skip now.
    fn skips(&self) -> bool {
        false
    }

    /// As [`FilterState::label_marks`].
    fn label_marks(&self) -> u64 {
        u64::MAX
    }

    /// Whether pods like `other` matter to the state when they come or go.
    fn is_affected_by(&self, _plugin: &P, _cx: Cx<'_>, _pod: &Pod, _other: &Pod) -> bool {
        true
    }

    /// A fact came to hold or ceased to: makes of the state what PreScore would make of it.
    fn update(
        &mut self,
        _plugin: &P,
        _cx: Cx<'_>,
        _pod: &Pod,
        _fact: Fact<'_>,
        _holds: bool,
    ) -> Invalidation {
        Invalidation::Nothing
    }

    /// All that Score sees of a node: nodes with the same key get the same raw score. Always as many
    /// words. For [`Scope::Domains`].
    fn group_key(&self, _pod: &Pod, _node: &NodeInfo, _key: &mut Vec<u64>) {}

    /// Takes in the feasible nodes: their keys, and how many nodes have each.
    fn set_feasible<'a>(&mut self, _groups: impl Iterator<Item = (&'a [u64], usize)>) {}

    /// The raw score of nodes with this key. For [`Scope::Domains`].
    fn score_group(&self, _cx: Cx<'_>, _pod: &Pod, _key: &[u64]) -> Option<i64> {
        Some(0)
    }

    /// As [`FilterState::bytes`].
    fn bytes(&self) -> usize {
        0
    }
}
