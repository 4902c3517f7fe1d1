//! Pod disruption budgets.

use super::Selector;
use stowplan_base::Sym;

/// A PodDisruptionBudget, as preemption reads it.
#[derive(Clone, Hash, Debug)]
pub struct PodDisruptionBudget {
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// `metadata.name`.
    pub name: Sym,
    /// `spec.selector`.
    pub selector: Selector,
    /// `status.disruptionsAllowed`.
    pub disruptions_allowed: i32,
    /// `status.disruptedPods`, by pod name: evictions that are already counted.
    pub disrupted_pods: Box<[Sym]>,
}
