//! `apps/v1`.

use super::ALL_VERBS;
use crate::columns;
use crate::fields::METADATA;
use crate::kind::{Kind, Scope, Subresource};
use crate::workloads::{self, ControllerRevision};

pub(super) static CONTROLLER_REVISION: Kind = Kind {
    group: "apps",
    version: "v1",
    kind: "ControllerRevision",
    plural: "controllerrevisions",
    singular: "controllerrevision",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.apps.v1.ControllerRevision",
    strategy: &ControllerRevision,
    fields: &METADATA,
    columns: &columns::CONTROLLER_REVISIONS,
};

pub(super) static DAEMON_SET: Kind = Kind {
    group: "apps",
    version: "v1",
    kind: "DaemonSet",
    plural: "daemonsets",
    singular: "daemonset",
    short_names: &["ds"],
    categories: &["all"],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "status",
        group_version: None,
        kind: "DaemonSet",
        verbs: &["get", "patch", "update"],
    }],
    schema: "io.k8s.api.apps.v1.DaemonSet",
    strategy: &workloads::DAEMON_SET,
    fields: &METADATA,
    columns: &columns::DAEMON_SETS,
};

pub(super) static DEPLOYMENT: Kind = Kind {
    group: "apps",
    version: "v1",
    kind: "Deployment",
    plural: "deployments",
    singular: "deployment",
    short_names: &["deploy"],
    categories: &["all"],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[
        Subresource {
            name: "scale",
            group_version: Some(("autoscaling", "v1")),
            kind: "Scale",
            verbs: &["get", "patch", "update"],
        },
        Subresource {
            name: "status",
            group_version: None,
            kind: "Deployment",
            verbs: &["get", "patch", "update"],
        },
    ],
    schema: "io.k8s.api.apps.v1.Deployment",
    strategy: &workloads::DEPLOYMENT,
    fields: &METADATA,
    columns: &columns::DEPLOYMENTS,
};

pub(super) static REPLICA_SET: Kind = Kind {
    group: "apps",
    version: "v1",
    kind: "ReplicaSet",
    plural: "replicasets",
    singular: "replicaset",
    short_names: &["rs"],
    categories: &["all"],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[
        Subresource {
            name: "scale",
            group_version: Some(("autoscaling", "v1")),
            kind: "Scale",
            verbs: &["get", "patch", "update"],
        },
        Subresource {
            name: "status",
            group_version: None,
            kind: "ReplicaSet",
            verbs: &["get", "patch", "update"],
        },
    ],
    schema: "io.k8s.api.apps.v1.ReplicaSet",
    strategy: &workloads::REPLICA_SET,
    fields: &METADATA,
    columns: &columns::REPLICA_SETS,
};

pub(super) static STATEFUL_SET: Kind = Kind {
    group: "apps",
    version: "v1",
    kind: "StatefulSet",
    plural: "statefulsets",
    singular: "statefulset",
    short_names: &["sts"],
    categories: &["all"],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[
        Subresource {
            name: "scale",
            group_version: Some(("autoscaling", "v1")),
            kind: "Scale",
            verbs: &["get", "patch", "update"],
        },
        Subresource {
            name: "status",
            group_version: None,
            kind: "StatefulSet",
            verbs: &["get", "patch", "update"],
        },
    ],
    schema: "io.k8s.api.apps.v1.StatefulSet",
    strategy: &workloads::STATEFUL_SET,
    fields: &METADATA,
    columns: &columns::STATEFUL_SETS,
};
