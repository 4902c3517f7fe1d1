//! JSON → typed objects, with errors that name the field.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a value is not the object it should be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{field}: {message}")]
pub struct ParseError {
    /// The field, as a path: `spec.containers[0].image`; `.` for the object itself.
    pub field: String,
    /// What is wrong with it and what was expected.
    pub message: String,
}

/// Parses an object of the API.
pub fn parse<T: DeserializeOwned>(value: &Value) -> Result<T, ParseError> {
    serde_path_to_error::deserialize(value).map_err(|error| ParseError {
        field: error.path().to_string(),
        message: error.inner().to_string(),
    })
}
