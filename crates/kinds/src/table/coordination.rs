//! `coordination.k8s.io/v1`.

use super::ALL_VERBS;
use crate::columns;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope};

pub(super) static LEASE: Kind = Kind {
    group: "coordination.k8s.io",
    version: "v1",
    kind: "Lease",
    plural: "leases",
    singular: "lease",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.coordination.v1.Lease",
    strategy: &crate::lease::Lease,
    fields: &METADATA,
    columns: &columns::LEASES,
};
