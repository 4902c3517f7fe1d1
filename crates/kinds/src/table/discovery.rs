//! `discovery.k8s.io/v1`.

use super::ALL_VERBS;
use crate::columns;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope};

pub(super) static ENDPOINT_SLICE: Kind = Kind {
    group: "discovery.k8s.io",
    version: "v1",
    kind: "EndpointSlice",
    plural: "endpointslices",
    singular: "endpointslice",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.discovery.v1.EndpointSlice",
    strategy: &crate::endpoint_slice::EndpointSlice,
    fields: &METADATA,
    columns: &columns::ENDPOINT_SLICES,
};
