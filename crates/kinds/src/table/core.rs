//! `core/v1`.

use super::ALL_VERBS;
use crate::columns;
use crate::fields::{METADATA, REPLICATION_CONTROLLER_FIELDS};
use crate::kind::{Kind, Scope, Subresource};
use crate::plain::Plain;
use crate::pod::{POD_FIELDS, Pod};
use crate::workloads;

pub(super) static BINDING: Kind = Kind {
    group: "",
    version: "v1",
    kind: "Binding",
    plural: "bindings",
    singular: "binding",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: &["create"],
    subresources: &[],
    schema: "io.k8s.api.core.v1.Binding",
    strategy: &Plain,
    fields: &METADATA,
    columns: &columns::NAME_AND_CREATED_AT,
};

pub(super) static CONFIG_MAP: Kind = Kind {
    group: "",
    version: "v1",
    kind: "ConfigMap",
    plural: "configmaps",
    singular: "configmap",
    short_names: &["cm"],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.core.v1.ConfigMap",
    strategy: &crate::core_group::config_map::ConfigMap,
    fields: &METADATA,
    columns: &columns::CONFIG_MAPS,
};

pub(super) static ENDPOINTS: Kind = Kind {
    group: "",
    version: "v1",
    kind: "Endpoints",
    plural: "endpoints",
    singular: "endpoints",
    short_names: &["ep"],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.core.v1.Endpoints",
    strategy: &crate::core_group::endpoints::Endpoints,
    fields: &METADATA,
    columns: &columns::ENDPOINTS,
};

pub(super) static EVENT: Kind = Kind {
    group: "",
    version: "v1",
    kind: "Event",
    plural: "events",
    singular: "event",
    short_names: &["ev"],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.core.v1.Event",
    strategy: &crate::event::Event,
    fields: &crate::event::FIELDS,
    columns: &columns::EVENTS,
};

pub(super) static LIMIT_RANGE: Kind = Kind {
    group: "",
    version: "v1",
    kind: "LimitRange",
    plural: "limitranges",
    singular: "limitrange",
    short_names: &["limits"],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.core.v1.LimitRange",
    strategy: &crate::core_group::limit_range::LimitRange,
    fields: &METADATA,
    columns: &columns::NAME_AND_CREATED_AT,
};

pub(super) static NAMESPACE: Kind = Kind {
    group: "",
    version: "v1",
    kind: "Namespace",
    plural: "namespaces",
    singular: "namespace",
    short_names: &["ns"],
    categories: &[],
    scope: Scope::Cluster,
    verbs: &[
        "create", "delete", "get", "list", "patch", "update", "watch",
    ],
    subresources: &[
        Subresource {
            name: "finalize",
            group_version: None,
            kind: "Namespace",
            verbs: &["update"],
        },
        Subresource {
            name: "status",
            group_version: None,
            kind: "Namespace",
            verbs: &["get", "patch", "update"],
        },
    ],
    schema: "io.k8s.api.core.v1.Namespace",
    strategy: &crate::core_group::namespace::Namespace,
    fields: &crate::core_group::namespace::FIELDS,
    columns: &columns::NAMESPACES,
};

pub(super) static NODE: Kind = Kind {
    group: "",
    version: "v1",
    kind: "Node",
    plural: "nodes",
    singular: "node",
    short_names: &["no"],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "status",
        group_version: None,
        kind: "Node",
        verbs: &["get", "patch", "update"],
    }],
    schema: "io.k8s.api.core.v1.Node",
    strategy: &crate::core_group::node::Node,
    fields: &crate::core_group::node::FIELDS,
    columns: &columns::NODES,
};

pub(super) static PERSISTENT_VOLUME_CLAIM: Kind = Kind {
    group: "",
    version: "v1",
    kind: "PersistentVolumeClaim",
    plural: "persistentvolumeclaims",
    singular: "persistentvolumeclaim",
    short_names: &["pvc"],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "status",
        group_version: None,
        kind: "PersistentVolumeClaim",
        verbs: &["get", "patch", "update"],
    }],
    schema: "io.k8s.api.core.v1.PersistentVolumeClaim",
    strategy: &crate::volume::PersistentVolumeClaim,
    fields: &METADATA,
    columns: &columns::PERSISTENT_VOLUME_CLAIMS,
};

pub(super) static PERSISTENT_VOLUME: Kind = Kind {
    group: "",
    version: "v1",
    kind: "PersistentVolume",
    plural: "persistentvolumes",
    singular: "persistentvolume",
    short_names: &["pv"],
    categories: &[],
    scope: Scope::Cluster,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "status",
        group_version: None,
        kind: "PersistentVolume",
        verbs: &["get", "patch", "update"],
    }],
    schema: "io.k8s.api.core.v1.PersistentVolume",
    strategy: &crate::volume::PersistentVolume,
    fields: &METADATA,
    columns: &columns::PERSISTENT_VOLUMES,
};

