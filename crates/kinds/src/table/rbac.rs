//! `rbac.authorization.k8s.io/v1`.

use super::ALL_VERBS;
use crate::columns;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope};

pub(super) static CLUSTER_ROLE_BINDING: Kind = Kind {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
    singular: "clusterrolebinding",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.rbac.v1.ClusterRoleBinding",
    strategy: &crate::rbac::ClusterRoleBinding,
    fields: &METADATA,
    columns: &columns::CLUSTER_ROLE_BINDINGS,
};

pub(super) static CLUSTER_ROLE: Kind = Kind {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    kind: "ClusterRole",
    plural: "clusterroles",
    singular: "clusterrole",
    short_names: &[],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.rbac.v1.ClusterRole",
    strategy: &crate::rbac::ClusterRole,
    fields: &METADATA,
    columns: &columns::NAME_AND_CREATED_AT,
};

pub(super) static ROLE_BINDING: Kind = Kind {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    kind: "RoleBinding",
    plural: "rolebindings",
    singular: "rolebinding",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.rbac.v1.RoleBinding",
    strategy: &crate::rbac::RoleBinding,
    fields: &METADATA,
    columns: &columns::ROLE_BINDINGS,
};

pub(super) static ROLE: Kind = Kind {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    kind: "Role",
    plural: "roles",
    singular: "role",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.rbac.v1.Role",
    strategy: &crate::rbac::Role,
    fields: &METADATA,
    columns: &columns::NAME_AND_CREATED_AT,
};
