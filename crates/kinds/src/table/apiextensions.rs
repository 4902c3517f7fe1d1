//! `apiextensions.k8s.io/v1`.

use super::ALL_VERBS;
use crate::columns;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope, Subresource};
use crate::plain::Plain;

pub(super) static CUSTOM_RESOURCE_DEFINITION: Kind = Kind {
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    singular: "customresourcedefinition",
    short_names: &["crd", "crds"],
    categories: &["api-extensions"],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "status",
        group_version: None,
        kind: "CustomResourceDefinition",
        verbs: &["get", "patch", "update"],
    }],
    schema: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    strategy: &Plain,
    fields: &METADATA,
    columns: &columns::NAME_AND_CREATED_AT,
};
