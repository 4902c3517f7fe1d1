//! The entries of `metadata.managedFields`.
//!
//! Upstream: `apimachinery/pkg/util/managedfields/internal/managedfields.go`.

use crate::fields::{Set, value};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use stowplan_apimachinery::{View, go};

/// How a manager came to own fields.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Operation {
    /// By saying what it wants.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    fn word(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// A manager and what it owns.
#[derive(Clone, Debug)]
pub(crate) struct Owner<'a> {
    pub(crate) id: Id<'a>,
    /// The version in which the fields are named.
    pub(crate) api_version: Cow<'a, str>,
    /// When it last changed something.
    pub(crate) time: Option<Cow<'a, str>>,
    pub(crate) fields: Set<'a>,
}

/// Tells owners apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Id<'a> {
    pub(crate) manager: Cow<'a, str>,
    pub(crate) operation: Operation,
    /// Updates in several versions are several entries; an applier has one. Empty for it.
    pub(crate) api_version: Cow<'a, str>,
    pub(crate) subresource: Cow<'a, str>,
}

impl<'a> Id<'a> {
    /// Of a manager that writes in this version, through this subresource.
    pub(crate) fn new(
        manager: &'a str,
        operation: Operation,
        api_version: &'a str,
        subresource: &'a str,
    ) -> Self {
        Self {
            manager: Cow::Borrowed(if manager.is_empty() {
                "unknown"
            } else {
                manager
            }),
            operation,
            api_version: Cow::Borrowed(match operation {
                Operation::Apply => "",
                Operation::Update => api_version,
            }),
            subresource: Cow::Borrowed(subresource),
        }
    }

    /// Upstream's identifier, by which it sorts.
    pub(crate) fn text(&self) -> String {
        let mut out = String::from("{");
        for (key, text) in [
            ("manager", self.manager.as_ref()),
            ("operation", self.operation.word()),
            ("apiVersion", self.api_version.as_ref()),
            ("subresource", self.subresource.as_ref()),
        ] {
            if !text.is_empty() {
                if out.len() > 1 {
                    out.push(',');
                }
                value::write_text(&mut out, key);
                out.push(':');
                value::write_text(&mut out, text);
            }
        }
        out.push('}');
        out
    }

    /// As in the message of a conflict: `"a" with subresource "status" using v1`.
    pub(crate) fn print(&self) -> String {
        let mut out = go::quote(&self.manager);
        if !self.subresource.is_empty() {
            out.push_str(" with subresource ");
            out.push_str(&go::quote(&self.subresource));
        }
        if self.operation == Operation::Update {
            out.push_str(" using ");
            out.push_str(&self.api_version);
        }
        out
    }
}

/// Everybody who owns something, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owners<'a> {
    pub(crate) list: Vec<Owner<'a>>,
}

impl<'a> Owners<'a> {
    /// Reads `managedFields`; absent is nobody.
    pub(crate) fn decode(entries: &'a Value) -> Result<Self, String> {
        let mut owners = Self::default();
        let mut places: HashMap<Id<'_>, usize> = HashMap::new();
        for (i, entry) in entries.as_array().into_iter().flatten().enumerate() {
            let owner = decode_entry(entry, i)?;
            let place = *places.entry(owner.id.clone()).or_insert(owners.list.len());
            match owners.list.get_mut(place) {
                Some(here) => *here = owner,
                None => owners.list.push(owner),
            }
        }
        Ok(owners)
    }

    /// As `managedFields`; `None` if nobody owns anything.
    pub(crate) fn encode(mut self) -> Option<Value> {
        if self.list.is_empty() {
            return None;
        }
        self.list.sort_by(|a, b| {
            let by_operation = a.id.operation.cmp(&b.id.operation);
            by_operation
                .then_with(|| a.time.cmp(&b.time))
                .then_with(|| a.id.manager.cmp(&b.id.manager))
                .then_with(|| a.api_version.cmp(&b.api_version))
                .then_with(|| a.id.subresource.cmp(&b.id.subresource))
        });
        Some(self.list.iter().map(Owner::encode).collect())
    }

    /// The owner of that name.
    pub(crate) fn get(&self, id: &Id<'_>) -> Option<&Owner<'a>> {
        self.list.iter().find(|owner| owner.id == *id)
    }

    /// Adds an owner, in place of one of the same name.
    pub(crate) fn put(&mut self, owner: Owner<'a>) {
        match self.list.iter_mut().find(|other| other.id == owner.id) {
            Some(here) => *here = owner,
            None => self.list.push(owner),
        }
    }

    /// Takes an owner away.
    pub(crate) fn take(&mut self, id: &Id<'_>) -> Option<Owner<'a>> {
        let at = self.list.iter().position(|owner| owner.id == *id)?;
        Some(self.list.remove(at))
    }
}

fn decode_entry(entry: &Value, at: usize) -> Result<Owner<'_>, String> {
    let operation = match entry.text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err("operation must be `Apply` or `Update`".to_owned()),
    };
    let api_version = entry.text("apiVersion");
    if api_version.is_empty() {
        return Err("apiVersion must not be empty".to_owned());
    }
    match entry.text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(format!("missing fieldsType in managed fields entry {at}")),
        other => {
            let other = go::quote(other);
            return Err(format!(
                "invalid fieldsType {other} in managed fields entry {at}"
            ));
        }
    }
    let fields = match entry.get("fieldsV1") {
        None | Some(Value::Null) => Set::new(),
        Some(fields) => Set::decode(fields)?,
    };
    let mut id = Id::new(
        entry.text("manager"),
        operation,
        api_version,
        entry.text("subresource"),
    );
    id.manager = Cow::Borrowed(entry.text("manager"));
    Ok(Owner {
        id,
        api_version: Cow::Borrowed(api_version),
        time: entry.at("time").as_str().map(Cow::Borrowed),
        fields,
    })
}

impl Owner<'_> {
    fn encode(&self) -> Value {
        let mut entry = Map::new();
        for (key, text) in [
            ("apiVersion", self.api_version.as_ref()),
            ("fieldsType", "FieldsV1"),
            ("manager", self.id.manager.as_ref()),
            ("operation", self.id.operation.word()),
            ("subresource", self.id.subresource.as_ref()),
            ("time", self.time.as_deref().unwrap_or_default()),
        ] {
            if !text.is_empty() {
                entry.insert(key.to_owned(), text.into());
            }
        }
        entry.insert("fieldsV1".to_owned(), self.fields.encode());
        Value::Object(entry)
    }
}
