//! What the garbage collector knows of an object.

use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;

/// The finalizer of an object whose dependents have to be deleted first.
pub const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object whose dependents have to forget it first.
pub const ORPHAN: &str = "orphan";

/// Group, version and kind, as an owner reference has them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Gvk {
    /// The kind.
    pub kind: Box<str>,
    /// Group and version.
    pub api_version: Box<str>,
}

impl Gvk {
    /// By its parts.
    pub fn new(api_version: &str, kind: &str) -> Self {
        Self {
            kind: kind.into(),
            api_version: api_version.into(),
        }
    }
}

/// Which object is meant. Upstream's `objectReference`; the order is that of `referenceLessThan`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Identity {
    /// What it is.
    pub gvk: Arc<Gvk>,
    /// Its namespace; empty if it has none.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Box<str>,
    /// Its uid.
    pub uid: Arc<str>,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Gvk { api_version, kind } = &*self.gvk;
        let Self {
            namespace,
            name,
            uid,
            ..
        } = self;
        write!(
            f,
            "[{api_version}/{kind}, namespace: {namespace}, name: {name}, uid: {uid}]"
        )
    }
}

/// An owner as an object names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// What it is.
    pub gvk: Arc<Gvk>,
    /// Its name.
    pub name: Box<str>,
    /// Its uid.
    pub uid: Arc<str>,
    /// Whether it controls the object.
    pub controller: Option<bool>,
    /// Whether its deletion in the foreground waits for the object.
    pub block: Option<bool>,
}

impl Owner {
    /// Whether its deletion in the foreground waits for the object.
    pub fn blocks(&self) -> bool {
        self.block == Some(true)
    }

    /// Whether this object is meant, wherever it is. Upstream's `ownerReferenceMatchesCoordinates`.
    pub fn means(&self, identity: &Identity) -> bool {
        self.uid == identity.uid && self.name == identity.name && self.gvk == identity.gvk
    }

    /// The object that is meant if it is in this namespace.
    pub fn identity_in(&self, namespace: &Arc<str>) -> Identity {
        Identity {
            gvk: self.gvk.clone(),
            namespace: namespace.clone(),
            name: self.name.clone(),
            uid: self.uid.clone(),
        }
    }

    /// As an object has it.
    pub fn to_json(&self) -> Value {
        let mut owner = json!({
            "apiVersion": &*self.gvk.api_version,
            "kind": &*self.gvk.kind,
            "name": &*self.name,
            "uid": &*self.uid,
        });
        if let Some(controller) = self.controller {
            owner["controller"] = controller.into();
        }
        if let Some(block) = self.block {
            owner["blockOwnerDeletion"] = block.into();
        }
        owner
    }
}

/// An object as a reflector sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observed {
    /// Which it is.
    pub identity: Identity,
    /// Its owners.
    pub owners: Vec<Owner>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it has the finalizer [`FOREGROUND`].
    pub foreground: bool,
    /// Whether it has the finalizer [`ORPHAN`].
    pub orphan: bool,
}

/// An object as the server has it now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Live {
    /// Its uid.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
    /// Its owners.
    pub owners: Vec<Owner>,
    /// Its finalizers.
    pub finalizers: Vec<String>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether objects of its kind have a namespace.
    pub namespaced: bool,
}

impl Live {
    /// Whether it has a finalizer.
    pub fn has(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|have| have == finalizer)
    }
}
