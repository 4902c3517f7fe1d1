//! How `kubectl get` shows the objects of a kind.
//!
//! Upstream: `pkg/printers/internalversion/printers.go`, always in its wide form: clients drop the
//! columns of priority 1 themselves. The definitions are data (`definitions.tsv`); the functions
//! here make the cells of a row from an object.

pub mod age;
mod batch;
mod cluster;
mod config;
mod definitions;
mod network;
mod pods;
mod rbac;
mod resource;
mod scaling;
mod storage;
mod text;
mod workloads;

use serde_json::{Value, json};
use stowplan_apimachinery::{View, meta};

pub(crate) use batch::{CRON_JOBS, JOBS};
pub(crate) use cluster::{EVENTS, EVENTS_V1, LEASES, NAMESPACES, NODES, PRIORITY_CLASSES};
pub(crate) use cluster::{RESOURCE_QUOTAS, RUNTIME_CLASSES};
pub(crate) use config::{CONFIG_MAPS, CONTROLLER_REVISIONS, SECRETS, SERVICE_ACCOUNTS};
pub(crate) use network::{ENDPOINT_SLICES, ENDPOINTS, SERVICES};
pub(crate) use network::{INGRESS_CLASSES, INGRESSES, NETWORK_POLICIES};
pub(crate) use pods::{POD_TEMPLATES, PODS};
pub(crate) use rbac::{CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS};
pub(crate) use resource::{DEVICE_CLASSES, RESOURCE_CLAIM_TEMPLATES};
pub(crate) use resource::{RESOURCE_CLAIMS, RESOURCE_SLICES};
pub use scaling::SCALES;
pub(crate) use scaling::{HORIZONTAL_POD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS_V1};
pub(crate) use storage::VOLUME_ATTRIBUTES_CLASSES;
pub(crate) use storage::{CSI_DRIVERS, CSI_NODES, PERSISTENT_VOLUME_CLAIMS};
pub(crate) use storage::{PERSISTENT_VOLUMES, STORAGE_CLASSES, VOLUME_ATTACHMENTS};
pub(crate) use workloads::{DAEMON_SETS, DEPLOYMENTS, POD_DISRUPTION_BUDGETS};
pub(crate) use workloads::{REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS};

/// The columns of a kind and how a row is made.
pub struct Columns {
    /// Whose definitions: the plural name of a resource.
    resource: &'static str,
    /// One cell per column. `now_s` is the time in seconds since the epoch, for ages.
    pub row: fn(object: &Value, now_s: i64) -> Vec<Value>,
    /// The `conditions` of a row, if it has any: whether a pod has completed.
    pub conditions: fn(object: &Value) -> Option<Value>,
    /// What of an object the two look at; nothing said is all of it.
    pub reads: &'static [Read],
}

/// A field, and what of it is looked at (of each of its elements, if it is a list); nothing said is all
/// of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read(pub &'static str, pub &'static [Read]);

impl Read {
    const fn all(field: &'static str) -> Self {
        Self(field, &[])
    }

    /// A value but for what is not looked at.
    pub fn cut(value: &Value, reads: &[Self]) -> Value {
        match value {
            value if reads.is_empty() => value.clone(),
            Value::Array(items) => items.iter().map(|item| Self::cut(item, reads)).collect(),
            Value::Object(fields) => {
                let read = |name: &str| reads.iter().find(|read| read.0 == name);
                let fields = fields.iter();
                fields
                    .filter_map(|(name, value)| {
                        Some((name.clone(), Self::cut(value, read(name)?.1)))
                    })
                    .collect()
            }
            scalar => scalar.clone(),
        }
    }
}

/// One column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// `Name`
    pub name: &'static str,
    /// `string`, `integer`, `date`…
    pub kind: &'static str,
    /// `name` for the first one, else mostly empty.
    pub format: &'static str,
    /// For `kubectl explain`-like help.
    pub description: String,
    /// 0 is always shown, 1 with `-o wide`.
    pub priority: i32,
}

impl Columns {
    const fn new(resource: &'static str, row: fn(&Value, i64) -> Vec<Value>) -> Self {
        Self {
            resource,
            row,
            conditions: |_| None,
            reads: &[],
        }
    }

    /// The columns, in order.
    pub fn definitions(&self) -> &'static [Column] {
        definitions::of(self.resource)
    }
}

impl Column {
    /// The column as a Table defines it.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}

/// For kinds without columns of their own.
pub static NAME_AND_CREATED_AT: Columns = Columns::new("-", |object, _| {
    vec![
        json!(meta::name(object)),
        object.at("metadata").at("creationTimestamp").clone(),
    ]
});
