//! `scheduling.k8s.io/v1`.

use super::ALL_VERBS;
use crate::columns;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope};

pub(super) static PRIORITY_CLASS: Kind = Kind {
    group: "scheduling.k8s.io",
    version: "v1",
    kind: "PriorityClass",
    plural: "priorityclasses",
    singular: "priorityclass",
    short_names: &["pc"],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.scheduling.v1.PriorityClass",
    strategy: &crate::priority_class::PriorityClass,
    fields: &METADATA,
    columns: &columns::PRIORITY_CLASSES,
};
