//! An object and its type, in one version.

use super::{Request, Unconvertible};
use crate::fields::Set;
use crate::typed;
use serde_json::Value;
use stowplan_schema::Type;

/// An object in one version of its kind.
#[derive(Clone)]
pub(super) struct Object<'a> {
    pub(super) value: Value,
    pub(super) ty: &'a Type,
    api_version: String,
}

impl<'a> Object<'a> {
    /// An object in the version of the request.
    pub(super) fn new(value: Value, request: &Request<'a>) -> Self {
        Self {
            value,
            ty: request.ty,
            api_version: request.api_version.to_owned(),
        }
    }

    /// An object in another version; `None` if there is no such version any more.
    pub(super) fn converted(
        value: &Value,
        api_version: &str,
        request: &Request<'a>,
    ) -> Result<Option<Self>, String> {
        match request.versions.convert(value, api_version) {
            Ok((value, ty)) => {
                // Unlike in the version of the request, duplicates are a fault.
                typed::validate(ty, &value, false)?;
                Ok(Some(Self {
                    value,
                    ty,
                    api_version: api_version.to_owned(),
                }))
            }
            Err(Unconvertible::Missing) => Ok(None),
            Err(Unconvertible::Failed(why)) => Err(why),
        }
    }

    /// The object in this version; `None` if there is no such version any more.
    pub(super) fn convert(
        &self,
        api_version: &str,
        request: &Request<'a>,
    ) -> Result<Option<Self>, String> {
        match self.api_version == api_version {
            true => Ok(Some(self.clone())),
            false => Self::converted(&self.value, api_version, request),
        }
    }

    /// All fields, with every struct on the way to them.
    pub(super) fn named_fields(&self) -> Result<Set<'_>, String> {
        let fields = typed::field_set(self.ty, &self.value)?;
        Ok(fields.with_named_fields(Some(self.ty)))
    }

    /// The object without these fields.
    pub(super) fn without(&self, fields: &Set<'_>) -> Self {
        Self {
            value: typed::remove(self.ty, &self.value, fields),
            ty: self.ty,
            api_version: self.api_version.clone(),
        }
    }
}
