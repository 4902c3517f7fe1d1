//! `policy/v1`.

use super::ALL_VERBS;
use crate::columns;
use crate::disruption_budget::PodDisruptionBudget;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope, Subresource};

pub(super) static POD_DISRUPTION_BUDGET: Kind = Kind {
    group: "policy",
    version: "v1",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
    singular: "poddisruptionbudget",
    short_names: &["pdb"],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "status",
        group_version: None,
        kind: "PodDisruptionBudget",
        verbs: &["get", "patch", "update"],
    }],
    schema: "io.k8s.api.policy.v1.PodDisruptionBudget",
    strategy: &PodDisruptionBudget,
    fields: &METADATA,
    columns: &columns::POD_DISRUPTION_BUDGETS,
};