pub(super) static POD: Kind = Kind {
    group: "",
    version: "v1",
    kind: "Pod",
    plural: "pods",
    singular: "pod",
    short_names: &["po"],
    categories: &["all"],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[
        Subresource {
            name: "attach",
            group_version: None,
            kind: "PodAttachOptions",
            verbs: &["create", "get"],
        },
        Subresource {
            name: "binding",
            group_version: None,
            kind: "Binding",
            verbs: &["create"],
        },
        Subresource {
            name: "ephemeralcontainers",
            group_version: None,
            kind: "Pod",
            verbs: &["get", "patch", "update"],
        },
        Subresource {
            name: "eviction",
            group_version: Some(("policy", "v1")),
            kind: "Eviction",
            verbs: &["create"],
        },
        Subresource {
            name: "exec",
            group_version: None,
            kind: "PodExecOptions",
            verbs: &["create", "get"],
        },
        Subresource {
            name: "log",
            group_version: None,
            kind: "Pod",
            verbs: &["get"],
        },
        Subresource {
            name: "portforward",
            group_version: None,
            kind: "PodPortForwardOptions",
            verbs: &["create", "get"],
        },
        Subresource {
            name: "resize",
            group_version: None,
            kind: "Pod",
            verbs: &["get", "patch", "update"],
        },
        Subresource {
            name: "status",
            group_version: None,
            kind: "Pod",
            verbs: &["get", "patch", "update"],
        },
    ],
    schema: "io.k8s.api.core.v1.Pod",
    strategy: &Pod,
    fields: &POD_FIELDS,
    columns: &columns::PODS,
};

pub(super) static POD_TEMPLATE: Kind = Kind {
    group: "",
    version: "v1",
    kind: "PodTemplate",
    plural: "podtemplates",
    singular: "podtemplate",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.core.v1.PodTemplate",
    strategy: &workloads::POD_TEMPLATE,
    fields: &METADATA,
    columns: &columns::POD_TEMPLATES,
};

pub(super) static REPLICATION_CONTROLLER: Kind = Kind {
    group: "",
    version: "v1",
    kind: "ReplicationController",
    plural: "replicationcontrollers",
    singular: "replicationcontroller",
    short_names: &["rc"],
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
            kind: "ReplicationController",
            verbs: &["get", "patch", "update"],
        },
    ],
    schema: "io.k8s.api.core.v1.ReplicationController",
    strategy: &workloads::REPLICATION_CONTROLLER,
    fields: &REPLICATION_CONTROLLER_FIELDS,
    columns: &columns::REPLICATION_CONTROLLERS,
};

pub(super) static RESOURCE_QUOTA: Kind = Kind {
    group: "",
    version: "v1",
    kind: "ResourceQuota",
    plural: "resourcequotas",
    singular: "resourcequota",
    short_names: &["quota"],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "status",
        group_version: None,
        kind: "ResourceQuota",
        verbs: &["get", "patch", "update"],
    }],
    schema: "io.k8s.api.core.v1.ResourceQuota",
    strategy: &crate::core_group::resource_quota::ResourceQuota,
    fields: &METADATA,
    columns: &columns::RESOURCE_QUOTAS,
};

pub(super) static SECRET: Kind = Kind {
    group: "",
    version: "v1",
    kind: "Secret",
    plural: "secrets",
    singular: "secret",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[],
    schema: "io.k8s.api.core.v1.Secret",
    strategy: &crate::core_group::secret::Secret,
    fields: &crate::core_group::secret::FIELDS,
    columns: &columns::SECRETS,
};

pub(super) static SERVICE_ACCOUNT: Kind = Kind {
    group: "",
    version: "v1",
    kind: "ServiceAccount",
    plural: "serviceaccounts",
    singular: "serviceaccount",
    short_names: &["sa"],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "token",
        group_version: Some(("authentication.k8s.io", "v1")),
        kind: "TokenRequest",
        verbs: &["create"],
    }],
    schema: "io.k8s.api.core.v1.ServiceAccount",
    strategy: &crate::core_group::service_account::ServiceAccount,
    fields: &METADATA,
    columns: &columns::SERVICE_ACCOUNTS,
};

pub(super) static SERVICE: Kind = Kind {
    group: "",
    version: "v1",
    kind: "Service",
    plural: "services",
    singular: "service",
    short_names: &["svc"],
    categories: &["all"],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    subresources: &[Subresource {
        name: "status",
        group_version: None,
        kind: "Service",
        verbs: &["get", "patch", "update"],
    }],
    schema: "io.k8s.api.core.v1.Service",
    strategy: &crate::service::Service,
    fields: &crate::service::FIELDS,
    columns: &columns::SERVICES,
};
