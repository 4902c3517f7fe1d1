//! NodeAffinity. Upstream's `pkg/scheduler/framework/plugins/nodeaffinity`.

use super::change::node_change;
use super::normalize;
use crate::NodeInfo;
use crate::framework::{
    Action, AnyPlugin, ClusterEvent, Cx, EnqueueExtensions, EventResource, Filter, FilterState,
    Fit, Hint, NodePart, NormalizeScore, Plugin, PluginBuilder, PreFilter, PreFilterResult,
    PreScore, PreScoreResult, Range, Reads, Registration, Scope, Score, ScoreState, Status,
};
use crate::model::{self, Node, NodeSelectorTerm, Object, Op, Pod, PreferredNodeTerm};
use std::collections::BTreeSet;
use stowplan_base::{Names, Sym, sym};

mod args;
#[cfg(test)]
mod tests;

/// `NodeAffinityArgs`.
#[derive(Clone, Debug, Default)]
pub struct NodeAffinityArgs {
    /// `addedAffinity`: holds for every pod of the profile.
    pub added_affinity: model::NodeAffinity,
}

/// The plugin: pods choose nodes by name and label.
#[derive(Clone, Debug)]
pub struct NodeAffinity {
    args: NodeAffinityArgs,
}

impl NodeAffinity {
    /// The plugin with its arguments.
    pub fn new(args: NodeAffinityArgs) -> Self {
        Self { args }
    }

    fn added_matches(&self, node: &Node, names: &Names) -> bool {
        let added = &self.args.added_affinity.required;
        added
            .as_ref()
            .is_none_or(|added| added.matches(node, names))
    }
}

/// The nodes that the terms name. `None` if some term leaves the name open, for terms are
/// alternatives.
fn named_nodes(terms: &[NodeSelectorTerm]) -> Option<BTreeSet<Sym>> {
    let mut union = BTreeSet::new();
    for term in terms {
        union.extend(term_nodes(term)?);
    }
    (!terms.is_empty()).then_some(union)
}

/// The nodes that all of a term's conditions on the name allow.
fn term_nodes(term: &NodeSelectorTerm) -> Option<Vec<Sym>> {
    term.fields
        .iter()
        .filter(|r| r.key == sym::METADATA_NAME && r.op == Op::In)
        .map(|r| r.values.to_vec())
        .reduce(|mut names, others| {
            names.retain(|name| others.contains(name));
            names
        })
}

/// Terms that are worth nothing or ask nothing are not even parsed.
fn counts(preferred: &&PreferredNodeTerm) -> bool {
    preferred.weight != 0 && !preferred.term.is_empty()
}

fn check_preferred(pod: &Pod) -> Result<(), Status> {
    let terms = pod.node_affinity.preferred.iter().filter(counts);
    let errors: Vec<_> = terms.filter_map(|p| p.term.error.as_deref()).collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Status::error(errors.join(", ")))
    }
}

fn weight_of(preferred: &[PreferredNodeTerm], node: &Node, names: &Names) -> i64 {
    preferred
        .iter()
        .filter(|preferred| preferred.term.matches(node, names))
        .map(|preferred| i64::from(preferred.weight))
        .sum()
}

/// The labels that terms read, and others; `None` if a term reads more of the node.
fn reads<'a>(
    terms: impl Iterator<Item = &'a NodeSelectorTerm>,
    keys: impl Iterator<Item = Sym>,
) -> Option<Reads> {
    let mut parts: Vec<NodePart> = keys.map(NodePart::Label).collect();
    for term in terms {
        if !term.fields.is_empty() {
            return None;
        }
        let keys = term.expressions.iter().map(|r| r.key);
        parts.extend(keys.map(NodePart::Label));
    }
    Some(Reads::of(parts))
}

/// Whether the pod accepts the node; an error if that hangs on a term that cannot be parsed.
fn accepts(pod: &Pod, node: &Node, names: &Names) -> Result<bool, Hint> {
    if pod.required_node_affinity_matches(node, names) {
        return Ok(true);
    }
    let selected = |(key, value)| node.labels.get(key) == Some(value);
    let required = pod.node_affinity.required.as_ref();
    match required.and_then(|required| required.error()) {
        Some(error) if pod.node_selector.iter().all(selected) => Err(Hint::Error(error.to_owned())),
        _ => Ok(false),
    }
}

impl NodeAffinity {
    /// The plugin at its extension points.
    pub fn build(self) -> AnyPlugin {
        PluginBuilder::new(self)
            .pre_filter()
            .filter()
            .filter_state()
            .pre_score()
            .score()
            .normalize_score()
            .score_state()
            .enqueue_extensions()
            .build()
    }
}

