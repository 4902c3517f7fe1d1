//! Custom resources as resources.

use serde_json::Value;
use std::sync::Arc;
use stowplan_crd::{Definition, Version};
use stowplan_kinds::{Strategy, Subresource};
use stowplan_patch::managed::{Unconvertible, Versions};
use stowplan_schema::{DecodeError, Decoded, Type};

/// A custom resource in one version.
#[derive(Clone)]
pub struct Custom {
    /// What its definition says of all versions.
    pub definition: Arc<Definition>,
    /// And of this one.
    pub version: Arc<Version>,
}

const STATUS: Subresource = Subresource {
    name: "status",
    group_version: None,
    // That of the resource.
    kind: "",
    verbs: &["get", "patch", "update"],
};
const SCALE: Subresource = Subresource {
    name: "scale",
    group_version: Some(("autoscaling", "v1")),
    kind: "Scale",
    verbs: &["get", "patch", "update"],
};
static NEITHER: [Subresource; 0] = [];
static ONLY_STATUS: [Subresource; 1] = [STATUS];
static ONLY_SCALE: [Subresource; 1] = [SCALE];
static BOTH: [Subresource; 2] = [STATUS, SCALE];

/// What may be asked of every custom resource, in discovery's order.
pub const VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

impl Custom {
    /// What hangs below an object.
    pub fn subresources(&self) -> &'static [Subresource] {
        match (self.version.has_status, self.version.scale.is_some()) {
            (false, false) => &NEITHER,
            (true, false) => &ONLY_STATUS,
            (false, true) => &ONLY_SCALE,
            (true, true) => &BOTH,
        }
    }

    /// The rules of the object or of what hangs below it.
    pub fn strategy(&self, subresource: &str) -> &dyn Strategy {
        match subresource {
            "status" => &self.version.status_rules,
            _ => &self.version.rules,
        }
    }

    /// Reads an object by the version that it says it is of.
    pub fn decode(&self, json: &[u8]) -> Result<Decoded, DecodeError> {
        let given = stowplan_schema::type_meta(json).map(|meta| meta.api_version);
        let mut versions = self.definition.versions.iter();
        let own = versions.find(|v| given.as_ref() == Ok(&v.api_version));
        own.unwrap_or(&self.version).decode(json)
    }

    /// A stored object in this version.
    pub fn view(&self, stored: Value) -> Value {
        self.definition.from_stored(stored, &self.version)
    }
}

impl Versions for Custom {
    fn convert(&self, object: &Value, api_version: &str) -> Result<(Value, &Type), Unconvertible> {
        let mut versions = self.definition.versions.iter();
        let to = versions.find(|v| v.api_version == api_version);
        let to = to.ok_or(Unconvertible::Missing)?;
        // A field that the other version does not know cannot be owned in it.
        match self.definition.renamed(object.clone(), to) {
            Some(object) => Ok((object, &to.ty)),
            None => Err(Unconvertible::Failed(
                "field not declared in schema".to_owned(),
            )),
        }
    }

    /// Upstream: `GetResetFields` of custom resources, which names one version.
    fn reset_together(&self) -> bool {
        false
    }
}
