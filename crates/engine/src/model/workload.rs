//! Objects that own pods by selector.

use super::{Kind, Selector};
use stowplan_base::Sym;

/// A Service, ReplicaSet, StatefulSet or ReplicationController: whoever selects pods counts for the
/// default spread constraints.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PodSelectorOwner {
    /// Which of the four kinds.
    pub kind: Kind,
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// `metadata.name`.
    pub name: Sym,
    /// `spec.selector`. For a Service or ReplicationController a plain map; an absent or empty map
    /// is [`Selector::Nothing`] here, for it selects no pods.
    pub selector: Selector,
}
