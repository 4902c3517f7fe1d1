//! `node.k8s.io/v1`.

use super::ALL_VERBS;
use crate::columns;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope};

pub(super) static RUNTIME_CLASS: Kind = Kind {
    group: "node.k8s.io",
    version: "v1",
    kind: "RuntimeClass",
    plural: "runtimeclasses",
    singular: "runtimeclass",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.node.v1.RuntimeClass",
    strategy: &crate::runtime_class::RuntimeClass,
    fields: &METADATA,
    columns: &columns::RUNTIME_CLASSES,
};
