//! The request that admission judges.

use serde_json::Value;
use stowplan_apimachinery::meta::{self, GroupKind, GroupResource};
use stowplan_apimachinery::{Status, View};

/// What a request does to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// It brings one into being.
    Create,
    /// It changes one.
    Update,
    /// It removes one.
    Delete,
    /// It opens a stream to one.
    Connect,
}

/// A request as admission sees it (upstream: `admission.Attributes`).
pub struct Attributes<'a> {
    /// What it does.
    pub operation: Operation,
    /// The kind of the object in the request: `Binding` for `pods/binding`.
    pub kind: &'a GroupKind,
    /// The resource in the URL.
    pub resource: &'a GroupResource,
    /// The subresource in the URL, or empty.
    pub subresource: &'a str,
    /// The namespace in the URL, empty for cluster-scoped kinds.
    pub namespace: &'a str,
    /// The name of the object, empty if it has none yet.
    pub name: &'a str,
    /// The object in canonical form; none for a delete.
    pub object: Option<&'a mut Value>,
    /// What is stored now, for an update or a delete.
    pub old_object: Option<&'a Value>,
    /// The name of the user who asks.
    pub user: &'a str,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// Now, as `metav1.Time` prints it.
    pub now: &'a str,
    /// Makes the five characters that end a generated name.
    pub suffix: &'a dyn Fn() -> String,
}

static NONE: Value = Value::Null;

impl Attributes<'_> {
    /// The object, or null.
    pub fn object(&self) -> &Value {
        self.object.as_deref().unwrap_or(&NONE)
    }

    /// What is stored now, or null.
    pub fn old(&self) -> &Value {
        self.old_object.unwrap_or(&NONE)
    }

    /// Whether the request is for this resource itself.
    pub fn is(&self, group: &str, resource: &str) -> bool {
        self.is_for(group, resource) && self.subresource.is_empty()
    }

    /// Whether the request is for this resource or something below it.
    pub fn is_for(&self, group: &str, resource: &str) -> bool {
        self.resource.group == group && self.resource.resource == resource
    }

    /// Whether it creates an object of this resource.
    pub fn creates(&self, group: &str, resource: &str) -> bool {
        self.operation == Operation::Create && self.is(group, resource)
    }

    /// 403 about the object, which may not have its name yet (upstream: `admission.NewForbidden`).
    pub fn forbidden(&self, why: impl AsRef<str>) -> Status {
        let named = meta::name(self.object());
        let prefix = self.object().at("metadata").text("generateName");
        let name = [self.name, named, prefix]
            .into_iter()
            .find(|name| !name.is_empty());
        Status::forbidden(self.resource, name.unwrap_or("Unknown"), why)
    }
}
