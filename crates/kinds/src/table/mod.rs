//! All kinds that the server knows. To add one, write its entry in the file of its group.

mod apiextensions;
mod apps;
mod authentication;
mod authorization;
mod autoscaling;
mod batch;
mod coordination;
mod core;
mod discovery;
mod events;
mod networking;
mod node;
mod policy;
mod rbac;
mod resource;
mod scheduling;
mod spoken;
mod storage;

use crate::{Conversion, Kind};

const ALL_VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// Every kind, group by group; of several versions the one that is kept comes first.
pub static KINDS: &[&Kind] = &[
    &core::BINDING,
    &core::CONFIG_MAP,
    &core::ENDPOINTS,
    &core::EVENT,
    &core::LIMIT_RANGE,
    &core::NAMESPACE,
    &core::NODE,
    &core::PERSISTENT_VOLUME_CLAIM,
    &core::PERSISTENT_VOLUME,
    &core::POD,
    &core::POD_TEMPLATE,
    &core::REPLICATION_CONTROLLER,
    &core::RESOURCE_QUOTA,
    &core::SECRET,
    &core::SERVICE_ACCOUNT,
    &core::SERVICE,
    &apps::CONTROLLER_REVISION,
    &apps::DAEMON_SET,
    &apps::DEPLOYMENT,
    &apps::REPLICA_SET,
    &apps::STATEFUL_SET,
    &batch::CRON_JOB,
    &batch::JOB,
    &policy::POD_DISRUPTION_BUDGET,
    &scheduling::PRIORITY_CLASS,
    &storage::CSIDRIVER,
    &storage::CSINODE,
    &storage::CSISTORAGE_CAPACITY,
    &storage::STORAGE_CLASS,
    &storage::VOLUME_ATTACHMENT,
    &storage::VOLUME_ATTRIBUTES_CLASS,
    &coordination::LEASE,
    &events::EVENT,
    &node::RUNTIME_CLASS,
    &rbac::CLUSTER_ROLE_BINDING,
    &rbac::CLUSTER_ROLE,
    &rbac::ROLE_BINDING,
    &rbac::ROLE,
    &authentication::SELF_SUBJECT_REVIEW,
    &authentication::TOKEN_REVIEW,
    &authorization::LOCAL_SUBJECT_ACCESS_REVIEW,
    &authorization::SELF_SUBJECT_ACCESS_REVIEW,
    &authorization::SELF_SUBJECT_RULES_REVIEW,
    &authorization::SUBJECT_ACCESS_REVIEW,
    &discovery::ENDPOINT_SLICE,
    &networking::INGRESS_CLASS,
    &networking::INGRESS,
    &networking::NETWORK_POLICY,
    &autoscaling::HORIZONTAL_POD_AUTOSCALER,
    &autoscaling::HORIZONTAL_POD_AUTOSCALER_V1,
    &resource::DEVICE_CLASS,
    &resource::RESOURCE_CLAIM,
    &resource::RESOURCE_CLAIM_TEMPLATE,
    &resource::RESOURCE_SLICE,
    &apiextensions::CUSTOM_RESOURCE_DEFINITION,
];

/// Kinds that are only spoken by subresources of others.
pub static SPOKEN: &[&Kind] = &[&spoken::EVICTION, &spoken::SCALE, &spoken::TOKEN_REQUEST];

/// Kinds whose objects are kept as those of another kind.
pub static CONVERSIONS: &[&Conversion] = &[&events::CORE, &autoscaling::V1];

/// The kind that serves a resource.
pub fn by_resource(group: &str, version: &str, plural: &str) -> Option<&'static Kind> {
    let found = |k: &&&Kind| k.group == group && k.version == version && k.plural == plural;
    KINDS.iter().find(found).copied()
}

/// The kind of an object.
pub fn by_kind(group: &str, version: &str, kind: &str) -> Option<&'static Kind> {
    let found = |k: &&&Kind| k.group == group && k.version == version && k.kind == kind;
    KINDS.iter().find(found).copied()
}
