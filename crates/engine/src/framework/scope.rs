//! What a plugin says about its rules, so that their answers can be kept.

use crate::model::{Kind, Object};
use stowplan_base::Sym;

/// How far a rule looks beyond the pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// At the node object alone: which pods are on the node does not matter.
    Object,
    /// At the node and the pods on it, and at device classes. What changes nothing there changes
    /// no answer.
    Node,
    /// At domains: what a node has in common with others. The state says which nodes are alike
    /// (`group_key`), answers for all of them at once (`filter_group`, `score_group`) and follows the
    /// cluster's changes (`update`).
    Domains,
    /// At anything. The rule is asked anew in every attempt, for the pod itself.
    Cluster,
}

/// What a change makes worthless of what is kept; the greater includes the lesser.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Invalidation {
    /// No answer can have changed.
    Nothing,
    /// Answers may have changed, but nodes of one group are still alike, save for the node that the
    /// change is about.
    Answers,
    /// Any node may belong to another group than before.
    Groups,
    /// The state is of no use any more.
    State,
}

/// An object, neither a pod nor a node, that came, changed or went.
#[derive(Clone, Copy, Debug)]
pub struct Changed<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace; empty for cluster-scoped kinds.
    pub namespace: Sym,
    /// Its name.
    pub name: Sym,
    /// What it was, if there was one.
    pub before: Option<&'a Object>,
}