impl Plugin for NodeAffinity {
    type FilterState = ();
    type ScoreState = ();
}

impl PreFilter for NodeAffinity {
    fn pre_filter(&self, _cx: Cx<'_>, pod: &Pod) -> PreFilterResult<()> {
        let Some(required) = &pod.node_affinity.required else {
            let added = self.args.added_affinity.required.is_some();
            return if added || !pod.node_selector.is_empty() {
                PreFilterResult::Ready(())
            } else {
                PreFilterResult::Skip
            };
        };
        match named_nodes(&required.terms) {
            None => PreFilterResult::Ready(()),
            Some(nodes) if nodes.is_empty() => {
                PreFilterResult::Rejected(Status::unresolvable("pod affinity terms conflict"))
            }
            Some(nodes) => PreFilterResult::Narrowed((), nodes.into_iter().collect()),
        }
    }

    fn pre_filter_disabled(&self, _cx: Cx<'_>, _pod: &Pod) -> Result<(), Status> {
        Ok(())
    }
}

impl Filter for NodeAffinity {
    fn filter(&self, cx: Cx<'_>, _state: &(), pod: &Pod, node: &NodeInfo) -> Fit {
        let names = &cx.cluster.names;
        if !self.added_matches(&node.node, names) {
            return Err(Status::unresolvable(
                "node(s) didn't match scheduler-enforced node affinity",
            ));
        }
        if !pod.required_node_affinity_matches(&node.node, names) {
            return Err(Status::unresolvable(
                "node(s) didn't match Pod's node affinity/selector",
            ));
        }
        Ok(())
    }
}

impl FilterState<NodeAffinity> for () {
    const SCOPE: Scope = Scope::Object;

    fn reads(&self, plugin: &NodeAffinity, pod: &Pod) -> Option<Reads> {
        let added = plugin.args.added_affinity.required.iter();
        let required = added.chain(&pod.node_affinity.required);
        let terms = required.flat_map(|required| &required.terms);
        reads(terms, pod.node_selector.iter().map(|(key, _)| key))
    }
}

impl PreScore for NodeAffinity {
    fn pre_score(&self, _cx: Cx<'_>, pod: &Pod, _feasible: &[&NodeInfo]) -> PreScoreResult<()> {
        if let Err(status) = check_preferred(pod) {
            return PreScoreResult::Failed(status);
        }
        let added = &self.args.added_affinity.preferred;
        if pod.node_affinity.preferred.is_empty() && added.is_empty() {
            return PreScoreResult::Skip;
        }
        PreScoreResult::Ready(())
    }

    fn pre_score_disabled(&self, _cx: Cx<'_>, pod: &Pod) -> Result<(), Status> {
        check_preferred(pod)
    }
}

impl Score for NodeAffinity {
    /// The sum of the weights of the preferred terms that match.
    fn score(&self, cx: Cx<'_>, _state: &(), pod: &Pod, node: &NodeInfo) -> Option<i64> {
        let weight = |terms: &[_]| weight_of(terms, &node.node, &cx.cluster.names);
        Some(weight(&self.args.added_affinity.preferred) + weight(&pod.node_affinity.preferred))
    }
}

impl NormalizeScore for NodeAffinity {
    fn normalize(&self, _state: &(), raw: i64, over: Range) -> i64 {
        normalize::proportional(raw, over)
    }
}

impl ScoreState<NodeAffinity> for () {
    const SCOPE: Scope = Scope::Object;

    fn reads(&self, plugin: &NodeAffinity, pod: &Pod) -> Option<Reads> {
        let added = plugin.args.added_affinity.preferred.iter();
        let preferred = added.chain(&pod.node_affinity.preferred);
        reads(preferred.map(|p| &p.term), std::iter::empty())
    }
}

impl EnqueueExtensions for NodeAffinity {
    fn events(&self) -> Vec<Registration> {
        vec![Registration::hinted(
            EventResource::Node,
            Action::ADD.or(Action::UPDATE_NODE_LABEL),
        )]
    }

    fn hint(
        &self,
        cx: Cx<'_>,
        _event: &ClusterEvent,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Hint {
        let names = &cx.cluster.names;
        let helps = || {
            let (old, new) = node_change(old, new)?;
            if !self.added_matches(new, names) || !accepts(pod, new, names)? {
                return Ok(false);
            }
            match old {
                Some(old) => Ok(!accepts(pod, old, names)?),
                None => Ok(true),
            }
        };
        helps().map_or_else(|error| error, Hint::queue_if)
    }
}
