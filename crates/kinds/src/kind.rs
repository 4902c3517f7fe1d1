//! What the server knows of one kind.

use crate::columns::Columns;
use crate::{Fields, Strategy};
use stowplan_apimachinery::meta::{self, GroupKind, GroupResource};

/// One kind and the resource that serves it.
pub struct Kind {
    /// Empty for the core group.
    pub group: &'static str,
    /// `v1`
    pub version: &'static str,
    /// `Deployment`
    pub kind: &'static str,
    /// `deployments`
    pub plural: &'static str,
    /// `deployment`
    pub singular: &'static str,
    /// `deploy`
    pub short_names: &'static [&'static str],
    /// `all`
    pub categories: &'static [&'static str],
    /// In a namespace or not.
    pub scope: Scope,
    /// What may be asked of the resource itself, in discovery's order.
    pub verbs: &'static [&'static str],
    /// What hangs below an object.
    pub subresources: &'static [Subresource],
    /// The type in the schema table.
    pub schema: &'static str,
    /// Defaults, validation and the rest of the behaviour.
    pub strategy: &'static dyn Strategy,
    /// What a field selector may ask for.
    pub fields: &'static Fields,
    /// How `kubectl get` shows it.
    pub columns: &'static Columns,
}

/// Where objects of a kind live.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// In namespaces.
    Namespaced,
    /// In none.
    Cluster,
}

/// Something below an object: `pods/eviction`.
pub struct Subresource {
    /// `eviction`
    pub name: &'static str,
    /// The group and version of the kind it speaks, where they are not the resource's own.
    pub group_version: Option<(&'static str, &'static str)>,
    /// `Eviction`
    pub kind: &'static str,
    /// What may be asked, in discovery's order.
    pub verbs: &'static [&'static str],
}

impl Kind {
    /// `apps/v1`
    pub fn api_version(&self) -> String {
        meta::api_version(self.group, self.version)
    }

    /// `deployments.apps`
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.group, self.plural)
    }

    /// `Deployment.apps`
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group, self.kind)
    }

    /// Whether its objects live in namespaces.
    pub fn namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// The subresource of that name.
    pub fn subresource(&self, name: &str) -> Option<&'static Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }
}
