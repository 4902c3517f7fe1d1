//! What a plugin says about its rules, so that their answers can be kept.

use crate::model::{Kind, Object};
use stowplan_base::Sym;

/// How far a rule looks beyond the pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// At the node object alone: which pods are on the node does not matter.
    Object,
    /// At the node and the pods on it, and at device classes. What changes nothing there changes
    /// no answer.
    Node,
    /// At domains: what a node has in common with others. The plugin says which nodes look alike
    /// to it (`see_filter`, `see_score`), answers for all of them at once (`admit`, `raw`) and
    /// follows the cluster's changes (`observe_filter`, `observe_score`).
    Domains,
    /// At anything. The rule is asked anew in every attempt, for the pod itself.
    Cluster,
}

/// What became of kept state after a change; the greater includes the lesser.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kept {
    /// No answer can have changed.
    Same,
    /// Answers may have changed, but what looked alike looks alike, save for the node that the
    /// change is about.
    Changed,
    /// Any node may look different from what it did.
    Regroup,
    /// The state is of no use any more.
    Lost,
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
