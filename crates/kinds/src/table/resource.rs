//! `resource.k8s.io/v1`.

use super::ALL_VERBS;
use crate::columns;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope, Subresource};

pub(super) static DEVICE_CLASS: Kind = Kind {
    group: "resource.k8s.io",
    version: "v1",
    kind: "DeviceClass",
    plural: "deviceclasses",
    singular: "deviceclass",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.resource.v1.DeviceClass",
    strategy: &crate::device::DeviceClass,
    fields: &METADATA,
    columns: &columns::DEVICE_CLASSES,
};

pub(super) static RESOURCE_CLAIM: Kind = Kind {
    group: "resource.k8s.io",
    version: "v1",
    kind: "ResourceClaim",
    plural: "resourceclaims",
    singular: "resourceclaim",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "status",
        group_version: None,
        kind: "ResourceClaim",
        verbs: &["get", "patch", "update"],
    }],
    schema: "io.k8s.api.resource.v1.ResourceClaim",
    strategy: &crate::device::ResourceClaim,
    fields: &METADATA,
    columns: &columns::RESOURCE_CLAIMS,
};

pub(super) static RESOURCE_CLAIM_TEMPLATE: Kind = Kind {
    group: "resource.k8s.io",
    version: "v1",
    kind: "ResourceClaimTemplate",
    plural: "resourceclaimtemplates",
    singular: "resourceclaimtemplate",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.resource.v1.ResourceClaimTemplate",
    strategy: &crate::device::ResourceClaimTemplate,
    fields: &METADATA,
    columns: &columns::RESOURCE_CLAIM_TEMPLATES,
};

pub(super) static RESOURCE_SLICE: Kind = Kind {
    group: "resource.k8s.io",
    version: "v1",
    kind: "ResourceSlice",
    plural: "resourceslices",
    singular: "resourceslice",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.resource.v1.ResourceSlice",
    strategy: &crate::device::ResourceSlice,
    fields: &crate::device::SLICE_FIELDS,
    columns: &columns::RESOURCE_SLICES,
};
