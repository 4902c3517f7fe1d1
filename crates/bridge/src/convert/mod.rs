//! API objects → engine objects.
//!
//! One file per group of kinds; [`Interner`] holds what they share.

mod csi_translation;
pub mod devices;
pub mod features;
pub mod images;
pub mod node;
mod object;
pub mod pod;
pub mod requests;
pub mod selector;
pub mod storage;
pub mod workload;

pub(crate) use object::api_kind;
pub use object::{api_object, object};

use stowplan_base::{Names, Quantity, Sym};
use stowplan_engine::model::ResourceNames;

/// Why an API object cannot become an engine object.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{field}: {message}")]
pub struct ConvertError {
    /// The field, as a path: `spec.containers[0].resources.requests[cpu]`.
    pub field: String,
    /// What is wrong with it and what was expected.
    pub message: String,
}

impl ConvertError {
    /// An error of one field.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
        }
    }
}

/// Where strings are interned on their way in.
pub struct Interner<'a> {
    /// The cluster's names.
    pub names: &'a mut Names,
    /// The cluster's resources.
    pub resource_names: &'a mut ResourceNames,
}

impl Interner<'_> {
    /// Interns a string.
    pub fn sym(&mut self, text: &str) -> Sym {
        self.names.intern(text)
    }

    /// Interns a string that may be absent or empty; both become `None`.
    pub fn some_sym(&mut self, text: Option<&str>) -> Option<Sym> {
        text.filter(|text| !text.is_empty())
            .map(|text| self.sym(text))
    }
}

/// Parses a quantity of the API.
pub fn quantity(text: &str, field: impl FnOnce() -> String) -> Result<Quantity, ConvertError> {
    text.parse()
        .map_err(|error| ConvertError::new(field(), format!("Invalid value: {text:?}: {error}")))
}
