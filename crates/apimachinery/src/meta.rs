//! Names of kinds and resources, and what all objects have in common.

use crate::View;
use serde_json::Value;
use std::fmt;

/// A group and the plural name of a resource: `deployments.apps`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GroupResource {
    /// Empty for the core group.
    pub group: String,
    /// The plural name.
    pub resource: String,
}

/// A group and the name of a kind: `Deployment.apps`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GroupKind {
    /// Empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
}

impl GroupResource {
    /// Both names.
    pub fn new(group: impl Into<String>, resource: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            resource: resource.into(),
        }
    }
}

impl GroupKind {
    /// Both names.
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            kind: kind.into(),
        }
    }
}

fn dotted(f: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    match group.is_empty() {
        true => f.write_str(name),
        false => write!(f, "{name}.{group}"),
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, &self.resource, &self.group)
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, &self.kind, &self.group)
    }
}

/// `apps/v1`, or `v1` in the core group.
pub fn api_version(group: &str, version: &str) -> String {
    match group.is_empty() {
        true => version.to_owned(),
        false => format!("{group}/{version}"),
    }
}

/// `metadata.name`.
pub fn name(object: &Value) -> &str {
    object.at("metadata").text("name")
}

/// `metadata.namespace`.
pub fn namespace(object: &Value) -> &str {
    object.at("metadata").text("namespace")
}

/// `metadata.uid`.
pub fn uid(object: &Value) -> &str {
    object.at("metadata").text("uid")
}
