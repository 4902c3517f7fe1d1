//! Who owns which field: `metadata.managedFields`, and server-side apply, which lives by it.
//!
//! Upstream: `apimachinery/pkg/util/managedfields`.

mod apply;
mod cap;
mod conflict;
mod last_applied;
mod object;
mod owner;
pub mod scale;
#[cfg(test)]
mod tests;
mod times;
mod update;
mod updater;

pub use apply::apply;
pub use times::keep_times;
pub use update::update;

pub(crate) use owner::{Id, Operation, Owner, Owners};

use conflict::Conflict;
use serde_json::Value;
use stowplan_apimachinery::meta;
use stowplan_schema::Type;

/// A write, as far as ownership goes.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The type of the object in the version of the request.
    pub ty: &'a Type,
    /// The group and version of the request: `apps/v1`.
    pub api_version: &'a str,
    /// The kind of the object.
    pub kind: &'a str,
    /// Through which subresource; empty for the object itself.
    pub subresource: &'a str,
    /// Who writes: `fieldManager`, or what comes before the `/` of the user agent.
    pub manager: &'a str,
    /// Fields that this request does not decide and so does not own.
    pub reset_fields: &'a [&'a [&'a str]],
    /// An object of the kind with nothing in it, in canonical form, with `apiVersion` and `kind`.
    pub empty: &'a Value,
    /// The other versions of the kind.
    pub versions: &'a dyn Versions,
    /// Now, as `metav1.Time` prints it: `2026-01-02T03:04:05Z`.
    pub now: &'a str,
}

impl Request<'_> {
    /// An object of this request in error messages: namespace, name and kind.
    fn named(&self, object: &Value) -> String {
        let (namespace, name) = (meta::namespace(object), meta::name(object));
        format!("{namespace}/{name}; {}", self.group_version_kind())
    }

    fn group_version_kind(&self) -> String {
        group_version_kind(self.api_version, self.kind)
    }
}

/// As Go prints a `GroupVersionKind`.
fn group_version_kind(api_version: &str, kind: &str) -> String {
    match api_version.split('/').collect::<Vec<_>>().as_slice() {
        [version] => format!("/{version}, Kind={kind}"),
        [group, version] => format!("{group}/{version}, Kind={kind}"),
        _ => "/, Kind=".to_owned(),
    }
}

/// Knows the other versions of a kind, in which owners may have written.
pub trait Versions {
    /// The object in another version, with its type there.
    fn convert(&self, object: &Value, api_version: &str) -> Result<(Value, &Type), Unconvertible>;

    /// Whether fields that a request does not decide are not decided in the other versions either.
    fn reset_together(&self) -> bool {
        true
    }
}

/// Why there is no object in another version.
#[derive(Debug)]
pub enum Unconvertible {
    /// No such version is known: what was owned in it is forgotten.
    Missing,
    /// The conversion went wrong: ownership of the whole object is forgotten.
    Failed(String),
}

/// For kinds with one version only.
pub struct OneVersion;

impl Versions for OneVersion {
    fn convert(&self, _: &Value, _: &str) -> Result<(Value, &Type), Unconvertible> {
        Err(Unconvertible::Missing)
    }
}

/// Why an apply does not happen.
#[derive(Debug)]
enum Refusal {
    Conflicts(Vec<Conflict>),
    Error(String),
}

impl From<String> for Refusal {
    fn from(error: String) -> Self {
        Self::Error(error)
    }
}
