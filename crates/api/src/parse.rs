//! JSON → typed objects, with errors that name the field.

use crate::decode::{DecodeError, decode};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a value is not the object it should be.
pub type ParseError = DecodeError;

/// Parses an object of the API.
pub fn parse<T: DeserializeOwned>(value: &Value) -> Result<T, ParseError> {
    decode(value, &mut Vec::new())
}
